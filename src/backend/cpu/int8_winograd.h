/* Convolutions of 3 x 3 and stride 1 in 8 bits by Winograd's algorithm (winograd.h), in whole numbers. Each side of a
 * tile of y has 3 or 4 places (int8_board.h).
 *
 *     3 places: points 0, 1, -1, 2 and infinity, denominators 2, -2, -6, 6 and 1; the sums, times 6, are whole
 *     4 places: points 0, +-1, +-2 and infinity, denominators 4, -6, -6, 24, 24 and 1; times 24
 *
 * Tiles of x are below 100 * 2^7 in magnitude after B^T d B. Weights after G g G^T are times 6 or 24 for each side, the
 * last element of 4 places times 12: they are below 144 * 2^7. A^T m A is then 36, 144 or 576 times the convolution, of
 * which 32 bits suffice: modulo 2^32 it tells the convolution if that is below 2^29, 2^27 or 2^25, as it is up to
 * 3,698, 924 or 231 channels. So the sums of products may overflow, and the result is exact. For kernels whose numbers
 * are pairs of 16 bits; those of bytes name such (cm_int8_kernels.pairs).
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
