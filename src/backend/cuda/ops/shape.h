/* Kernels of pooling, action encodings, embeddings, gathered and scattered rows, and their gradients, and of
 * bootstraps.
 *
 * The device reports no action or a row number out of range (the run would have to wait for it): what is made
 * with one is NaN, which the finite checks of a training step find, and nothing outside a tensor is read or written. */
#ifndef CM_BACKEND_CUDA_OPS_SHAPE_H
#define CM_BACKEND_CUDA_OPS_SHAPE_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

typedef struct cm_pool_args {
    cm_rows y, x;      /* a sample per row; `out` of a gradient is y */
    int H, W, P, Q, C; /* x is [B, H, W, C], y is [B, P, Q, C]; global_mean: P = Q = 1 */
    bool add;          /* the output of a gradient */
} cm_pool_args;

/* A cell (h, w) and its channel. */
typedef struct cm_cell {
    int64_t b;
    int h, w, c;
} cm_cell;

static CM_HD inline cm_cell cm_cell_of(int64_t item, int H, int W, int C) {
    cm_place sample = cm_place_of(item, (int64_t)H * W * C), row = cm_place_of(sample.column, (int64_t)W * C);
    cm_place cell = cm_place_of(row.column, C);
    cm_cell at = {sample.row, (int)row.row, (int)cell.row, (int)cell.column};
    return at;
}

static CM_HD inline int cm_least(int a, int b) { return a < b ? a : b; }

/* Item: an element of y; 1 lane. 3x3, stride 2, padding 1, always divided by 9. */
CM_KERNEL void cm_avg_pool_each(const cm_pool_args *k, int64_t item, const cm_lanes *lanes) {
    cm_cell at = cm_cell_of(item, k->P, k->Q, k->C);
    const float *x = cm_row(&k->x, at.b) + at.c;
    float sum = 0.0f;
    (void)lanes;
    for (int h = at.h > 0 ? 2 * at.h - 1 : 0; h <= 2 * at.h + 1 && h < k->H; h++)
        for (int w = at.w > 0 ? 2 * at.w - 1 : 0; w <= 2 * at.w + 1 && w < k->W; w++)
            sum += x[((int64_t)h * k->W + w) * k->C];
    cm_row(&k->y, at.b)[item - at.b * k->P * k->Q * k->C] = sum / CM_POOL_AREA;
}

/* Item: an element of x, which is written: the windows p with 2 p - 1 <= h <= 2 p + 1. */
CM_KERNEL void cm_avg_pool_slopes(const cm_pool_args *k, int64_t item, const cm_lanes *lanes) {
    cm_cell at = cm_cell_of(item, k->H, k->W, k->C);
    const float *dy = cm_row(&k->y, at.b) + at.c;
    float sum = 0.0f;
    (void)lanes;
    for (int p = at.h / 2; p <= (at.h + 1) / 2 && p < k->P; p++)
        for (int q = at.w / 2; q <= (at.w + 1) / 2 && q < k->Q; q++) sum += dy[((int64_t)p * k->Q + q) * k->C];
    cm_put(cm_row(&k->x, at.b) + (item - at.b * k->H * k->W * k->C), sum / CM_POOL_AREA, k->add);
}

/* Item: a channel of a sample; 1 lane. */
CM_KERNEL void cm_global_mean_each(const cm_pool_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->C);
    const float *x = cm_at(&k->x, at);
    int cells = k->H * k->W;
    float sum = 0.0f;
    (void)lanes;
    for (int i = 0; i < cells; i++) sum += x[(int64_t)i * k->C];
    *cm_at(&k->y, at) = sum / (float)cells;
}

/* Item: an element of x, which is written. */
CM_KERNEL void cm_global_mean_slopes(const cm_pool_args *k, int64_t item, const cm_lanes *lanes) {
    cm_cell at = cm_cell_of(item, k->H, k->W, k->C);
    float value = cm_row(&k->y, at.b)[at.c] / (float)(k->H * k->W);
    (void)lanes;
    cm_put(cm_row(&k->x, at.b) + (item - at.b * k->H * k->W * k->C), value, k->add);
}

typedef struct cm_index_args {
    cm_rows y, x, table;        /* table[limit, *] */
    const int32_t *index;       /* an action per sample, or a row number */
    int64_t n;                  /* elements of a row */
    int limit;                  /* index must be in [0, limit) */
    int cells, channels, width; /* action_encoding: cells of a sample, columns of x and of y */
    cm_encoding encoding;
    int actions;
    int64_t samples;    /* embedding_add's gradient: B */
    const float *times; /* bootstrap: a coefficient per number */
    bool add;
} cm_index_args;

static CM_HD inline bool cm_is_known(const cm_index_args *k, int index) { return index >= 0 && index < k->limit; }

