/* batch_norm in training and inference, their gradients, and the running statistics. Channels are the last axis. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

/* Channels are worked on in blocks: rows outside, so that memory is read in order. */

/* ---- forward ---- */

/* y = act((x - mean) inverse scale + shift + residual) */
typedef struct affine {
    const cm_tensor *y, *x, *scale, *shift, *residual;
    cm_activation activation;
} affine;

/* Statistics of a block of channels. */
typedef struct block {
    int first, n;
    double mean[REF_BLOCK], inverse[REF_BLOCK]; /* 1 / standard deviation */
} block;

static void apply(const affine *a, const block *k) {
    int rows = ref_vectors(a->x);
    const float *scale = (const float *)a->scale->data + k->first, *shift = (const float *)a->shift->data + k->first;
    for (int r = 0; r < rows; r++) {
        const float *x = ref_vector(a->x, r) + k->first;
        const float *residual = a->residual->data ? ref_vector(a->residual, r) + k->first : NULL;
        float *y = ref_vector(a->y, r) + k->first;
        for (int i = 0; i < k->n; i++) {
            double value = ((double)x[i] - k->mean[i]) * k->inverse[i] * (double)scale[i] + (double)shift[i];
            y[i] = (float)cm_act_d(a->activation, residual ? value + (double)residual[i] : value);
        }
    }
}

/* The block's means, and its variances into variance[n]. */
static void measure(const cm_tensor *x, block *k, double *variance) {
    int rows = ref_vectors(x);
    for (int i = 0; i < k->n; i++) k->mean[i] = variance[i] = 0.0;
    for (int r = 0; r < rows; r++) ref_add_scaled(k->mean, 1.0, ref_vector(x, r) + k->first, k->n, CM_F32);
    for (int i = 0; i < k->n; i++) k->mean[i] /= rows;
    for (int r = 0; r < rows; r++) {
        const float *row = ref_vector(x, r) + k->first;
        for (int i = 0; i < k->n; i++) variance[i] += ((double)row[i] - k->mean[i]) * ((double)row[i] - k->mean[i]);
    }
    for (int i = 0; i < k->n; i++) variance[i] /= rows;
}

static double inverse_deviation(double variance, const cm_attr *attr) {
    return 1.0 / sqrt(variance + (double)attr->epsilon);
}

static void save(const cm_tensor *to, const block *k, const double *second) {
    if (!to->data) return;
    for (int i = 0; i < k->n; i++) {
        ref_row(to, 0)[k->first + i] = (float)k->mean[i];
        ref_row(to, 1)[k->first + i] = (float)second[i];
    }
}

cm_status cm_ref_batch_norm(cm_stream *stream, const cm_call *call) {
    (void)stream;
    affine a = {CM_ARG(call, batch_norm, y),     CM_ARG(call, batch_norm, x),        CM_ARG(call, batch_norm, scale),
                CM_ARG(call, batch_norm, shift), CM_ARG(call, batch_norm, residual), call->attr.activation};
    int channels = cm_tensor_last(a.x), rows = ref_vectors(a.x);
    double unbiased = rows > 1 ? (double)rows / (rows - 1) : 1.0, variance[REF_BLOCK];
    for (int first = 0; first < channels; first += REF_BLOCK) {
        block k = {.first = first, .n = ref_min(REF_BLOCK, channels - first)};
        measure(a.x, &k, variance);
        for (int i = 0; i < k.n; i++) k.inverse[i] = inverse_deviation(variance[i], &call->attr);
        apply(&a, &k);
        save(CM_ARG(call, batch_norm, saved), &k, k.inverse);
        for (int i = 0; i < k.n; i++) variance[i] *= unbiased;
        save(CM_ARG(call, batch_norm, stats), &k, variance);
    }
    return CM_OK;
}

/* A block whose statistics are given. */
static block constant_block(const cm_tensor *mean, const cm_tensor *variance, int first, const cm_attr *attr) {
    block k = {.first = first, .n = ref_min(REF_BLOCK, mean->dim[0] - first)};
    for (int i = 0; i < k.n; i++) {
        k.mean[i] = (double)ref_at(mean, first + i);
        k.inverse[i] = inverse_deviation((double)ref_at(variance, first + i), attr);
    }
    return k;
}

cm_status cm_ref_batch_norm_inference(cm_stream *stream, const cm_call *call) {
    (void)stream;
    affine a = {CM_ARG(call, batch_norm_inference, y),        CM_ARG(call, batch_norm_inference, x),
                CM_ARG(call, batch_norm_inference, scale),    CM_ARG(call, batch_norm_inference, shift),
                CM_ARG(call, batch_norm_inference, residual), call->attr.activation};
    for (int first = 0; first < cm_tensor_last(a.x); first += REF_BLOCK) {
        block k = constant_block(CM_ARG(call, batch_norm_inference, mean), CM_ARG(call, batch_norm_inference, variance),
                                 first, &call->attr);
        apply(&a, &k);
    }
    return CM_OK;
}

/* ---- backward ---- */

typedef struct backward {
    const cm_tensor *dx, *dscale, *dshift, *dresidual, *dy, *x, *y, *scale;
    cm_activation activation;
    bool add_dx, add_dscale, add_dshift, add_dresidual;
    bool constant; /* the statistics do not depend on x */
} backward;

