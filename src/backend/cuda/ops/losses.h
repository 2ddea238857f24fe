/* Kernels of policy_loss, scalar_loss, square_loss and consistency_loss: loss and gradient of a row in one pass. */
#ifndef CM_BACKEND_CUDA_OPS_LOSSES_H
#define CM_BACKEND_CUDA_OPS_LOSSES_H

#include "backend/cuda/ops/softmax.h"

typedef struct cm_loss_args {
    cm_rows x, y, legal, dx;           /* logits, targets; rows of n */
    cm_half_rows half;                 /* of dx */
    float *loss, *entropy;             /* [B]; entropy may be NULL */
    const float *target, *coefficient; /* [B] */
    int n;
    float weight; /* of the entropy */
    bool kl, add; /* dx += */
} cm_loss_args;

/* Item: a row; cm_lanes_for(n) lanes. Illegal entries take no part. */
CM_KERNEL void cm_policy_rows(const cm_loss_args *k, int64_t item, const cm_lanes *lanes) {
    const float *logits = cm_row(&k->x, item), *target = cm_row(&k->y, item);
    const float *legal = k->legal.data ? cm_row(&k->legal, item) : NULL;
    cm_softmax_f s = cm_softmax_over(logits, legal, k->n, lanes);
    float sum = 0.0f, loss = 0.0f, entropy = 0.0f;
    CM_EACH(i, lanes, k->n) {
        if (legal && legal[i] == 0.0f) continue;
        float log_p = cm_softmax_log_f(&s, logits[i]);
        sum += target[i];
        loss += cm_policy_entry_loss_f(target[i], log_p, k->kl);
        entropy += cm_policy_entry_entropy_f(cm_softmax_probability_f(&s, logits[i]), log_p);
    }
    sum = (float)cm_lanes_sum(lanes, (double)sum);
    loss = (float)cm_lanes_sum(lanes, (double)loss);
    entropy = (float)cm_lanes_sum(lanes, (double)entropy);
    if (lanes->index == 0) {
        k->loss[item] = loss;
        if (k->entropy) k->entropy[item] = entropy;
    }
    if (!k->dx.data) return;
    float *dx = cm_row(&k->dx, item), c = k->coefficient[item], flat = sum + k->weight * entropy;
    CM_EACH(i, lanes, k->n) {
        float slope = 0.0f;
        if (!legal || legal[i] != 0.0f)
            slope = cm_policy_slope_f(cm_softmax_probability_f(&s, logits[i]), cm_softmax_log_f(&s, logits[i]),
                                      target[i], flat, k->weight);
        cm_put(dx + i, c * slope, k->add);
        cm_put_half(&k->half, item, i, dx[i]);
    }
}

/* Item: a row of one prediction x; 1 lane. */
CM_KERNEL void cm_scalar_loss_each(const cm_loss_args *k, int64_t item, const cm_lanes *lanes) {
    float off = *cm_row(&k->x, item) - k->target[item];
    (void)lanes;
    k->loss[item] = off * off;
    if (!k->dx.data) return;
    float *dx = cm_row(&k->dx, item);
    cm_put(dx, 2.0f * k->coefficient[item] * off, k->add);
    cm_put_half(&k->half, item, 0, *dx);
}

/* Item: a row; cm_lanes_for(n) lanes. */
CM_KERNEL void cm_square_rows(const cm_loss_args *k, int64_t item, const cm_lanes *lanes) {
    const float *x = cm_row(&k->x, item), *y = cm_row(&k->y, item);
    float sum = 0.0f, factor = 2.0f * k->coefficient[item] / (float)k->n;
    CM_EACH(i, lanes, k->n) {
        float off = x[i] - y[i];
        sum += off * off;
        if (k->dx.data) cm_put(cm_row(&k->dx, item) + i, factor * off, k->add);
    }
    double total = cm_lanes_sum(lanes, (double)sum);
    if (lanes->index == 0) k->loss[item] = (float)(total / k->n);
}

/* Item: a row; cm_lanes_for(n) lanes. */
CM_KERNEL void cm_consistency_rows(const cm_loss_args *k, int64_t item, const cm_lanes *lanes) {
    const float *x = cm_row(&k->x, item), *y = cm_row(&k->y, item);
    double xx = 0.0, yy = 0.0, xy = 0.0; /* squares of large numbers */
    CM_EACH(i, lanes, k->n) {
        xx += (double)x[i] * (double)x[i];
        yy += (double)y[i] * (double)y[i];
        xy += (double)x[i] * (double)y[i];
    }
    xx = cm_lanes_sum(lanes, xx), yy = cm_lanes_sum(lanes, yy), xy = cm_lanes_sum(lanes, xy);
    cm_cosine_d c = cm_cosine_of_d(xx, yy, xy);
    if (lanes->index == 0) k->loss[item] = (float)-c.value;
    if (!k->dx.data) return;
    float *dx = cm_row(&k->dx, item), factor = k->coefficient[item];
    CM_EACH(i, lanes, k->n)
    cm_put(dx + i, factor * (float)cm_cosine_slope_d(&c, (double)x[i], (double)y[i]), k->add);
}

#define CM_LOSSES_KERNELS(X)                                                                                           \
    X(cm_policy_rows, cm_loss_args)                                                                                    \
    X(cm_scalar_loss_each, cm_loss_args)                                                                               \
    X(cm_square_rows, cm_loss_args)                                                                                    \
    X(cm_consistency_rows, cm_loss_args)
CM_LOSSES_KERNELS(CM_KERNEL_ENTRY)

#endif
