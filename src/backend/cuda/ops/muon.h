/* Kernels of a Muon step (backend/muon.h): the iteration on a matrix that lies in the workspace. */
#ifndef CM_BACKEND_CUDA_OPS_MUON_H
#define CM_BACKEND_CUDA_OPS_MUON_H

#include "backend/cuda/ops/optimizer.h"
#include "backend/muon.h"

typedef struct cm_muon_args {
    cm_vector_args step;   /* parameter and copies, momentum, gradient, factor, rates; its rate has the scale in it */
    bool is_turned;        /* X is the transpose of the gradient */
    int64_t rows, columns; /* of X */
    int64_t parameter_row, momentum_row, gradient_row; /* elements from row to row */
    cm_dtype compute;
    float *x, *next;             /* [rows, columns] */
    float *gram, *update, *norm; /* [rows, rows], [rows, rows], [1] */
    float decay;                 /* rate times weight decay, without the scale */
} cm_muon_args;

/* Where element `item` of X lies in a tensor with rows so far apart. */
static CM_HD inline int64_t cm_muon_at(const cm_muon_args *k, int64_t item, int64_t row) {
    const cm_place place = cm_place_of(item, k->columns);
    return k->is_turned ? place.column * row + place.row : place.row * row + place.column;
}

static CM_HD inline float cm_muon_rounded(const cm_muon_args *k, float x) { return cm_rounded(x, k->compute); }

/* Item: an element of X; 1 lane. */
CM_KERNEL void cm_muon_begin_each(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    float *momentum = &k->step.first[cm_muon_at(k, item, k->momentum_row)];
    const float gradient = k->step.x[cm_muon_at(k, item, k->gradient_row)];
    cm_rates_f rates;
    (void)lanes;
    if (!cm_step_rates(&k->step, &rates)) return;
    k->x[item] = cm_muon_rounded(k, cm_muon_momentum(momentum, rates.gradient_scale * gradient, rates.beta1));
}

/* One item; CM_BLOCK lanes. */
CM_KERNEL void cm_muon_norm_all(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    double sum = 0.0;
    (void)item;
    for (int64_t i = lanes->index; i < k->rows * k->columns; i += lanes->count)
        sum += (double)k->x[i] * (double)k->x[i];
    sum = cm_lanes_sum(lanes, sum);
    if (lanes->index == 0) k->norm[0] = fmaxf(cm_muon_rounded(k, (float)sqrt(sum)), CM_MUON_FLOOR);
}

/* Item: an element of X; 1 lane. */
CM_KERNEL void cm_muon_divide_each(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    (void)lanes;
    k->x[item] = cm_muon_rounded(k, k->x[item] / k->norm[0]);
}

/* The product of rows i and j of x[*, n]. */
CM_KERNEL double cm_muon_dot(const float *x, int64_t i, int64_t j, int64_t n, const cm_lanes *lanes) {
    double sum = 0.0;
    for (int64_t c = lanes->index; c < n; c += lanes->count) sum += (double)(x[i * n + c] * x[j * n + c]);
    return cm_lanes_sum(lanes, sum);
}

/* Item: an element of [rows, rows]; CM_WARP lanes. gram = X X^T. */
CM_KERNEL void cm_muon_gram_each(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place place = cm_place_of(item, k->rows);
    const double sum = cm_muon_dot(k->x, place.row, place.column, k->columns, lanes);
    if (lanes->index == 0) k->gram[item] = cm_muon_rounded(k, (float)sum);
}

/* Item: an element of [rows, rows]; CM_WARP lanes. update = b gram + c gram gram; gram is its own transpose. */
CM_KERNEL void cm_muon_update_each(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place place = cm_place_of(item, k->rows);
    const double sum = cm_muon_dot(k->gram, place.row, place.column, k->rows, lanes);
    if (lanes->index == 0)
        k->update[item] = cm_muon_rounded(k, (float)(CM_MUON_B * (double)k->gram[item] + CM_MUON_C * sum));
}

/* Item: an element of X; 1 lane. next = a X + update X. */
CM_KERNEL void cm_muon_apply_each(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place place = cm_place_of(item, k->columns);
    float sum = (float)CM_MUON_A * k->x[item];
    (void)lanes;
    for (int64_t i = 0; i < k->rows; i++)
        sum += k->update[place.row * k->rows + i] * k->x[i * k->columns + place.column];
    k->next[item] = cm_muon_rounded(k, sum);
}

/* Item: an element of X; 1 lane. */
CM_KERNEL void cm_muon_step_each(const cm_muon_args *k, int64_t item, const cm_lanes *lanes) {
    const int64_t at = cm_muon_at(k, item, k->parameter_row);
    cm_rates_f rates;
    (void)lanes;
    if (!cm_step_rates(&k->step, &rates)) return;
    cm_put_parameter(&k->step, at, (1.0f - k->decay) * k->step.y[at] - rates.rate * k->x[item]);
}

#define CM_MUON_KERNELS(X)                                                                                             \
    X(cm_muon_begin_each, cm_muon_args)                                                                                \
    X(cm_muon_norm_all, cm_muon_args)                                                                                  \
    X(cm_muon_divide_each, cm_muon_args)                                                                               \
    X(cm_muon_gram_each, cm_muon_args)                                                                                 \
    X(cm_muon_update_each, cm_muon_args)                                                                               \
    X(cm_muon_apply_each, cm_muon_args)                                                                                \
    X(cm_muon_step_each, cm_muon_args)
CM_MUON_KERNELS(CM_KERNEL_ENTRY)

#endif
