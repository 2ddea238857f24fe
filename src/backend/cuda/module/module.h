/* What the module's files share besides cuda.h: the libraries' workspace. */
#ifndef CM_BACKEND_CUDA_MODULE_MODULE_H
#define CM_BACKEND_CUDA_MODULE_MODULE_H

#include "backend/cuda/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At the beginning of a stream's workspace; after it is that of the operations. Most of cuDNN's engines in float32
 * want a convolution's activations in it once more: space for those of 1,024 positions of Connect4 in 128 channels. */
enum { CM_LIBRARY_BYTES = 64 << 20 };
void *cm_library_workspace(const cm_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
