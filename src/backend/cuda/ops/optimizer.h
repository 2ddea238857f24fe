/* Kernels on flat vectors: sums of chunks, the norm, optimizers that renew the 16-bit copies of weights as they go,
 * these copies by themselves, moving averages. */
#ifndef CM_BACKEND_CUDA_OPS_OPTIMIZER_H
#define CM_BACKEND_CUDA_OPS_OPTIMIZER_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

enum { CM_COPIES = 32 };

/* Where the 16-bit copy of a weight lies. The weight is elements [first, first + count) of the parameters: rows
 * `step` apart, of which `columns` are copied to rows `stride` apart. A turned one is of the gradient's convolution: of
 * weight[O, k, k, C], whose places are rows, it is [C, k, k, O] with the places of each window in reverse. */
typedef struct cm_half_copy {
    int64_t first, count;
    int step, columns, stride;
    int window;    /* k k of a turned one, whose stride is O; else 0 */
    cm_dtype type; /* of the copy */
    int64_t cells; /* of the copy's rows that the weight has: rows times stride */
    uint16_t *to;
} cm_half_copy;

typedef struct cm_vector_args {
    float *y, *first, *second; /* parameter and its moments; y of add_into and lerp */
    const float *x;            /* gradient; x of add_into and lerp */
    int64_t n;
    const float *factor; /* of clip, NULL: none */
    const float *check;  /* [checks], of clip: what has to be finite */
    int64_t checks;
    float *scaling; /* clip renews it, adam reads it; NULL: none */
    cm_clip_rule clip;
    float scale; /* lerp */
    cm_rates_f rates;
    int copies;
    cm_half_copy copy[CM_COPIES]; /* of weights in y, or in x */
} cm_vector_args;

/* Writes parameter `item`, and its copies. */
static CM_HD inline void cm_put_parameter(const cm_vector_args *k, int64_t item, float value) {
    k->y[item] = value;
    for (int i = 0; i < k->copies; i++) {
        const cm_half_copy *copy = &k->copy[i];
        int64_t at = item - copy->first;
        if (at < 0 || at >= copy->count) continue;
        cm_place place = cm_place_of(at, copy->step);
        if (place.column < copy->columns)
            copy->to[place.row * copy->stride + place.column] = cm_to_half(value, copy->type);
    }
}

/* Item: an element; 1 lane. */
CM_KERNEL void cm_add_into_each(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    (void)lanes;
    k->y[item] += k->x[item];
}

/* True, and the rates with the factor of clip, unless the norm is not finite. */
static CM_HD inline bool cm_step_rates(const cm_vector_args *k, cm_rates_f *rates) {
    *rates = k->rates;
    if (k->factor) rates->gradient_scale *= k->factor[0];
    return cm_step_counts(k->factor);
}

CM_KERNEL void cm_adam_each(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    float m = k->first[item], v = k->second[item];
    cm_rates_f rates;
    (void)lanes;
    if (!cm_step_rates(k, &rates)) return;
    cm_rates_correct_f(&rates, k->scaling);
    float p = cm_adam_f(&rates, k->y[item], k->x[item], &m, &v);
    k->first[item] = m;
    k->second[item] = v;
    cm_put_parameter(k, item, p);
}

CM_KERNEL void cm_sgd_each(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    float v = k->first[item];
    cm_rates_f rates;
    (void)lanes;
    if (!cm_step_rates(k, &rates)) return;
    float p = cm_sgd_f(&rates, k->y[item], k->x[item], &v);
    k->first[item] = v;
    cm_put_parameter(k, item, p);
}

CM_KERNEL void cm_lerp_each(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    (void)lanes;
    if (cm_step_counts(k->factor)) k->y[item] = cm_lerp_f(k->y[item], k->x[item], k->scale);
}

