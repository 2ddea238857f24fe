/* Kernels of layer_norm and its gradient. A run is n elements of a row with their own mean and variance. */
#ifndef CM_BACKEND_CUDA_OPS_LAYER_NORM_H
#define CM_BACKEND_CUDA_OPS_LAYER_NORM_H

#include "backend/cuda/ops/columns.h"

typedef struct cm_layer_norm_args {
    cm_rows y, saved, x, dx, dy; /* y: forward only */
    cm_half_rows half;           /* of y or dx */
    const float *scale, *shift;  /* [groups * n] */
    int groups, n;
    float epsilon;
    cm_activation activation;
    bool add;         /* dx += */
    cm_chunks chunks; /* of the gradients of scale and shift */
} cm_layer_norm_args;

/* sum / n. By a power of two a device multiplies, which is as exact and takes a small part of the time. */
static CM_HD inline float cm_mean_of(double sum, int n) {
    return (float)((n & (n - 1)) == 0 ? sum * (double)(1.0f / (float)n) : sum / n);
}

/* Item: run g of row r, in order; cm_lanes_for(n) lanes. y, and mean and 1/std into saved if that is there. */
CM_KERNEL void cm_layer_norm_runs(const cm_layer_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place run = cm_place_of(item, k->groups);
    int64_t first = run.column * k->n;
    const float *x = cm_row(&k->x, run.row) + first;
    float *y = cm_row(&k->y, run.row) + first;
    float sum = 0.0f, squares = 0.0f;
    CM_EACH(i, lanes, k->n) sum += x[i];
    float mean = cm_mean_of(cm_lanes_sum(lanes, (double)sum), k->n);
    CM_EACH(i, lanes, k->n) squares += (x[i] - mean) * (x[i] - mean);
    float inverse = 1.0f / sqrtf(cm_mean_of(cm_lanes_sum(lanes, (double)squares), k->n) + k->epsilon);
    for (int i = lanes->index; i < k->n; i += CM_FEW * lanes->count) {
        float own[CM_FEW];
        for (int j = 0; j < CM_FEW; j++) {
            const int at = cm_few_at(i, j, k->n, lanes);
            own[j] = (x[at] - mean) * inverse * k->scale[first + at] + k->shift[first + at];
        }
        for (int j = 0, at = i; j < CM_FEW && at < k->n; j++, at += lanes->count) {
            y[at] = cm_act_f(k->activation, own[j]);
            cm_put_half(&k->half, run.row, first + at, y[at]);
        }
    }
    if (!k->saved.data || lanes->index != 0) return;
    float *saved = cm_row(&k->saved, run.row) + 2 * run.column;
    saved[0] = mean;
    saved[1] = inverse;
}

/* An element of the backward pass: the normalised input, and the gradient at normal * scale + shift. */
typedef struct cm_layer_norm_element {
    float normal, gradient;
} cm_layer_norm_element;

static CM_HD inline cm_layer_norm_element cm_layer_norm_at(const cm_layer_norm_args *k, int64_t row, int64_t i) {
    const float *saved = cm_row(&k->saved, row) + 2 * (i / k->n);
    float normal = (cm_row(&k->x, row)[i] - saved[0]) * saved[1];
    float before = normal * k->scale[i] + k->shift[i]; /* as positive as what relu has made of it */
    float slope = cm_slope_f(k->activation, before, before);
    cm_layer_norm_element e = {normal, cm_row(&k->dy, row)[i] * slope};
    return e;
}

/* Item: a run, as above. dx, which may be dy. */
CM_KERNEL void cm_layer_norm_slopes(const cm_layer_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place run = cm_place_of(item, k->groups);
    int64_t first = run.column * k->n;
    float sum = 0.0f, along = 0.0f;
    CM_EACH(i, lanes, k->n) {
        cm_layer_norm_element e = cm_layer_norm_at(k, run.row, first + i);
        float g = e.gradient * k->scale[first + i];
        sum += g;
        along += g * e.normal;
    }
    float mean_g = cm_mean_of(cm_lanes_sum(lanes, (double)sum), k->n);
    float mean_along = cm_mean_of(cm_lanes_sum(lanes, (double)along), k->n);
    float inverse = cm_row(&k->saved, run.row)[2 * run.column + 1];
    CM_EACH(i, lanes, k->n) {
        cm_layer_norm_element e = cm_layer_norm_at(k, run.row, first + i);
        float g = e.gradient * k->scale[first + i];
        float *dx = cm_row(&k->dx, run.row) + first + i;
        cm_put(dx, cm_norm_slope_f(inverse, g, e.normal, mean_g, mean_along), k->add);
        cm_put_half(&k->half, run.row, first + i, *dx);
    }
}

/* Item: a column of a chunk; 1 lane. Parts: the gradients of scale and of shift. */
CM_KERNEL void cm_layer_norm_partial(const cm_layer_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_chunk chunk = cm_chunk_of(&k->chunks, item);
    float of_scale = 0.0f, of_shift = 0.0f;
    (void)lanes;
    for (int64_t r = chunk.first; r < chunk.end; r++) {
        cm_layer_norm_element e = cm_layer_norm_at(k, r, chunk.column);
        of_scale += e.gradient * e.normal;
        of_shift += e.gradient;
    }
    chunk.partial[0] = of_scale;
    chunk.partial[k->chunks.columns] = of_shift;
}

/* ---- hosts ---- */

/* What layer_norm_backward sums over its rows, without a place for the parts; false: the call makes no such sums. */
bool cm_layer_norm_sums(const cm_call *call, cm_layer_norm_args *partial, cm_columns_args *finish);

#define CM_LAYER_NORM_KERNELS(X)                                                                                       \
    X(cm_layer_norm_runs, cm_layer_norm_args)                                                                          \
    X(cm_layer_norm_slopes, cm_layer_norm_args)                                                                        \
    X(cm_layer_norm_partial, cm_layer_norm_args)
CM_LAYER_NORM_KERNELS(CM_KERNEL_ENTRY)

#endif
