/* Whether calls that can be one launch (row_build.h) are faster as that. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_AUTOTUNE_H
#define CM_BACKEND_CUDA_FUSED_ROW_AUTOTUNE_H

#include "backend/backend.h"
#include "backend/cuda/fused/row_step.h"
#include "device/cuda/candidates.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the kernel (row_kernel.h): one that takes other times than before is measured again under another number. */
enum { CM_ROW_KERNEL = 5 };

/* All of a pass's steps that decides on times, in a number for keys: shapes, types, and which layers share a weight; no
 * addresses. */
uint64_t cm_row_digest(const cm_row_kernel_args *args);

/* Of a pass that may run, or a fused segment of one, measured: *winner is 0 where its calls launched one by one are the
 * fastest, else 1 + i of launch[count], which are ways to launch all of them at once. All run, so numbers of rows of a
 * whole pass are written (each row its own) and results are not what they were. Once for a device, rows and steps, then
 * it is known from disk. Errors: those of writing; where none runs. */
enum { CM_ROW_WAYS = 2 };
cm_status cm_row_autotune_measure(cm_stream *stream, const cm_call_list *pass, const cm_row_kernel_args *args,
                                  const cm_cuda_candidate *launch, int count, int *winner) CM_MUST_USE;

/* Of one that may not, as what others have left is in its memory, estimated. */
bool cm_row_autotune_estimate(const cm_row_kernel_args *args, int multiprocessors);

#ifdef __cplusplus
}
#endif
#endif
