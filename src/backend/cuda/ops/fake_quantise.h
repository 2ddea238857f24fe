/* Kernels of fake_quantise, its gradient, fake_quantise_rows and range_update. */
#ifndef CM_BACKEND_CUDA_OPS_FAKE_QUANTISE_H
#define CM_BACKEND_CUDA_OPS_FAKE_QUANTISE_H

#include "backend/cuda/ops/rows.h"
#include "backend/int8.h"
#include "device/cuda/launch.h"

/* Rows of n elements; what a kernel does not name is absent. */
typedef struct cm_fake_args {
    cm_rows y, x, dx, dy, most;
    int64_t rows;
    int n;
    const float *range, *factor; /* factor of clip; NULL: none */
    float *moved;                /* the range, of range_update */
    float m;
    bool add; /* dx += */
} cm_fake_args;

/* The largest magnitude of x[n]. All lanes call it. */
CM_KERNEL float cm_fake_range(const float *x, int n, const cm_lanes *lanes) {
    float most = 0.0f;
    CM_EACH(i, lanes, n) most = fmaxf(most, fabsf(x[i]));
    return cm_lanes_max(lanes, most);
}

/* Item: one of CM_INT8_PARTS, and every so many rows from it on; cm_lanes_for(n) lanes. */
CM_KERNEL void cm_fake_parts(const cm_fake_args *k, int64_t item, const cm_lanes *lanes) {
    const float range = *k->range;
    float most = 0.0f;
    for (int64_t row = item; row < k->rows; row += CM_INT8_PARTS) {
        const float *x = cm_row(&k->x, row);
        float *y = cm_row(&k->y, row);
        CM_EACH(i, lanes, k->n) {
            const float own = x[i];
            most = fmaxf(most, fabsf(own));
            y[i] = cm_int8_fake(own, range);
        }
    }
    most = cm_lanes_max(lanes, most);
    if (lanes->index == 0) k->most.data[item] = most;
}

/* Item: an element; 1 lane. */
CM_KERNEL void cm_fake_slopes(const cm_fake_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, k->n);
    const bool passes = cm_int8_passes(*cm_at(&k->x, at), *k->range);
    (void)lanes;
    cm_put(cm_at(&k->dx, at), passes ? *cm_at(&k->dy, at) : 0.0f, k->add);
}

/* Item: a row; cm_lanes_for(n) lanes. */
CM_KERNEL void cm_fake_rows(const cm_fake_args *k, int64_t item, const cm_lanes *lanes) {
    const float *x = cm_row(&k->x, item);
    const float range = cm_fake_range(x, k->n, lanes);
    float *y = cm_row(&k->y, item);
    CM_EACH(i, lanes, k->n) y[i] = cm_int8_fake(x[i], range);
}

/* Item: all of it; CM_BLOCK lanes. */
CM_KERNEL void cm_range_all(const cm_fake_args *k, int64_t item, const cm_lanes *lanes) {
    float most = 0.0f;
    (void)item;
    for (int64_t row = 0; row < k->rows; row++)
        CM_EACH(i, lanes, k->n) most = fmaxf(most, fabsf(cm_row(&k->most, row)[i]));
    most = cm_lanes_max(lanes, most);
    if (lanes->index == 0 && cm_step_counts(k->factor)) *k->moved = cm_int8_moved(*k->moved, most, k->m);
}

#define CM_FAKE_QUANTISE_KERNELS(X)                                                                                    \
    X(cm_fake_parts, cm_fake_args)                                                                                     \
    X(cm_fake_slopes, cm_fake_args)                                                                                    \
    X(cm_fake_rows, cm_fake_args)                                                                                      \
    X(cm_range_all, cm_fake_args)
CM_FAKE_QUANTISE_KERNELS(CM_KERNEL_ENTRY)

#endif
