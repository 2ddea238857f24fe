/* batch_norm in training and inference, their gradients, and the running statistics. Channels are the last axis. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

/* ---- forward ---- */

/* y = act((x - mean) inverse scale + shift + residual) */
typedef struct affine {
    const cm_tensor *y, *x, *scale, *shift, *residual;
    cm_activation activation;
} affine;

static void apply(const affine *a, int channel, double mean, double inverse) {
    double scale = (double)ref_at(a->scale, channel), shift = (double)ref_at(a->shift, channel);
    for (int r = 0; r < ref_vectors(a->x); r++) {
        double value = ((double)ref_vector(a->x, r)[channel] - mean) * inverse * scale + shift;
        if (a->residual->data) value += (double)ref_vector(a->residual, r)[channel];
        ref_vector(a->y, r)[channel] = (float)ref_act(a->activation, value);
    }
}

/* Means and variances of n channels from `first` on. */
static void measure(const cm_tensor *x, int first, int n, double *mean, double *variance) {
    int rows = ref_vectors(x);
    for (int i = 0; i < n; i++) mean[i] = variance[i] = 0.0;
    for (int r = 0; r < rows; r++) ref_add_scaled(mean, 1.0, ref_vector(x, r) + first, n, false);
    for (int i = 0; i < n; i++) mean[i] /= rows;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) {
            double off = (double)ref_vector(x, r)[first + i] - mean[i];
            variance[i] += off * off;
        }
    for (int i = 0; i < n; i++) variance[i] /= rows;
}

cm_status cm_ref_batch_norm(cm_stream *stream, const cm_call *call) {
    (void)stream;
    affine a = {REF_ARG(call, batch_norm, y),     REF_ARG(call, batch_norm, x),        REF_ARG(call, batch_norm, scale),
                REF_ARG(call, batch_norm, shift), REF_ARG(call, batch_norm, residual), call->attr.activation};
    const cm_tensor *saved = REF_ARG(call, batch_norm, saved), *stats = REF_ARG(call, batch_norm, stats);
    int channels = cm_tensor_last(a.x), rows = ref_vectors(a.x);
    double unbiased = rows > 1 ? (double)rows / (rows - 1) : 1.0;
    for (int first = 0; first < channels; first += REF_BLOCK) {
        double mean[REF_BLOCK], variance[REF_BLOCK];
        int n = ref_min(REF_BLOCK, channels - first);
        measure(a.x, first, n, mean, variance);
        for (int i = 0; i < n; i++) {
            double inverse = 1.0 / sqrt(variance[i] + (double)call->attr.epsilon);
            apply(&a, first + i, mean[i], inverse);
            if (saved->data) {
                ref_row(saved, 0)[first + i] = (float)mean[i];
                ref_row(saved, 1)[first + i] = (float)inverse;
            }
            if (stats->data) {
                ref_row(stats, 0)[first + i] = (float)mean[i];
                ref_row(stats, 1)[first + i] = (float)(variance[i] * unbiased);
            }
        }
    }
    return CM_OK;
}

static double inverse_of(const cm_tensor *variance, int channel, const cm_attr *attr) {
    return 1.0 / sqrt((double)ref_at(variance, channel) + (double)attr->epsilon);
}

cm_status cm_ref_batch_norm_inference(cm_stream *stream, const cm_call *call) {
    (void)stream;
    affine a = {REF_ARG(call, batch_norm_inference, y),        REF_ARG(call, batch_norm_inference, x),
                REF_ARG(call, batch_norm_inference, scale),    REF_ARG(call, batch_norm_inference, shift),
                REF_ARG(call, batch_norm_inference, residual), call->attr.activation};
    const cm_tensor *mean = REF_ARG(call, batch_norm_inference, mean);
    const cm_tensor *variance = REF_ARG(call, batch_norm_inference, variance);
    for (int c = 0; c < cm_tensor_last(a.x); c++)
        apply(&a, c, (double)ref_at(mean, c), inverse_of(variance, c, &call->attr));
    return CM_OK;
}

/* ---- backward ---- */

typedef struct backward {
    const cm_tensor *dx, *dscale, *dshift, *dresidual, *dy, *x, *y, *scale;
    cm_activation activation;
    bool add_dx, add_dscale, add_dshift, add_dresidual;
    bool constant; /* the statistics do not depend on x */
} backward;

