/* Convolutions of 3 x 3 and stride 1 by Winograd's F(4 x 4, 3 x 3) (Lavin and Gray 2016, "Fast Algorithms for
 * Convolutional Neural Networks", section 4): of each tile of 4 x 4 places of the output
 *
 *     y = A^T ((G g G^T) (B^T d B)) A,    d: the 6 x 6 places of the input around it, () per element,
 *
 * summed over the channels before the last transform, so that 36 products of matrices take the place of 144. Gradients
 * are the transposed maps. The points of the transforms are 0, +-5/8, +-3/2 and infinity: the largest error is twice
 * that of a sum of products, and with 0, +-1, +-2, the usual ones, ten times. The tiles of a batch are taken in chunks
 * whose transforms stay in the cache.
 */
#ifndef CM_BACKEND_CPU_WINOGRAD_H
#define CM_BACKEND_CPU_WINOGRAD_H

#include "backend/cpu/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Products of an image [height, width] per channel of x and of y, by tiles of `down` x `across` places. */
int cm_winograd_products(int down, int across, int height, int width);

/* Whether a layer gains if this takes so many products: 3 x 3, stride 1, enough channels on both sides, at most two
 * thirds of the products of direct sums. x [batch, height, width, in], weight [out, 3, 3, in]. */
bool cm_winograd_gains(int products, const cm_tensor *x, const cm_tensor *weight, int stride);

/* The same of float32 by tiles of 4 x 4. */
bool cm_winograd_fits(const cm_tensor *x, const cm_tensor *weight, int stride);

/* How many numbers of `size` bytes to put from one element of the transformed tiles to the next, where it has `numbers`
 * of them: whole lines of the cache, and one more, because all elements of a tile would share a set of the cache if
 * this was a multiple of what its sets hold. */
static inline size_t cm_winograd_stride(size_t numbers, size_t size) {
    const size_t line = 64 / size;
    return (numbers + line - 1) / line * line + line;
}

/* Makers of plans (cpu.h) for calls of conv2d and conv2d_backward that fit. Errors: CM_ERR_MEMORY. */
cm_status cm_winograd_plan(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_winograd_plan_backward(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
