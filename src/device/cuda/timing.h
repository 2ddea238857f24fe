/* How long work takes a GPU where it is part of a graph, as it is in training and in searches. */
#ifndef CM_DEVICE_CUDA_TIMING_H
#define CM_DEVICE_CUDA_TIMING_H

#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Added to the time of work that cannot be captured: a second, so that such a way is the last resort. */
#define CM_CUDA_UNCAPTURED_MS 1e3f

/* *milliseconds of one run of `work`, which launches on the stream and runs many times over, so once more must not
 * change what once does: the least of three graphs, each of as many runs of short work as take half a millisecond. The
 * first time on a device it runs for some 20 ms before, so that the GPU has its full speed. Waits for the stream; not
 * while it captures. `name` is for warnings. Errors: those of work; CM_ERR_DEVICE. */
cm_status cm_cuda_time(cm_cuda_stream *stream, const char *name, cm_cuda_work work, void *context,
                       float *milliseconds) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
