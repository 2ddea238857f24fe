/* Kernels of value_transform, two_hot, support_decode and categorical_loss: a scalar as a distribution over atoms. */
#ifndef CM_BACKEND_CUDA_OPS_SUPPORT_H
#define CM_BACKEND_CUDA_OPS_SUPPORT_H

#include "backend/cuda/ops/softmax.h"
#include "backend/support.h"

typedef struct cm_support_args {
    cm_support support;
    cm_rows y, x; /* value_transform: rows of n; two_hot: y */
    cm_rows logits, dlogits;
    cm_half_rows half;                 /* of dlogits */
    float *loss, *value;               /* [B]; value: decoded, may be NULL in categorical_loss */
    const float *target, *coefficient; /* [B] */
    int64_t n;
    double epsilon;
    bool inverse, add; /* dlogits += */
} cm_support_args;

/* Item: an element; 1 lane. */
CM_KERNEL void cm_value_transform_each(const cm_support_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->n);
    double x = (double)*cm_at(&k->x, at);
    (void)lanes;
    *cm_at(&k->y, at) = (float)(k->inverse ? cm_transform_inverse(x, k->epsilon) : cm_transform(x, k->epsilon));
}

/* Where the target of a row stands. A NaN gives NaN as the fraction. */
typedef struct cm_projected {
    int index;
    double fraction;
} cm_projected;

static CM_HD inline cm_projected cm_projected_of(const cm_support *support, float value) {
    cm_projected p = {0, 0.0};
    if (!cm_support_project(support, (double)value, &p.index, &p.fraction)) p.index = 0, p.fraction = (double)NAN;
    return p;
}

/* Item: an element of y[N, S]; 1 lane. */
CM_KERNEL void cm_two_hot_each(const cm_support_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->support.size);
    cm_projected p = cm_projected_of(&k->support, k->target[at.row]);
    (void)lanes;
    float weight = (float)cm_two_hot_weight_d((int)at.column, p.index, p.fraction);
    *cm_at(&k->y, at) = isnan(p.fraction) ? NAN : weight;
}

/* The softmax of a row of logits, and in *value, which may be NULL for all lanes, the number that it stands for. The
 * atoms cancel: their sum is made in double. All lanes call it. */
CM_KERNEL cm_softmax_f cm_support_decoded(const cm_support *support, const float *logits, float *value,
                                          const cm_lanes *lanes) {
    const float most = cm_softmax_most(logits, NULL, support->size, lanes);
    const double step = cm_support_step(support);
    float sum = 0.0f;
    double mean = 0.0;
    CM_EACH(i, lanes, support->size) {
        const float part = expf(logits[i] - most);
        sum += part;
        mean += (double)part * ((double)support->min + step * i);
    }
    sum = (float)cm_lanes_sum(lanes, (double)sum);
    if (value) *value = (float)cm_support_value(support, cm_lanes_sum(lanes, mean) / (double)sum);
    const cm_softmax_f s = {most, sum, logf(sum)};
    return s;
}

/* Item: a row; cm_lanes_for(S) lanes. */
CM_KERNEL void cm_support_decode_rows(const cm_support_args *k, int64_t item, const cm_lanes *lanes) {
    const float *logits = cm_row(&k->logits, item);
    float value = logits[0];
    if (k->support.size > 1) cm_support_decoded(&k->support, logits, &value, lanes);
    if (lanes->index == 0) k->value[item] = value;
}

/* Item: a row; cm_lanes_for(S) lanes. Transform, projection, softmax, cross-entropy, its gradient and the decoded
 * value. */
CM_KERNEL void cm_categorical_rows(const cm_support_args *k, int64_t item, const cm_lanes *lanes) {
    const float *logits = cm_row(&k->logits, item);
    int size = k->support.size;
    cm_projected p = cm_projected_of(&k->support, k->target[item]);
    float loss = 0.0f, fraction = (float)p.fraction, value = 0.0f;
    const cm_softmax_f s = cm_support_decoded(&k->support, logits, k->value ? &value : NULL, lanes);
    if (lanes->index == 0) {
        if (k->value) k->value[item] = value;
        if (fraction != 1.0f) loss -= (1.0f - fraction) * cm_softmax_log_f(&s, logits[p.index]);
        if (fraction != 0.0f) loss -= fraction * cm_softmax_log_f(&s, logits[p.index + 1]);
        k->loss[item] = loss;
    }
    if (!k->dlogits.data) return;
    float *dlogits = cm_row(&k->dlogits, item), c = k->coefficient[item];
    CM_EACH(i, lanes, size) {
        float target = cm_two_hot_weight_f(i, p.index, fraction);
        cm_put(dlogits + i, c * (cm_softmax_probability_f(&s, logits[i]) - target), k->add);
        cm_put_half(&k->half, item, i, dlogits[i]);
    }
}

#define CM_SUPPORT_KERNELS(X)                                                                                          \
    X(cm_value_transform_each, cm_support_args)                                                                        \
    X(cm_two_hot_each, cm_support_args)                                                                                \
    X(cm_support_decode_rows, cm_support_args)                                                                         \
    X(cm_categorical_rows, cm_support_args)
CM_SUPPORT_KERNELS(CM_KERNEL_ENTRY)

#endif