/* Item: an element of y[rows, width]; 1 lane. x and after it the encoding. */
CM_KERNEL void cm_encode_each(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->width), sample = cm_place_of(at.row, k->cells);
    float value;
    (void)lanes;
    if (at.column < k->channels) {
        value = *cm_at(&k->x, at);
    } else {
        int action = k->index[sample.row];
        cm_encoded e = cm_encoded_of(k->encoding, k->actions, action, (int)sample.column);
        value = !cm_is_known(k, action) ? NAN : at.column - k->channels == e.column ? e.value : 0.0f;
    }
    *cm_at(&k->y, at) = value;
}

/* Item: an element; 1 lane. y (+)= x: rows of n, which may be the first columns of longer ones. */
CM_KERNEL void cm_copy_each(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    (void)lanes;
    cm_put(cm_at(&k->y, at), *cm_at(&k->x, at), k->add);
}

/* Item: an element; 1 lane. y = x + table[action] */
CM_KERNEL void cm_embed_each(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    int action = k->index[at.row];
    (void)lanes;
    *cm_at(&k->y, at) = cm_is_known(k, action) ? *cm_at(&k->x, at) + cm_row(&k->table, action)[at.column] : NAN;
}

/* Item: an element of table[A, n]; cm_lanes_for_sum(samples) lanes. table[a] (+)= the sum of x over the samples with
 * action a. */
CM_KERNEL void cm_embed_slopes(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    float sum = 0.0f;
    for (int64_t b = lanes->index; b < k->samples; b += lanes->count)
        if (k->index[b] == at.row) sum += cm_row(&k->x, b)[at.column];
    sum = (float)cm_lanes_sum(lanes, (double)sum);
    if (lanes->index == 0) cm_put(cm_at(&k->table, at), sum, k->add);
}

/* Item: an element of y; 1 lane. y[i] = x[index[i]] */
CM_KERNEL void cm_gather_each(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    int row = k->index[at.row];
    (void)lanes;
    *cm_at(&k->y, at) = cm_is_known(k, row) ? cm_row(&k->x, row)[at.column] : NAN;
}

/* Item: an element of x; 1 lane. y[index[i]] = x[i] */
CM_KERNEL void cm_scatter_each(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    int row = k->index[at.row];
    (void)lanes;
    if (cm_is_known(k, row)) cm_row(&k->y, row)[at.column] = *cm_at(&k->x, at);
}

/* Item: four neighbours, else as above. Rows are fours (cm_are_fours), n is a multiple of them. */
CM_KERNEL void cm_gather_fours(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, k->n / CM_FOUR);
    const cm_four none = {{NAN, NAN, NAN, NAN}};
    const int row = k->index[at.row];
    (void)lanes;
    *(cm_four *)(void *)(cm_row(&k->y, at.row) + at.column * CM_FOUR) =
        cm_is_known(k, row) ? cm_four_at(cm_row(&k->x, row) + at.column * CM_FOUR) : none;
}
CM_KERNEL void cm_scatter_fours(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, k->n / CM_FOUR);
    const cm_four x = cm_four_at(cm_row(&k->x, at.row) + at.column * CM_FOUR);
    const int row = k->index[at.row];
    (void)lanes;
    if (cm_is_known(k, row)) *(cm_four *)(void *)(cm_row(&k->y, row) + at.column * CM_FOUR) = x;
}

/* Item: a number of y; 1 lane. y = x + times * table[index] */
CM_KERNEL void cm_bootstrap_each(const cm_index_args *k, int64_t item, const cm_lanes *lanes) {
    const float times = k->times[item];
    float value = 0.0f;
    (void)lanes;
    if (times != 0.0f) value = cm_is_known(k, k->index[item]) ? *cm_row(&k->table, k->index[item]) : NAN;
    *cm_row(&k->y, item) = cm_bootstrapped(*cm_row(&k->x, item), times, value);
}

#define CM_SHAPE_KERNELS(X)                                                                                            \
    X(cm_avg_pool_each, cm_pool_args)                                                                                  \
    X(cm_avg_pool_slopes, cm_pool_args)                                                                                \
    X(cm_global_mean_each, cm_pool_args)                                                                               \
    X(cm_global_mean_slopes, cm_pool_args)                                                                             \
    X(cm_encode_each, cm_index_args)                                                                                   \
    X(cm_copy_each, cm_index_args)                                                                                     \
    X(cm_embed_each, cm_index_args)                                                                                    \
    X(cm_embed_slopes, cm_index_args)                                                                                  \
    X(cm_gather_each, cm_index_args)                                                                                   \
    X(cm_scatter_each, cm_index_args)                                                                                  \
    X(cm_gather_fours, cm_index_args)                                                                                  \
    X(cm_scatter_fours, cm_index_args)                                                                                 \
    X(cm_bootstrap_each, cm_index_args)
CM_SHAPE_KERNELS(CM_KERNEL_ENTRY)

#endif
