/* Batch norms and convolutions of a pass that trains in 16 bits, in turn, as residual networks have them: a launch for
 * each convolution, which applies the norm in front of it where it loads its input, and leaves the parts of the sums of
 * the norm after it (what cuDNN calls genstats). So a norm between two of them costs its small launch of sums, and what
 * it reads and writes passes through once. Forward (norm_conv.h) as well as for gradients (norm_grad.h), where norms
 * come first, too, and the convolution is that of dx. All tensors that the calls write are written.
 */
#ifndef CM_BACKEND_CUDA_FUSED_NORM_CONVS_H
#define CM_BACKEND_CUDA_FUSED_NORM_CONVS_H

#include "backend/cuda/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many of the prepared calls from `first` on could be a chain, at least 2, or 0: batch_norm, conv2d, batch_norm and
 * so on, or batch_norm_backward, conv2d_backward of dx and so on, each of what the one before it makes, of 16 bits;
 * convolutions of 3 x 3 and stride 1 without bias, of as many channels all the way; nothing is written where other
 * blocks have yet to read. Gradients of weights, as calls between or as parts of calls, are left to the caller, who
 * runs them after the chain (cm_norm_convs_rest). */
int cm_norm_convs_reach(const cm_call_list *pass, int first);

/* The chain of calls first .. first + count - 1. *out, the caller's, stays NULL where there is no kernel for it, where
 * the pass may not run now (cm_call_list.is_idle), or where it would take longer: calls and chain are measured, and
 * compared every time (autotune_check.h). Errors: those of writing and reading; where the calls do not run. */
typedef struct cm_norm_convs cm_norm_convs;
cm_status cm_norm_convs_create(cm_stream *stream, const cm_call_list *pass, int first, int count,
                               cm_norm_convs **out) CM_MUST_USE;
/* `pass` is what it was, unless its version is another one; then only addresses differ. */
cm_status cm_norm_convs_run(cm_stream *stream, const cm_call_list *pass, const cm_norm_convs *chain) CM_MUST_USE;
/* What is left of call `call` of the chain, 0 <= call < count: the call, or a part of it in *memory; NULL: nothing. */
const cm_call *cm_norm_convs_rest(const cm_norm_convs *chain, const cm_call_list *pass, int call, cm_call *memory);
void cm_norm_convs_free(cm_norm_convs *chain); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
