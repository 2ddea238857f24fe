/* Kernels of activation, add, scale_add and their gradients. An item is an element; 1 lane. */
#ifndef CM_BACKEND_CUDA_OPS_ELEMENTWISE_H
#define CM_BACKEND_CUDA_OPS_ELEMENTWISE_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

/* Rows of n elements; what a kernel does not name is absent. `out` may be one of the inputs. */
typedef struct cm_map_args {
    cm_rows out, a, b, c;
    cm_half_rows half; /* of out */
    int64_t n;
    cm_activation activation;
    float scale;
    const float *times; /* of scale: its first number; NULL: 1 */
    bool add;           /* out += instead of out = */
} cm_map_args;

/* The end of all of them. */
static CM_HD inline void cm_map_put(const cm_map_args *k, cm_place at, float value) {
    float *out = cm_at(&k->out, at);
    cm_put(out, value, k->add);
    cm_put_half(&k->half, at.row, at.column, *out);
}

/* out = act(a) */
CM_KERNEL void cm_map_activation(const cm_map_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    (void)lanes;
    cm_map_put(k, at, cm_act_f(k->activation, *cm_at(&k->a, at)));
}

/* out (+)= a * slope(input b, output c) */
CM_KERNEL void cm_map_slope(const cm_map_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    (void)lanes;
    float slope = cm_slope_f(k->activation, *cm_at(&k->b, at), *cm_at(&k->c, at));
    cm_map_put(k, at, *cm_at(&k->a, at) * slope);
}

/* out = act(a + b) */
CM_KERNEL void cm_map_add(const cm_map_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    (void)lanes;
    cm_map_put(k, at, cm_act_f(k->activation, *cm_at(&k->a, at) + *cm_at(&k->b, at)));
}

/* out (+)= scale * times[0] * a */
CM_KERNEL void cm_map_scale(const cm_map_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    (void)lanes;
    const float scale = k->times ? k->scale * k->times[0] : k->scale;
    cm_map_put(k, at, scale * *cm_at(&k->a, at));
}

#define CM_ELEMENTWISE_KERNELS(X)                                                                                      \
    X(cm_map_activation, cm_map_args)                                                                                  \
    X(cm_map_slope, cm_map_args)                                                                                       \
    X(cm_map_add, cm_map_args)                                                                                         \
    X(cm_map_scale, cm_map_args)
CM_ELEMENTWISE_KERNELS(CM_KERNEL_ENTRY)

#endif
