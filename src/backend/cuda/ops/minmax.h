/* Kernels of minmax and its gradient. A group is a sample, or one channel of it: n elements `step` apart. */
#ifndef CM_BACKEND_CUDA_OPS_MINMAX_H
#define CM_BACKEND_CUDA_OPS_MINMAX_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

typedef struct cm_minmax_args {
    cm_rows y, saved, x, dx, dy;
    cm_half_rows half, half_x; /* of y or dx; of x */
    int groups, n, step;       /* group g begins at element g of its row */
    bool add;                  /* dx += */
} cm_minmax_args;

/* The first places of the smallest and of the largest of x, `step` apart; 0 if the first is NaN. */
typedef struct cm_extremes {
    int low, high;
} cm_extremes;

/* Each is read once for both. All lanes call it. */
CM_KERNEL cm_extremes cm_find_extremes(const float *x, int n, int step, const cm_lanes *lanes) {
    cm_found least = {INFINITY, INT32_MAX}, most = least; /* most: of -x */
    for (int i = lanes->index; i < n; i += CM_FEW * lanes->count) {
        float own[CM_FEW];
        for (int j = 0; j < CM_FEW; j++) own[j] = x[(int64_t)cm_few_at(i, j, n, lanes) * step];
        for (int j = 0; j < CM_FEW; j++) {
            const cm_found here = {own[j], cm_few_at(i, j, n, lanes)}, turned = {-own[j], here.at};
            least = cm_found_least(least, here);
            most = cm_found_least(most, turned);
        }
    }
    least = cm_lanes_least(lanes, least);
    most = cm_lanes_least(lanes, most);
    const bool is_known = !isnan(x[0]);
    const cm_extremes found = {is_known && least.at < n ? least.at : 0, is_known && most.at < n ? most.at : 0};
    return found;
}

/* Item: group g of row r, in order; cm_lanes_for(n) lanes. y, and first minimum, first maximum, 1/R into saved if that
 * is there. */
CM_KERNEL void cm_minmax_groups(const cm_minmax_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place group = cm_place_of(item, k->groups);
    const float *x = cm_at(&k->x, group);
    float *y = cm_at(&k->y, group);
    const cm_extremes found = cm_find_extremes(x, k->n, k->step, lanes);
    float least = x[(int64_t)found.low * k->step], range = cm_minmax_range_f(x[(int64_t)found.high * k->step] - least);
    for (int i = lanes->index; i < k->n; i += CM_FEW * lanes->count) {
        float own[CM_FEW];
        for (int j = 0; j < CM_FEW; j++) own[j] = x[(int64_t)cm_few_at(i, j, k->n, lanes) * k->step];
        for (int j = 0; j < CM_FEW && i + j * lanes->count < k->n; j++) {
            const int64_t at = (int64_t)(i + j * lanes->count) * k->step;
            y[at] = (own[j] - least) / range;
            cm_put_half(&k->half, group.row, group.column + at, y[at]);
            cm_put_half(&k->half_x, group.row, group.column + at, own[j]);
        }
    }
    if (!k->saved.data || lanes->index != 0) return;
    float *saved = cm_row(&k->saved, group.row) + 3 * group.column;
    saved[0] = (float)found.low;
    saved[1] = (float)found.high;
    saved[2] = 1.0f / range;
}

/* Item: a sample of one group, whose rows are fours (cm_are_fours); cm_lanes_for(n) lanes. y alone: places of the
 * extremes are not asked for. */
CM_KERNEL void cm_minmax_fours(const cm_minmax_args *k, int64_t item, const cm_lanes *lanes) {
    enum { TURN = 4 }; /* fours that a lane reads before it looks at the first */
    const float *x = cm_row(&k->x, item);
    float *y = cm_row(&k->y, item), least = INFINITY, most = -INFINITY;
    const int n = k->n / CM_FOUR;
    for (int i = lanes->index; i < n; i += TURN * lanes->count) {
        cm_four own[TURN];
        CM_UNROLL(j, TURN) own[j] = cm_four_at(x + (int64_t)cm_few_at(i, j, n, lanes) * CM_FOUR);
        CM_UNROLL(j, TURN * CM_FOUR) {
            least = fminf(least, own[j / CM_FOUR].v[j % CM_FOUR]);
            most = fmaxf(most, own[j / CM_FOUR].v[j % CM_FOUR]);
        }
    }
    least = -cm_lanes_max(lanes, -least), most = cm_lanes_max(lanes, most);
    if (isnan(x[0])) least = most = NAN; /* as it would be the first of both */
    const float range = cm_minmax_range_f(most - least);
    for (int i = lanes->index; i < n; i += TURN * lanes->count) {
        cm_four own[TURN];
        CM_UNROLL(j, TURN) own[j] = cm_four_at(x + (int64_t)cm_few_at(i, j, n, lanes) * CM_FOUR);
        for (int j = 0; j < TURN && i + j * lanes->count < n; j++) {
            CM_UNROLL(e, CM_FOUR) own[j].v[e] = (own[j].v[e] - least) / range;
            *(cm_four *)(void *)(y + (int64_t)(i + j * lanes->count) * CM_FOUR) = own[j];
        }
    }
}

/* Item: a group, as above. dx, which may be dy. */
CM_KERNEL void cm_minmax_slopes(const cm_minmax_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place group = cm_place_of(item, k->groups);
    const float *dy = cm_at(&k->dy, group), *y = cm_at(&k->y, group);
    const float *saved = cm_row(&k->saved, group.row) + 3 * group.column;
    float *dx = cm_at(&k->dx, group), sum = 0.0f, along = 0.0f;
    CM_EACH(i, lanes, k->n) {
        sum += dy[(int64_t)i * k->step];
        along += dy[(int64_t)i * k->step] * y[(int64_t)i * k->step];
    }
    cm_minmax_group_f g = {(int)saved[0], (int)saved[1], 0.0f, 0.0f, saved[2]};
    g.sum = (float)cm_lanes_sum(lanes, (double)sum);
    g.along = (float)cm_lanes_sum(lanes, (double)along);
    CM_EACH(i, lanes, k->n) {
        const int64_t at = (int64_t)i * k->step;
        cm_put(dx + at, cm_minmax_slope_f(dy[at], i, &g), k->add);
        cm_put_half(&k->half, group.row, group.column + at, dx[at]);
    }
}

#define CM_MINMAX_KERNELS(X)                                                                                           \
    X(cm_minmax_groups, cm_minmax_args)                                                                                \
    X(cm_minmax_fours, cm_minmax_args)                                                                                 \
    X(cm_minmax_slopes, cm_minmax_args)
CM_MINMAX_KERNELS(CM_KERNEL_ENTRY)

#endif