/* The gradient in front of the activation. */
static double gradient_at(const backward *p, float dy, float y) {
    return p->activation == CM_ACT_RELU && !(y > 0.0f) ? 0.0 : (double)dy;
}

/* sum[i] = sum of the gradients g of a channel, along[i] = sum of g normal */
static void sum_gradients(const backward *p, const block *k, double *sum, double *along) {
    int rows = ref_vectors(p->x);
    for (int i = 0; i < k->n; i++) sum[i] = along[i] = 0.0;
    for (int r = 0; r < rows; r++) {
        const float *dy = ref_vector(p->dy, r) + k->first, *y = ref_vector(p->y, r) + k->first;
        const float *x = ref_vector(p->x, r) + k->first;
        for (int i = 0; i < k->n; i++) {
            double g = gradient_at(p, dy[i], y[i]);
            sum[i] += g;
            along[i] += g * ((double)x[i] - k->mean[i]) * k->inverse[i];
        }
    }
}

/* dresidual = g, dx = scale inverse (g - mean(g) - normal mean(g normal)) */
static void input_gradients(const backward *p, const block *k, const double *sum, const double *along) {
    int rows = ref_vectors(p->x);
    double share = p->constant ? 0.0 : 1.0 / rows;
    for (int r = 0; r < rows; r++) {
        const float *dy = ref_vector(p->dy, r) + k->first, *y = ref_vector(p->y, r) + k->first;
        const float *x = ref_vector(p->x, r) + k->first;
        for (int i = 0; i < k->n; i++) {
            double g = gradient_at(p, dy[i], y[i]), normal = ((double)x[i] - k->mean[i]) * k->inverse[i];
            double inverse = (double)ref_at(p->scale, k->first + i) * k->inverse[i];
            double dx = cm_norm_slope_d(inverse, g, normal, share * sum[i], share * along[i]);
            if (p->dresidual->data) ref_put(ref_vector(p->dresidual, r) + k->first + i, g, p->add_dresidual);
            if (p->dx->data) ref_put(ref_vector(p->dx, r) + k->first + i, dx, p->add_dx);
        }
    }
}

static void block_gradients(const backward *p, const block *k) {
    double sum[REF_BLOCK], along[REF_BLOCK];
    sum_gradients(p, k, sum, along);
    if (p->dx->data || p->dresidual->data) input_gradients(p, k, sum, along);
    if (p->dscale->data) ref_put_all((float *)p->dscale->data + k->first, along, k->n, p->add_dscale);
    if (p->dshift->data) ref_put_all((float *)p->dshift->data + k->first, sum, k->n, p->add_dshift);
}

#define BACKWARD(call, op)                                                                                             \
    {                                                                                                                  \
        .dx = CM_ARG(call, op, dx), .dscale = CM_ARG(call, op, dscale), .dshift = CM_ARG(call, op, dshift),            \
        .dresidual = CM_ARG(call, op, dresidual), .dy = CM_ARG(call, op, dy), .x = CM_ARG(call, op, x),                \
        .y = CM_ARG(call, op, y), .scale = CM_ARG(call, op, scale), .activation = (call)->attr.activation,             \
        .add_dx = CM_ADDS(call, op, dx), .add_dscale = CM_ADDS(call, op, dscale),                                      \
        .add_dshift = CM_ADDS(call, op, dshift), .add_dresidual = CM_ADDS(call, op, dresidual)                         \
    }

cm_status cm_ref_batch_norm_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    backward p = BACKWARD(call, batch_norm_backward);
    const cm_tensor *saved = CM_ARG(call, batch_norm_backward, saved);
    int channels = cm_tensor_last(p.x);
    for (int first = 0; first < channels; first += REF_BLOCK) {
        block k = {.first = first, .n = ref_min(REF_BLOCK, channels - first)};
        for (int i = 0; i < k.n; i++) {
            k.mean[i] = (double)ref_row(saved, 0)[first + i];
            k.inverse[i] = (double)ref_row(saved, 1)[first + i];
        }
        block_gradients(&p, &k);
    }
    return CM_OK;
}

cm_status cm_ref_batch_norm_inference_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    backward p = BACKWARD(call, batch_norm_inference_backward);
    p.constant = true;
    for (int first = 0; first < cm_tensor_last(p.x); first += REF_BLOCK) {
        block k = constant_block(CM_ARG(call, batch_norm_inference_backward, mean),
                                 CM_ARG(call, batch_norm_inference_backward, variance), first, &call->attr);
        block_gradients(&p, &k);
    }
    return CM_OK;
}

/* ---- running statistics ---- */

cm_status cm_ref_batch_norm_update(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *running[2] = {CM_ARG(call, batch_norm_update, mean), CM_ARG(call, batch_norm_update, variance)};
    const cm_tensor *stats = CM_ARG(call, batch_norm_update, stats);
    double m = (double)call->attr.scale;
    if (!cm_step_counts(CM_ARG(call, batch_norm_update, factor)->data)) return CM_OK;
    int channels = running[0]->dim[0], chunks = stats->dim[0];
    for (int i = 0; i < 2 * channels; i++) {
        double sum = 0.0;
        for (int chunk = 0; chunk < chunks; chunk++) sum += (double)ref_row(stats, chunk)[i];
        float *value = (float *)running[i / channels]->data + i % channels;
        *value = (float)cm_running_d((double)*value, sum, chunks, m);
    }
    return CM_OK;
}
