/* Convolutions 1 x 1 of few outputs, as in front of the dense layers of heads, in 16 bits: every point by itself, with
 * bias and relu in the same launch, and activations of float32 read as they are. From compute capability 8.0 on. */
#ifndef CM_BACKEND_CUDA_OPS_POINTS_H
#define CM_BACKEND_CUDA_OPS_POINTS_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_POINTS = 16,        /* of a warp: the rows of its products */
    CM_POINT_OUTPUTS = 16, /* at most, which are the columns of two */
    CM_POINT_CHUNK = 32    /* channels that a warp reads at once */
};

typedef struct cm_points_args {
    cm_rows y, x;           /* a row for each point */
    const uint16_t *from;   /* in place of x: of 16 bits, rows of k, a multiple of CM_EIGHT */
    const uint16_t *weight; /* [n, k], rows `weight_row` apart, at multiples of 16 bytes, zeros after k */
    const float *bias;      /* [n] or NULL */
    int64_t points;
    int n, k, weight_row; /* n: at most CM_POINT_OUTPUTS */
    cm_activation activation;
    cm_dtype type; /* of the product */
    bool add;      /* y += */
} cm_points_args;

/* Channels c .. c + 7 of a point in 16 bits, zeros after the last. Points after the last are the last one. */
CM_KERNEL cm_pairs cm_point_read(const cm_points_args *k, int64_t point, int c, bool bfloat) {
    const int64_t known = point < k->points ? point : k->points - 1;
    cm_pairs eight = {{0, 0, 0, 0}};
    float x[CM_EIGHT];
    if (c >= k->k) return eight;
    if (k->from) return cm_pairs_at(k->from + known * k->k + c);
    for (int i = 0; i < CM_EIGHT; i++) x[i] = c + i < k->k ? cm_row(&k->x, known)[c + i] : 0.0f;
    for (int i = 0; i < CM_EIGHT / 2; i++) eight.pair[i] = cm_lanes_pair(x[2 * i], x[2 * i + 1], bfloat);
    return eight;
}

/* The same of the weight of an output. */
static CM_HD inline cm_pairs cm_point_weight(const cm_points_args *k, int output, int c) {
    const cm_pairs none = {{0, 0, 0, 0}};
    const int64_t known = output < k->n ? output : k->n - 1;
    return c < k->weight_row ? cm_pairs_at(k->weight + known * k->weight_row + c) : none;
}

/* What the lanes bring to products is said in lanes.h: of a chunk lane 4 g + q has eight channels from 8 q on, of
 * points g and g + 8 and of outputs g and g + 8. */
CM_KERNEL void cm_point_sums(const cm_points_args *k, int64_t first, bool bfloat, const cm_lanes *lanes,
                             float sum[2][4]) {
    const int g = lanes->index / 4, q = lanes->index % 4;
    for (int c = CM_EIGHT * q; c < k->k + CM_EIGHT * q; c += CM_POINT_CHUNK) {
        const cm_pairs low = cm_point_read(k, first + g, c, bfloat), high = cm_point_read(k, first + g + 8, c, bfloat);
        const cm_pairs weight[2] = {cm_point_weight(k, g, c), cm_point_weight(k, g + 8, c)};
        CM_UNROLL(half, 2) {
            const uint32_t a[4] = {low.pair[2 * half], high.pair[2 * half], low.pair[2 * half + 1],
                                   high.pair[2 * half + 1]};
            CM_UNROLL(j, 2) cm_lanes_product(lanes, bfloat, a, weight[j].pair + 2 * half, sum[j]);
        }
    }
}

/* Item: CM_POINTS points; CM_WARP lanes. y (+)= act(x weight + bias) */
CM_KERNEL void cm_points_each(const cm_points_args *k, int64_t item, const cm_lanes *lanes) {
    float sum[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
    const int64_t first = item * CM_POINTS + lanes->index / 4;
    if (k->type == CM_BF16) {
        cm_point_sums(k, item * CM_POINTS, true, lanes, sum);
    } else {
        cm_point_sums(k, item * CM_POINTS, false, lanes, sum);
    }
    CM_UNROLL(i, 8) {
        const int output = i / 4 * 8 + lanes->index % 4 * 2 + i % 2;
        const int64_t point = first + i / 2 % 2 * 8;
        if (output >= k->n || point >= k->points) continue;
        const float bias = k->bias ? k->bias[output] : 0.0f;
        cm_put(cm_row(&k->y, point) + output, cm_act_f(k->activation, sum[i / 4][i % 4] + bias), k->add);
    }
}

#define CM_POINTS_KERNELS(X) X(cm_points_each, cm_points_args)
CM_POINTS_KERNELS(CM_KERNEL_ENTRY)

#ifdef __cplusplus
}
#endif
#endif
