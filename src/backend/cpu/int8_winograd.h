/* Convolutions of 3 x 3 and stride 1 in 8 bits by Winograd's F(3 x 3, 3 x 3) (winograd.h), in whole numbers, with the
 * points 0, 1, -1, 2 and infinity, whose denominators are 2, -2, -6, 6 and 1. Tiles of x are below 36 * 2^7 in
 * magnitude after B^T d B; weights, whose denominators are left out, below 49 * 2^7. A^T m A with 6 times the inverse
 * denominators is 36 times the convolution, of which 32 bits suffice: modulo 2^32 it tells the convolution if that is
 * below 2^29, as it is up to 3,698 channels. So the sums of products may overflow, and the result is exact. For kernels
 * whose numbers are pairs of 16 bits.
 */
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
