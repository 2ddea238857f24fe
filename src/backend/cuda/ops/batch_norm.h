/* Kernels of batch_norm, batch_norm_inference, their gradients and batch_norm_update. Channels are the last axis. */
#ifndef CM_BACKEND_CUDA_OPS_BATCH_NORM_H
#define CM_BACKEND_CUDA_OPS_BATCH_NORM_H

#include "backend/cuda/ops/columns.h"

typedef struct cm_batch_norm_args {
    cm_chunks chunks; /* of two parts */
    cm_rows y, x, residual, dx, dresidual, dy;
    const float *scale, *shift;
    float *mean, *second;               /* [C]: what elements are normalised with; see `constant` */
    float *saved_mean, *saved_inverse;  /* [C] or NULL */
    float *stats_mean, *stats_variance; /* [C] or NULL; the variance is the unbiased one */
    float *dscale, *dshift;             /* [C] or NULL */
    float *total;                       /* [2, C]: of a channel, the sums of g and of g * normal */
    float *linear;                      /* [3, C] or NULL: see cm_batch_norm_statistics, cm_batch_norm_totals */
    /* of 16 bits in place of x, residual, dy and others; NULL: not so */
    const uint16_t *half_x, *half_residual, *half_dy;
    uint16_t *half_y, *half_dx, *half_dresidual;
    cm_dtype type; /* of them */
    float epsilon;
    cm_activation activation;
    bool constant; /* second is a variance that does not depend on x; else it is 1/std of the batch */
    bool add_dx, add_dresidual, add_dscale, add_dshift;
    uint32_t memory; /* bytes that the lanes of a block share */
} cm_batch_norm_args;

static CM_HD inline float cm_batch_norm_inverse(const cm_batch_norm_args *k, int64_t channel) {
    return k->constant ? 1.0f / sqrtf(k->second[channel] + k->epsilon) : k->second[channel];
}

/* Item: a channel of a chunk; 1 lane. Parts: the chunk's mean, and its sum of squared distances from that. */
CM_KERNEL void cm_batch_norm_partial(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_chunk chunk = cm_chunk_of(&k->chunks, item);
    float sum = 0.0f, squares = 0.0f;
    (void)lanes;
    for (int64_t r = chunk.first; r < chunk.end; r++) sum += cm_row(&k->x, r)[chunk.column];
    float mean = sum / (float)(chunk.end - chunk.first);
    for (int64_t r = chunk.first; r < chunk.end; r++) {
        float off = cm_row(&k->x, r)[chunk.column] - mean;
        squares += off * off;
    }
    chunk.partial[0] = mean;
    chunk.partial[k->chunks.columns] = squares;
}

/* Item: a channel. Mean and variance of all rows from those of the chunks (Chan et al. 1983). What is linear in x gets
 * its factor and offset: y = act(factor x + offset + residual). */
CM_KERNEL void cm_batch_norm_statistics(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_chunks *c = &k->chunks;
    double sum = 0.0, squares = 0.0;
    CM_EACH(i, lanes, c->chunks) {
        cm_chunk chunk = cm_chunk_of(c, (int64_t)i * c->columns + item);
        double rows = (double)(chunk.end - chunk.first), mean = (double)chunk.partial[0];
        sum += rows * mean;
        squares += (double)chunk.partial[c->columns] + rows * mean * mean;
    }
    double mean = cm_lanes_sum(lanes, sum) / (double)c->rows;
    double total = cm_lanes_sum(lanes, squares) - (double)c->rows * mean * mean;
    if (lanes->index != 0) return;
    if (total < 0.0) total = 0.0;
    float inverse = (float)(1.0 / sqrt(total / (double)c->rows + (double)k->epsilon));
    k->mean[item] = (float)mean;
    k->second[item] = inverse;
    if (k->linear) {
        k->linear[item] = inverse * k->scale[item];
        k->linear[c->columns + item] = k->shift[item] - (float)mean * (inverse * k->scale[item]);
    }
    if (k->saved_mean) k->saved_mean[item] = (float)mean, k->saved_inverse[item] = inverse;
    if (!k->stats_mean) return;
    k->stats_mean[item] = (float)mean;
    k->stats_variance[item] = (float)(total / (double)(c->rows > 1 ? c->rows - 1 : 1));
}

/* Item: an element; 1 lane. y = act((x - mean) / std * scale + shift + residual) */
CM_KERNEL void cm_batch_norm_apply(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->chunks.columns);
    int64_t c = at.column;
    (void)lanes;
    float value = (*cm_at(&k->x, at) - k->mean[c]) * cm_batch_norm_inverse(k, c) * k->scale[c] + k->shift[c];
    if (k->residual.data) value += *cm_at(&k->residual, at);
    *cm_at(&k->y, at) = cm_act_f(k->activation, value);
}

