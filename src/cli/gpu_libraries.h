/* NVIDIA's libraries that a GPU is used through, as far as they are here; no GPU is needed to tell. */
#ifndef CM_CLI_GPU_LIBRARIES_H
#define CM_CLI_GPU_LIBRARIES_H

#include "core/status.h"

/* Writes where the CUDA module, cuBLASLt, cuDNN and NCCL are, or what is not found, as one line into note [size]. Opens
 * the module; what it needs stays open. CM_OK always: a machine without them is well. */
cm_status cm_cli_gpu_libraries(char *note, size_t size);

#endif