/* The place in the weight of the element that a copy has at `at`. */
static CM_HD inline cm_place cm_half_copy_of(const cm_half_copy *copy, int64_t at) {
    const cm_place place = cm_place_of(at, copy->stride);
    if (copy->window == 0) return place;
    const cm_place turned = cm_place_of(place.row, copy->window);
    const cm_place of = {place.column * copy->window + copy->window - 1 - turned.column, turned.row};
    return of;
}

/* Item: a cell of the copies, one copy after the other; 1 lane. The copy of x, with zeros after the columns. */
CM_KERNEL void cm_copies_each(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_half_copy *copy = k->copy;
    (void)lanes;
    for (; item >= copy->cells; copy++) item -= copy->cells;
    cm_place place = cm_half_copy_of(copy, item);
    const float *row = k->x + copy->first + place.row * copy->step;
    copy->to[item] = cm_to_half(place.column < copy->columns ? row[place.column] : 0.0f, copy->type);
}

/* Item: a block of CM_NORM_BLOCK elements; CM_BLOCK lanes. y[item] = its sum of squares. */
CM_KERNEL void cm_sum_squares_blocks(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    int64_t first = item * CM_NORM_BLOCK, end = first + CM_NORM_BLOCK < k->n ? first + CM_NORM_BLOCK : k->n;
    double sum = 0.0;
    for (int64_t i = first + lanes->index; i < end; i += lanes->count) sum += (double)k->x[i] * (double)k->x[i];
    sum = cm_lanes_sum(lanes, sum);
    if (lanes->index == 0) k->y[item] = (float)sum;
}

/* More than 0 if one of the numbers that are this lane's is not finite: many are on their way at a time, fours where
 * they begin at a multiple of 16 bytes. In place of one that is not there the first of the turn is read. */
CM_KERNEL double cm_flaws(const float *x, int64_t n, const cm_lanes *lanes) {
    enum { TURN = 8 };
    const int64_t fours = (uintptr_t)x % sizeof(cm_four) == 0 ? n / CM_FOUR : 0;
    int flaws = 0;
    for (int64_t i = lanes->index; i < fours; i += TURN * lanes->count) {
        cm_four own[TURN];
        CM_UNROLL(j, TURN) {
            const int64_t at = i + j * lanes->count;
            own[j] = cm_four_at(x + CM_FOUR * (at < fours ? at : i));
        }
        CM_UNROLL(j, TURN * CM_FOUR) flaws += !isfinite(own[j / CM_FOUR].v[j % CM_FOUR]);
    }
    for (int64_t i = CM_FOUR * fours + lanes->index; i < n; i += lanes->count) flaws += !isfinite(x[i]);
    return (double)flaws;
}

/* One item; CM_BLOCK lanes. y[2] and scaling are what clip writes of the parts x[n]. */
CM_KERNEL void cm_clip_all(const cm_vector_args *k, int64_t item, const cm_lanes *lanes) {
    double sum = 0.0;
    (void)item;
    for (int64_t i = lanes->index; i < k->n; i += lanes->count) sum += (double)k->x[i];
    sum = cm_lanes_sum(lanes, sum);
    const double flaws = cm_lanes_sum(lanes, cm_flaws(k->check, k->checks, lanes));
    if (lanes->index == 0) cm_clip_write(&k->clip, sum, flaws == 0.0, k->y, k->scaling);
}

#define CM_OPTIMIZER_KERNELS(X)                                                                                        \
    X(cm_clip_all, cm_vector_args)                                                                                     \
    X(cm_add_into_each, cm_vector_args)                                                                                \
    X(cm_copies_each, cm_vector_args)                                                                                  \
    X(cm_adam_each, cm_vector_args)                                                                                    \
    X(cm_sgd_each, cm_vector_args)                                                                                     \
    X(cm_lerp_each, cm_vector_args)                                                                                    \
    X(cm_sum_squares_blocks, cm_vector_args)
CM_OPTIMIZER_KERNELS(CM_KERNEL_ENTRY)

#endif