/* One channel: the gradient g = dy act' goes to residual, shift (sum) and scale (sum of g normal). */
static void channel_gradients(const backward *p, int channel, double mean, double inverse) {
    int rows = ref_vectors(p->x);
    double sum = 0.0, along = 0.0, scale = (double)ref_at(p->scale, channel);
    for (int r = 0; r < rows; r++) {
        double g =
            (double)ref_vector(p->dy, r)[channel] * ref_slope(p->activation, 0.0, (double)ref_vector(p->y, r)[channel]);
        sum += g;
        along += g * ((double)ref_vector(p->x, r)[channel] - mean) * inverse;
    }
    double sum_part = p->constant ? 0.0 : sum / rows, along_part = p->constant ? 0.0 : along / rows;
    for (int r = 0; r < rows; r++) {
        double g =
            (double)ref_vector(p->dy, r)[channel] * ref_slope(p->activation, 0.0, (double)ref_vector(p->y, r)[channel]);
        double normal = ((double)ref_vector(p->x, r)[channel] - mean) * inverse;
        if (p->dresidual->data) ref_put(ref_vector(p->dresidual, r) + channel, g, p->add_dresidual);
        if (p->dx->data)
            ref_put(ref_vector(p->dx, r) + channel, scale * inverse * (g - sum_part - normal * along_part), p->add_dx);
    }
    if (p->dscale->data) ref_put((float *)p->dscale->data + channel, along, p->add_dscale);
    if (p->dshift->data) ref_put((float *)p->dshift->data + channel, sum, p->add_dshift);
}

#define BACKWARD(call, op)                                                                                             \
    {                                                                                                                  \
        .dx = REF_ARG(call, op, dx), .dscale = REF_ARG(call, op, dscale), .dshift = REF_ARG(call, op, dshift),         \
        .dresidual = REF_ARG(call, op, dresidual), .dy = REF_ARG(call, op, dy), .x = REF_ARG(call, op, x),             \
        .y = REF_ARG(call, op, y), .scale = REF_ARG(call, op, scale), .activation = (call)->attr.activation,           \
        .add_dx = REF_ADDS(call, op, dx), .add_dscale = REF_ADDS(call, op, dscale),                                    \
        .add_dshift = REF_ADDS(call, op, dshift), .add_dresidual = REF_ADDS(call, op, dresidual)                       \
    }

cm_status cm_ref_batch_norm_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    backward p = BACKWARD(call, batch_norm_backward);
    const cm_tensor *saved = REF_ARG(call, batch_norm_backward, saved);
    for (int c = 0; c < cm_tensor_last(p.x); c++)
        channel_gradients(&p, c, (double)ref_row(saved, 0)[c], (double)ref_row(saved, 1)[c]);
    return CM_OK;
}

cm_status cm_ref_batch_norm_inference_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    backward p = BACKWARD(call, batch_norm_inference_backward);
    p.constant = true;
    const cm_tensor *mean = REF_ARG(call, batch_norm_inference_backward, mean);
    const cm_tensor *variance = REF_ARG(call, batch_norm_inference_backward, variance);
    for (int c = 0; c < cm_tensor_last(p.x); c++)
        channel_gradients(&p, c, (double)ref_at(mean, c), inverse_of(variance, c, &call->attr));
    return CM_OK;
}

/* ---- running statistics ---- */

cm_status cm_ref_batch_norm_update(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *running[2] = {REF_ARG(call, batch_norm_update, mean), REF_ARG(call, batch_norm_update, variance)};
    const cm_tensor *stats = REF_ARG(call, batch_norm_update, stats);
    double m = (double)call->attr.scale;
    int channels = running[0]->dim[0], chunks = stats->dim[0];
    for (int i = 0; i < 2 * channels; i++) {
        double sum = 0.0;
        for (int chunk = 0; chunk < chunks; chunk++) sum += (double)ref_row(stats, chunk)[i];
        float *value = (float *)running[i / channels]->data + i % channels;
        *value = (float)((1.0 - m) * (double)*value + m * sum / chunks);
    }
    return CM_OK;
}