/* The gradient in front of the activation, which is none or relu. */
static CM_HD inline float cm_batch_norm_gradient(const cm_batch_norm_args *k, cm_place at) {
    const bool relu = k->activation == CM_ACT_RELU;
    return cm_before_relu(relu, relu ? *cm_at(&k->y, at) : 0.0f, *cm_at(&k->dy, at));
}

/* Item: a channel of a chunk; 1 lane. Parts: the sums of the gradient g and of g * normal. */
CM_KERNEL void cm_batch_norm_slopes(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_chunk chunk = cm_chunk_of(&k->chunks, item);
    float sum = 0.0f, along = 0.0f, mean = k->mean[chunk.column];
    (void)lanes;
    for (int64_t r = chunk.first; r < chunk.end; r++) {
        cm_place at = {r, chunk.column};
        float g = cm_batch_norm_gradient(k, at);
        sum += g;
        along += g * (*cm_at(&k->x, at) - mean);
    }
    chunk.partial[0] = sum;
    chunk.partial[k->chunks.columns] = along * cm_batch_norm_inverse(k, chunk.column);
}

/* Item: a channel. Their totals, which are the gradients of shift and scale; and cm_norm_slope, which is linear in g
 * and x: dx = linear[0] g + linear[1] x + linear[2]. */
CM_KERNEL void cm_batch_norm_totals(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    float sum = (float)cm_chunks_sum(&k->chunks, 0, item, lanes),
          along = (float)cm_chunks_sum(&k->chunks, 1, item, lanes);
    if (lanes->index != 0) return;
    k->total[item] = sum;
    k->total[k->chunks.columns + item] = along;
    if (k->linear) {
        const float rows = (float)k->chunks.rows, inverse = cm_batch_norm_inverse(k, item);
        const float of_g = k->scale[item] * inverse, of_x = -of_g * inverse * along / rows;
        k->linear[item] = of_g;
        k->linear[k->chunks.columns + item] = of_x;
        k->linear[2 * k->chunks.columns + item] = -of_g * sum / rows - of_x * k->mean[item];
    }
    if (k->dshift) cm_put(k->dshift + item, sum, k->add_dshift);
    if (k->dscale) cm_put(k->dscale + item, along, k->add_dscale);
}

/* Item: an element; 1 lane. dresidual and dx; one of them may be dy. */
CM_KERNEL void cm_batch_norm_input(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    cm_place at = cm_place_of(item, k->chunks.columns);
    int64_t c = at.column;
    (void)lanes;
    float g = cm_batch_norm_gradient(k, at), inverse = cm_batch_norm_inverse(k, c);
    float share = k->constant ? 0.0f : 1.0f / (float)k->chunks.rows;
    if (k->dx.data) {
        float normal = (*cm_at(&k->x, at) - k->mean[c]) * inverse;
        float mean_g = share * k->total[c], mean_along = share * k->total[k->chunks.columns + c];
        cm_put(cm_at(&k->dx, at), cm_norm_slope_f(k->scale[c] * inverse, g, normal, mean_g, mean_along), k->add_dx);
    }
    if (k->dresidual.data) cm_put(cm_at(&k->dresidual, at), g, k->add_dresidual);
}

/* Running statistics: mean[C] and variance[C] from stats[chunks, 2C]. */
typedef struct cm_running_args {
    float *mean, *variance;
    cm_rows stats;
    const float *factor; /* of clip, NULL: none */
    int channels, chunks;
    float m;
} cm_running_args;

/* Item: a channel's mean, then a channel's variance; 1 lane. */
CM_KERNEL void cm_running_each(const cm_running_args *k, int64_t item, const cm_lanes *lanes) {
    float *value = item < k->channels ? k->mean + item : k->variance + (item - k->channels), sum = 0.0f;
    (void)lanes;
    if (!cm_step_counts(k->factor)) return;
    for (int i = 0; i < k->chunks; i++) sum += cm_row(&k->stats, i)[item];
    *value = cm_running_f(*value, sum, k->chunks, k->m);
}

#define CM_BATCH_NORM_KERNELS(X)                                                                                       \
    X(cm_batch_norm_partial, cm_batch_norm_args)                                                                       \
    X(cm_batch_norm_statistics, cm_batch_norm_args)                                                                    \
    X(cm_batch_norm_apply, cm_batch_norm_args)                                                                         \
    X(cm_batch_norm_slopes, cm_batch_norm_args)                                                                        \
    X(cm_batch_norm_totals, cm_batch_norm_args)                                                                        \
    X(cm_batch_norm_input, cm_batch_norm_args)                                                                         \
    X(cm_running_each, cm_running_args)
CM_BATCH_NORM_KERNELS(CM_KERNEL_ENTRY)

#endif
