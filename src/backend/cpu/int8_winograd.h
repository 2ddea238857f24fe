/* Convolutions of 3 x 3 and stride 1 in 8 bits by Winograd's F(2 x 2, 3 x 3) (winograd.h), in whole numbers: tiles of x
 * are below 2^9 in magnitude after B^T d B, weights below 2^11 after 4 G g G^T, and A^T m A of the sums in 32 bits is
 * four times the convolution, exactly. For kernels whose numbers are pairs of 16 bits. */
#ifndef CM_BACKEND_CPU_INT8_WINOGRAD_H
#define CM_BACKEND_CPU_INT8_WINOGRAD_H

#include "backend/cpu/int8.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a layer in 8 bits gains by it. */
bool cm_int8_winograd_fits(const cm_int8_kernels *kernels, const cm_tensor *x, const cm_tensor *weight, int stride);

/* Makes the plan of a call of conv2d or conv2d_norm that fits. Errors: CM_ERR_MEMORY. */
cm_status cm_int8_winograd_plan(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
