/* A pass whose operations all work row by row, as one kernel: a block takes a tile of rows through all of them. What
 * they leave for each other lies in shared memory, weights come from the device's unless they are in shared memory
 * (row_shared.h). A step is an operation; its arithmetic is that of the operation's own kernel, on a row of the tile.
 */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_KERNEL_H
#define CM_BACKEND_CUDA_FUSED_ROW_KERNEL_H

#include "backend/cuda/fused/row_product.h"
#include "backend/cuda/ops/batch_norm.h"
#include "backend/cuda/ops/elementwise.h"
#include "backend/cuda/ops/layer_norm.h"
#include "backend/cuda/ops/minmax.h"
#include "backend/cuda/ops/shape.h"
#include "backend/cuda/ops/softmax.h"
#include "backend/cuda/ops/support.h"

/* ---- the others: row `row` of the tile, by the lanes that it has for itself ---- */

/* The kernel of an operation on elements, at those of one row of n. */
#define CM_ROW_ELEMENTS(kernel, k, n, lanes)                                                                           \
    for (int element = (lanes)->index; element < (n); element += (lanes)->count) kernel(k, element, lanes)

/* Rows of a copy from row `row` of the tile on. */
static CM_HD inline cm_half_rows cm_row_half(const cm_row_step *s, const cm_row_tile *t, const cm_row_copy *copy,
                                             int row) {
    cm_half_rows rows = {copy->data, copy->stride, (cm_dtype)s->type};
    if (copy->data) rows.data += ((int64_t)t->first + row) * copy->stride;
    return rows;
}

CM_KERNEL void cm_row_map(const cm_row_step *s, const cm_row_tile *t, int row, bool trains, const cm_lanes *lanes) {
    cm_map_args k = CM_NOTHING;
    k.out = cm_row_rows(t, &s->y, row);
    k.a = cm_row_rows(t, &s->x, row);
    k.b = cm_row_rows(t, &s->z, row);
    k.n = s->n;
    k.activation = s->op == CM_OP_add ? cm_row_relu(s) : (cm_activation)s->activation;
    if (trains) k.half = cm_row_half(s, t, &s->half, row);
    if (s->op == CM_OP_add) {
        CM_ROW_ELEMENTS(cm_map_add, &k, s->n, lanes);
    } else {
        CM_ROW_ELEMENTS(cm_map_activation, &k, s->n, lanes);
    }
}

CM_KERNEL void cm_row_layer_norm(const cm_row_step *s, const cm_row_tile *t, int row, bool trains,
                                 const cm_lanes *lanes) {
    cm_layer_norm_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.scale = s->of.norm.scale;
    k.shift = s->of.norm.shift;
    k.groups = s->k;
    k.n = s->n;
    k.epsilon = s->number;
    k.activation = (cm_activation)s->activation;
    if (trains) {
        k.saved = cm_row_rows(t, &s->saved, row);
        k.half = cm_row_half(s, t, &s->half, row);
    }
    for (int run = 0; run < s->k; run++) cm_layer_norm_runs(&k, run, lanes);
}

CM_KERNEL void cm_row_batch_norm(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_batch_norm_args k = CM_NOTHING;
    k.chunks.columns = s->n; /* the channels of a run; all runs of the row, one after the other, are its rows */
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.residual = cm_row_rows(t, &s->z, row);
    k.y.stride = k.x.stride = k.residual.stride = s->n;
    k.scale = s->of.norm.scale;
    k.shift = s->of.norm.shift;
    k.mean = (float *)s->of.norm.mean;
    k.second = (float *)s->of.norm.variance;
    k.constant = true;
    k.epsilon = s->number;
    k.activation = cm_row_relu(s);
    CM_ROW_ELEMENTS(cm_batch_norm_apply, &k, s->n * s->k, lanes);
}

CM_KERNEL void cm_row_minmax(const cm_row_step *s, const cm_row_tile *t, int row, bool trains, const cm_lanes *lanes) {
    cm_minmax_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.groups = k.step = s->k;
    k.n = s->n;
    if (trains) {
        k.saved = cm_row_rows(t, &s->saved, row);
        k.half = cm_row_half(s, t, &s->half, row);
        k.half_x = cm_row_half(s, t, &s->half_x, row);
    }
    for (int group = 0; group < s->k; group++) cm_minmax_groups(&k, group, lanes);
}

CM_KERNEL void cm_row_one_hot(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_softmax_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, row);
    k.x = cm_row_rows(t, &s->x, row);
    k.n = s->n;
    cm_one_hot_rows(&k, 0, lanes);
}

/* y = x, n elements; x NULL: NaN */
CM_KERNEL void cm_row_copy_run(float *y, const float *x, int n, const cm_lanes *lanes) {
    for (int i = lanes->index; i < n; i += CM_FEW * lanes->count) {
        float own[CM_FEW];
        for (int j = 0; j < CM_FEW; j++) own[j] = x ? x[cm_few_at(i, j, n, lanes)] : NAN;
        for (int j = 0, at = i; j < CM_FEW && at < n; j++, at += lanes->count) y[at] = own[j];
    }
}

