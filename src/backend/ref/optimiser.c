/* Operations on flat vectors: sums of chunks, the norm, optimisers, moving averages. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

enum { NORM_BLOCK = 4096 };

cm_status cm_ref_add_into(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = REF_ARG(call, add_into, y), *x = REF_ARG(call, add_into, x);
    float *to = y->data;
    for (int i = 0; i < y->dim[0]; i++) to[i] += ref_at(x, i);
    return CM_OK;
}

cm_status cm_ref_sum_squares(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *partial = REF_ARG(call, sum_squares, partial), *x = REF_ARG(call, sum_squares, x);
    for (int i = 0; i < partial->dim[0]; i++) {
        const float *block = (const float *)x->data + (size_t)i * NORM_BLOCK;
        ((float *)partial->data)[i] =
            (float)ref_dot(block, block, ref_min(NORM_BLOCK, x->dim[0] - i * NORM_BLOCK), false);
    }
    return CM_OK;
}

cm_status cm_ref_adam_step(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_attr *a = &call->attr;
    float *parameter = REF_ARG(call, adam_step, parameter)->data, *first = REF_ARG(call, adam_step, first)->data;
    float *second = REF_ARG(call, adam_step, second)->data;
    const cm_tensor *gradient = REF_ARG(call, adam_step, gradient);
    for (int i = 0; i < gradient->dim[0]; i++) {
        double p = (double)parameter[i], g = a->gradient_scale * (double)ref_at(gradient, i);
        if (!a->decoupled) g += a->weight_decay * p;
        double m = a->beta1 * (double)first[i] + (1.0 - a->beta1) * g;
        double v = a->beta2 * (double)second[i] + (1.0 - a->beta2) * g * g;
        double step = m / a->correction1 / (sqrt(v / a->correction2) + (double)a->epsilon);
        if (a->decoupled) step += a->weight_decay * p;
        parameter[i] = (float)(p - a->learning_rate * step);
        first[i] = (float)m;
        second[i] = (float)v;
    }
    return CM_OK;
}

cm_status cm_ref_sgd_step(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_attr *a = &call->attr;
    float *parameter = REF_ARG(call, sgd_step, parameter)->data, *momentum = REF_ARG(call, sgd_step, momentum)->data;
    const cm_tensor *gradient = REF_ARG(call, sgd_step, gradient);
    for (int i = 0; i < gradient->dim[0]; i++) {
        double p = (double)parameter[i];
        double v = a->gradient_scale * (double)ref_at(gradient, i) + a->weight_decay * p;
        if (!a->first) v += a->beta1 * (double)momentum[i];
        momentum[i] = (float)v;
        parameter[i] = (float)(p - a->learning_rate * v);
    }
    return CM_OK;
}

cm_status cm_ref_lerp(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *x = REF_ARG(call, lerp, x);
    float *y = REF_ARG(call, lerp, y)->data;
    double scale = (double)call->attr.scale;
    for (int i = 0; i < x->dim[0]; i++) {
        double to = (double)ref_at(x, i);
        y[i] = (float)(scale == 1.0 ? to : to + (1.0 - scale) * ((double)y[i] - to));
    }
    return CM_OK;
}
