/* What the module's files share beside cuda.h: the libraries' workspace, and a timer. */
#ifndef CM_BACKEND_CUDA_MODULE_H
#define CM_BACKEND_CUDA_MODULE_H

#include "backend/cuda/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At the beginning of a lane's workspace; behind it is that of the operations. Most of cuDNN's engines in float32 want
 * a convolution's planes in it once more: room for those of 1,024 positions of Connect4 in 128 channels. */
enum { CM_LIBRARY_BYTES = 64 << 20 };
void *cm_library_workspace(const cm_stream *stream);

/* Times what is launched on a stream between start and stop. Starting gives the GPU other work to do first, so that
 * some launches wait for it, not it for them; it overwrites the libraries' workspace. Stopping waits. */
typedef struct cm_cuda_timer {
    void *start, *end; /* owned: cudaEvent_t */
} cm_cuda_timer;
cm_status cm_cuda_timer_open(cm_cuda_timer *timer) CM_MUST_USE;
void cm_cuda_timer_close(cm_cuda_timer *timer); /* a zeroed struct is allowed */
cm_status cm_cuda_timer_start(cm_cuda_timer *timer, const cm_stream *stream) CM_MUST_USE;
cm_status cm_cuda_timer_stop(cm_cuda_timer *timer, const cm_stream *stream, float *milliseconds) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
