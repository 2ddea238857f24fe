/* The kernel of prefix_step. */
#ifndef CM_BACKEND_CUDA_OPS_PREFIX_H
#define CM_BACKEND_CUDA_OPS_PREFIX_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

typedef struct cm_prefix_args {
    cm_rows memory, h, c, before; /* [B, 2H + 2], [B, H], [B, H], [B, 2] */
    const float *prefix;          /* [B] */
    float *reward;                /* [B] */
    int H, horizon;
} cm_prefix_args;

/* Element `column` of what a step leaves: h, c, its prefix, its steps. */
static CM_HD inline float cm_prefix_memory(const cm_prefix_args *k, cm_place at, float steps) {
    const int64_t H = k->H, column = at.column;
    if (column < H) return cm_row(&k->h, at.row)[column];
    if (column < 2 * H) return cm_row(&k->c, at.row)[column - H];
    return column == 2 * H ? k->prefix[at.row] : steps;
}

/* Item: an element of memory; 1 lane. That of the prefix gives the reward, too. */
CM_KERNEL void cm_prefix_step_each(const cm_prefix_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place at = cm_place_of(item, 2 * (int64_t)k->H + 2);
    const float *before = cm_row(&k->before, at.row), steps = before[1] + 1.0f;
    (void)lanes;
    if (at.column == 2 * (int64_t)k->H) k->reward[at.row] = k->prefix[at.row] - before[0];
    *cm_at(&k->memory, at) = steps < (float)k->horizon ? cm_prefix_memory(k, at, steps) : 0.0f;
}

#define CM_PREFIX_KERNELS(X) X(cm_prefix_step_each, cm_prefix_args)
CM_PREFIX_KERNELS(CM_KERNEL_ENTRY)

#endif