/* Of x gathered, and of y scattered to, the index names any row. */
CM_KERNEL void cm_row_move(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    const cm_rows any_y = {s->y.data, s->y.stride}, any_x = {s->x.data, s->x.stride};
    cm_index_args k = CM_NOTHING;
    k.y = s->op == CM_OP_scatter_rows ? any_y : cm_row_rows(t, &s->y, row);
    k.x = s->op == CM_OP_gather_rows ? any_x : cm_row_rows(t, &s->x, row);
    k.index = s->index + t->first + row;
    k.n = s->n;
    k.limit = s->limit;
    const int index = *k.index;
    const bool known = cm_is_known(&k, index);
    if (s->op == CM_OP_gather_rows) {
        cm_row_copy_run(k.y.data, known ? cm_row(&k.x, index) : NULL, s->n, lanes);
    } else if (s->op == CM_OP_scatter_rows) {
        if (known) cm_row_copy_run(cm_row(&k.y, index), k.x.data, s->n, lanes);
    } else {
        k.table = s->of.table;
        CM_ROW_ELEMENTS(cm_embed_each, &k, s->n, lanes);
    }
}

CM_KERNEL void cm_row_decode(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_support_args k = CM_NOTHING;
    k.support = s->of.support;
    k.logits = cm_row_rows(t, &s->x, row);
    k.value = cm_row_rows(t, &s->y, row).data;
    cm_support_decode_rows(&k, 0, lanes);
}

CM_KERNEL void cm_row_other(const cm_row_step *s, const cm_row_tile *t, int row, bool trains, const cm_lanes *lanes) {
    switch ((cm_op)s->op) {
    case CM_OP_activation:
    case CM_OP_add: cm_row_map(s, t, row, trains, lanes); break;
    case CM_OP_layer_norm: cm_row_layer_norm(s, t, row, trains, lanes); break;
    case CM_OP_batch_norm_inference: cm_row_batch_norm(s, t, row, lanes); break;
    case CM_OP_minmax: cm_row_minmax(s, t, row, trains, lanes); break;
    case CM_OP_one_hot: cm_row_one_hot(s, t, row, lanes); break;
    case CM_OP_embedding_add:
    case CM_OP_gather_rows:
    case CM_OP_scatter_rows: cm_row_move(s, t, row, lanes); break;
    case CM_OP_support_decode: cm_row_decode(s, t, row, lanes); break;
    default: break; /* a pass has no others */
    }
}

/* ---- of fused segments ---- */

/* Rows that a pass has as copies alone, back in 32 bits. */
CM_KERNEL void cm_row_widen(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    const cm_half_rows from = cm_row_half(s, t, &s->of.from, row);
    float *y = cm_row_rows(t, &s->y, row).data;
    CM_EACH(i, lanes, s->n) y[i] = cm_widen(from.data[i], from.type);
}

/* scale_add and activation_backward. */
CM_KERNEL void cm_row_map_back(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_map_args k = CM_NOTHING;
    k.out = cm_row_rows(t, &s->y, row);
    k.a = cm_row_rows(t, &s->x, row);
    k.b = cm_row_rows(t, &s->z, row);
    k.c = cm_row_rows(t, &s->w, row);
    k.half = cm_row_half(s, t, &s->half, row);
    k.n = s->n;
    k.activation = (cm_activation)s->activation;
    k.scale = s->number;
    k.add = s->add;
    if (s->op == CM_OP_scale_add) {
        CM_ROW_ELEMENTS(cm_map_scale, &k, s->n, lanes);
    } else {
        CM_ROW_ELEMENTS(cm_map_slope, &k, s->n, lanes);
    }
}

CM_KERNEL void cm_row_layer_norm_back(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_layer_norm_args k = CM_NOTHING;
    k.dx = cm_row_rows(t, &s->y, row);
    k.dy = cm_row_rows(t, &s->x, row);
    k.x = cm_row_rows(t, &s->z, row);
    k.saved = cm_row_rows(t, &s->saved, row);
    k.half = cm_row_half(s, t, &s->half, row);
    k.scale = s->of.norm.scale;
    k.shift = s->of.norm.shift;
    k.groups = s->k;
    k.n = s->n;
    k.activation = (cm_activation)s->activation;
    k.add = s->add;
    for (int run = 0; run < s->k; run++) cm_layer_norm_slopes(&k, run, lanes);
}

CM_KERNEL void cm_row_minmax_back(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    cm_minmax_args k = CM_NOTHING;
    k.dx = cm_row_rows(t, &s->y, row);
    k.dy = cm_row_rows(t, &s->x, row);
    k.y = cm_row_rows(t, &s->z, row);
    k.saved = cm_row_rows(t, &s->saved, row);
    k.half = cm_row_half(s, t, &s->half, row);
    k.groups = k.step = s->k;
    k.n = s->n;
    k.add = s->add;
    for (int group = 0; group < s->k; group++) cm_minmax_slopes(&k, group, lanes);
}

