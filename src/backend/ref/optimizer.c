/* Operations on flat vectors: sums of chunks, the norm, optimizers, moving averages. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

cm_status cm_ref_add_into(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, add_into, y), *x = CM_ARG(call, add_into, x);
    float *to = y->data;
    for (int i = 0; i < y->dim[0]; i++) to[i] += ref_at(x, i);
    return CM_OK;
}

cm_status cm_ref_sum_squares(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *partial = CM_ARG(call, sum_squares, partial), *x = CM_ARG(call, sum_squares, x);
    for (int i = 0; i < partial->dim[0]; i++) {
        const float *block = (const float *)x->data + (size_t)i * CM_NORM_BLOCK;
        ((float *)partial->data)[i] =
            (float)ref_dot(block, block, ref_min(CM_NORM_BLOCK, x->dim[0] - i * CM_NORM_BLOCK), CM_F32);
    }
    return CM_OK;
}

cm_status cm_ref_clip(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *partial = CM_ARG(call, clip, partial), *check = CM_ARG(call, clip, check);
    const cm_clip_rule rule = cm_clip_rule_of(&call->attr);
    double sum = 0.0;
    bool sound = true;
    for (int i = 0; i < partial->dim[0]; i++) sum += (double)ref_at(partial, i);
    for (int i = 0; check->data && i < check->dim[0]; i++) sound = sound && isfinite(ref_at(check, i));
    cm_clip_write(&rule, sum, sound, CM_ARG(call, clip, factor)->data, CM_ARG(call, clip, scaling)->data);
    return CM_OK;
}

/* The constants of a step with the factor of clip, which may be absent; false if the norm is not finite. */
static bool read_rates(const cm_call *call, const cm_tensor *factor, cm_rates_d *rates) {
    *rates = cm_rates_of_d(&call->attr);
    if (factor->data) rates->gradient_scale *= (double)ref_at(factor, 0);
    return cm_step_counts(factor->data);
}

cm_status cm_ref_adam_step(cm_stream *stream, const cm_call *call) {
    (void)stream;
    cm_rates_d rates;
    if (!read_rates(call, CM_ARG(call, adam_step, factor), &rates)) return CM_OK;
    cm_rates_correct_d(&rates, CM_ARG(call, adam_step, scaling)->data);
    float *parameter = CM_ARG(call, adam_step, parameter)->data, *first = CM_ARG(call, adam_step, first)->data;
    float *second = CM_ARG(call, adam_step, second)->data;
    const cm_tensor *gradient = CM_ARG(call, adam_step, gradient);
    for (int i = 0; i < gradient->dim[0]; i++) {
        double m = (double)first[i], v = (double)second[i];
        parameter[i] = (float)cm_adam_d(&rates, (double)parameter[i], (double)ref_at(gradient, i), &m, &v);
        first[i] = (float)m;
        second[i] = (float)v;
    }
    return CM_OK;
}

cm_status cm_ref_sgd_step(cm_stream *stream, const cm_call *call) {
    (void)stream;
    cm_rates_d rates;
    if (!read_rates(call, CM_ARG(call, sgd_step, factor), &rates)) return CM_OK;
    float *parameter = CM_ARG(call, sgd_step, parameter)->data, *momentum = CM_ARG(call, sgd_step, momentum)->data;
    const cm_tensor *gradient = CM_ARG(call, sgd_step, gradient);
    for (int i = 0; i < gradient->dim[0]; i++) {
        double v = (double)momentum[i];
        parameter[i] = (float)cm_sgd_d(&rates, (double)parameter[i], (double)ref_at(gradient, i), &v);
        momentum[i] = (float)v;
    }
    return CM_OK;
}

cm_status cm_ref_lerp(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *x = CM_ARG(call, lerp, x);
    float *y = CM_ARG(call, lerp, y)->data;
    double scale = (double)call->attr.scale;
    if (!cm_step_counts(CM_ARG(call, lerp, factor)->data)) return CM_OK;
    for (int i = 0; i < x->dim[0]; i++) y[i] = (float)cm_lerp_d((double)y[i], (double)ref_at(x, i), scale);
    return CM_OK;
}
