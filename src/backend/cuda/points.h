/* Convolutions 1 x 1 of few outputs, as in front of the dense layers of heads, in 16 bits: every point by itself. A
 * library has channels in multiples of 8 and leaves bias and relu to another launch. */
#ifndef CM_BACKEND_CUDA_POINTS_H
#define CM_BACKEND_CUDA_POINTS_H

#include "backend/cuda/rows.h"
#include "device/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_POINT_OUTPUTS = 8, CM_POINT_LANES = 8 };

typedef struct cm_points_args {
    cm_rows y, x;           /* a row for each point */
    const uint16_t *from;   /* in place of x: of 16 bits, rows of k, a multiple of CM_EIGHT */
    const uint16_t *weight; /* [n, k], rows `weight_row` apart, at multiples of 16 bytes, zeros behind k */
    const float *bias;      /* [n] or NULL */
    int n, k, weight_row;   /* n: at most CM_POINT_OUTPUTS */
    cm_activation activation;
    cm_dtype type; /* of the product */
    bool add;      /* y += */
} cm_points_args;

/* Channels c .. c + 7 of a point, rounded; zeros behind the last. */
static CM_HD inline void cm_point_read(const cm_points_args *k, int64_t point, int c, float x[CM_EIGHT]) {
    if (k->from) {
        const cm_eight eight = cm_eight_at(k->from + point * k->k + c);
        for (int i = 0; i < CM_EIGHT; i++) x[i] = cm_widen(eight.v[i], k->type);
    } else {
        const float *row = cm_row(&k->x, point) + c;
        for (int i = 0; i < CM_EIGHT; i++) x[i] = c + i < k->k ? cm_rounded(row[i], k->type) : 0.0f;
    }
}

/* Item: a point; CM_POINT_LANES lanes. y (+)= act(x weight + bias) */
CM_KERNEL void cm_points_each(const cm_points_args *k, int64_t item, const cm_lanes *lanes) {
    float sum[CM_POINT_OUTPUTS] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, x[CM_EIGHT];
    for (int c = lanes->index * CM_EIGHT; c < k->k; c += lanes->count * CM_EIGHT) {
        cm_point_read(k, item, c, x);
        CM_UNROLL(o, CM_POINT_OUTPUTS) {
            if (o >= k->n) break;
            const cm_eight weight = cm_eight_at(k->weight + o * k->weight_row + c);
            for (int i = 0; i < CM_EIGHT; i++) sum[o] = fmaf(x[i], cm_widen(weight.v[i], k->type), sum[o]);
        }
    }
    CM_UNROLL(o, CM_POINT_OUTPUTS) {
        if (o >= k->n) break;
        const float all = (float)cm_lanes_sum(lanes, (double)sum[o]), bias = k->bias ? k->bias[o] : 0.0f;
        if (lanes->index == o) cm_put(cm_row(&k->y, item) + o, cm_act_f(k->activation, all + bias), k->add);
    }
}

CM_KERNEL_ENTRY(cm_points_each, cm_points_args)

#ifdef __cplusplus
}
#endif
#endif
