/* How fast a GPU multiplies, copies and launches: a line of cumind doctor. */
#ifndef CM_CLI_GPU_SPEED_H
#define CM_CLI_GPU_SPEED_H

#include "backend/backend.h"
#include "device/cuda/cuda.h"

/* note[size]: "700 TFLOP/s in bfloat16 (65 % of what it is able to), copies 4100 GB/s (85 %), 2.3 us a launch", where
 * `limits` say what it is able to; of float32 where it has no bfloat16. Takes about 1.5 times `seconds`, besides what
 * prepares the product. Errors: CM_ERR_MEMORY; those of the device. */
cm_status cm_cli_gpu_speed(cm_backend *backend, const cm_cuda_limits *limits, double seconds, char *note,
                           size_t size) CM_MUST_USE;
#endif
