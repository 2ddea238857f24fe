/* Kernels of softmax, log_softmax, simnorm, one_hot and their gradients. A run is n neighbouring elements of a row. */
#ifndef CM_BACKEND_CUDA_OPS_SOFTMAX_H
#define CM_BACKEND_CUDA_OPS_SOFTMAX_H

#include "backend/cuda/ops/minmax.h"

typedef struct cm_softmax_args {
    cm_rows y, x, legal, dx, dy;
    int runs, n; /* of a row; n elements each */
    bool add;    /* dx += */
} cm_softmax_args;

/* The largest entry of x[n] whose legal[i] is not 0 (legal may be NULL). All lanes call it. */
CM_KERNEL float cm_softmax_most(const float *x, const float *legal, int n, const cm_lanes *lanes) {
    float most = -INFINITY;
    CM_EACH(i, lanes, n) most = !legal || legal[i] != 0.0f ? fmaxf(most, x[i]) : most;
    return cm_lanes_max(lanes, most);
}

/* Over those entries. A NaN makes everything NaN. All lanes call it. */
CM_KERNEL cm_softmax_f cm_softmax_over(const float *x, const float *legal, int n, const cm_lanes *lanes) {
    const float most = cm_softmax_most(x, legal, n, lanes);
    float sum = 0.0f;
    CM_EACH(i, lanes, n) sum += !legal || legal[i] != 0.0f ? expf(x[i] - most) : 0.0f;
    float total = (float)cm_lanes_sum(lanes, (double)sum);
    cm_softmax_f s = {most, total, logf(total)};
    return s;
}

/* Item: a run, in order; cm_lanes_for(n) lanes. */
CM_KERNEL void cm_softmax_runs(const cm_softmax_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place run = cm_place_of(item, k->runs);
    int64_t first = run.column * k->n;
    const float *x = cm_row(&k->x, run.row) + first, *legal = k->legal.data ? cm_row(&k->legal, run.row) + first : NULL;
    float *y = cm_row(&k->y, run.row) + first;
    cm_softmax_f s = cm_softmax_over(x, legal, k->n, lanes);
    CM_EACH(i, lanes, k->n) y[i] = legal && legal[i] == 0.0f ? 0.0f : cm_softmax_probability_f(&s, x[i]);
}

CM_KERNEL void cm_log_softmax_runs(const cm_softmax_args *k, int64_t item, const cm_lanes *lanes) {
    const float *x = cm_row(&k->x, item);
    float *y = cm_row(&k->y, item);
    cm_softmax_f s = cm_softmax_over(x, NULL, k->n, lanes);
    CM_EACH(i, lanes, k->n) y[i] = cm_softmax_log_f(&s, x[i]);
}

/* dx = y (dy - sum of dy y); dx may be dy. */
CM_KERNEL void cm_softmax_slopes(const cm_softmax_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place run = cm_place_of(item, k->runs);
    int64_t first = run.column * k->n;
    const float *y = cm_row(&k->y, run.row) + first, *dy = cm_row(&k->dy, run.row) + first;
    float *dx = cm_row(&k->dx, run.row) + first, along = 0.0f;
    CM_EACH(i, lanes, k->n) along += dy[i] * y[i];
    along = (float)cm_lanes_sum(lanes, (double)along);
    CM_EACH(i, lanes, k->n) cm_put(dx + i, y[i] * (dy[i] - along), k->add);
}

/* dx = dy - e^y sum of dy; dx may be dy. */
CM_KERNEL void cm_log_softmax_slopes(const cm_softmax_args *k, int64_t item, const cm_lanes *lanes) {
    const float *y = cm_row(&k->y, item), *dy = cm_row(&k->dy, item);
    float *dx = cm_row(&k->dx, item), sum = 0.0f;
    CM_EACH(i, lanes, k->n) sum += dy[i];
    sum = (float)cm_lanes_sum(lanes, (double)sum);
    CM_EACH(i, lanes, k->n) cm_put(dx + i, dy[i] - expf(y[i]) * sum, k->add);
}

/* Item: a row; cm_lanes_for(n) lanes. */
CM_KERNEL void cm_one_hot_rows(const cm_softmax_args *k, int64_t item, const cm_lanes *lanes) {
    float *y = cm_row(&k->y, item);
    const int best = cm_find_extremes(cm_row(&k->x, item), k->n, 1, lanes).high;
    CM_EACH(i, lanes, k->n) y[i] = i == best ? 1.0f : 0.0f;
}

#define CM_SOFTMAX_KERNELS(X)                                                                                          \
    X(cm_softmax_runs, cm_softmax_args)                                                                                \
    X(cm_log_softmax_runs, cm_softmax_args)                                                                            \
    X(cm_softmax_slopes, cm_softmax_args)                                                                              \
    X(cm_log_softmax_slopes, cm_softmax_args)                                                                          \
    X(cm_one_hot_rows, cm_softmax_args)
CM_SOFTMAX_KERNELS(CM_KERNEL_ENTRY)

#endif
