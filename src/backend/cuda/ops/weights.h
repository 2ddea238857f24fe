/* Copies of weights in 16 or 8 bits, shared by all streams of a backend.
 *
 * A copy is made when a call on the weight is prepared, and again by cm_weights_renew. Those in 16 bits that are not
 * turned are also made by the optimizer's kernels as they write the parameters: the next cm_weights_renew has only the
 * others to do. Rows of a copy begin at multiples of 16 bytes, as tensor cores like them. */
#ifndef CM_BACKEND_CUDA_OPS_WEIGHTS_H
#define CM_BACKEND_CUDA_OPS_WEIGHTS_H

#include "backend/cuda/ops/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_weight_copy cm_weight_copy;
struct cm_weight_copy {
    cm_weight_copy *next;
    const float *weight; /* borrowed: [rows, columns], rows `step` apart */
    int rows, columns, step, stride;
    int padded_rows; /* rows of the copy; zeros after those of the weight, unless it is turned */
    int channels;    /* in 8 bits: of a place of the window (int8.h); else 0 */
    int window;      /* of one that is turned (cm_half_copy), else 0 */
    cm_dtype type;   /* of the copy */
    cm_buffer block; /* owned: [padded_rows, stride]; in 8 bits also the steps of the rows */
    int users;
    int64_t written; /* elements that an optimizer has written since cm_weights_renew */
};

/* The empty set of a backend's copies, for cm_ops_weights. */
cm_status cm_weights_open(void **out) CM_MUST_USE;
void cm_weights_close(void *weights); /* after all streams; NULL is allowed */

/* The copy in `type`, CM_BF16, CM_F16 or CM_I8, of the first `columns` columns of a weight, made from it as it is now,
 * in the order of the stream. In 16 bits every place of the window of [O, k, k, C] is a row of C, and zeros stand for
 * further outputs up to a multiple of 8; in 8 bits a row is all of an output, as cm_int8_weight_each makes it. The
 * caller releases it. Errors: CM_ERR_MEMORY. */
cm_status cm_weights_acquire(cm_stream *stream, const cm_tensor *weight, int columns, cm_dtype type,
                             cm_weight_copy **out) CM_MUST_USE;
/* The steps [rows] of a copy in 8 bits. */
static inline float *cm_weight_steps(const cm_weight_copy *copy) {
    return (float *)(void *)(copy->block.base + (size_t)copy->rows * (size_t)copy->stride);
}

/* The turned copy (cm_half_copy) in 16 bits of weight [O, k, k, C], in which O is a multiple of 8, likewise. */
cm_status cm_weights_acquire_turned(cm_stream *stream, const cm_tensor *weight, cm_dtype type,
                                    cm_weight_copy **out) CM_MUST_USE;

void cm_weights_release(void *weights, cm_weight_copy *copy); /* NULL is allowed */

/* Makes all copies of weights that lie in block[bytes] again, in the order of the queue: one launch for CM_COPIES of
 * them, none for those that one step of an optimizer has written, whose caller has changed nothing else since. Returns
 * what the launches say: 0 or a cudaError_t. */
int cm_weights_renew(void *weights, void *queue, const void *block, size_t bytes);

/* The copies in 16 bits, not turned, of weights that have a part in parameters[n], at most CM_COPIES, for the
 * optimizer's kernel that is launched next; returns how many. */
int cm_weights_within(const cm_stream *stream, const float *parameters, int64_t n, cm_half_copy out[CM_COPIES]);

#ifdef __cplusplus
}
#endif
#endif
