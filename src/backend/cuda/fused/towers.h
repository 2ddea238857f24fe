/* Residual towers of a pass that infers in 16 bits: neighbouring calls of convolutions with norms that are one launch
 * (tower.h), where that is measured to be faster than the calls. */
#ifndef CM_BACKEND_CUDA_FUSED_TOWERS_H
#define CM_BACKEND_CUDA_FUSED_TOWERS_H

#include "backend/cuda/fused/tower_args.h"
#include "backend/cuda/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many of the prepared calls from `first` on could be a tower, at least 2, or 0: conv2d_norm of 3 x 3 and stride 1
 * in 16 bits, each of what the one before it makes, which is of 16 bits and which no other call of the pass touches. */
int cm_tower_reach(const cm_call_list *pass, int first);

/* Of `count` calls of such a tower, the first ones or all of them, what its kernel is given on a device; false where a
 * block has no space for a single board, or there is no kernel for so many channels. */
bool cm_tower_build(const cm_call *calls, int count, const cm_ops_limits *limits, cm_tower_args *out);
/* Of args->boards boards of a height and width, how many a block takes, and the memory that it shares: false where it
 * has no space for a single one. */
bool cm_tower_share(cm_tower_args *args, int channels, const cm_ops_limits *limits);
/* Launches it on `queue`, of channels and of a type that cm_tower_build has found a kernel for: 0 or a cudaError_t. */
int cm_tower_launch(const cm_tower_args *args, int channels, cm_dtype type, void *queue);

/* A tower of calls first .. first + count - 1. *out, the caller's, stays NULL where it cannot be one launch or that
 * would take longer: both ways are measured, on the pass's own memory, in which nothing may be of use yet, and whether
 * they agree is looked at every time (autotune_check.h). Errors: those of writing and reading; where the calls do not
 * run. */
typedef struct cm_tower cm_tower;
cm_status cm_tower_create(cm_stream *stream, const cm_call_list *pass, int first, int count,
                          cm_tower **out) CM_MUST_USE;
/* `pass` is what it was, unless its version is another one; then only addresses differ. */
cm_status cm_tower_run(cm_stream *stream, const cm_call_list *pass, cm_tower *tower) CM_MUST_USE;
void cm_tower_free(cm_tower *tower); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
