/* The steps of a fused row-wise kernel (row_step.h), made out of its calls. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_BUILD_H
#define CM_BACKEND_CUDA_FUSED_ROW_BUILD_H

#include "backend/backend.h"
#include "backend/cuda/fused/row_step.h"
#include "backend/cuda/ops/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills *args with the steps of as many of the first prepared calls of a pass as can be: those that all work on rows of
 * one number, row by row, and need no more than CM_ROW_STEPS. Calls that have a branch make no steps and are passed
 * over. Without work memory it is a fused segment of a pass: all its results stay where its calls write them. Returns
 * how many calls that are, 0 .. pass->count. What args says of shared memory may be more than a device has. Its tile
 * has half as many rows if there are no more such tiles than multiprocessors (0: they are not asked for). */
int cm_row_build(const cm_call_list *pass, int multiprocessors, cm_row_kernel_args *args);

/* The steps of a whole pass: false if some calls make none, or if a device with these limits has no kernel for them. */
bool cm_row_build_whole(const cm_call_list *pass, const cm_ops_limits *limits, cm_row_kernel_args *args);

#ifdef __cplusplus
}
#endif
#endif
