/* The launches of batch_norm and batch_norm_backward calls whose x is of 16 bits, one by one, for who makes others of
 * them by kernels of its own (fused/norm_convs.h). */
#ifndef CM_BACKEND_CUDA_OPS_BATCH_NORMS_H
#define CM_BACKEND_CUDA_OPS_BATCH_NORMS_H

#include "backend/cuda/ops/batch_norm.h"
#include "backend/cuda/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_BATCH_NORM_VECTORS = 7 };

/* What the kernels are given. vectors: [CM_BATCH_NORM_VECTORS, C] of the device, at a multiple of 16 bytes, which the
 * statistics write, or NULL where it is only asked how rows are cut; the caller sets chunks.partial, [chunks, 2, C],
 * and may cut the rows into other chunks. */
cm_batch_norm_args cm_batch_norm_args_of(const cm_call *call, float *vectors);

/* The parts of each chunk; from these mean, variance and args->linear; from those y. Errors: those of a launch. */
cm_status cm_batch_norm_half_partial(cm_stream *stream, const cm_call *call,
                                     const cm_batch_norm_args *args) CM_MUST_USE;
cm_status cm_batch_norm_half_statistics(cm_stream *stream, const cm_call *call,
                                        const cm_batch_norm_args *args) CM_MUST_USE;
cm_status cm_batch_norm_half_apply(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) CM_MUST_USE;

/* The same of batch_norm_backward: the parts of each chunk; from these dscale, dshift and args->linear; from those dx
 * and dresidual. */
cm_batch_norm_args cm_batch_norm_backward_args_of(const cm_call *call, float *vectors);
cm_status cm_batch_norm_half_slopes(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) CM_MUST_USE;
cm_status cm_batch_norm_half_totals(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) CM_MUST_USE;
cm_status cm_batch_norm_half_input(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
