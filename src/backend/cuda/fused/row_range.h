/* Which bytes rows of tensors are, for a fused row-wise kernel: a block has some rows of all tensors, so what one call
 * writes and another touches must be the same rows of both. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_RANGE_H
#define CM_BACKEND_CUDA_FUSED_ROW_RANGE_H

#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `rows` rows of `bytes` bytes, `stride` bytes apart. */
typedef struct cm_row_range {
    const char *base; /* NULL: no rows */
    int64_t stride, bytes;
    int rows;
} cm_row_range;

/* The rows of a tensor along its leading index. */
cm_row_range cm_row_range_of(const cm_tensor *t);

/* How two ranges of as many rows have bytes in common: not at all; a row of one with the same row of the other alone;
 * or otherwise, which is also said of some that have none. */
typedef enum cm_row_relation { CM_ROWS_APART, CM_ROWS_ALIKE, CM_ROWS_CROSSED } cm_row_relation;
cm_row_relation cm_row_relate(const cm_row_range *a, const cm_row_range *b);

enum { CM_ROW_RANGES = 256 };

/* What has been touched. */
typedef struct cm_row_ranges {
    cm_row_range range[CM_ROW_RANGES];
    bool written[CM_ROW_RANGES];
    int count;
} cm_row_ranges;

/* Adds rows that are read or written. False if there is no space, or if the rows of one block are touched by another
 * that writes, or where it has written. */
bool cm_row_touch(cm_row_ranges *all, const cm_row_range *rows, bool writes);

#ifdef __cplusplus
}
#endif
#endif
