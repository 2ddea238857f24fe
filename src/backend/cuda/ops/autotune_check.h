/* The check of the autotuner: numbers on which candidates are measured, and whether their results are the same. */
#ifndef CM_BACKEND_CUDA_OPS_AUTOTUNE_CHECK_H
#define CM_BACKEND_CUDA_OPS_AUTOTUNE_CHECK_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes n numbers of U(-1, 1), the same every time and repeating after 65,537, to an address on the device, in the
 * order of the stream. On zeros products are faster than on what is computed with. Errors: CM_ERR_MEMORY, those of
 * writing. */
cm_status cm_autotune_check_fill(cm_stream *stream, void *to, cm_dtype type, size_t n) CM_MUST_USE;

/* The results that others are compared with; zeros before the first, and freed by the caller. */
typedef struct cm_autotune_check_results {
    void *wanted, *got; /* [n], at most [2^19], of a type, on the host; owned */
} cm_autotune_check_results;
void cm_autotune_check_free(cm_autotune_check_results *results);

/* Results on the device, which may be made of numbers of another type. */
typedef struct cm_autotune_check_numbers {
    const void *data; /* [n] of `type` */
    cm_dtype type, made_of;
    size_t n;
} cm_autotune_check_numbers;

/* first: keeps them. Else compares with those: no number may be further off than a 64th (float32 made of float32: a
 * 1,024th) of the largest; of more than 2^19 so many are looked at. Where that is 0, or a kept
 * number is not finite, nothing is compared. Waits for the stream. Errors: CM_ERR_DEVICE says where they differ;
 * CM_ERR_MEMORY; those of reading. */
cm_status cm_autotune_check_agree(cm_autotune_check_results *results, cm_stream *stream,
                                  const cm_autotune_check_numbers *numbers, bool first) CM_MUST_USE;

/* Puts a NaN at an address on the device, in the order of the stream; is there one? Errors: CM_ERR_DEVICE if there is a
 * number; those of writing and reading. */
cm_status cm_autotune_check_put_nan(cm_stream *stream, void *to, cm_dtype type) CM_MUST_USE;
cm_status cm_autotune_check_expect_nan(cm_stream *stream, const void *from, cm_dtype type) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