/* y, which the same lanes have made, once more. */
CM_KERNEL void cm_row_put_also(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    const float *y = cm_row_rows(t, &s->y, row).data;
    float *also = cm_row_rows(t, &s->also, row).data;
    if (!also) return;
    cm_lanes_sync(lanes);
    CM_EACH(i, lanes, s->n * s->k) also[i] = y[i];
}

CM_KERNEL void cm_row_trained(const cm_row_step *s, const cm_row_tile *t, int row, const cm_lanes *lanes) {
    switch ((cm_op)s->op) {
    case CM_OP_scale_add:
    case CM_OP_activation_backward: cm_row_map_back(s, t, row, lanes); break;
    case CM_OP_layer_norm_backward: cm_row_layer_norm_back(s, t, row, lanes); break;
    case CM_OP_minmax_backward: cm_row_minmax_back(s, t, row, lanes); break;
    default:
        if (s->op == CM_OP_activation && s->of.from.data) {
            cm_row_widen(s, t, row, lanes);
        } else {
            cm_row_other(s, t, row, true, lanes);
        }
    }
    cm_row_put_also(s, t, row, lanes);
}

/* ---- the pass: parts of the kernel, since what is called would have to ask which memory it reads ---- */

/* Says what a step will read besides rows; of a weight at most `ahead` bytes. */
CM_KERNEL void cm_row_fetch(const cm_row_step *s, size_t ahead, const cm_lanes *lanes) {
    const size_t vector = (size_t)s->n * sizeof(float);
    if (cm_row_is_layer(s)) {
        const size_t rows = (size_t)(s->op == CM_OP_dense ? s->n : s->k);
        const size_t bytes = rows * (size_t)s->of.dense.weight_row * (s->type == CM_F32 ? 4 : 2);
        cm_lanes_fetch(lanes, s->of.dense.weight, bytes < ahead ? bytes : ahead);
        if (s->of.dense.bias) cm_lanes_fetch(lanes, s->of.dense.bias, vector);
    } else if (s->op == CM_OP_layer_norm || s->op == CM_OP_layer_norm_backward) {
        cm_lanes_fetch(lanes, s->of.norm.scale, vector * (size_t)s->k);
        cm_lanes_fetch(lanes, s->of.norm.shift, vector * (size_t)s->k);
    }
}

CM_KERNEL_COPIED void cm_row_step_run(const cm_row_step *s, const cm_row_tile *t, bool trains, const cm_lanes *lanes) {
    if (s->op == CM_OP_dense) {
        cm_row_layer(s, t, false, lanes);
        return;
    }
    if (trains && s->op == CM_OP_dense_backward) {
        cm_row_layer(s, t, true, lanes);
        return;
    }
    const cm_lanes part = cm_lanes_part(lanes, cm_row_lanes(t->is_short));
    const int row = lanes->index / part.count;
    if (row >= t->rows) return;
    if (trains) {
        cm_row_trained(s, t, row, &part);
    } else {
        cm_row_other(s, t, row, false, &part);
    }
}

CM_KERNEL_COPIED void cm_row_steps(const cm_row_kernel_args *a, int64_t item, bool trains, const cm_lanes *lanes) {
    enum { AHEAD = 2 };
    const cm_lanes block = *lanes; /* not to be read again for every step */
    const int steps = a->steps;
    cm_row_tile t;
    t.first = (int)item * a->tile;
    t.rows = cm_least(a->rows - t.first, a->tile);
    t.is_short = a->tile < CM_ROW_TILE;
    t.memory = lanes->memory;
    if (trains && a->keeps) {
        cm_row_keep_all(a, t.memory, &block);
        cm_lanes_sync(&block);
    }
    for (int i = -AHEAD; i < steps; i++) {
        if (i > 0) cm_lanes_sync(&block);
        if (i + AHEAD < steps) cm_row_fetch(&a->step[i + AHEAD], a->ahead, &block);
        if (i >= 0) cm_row_step_run(&a->step[i], &t, trains, &block);
    }
}

/* Item: a tile of rows; CM_BLOCK lanes, which share a->memory bytes. The second one has what segments take, too. */
CM_KERNEL void cm_row_inference(const cm_row_kernel_args *a, int64_t item, const cm_lanes *lanes) {
    cm_row_steps(a, item, false, lanes);
}
CM_KERNEL void cm_row_training(const cm_row_kernel_args *a, int64_t item, const cm_lanes *lanes) {
    cm_row_steps(a, item, true, lanes);
}

#define CM_ROW_KERNELS(X)                                                                                              \
    X(cm_row_inference, cm_row_kernel_args)                                                                            \
    X(cm_row_training, cm_row_kernel_args)
CM_ROW_KERNELS(CM_KERNEL_ENTRY)

#endif
