/* Sums over rows that several calls make for gradients of parameters, as two launches: the parts of all of them, then
 * the sums of the parts. By itself each is two, of a few columns, and an update of a small network is mostly such.
 * Chunks and the order in which they are added are those of the calls' own launches (columns.h), but for few rows of a
 * bias, which by themselves are one launch. */
#ifndef CM_BACKEND_CUDA_OPS_SUMS_H
#define CM_BACKEND_CUDA_OPS_SUMS_H

#include "backend/cuda/ops/dense.h"
#include "backend/cuda/ops/layer_norm.h"
#include "backend/cuda/ops/ops.h"

/* Of a launch at most; and bytes of the parts of one at most. */
enum { CM_SUMS = 16, CM_SUMS_EACH = CM_OPS_BORROWED / CM_SUMS };

typedef enum cm_sum_kind {
    CM_SUM_ROWS,  /* of a bias */
    CM_SUM_NORM,  /* of scale and shift of a layer norm */
    CM_SUM_ACTION /* of a layer's columns for an action's encoding */
} cm_sum_kind;

typedef struct cm_sums_part {
    cm_sum_kind kind;
    cm_columns_args columns; /* of an action its chunks alone */
    union {
        cm_layer_norm_args norm;
        cm_dense_args action;
    } of;
} cm_sums_part;

typedef struct cm_sums {
    int count;
    cm_sums_part sum[CM_SUMS];
} cm_sums;

/* Item: a column of a chunk, one sum after the other; 1 lane. */
CM_KERNEL void cm_sums_partial(const cm_sums *k, int64_t item, const cm_lanes *lanes) {
    const cm_sums_part *sum = k->sum;
    for (; item >= cm_chunks_items(&sum->columns.chunks); sum++) item -= cm_chunks_items(&sum->columns.chunks);
    switch (sum->kind) {
    case CM_SUM_ROWS: cm_columns_partial(&sum->columns, item, lanes); break;
    case CM_SUM_NORM: cm_layer_norm_partial(&sum->of.norm, item, lanes); break;
    case CM_SUM_ACTION: cm_dense_action_partial(&sum->of.action, item, lanes); break;
    }
}

/* Item: a column, as above; CM_WARP lanes. */
CM_KERNEL void cm_sums_finish(const cm_sums *k, int64_t item, const cm_lanes *lanes) {
    const cm_sums_part *sum = k->sum;
    for (; item >= sum->columns.chunks.columns; sum++) item -= sum->columns.chunks.columns;
    if (sum->kind == CM_SUM_ACTION) {
        cm_dense_action_finish(&sum->of.action, item, lanes);
    } else {
        cm_columns_finish(&sum->columns, item, lanes);
    }
}

#define CM_SUMS_KERNELS(X)                                                                                             \
    X(cm_sums_partial, cm_sums)                                                                                        \
    X(cm_sums_finish, cm_sums)
CM_SUMS_KERNELS(CM_KERNEL_ENTRY)

/* ---- hosts ---- */

/* Has a call with a branch such sums? They may be made at any time after it. Not one that makes dx, too, which may take
 * the place of what they read; tapes give such a call no branch. */
bool cm_sums_are_of(const cm_call *call);
/* Adds those of a call, which has some, if there is space for them: *sums has CM_SUMS_OF_CALL free. `call` keeps the
 * rest of its work; returns whether there is any. */
enum { CM_SUMS_OF_CALL = 2 };
bool cm_sums_take(cm_sums *sums, cm_call *call);
/* Makes them all, in order after what the stream was given; none is left. */
cm_status cm_sums_run(cm_stream *stream, cm_sums *sums) CM_MUST_USE;

#endif
