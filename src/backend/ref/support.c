/* value_transform, two_hot, support_decode, categorical_loss: a scalar as a distribution over atoms. */
#include "backend/support.h"

#include "backend/ref/ref.h"
#include "backend/ref/softmax.h"

cm_status cm_ref_value_transform(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, value_transform, y), *x = CM_ARG(call, value_transform, x);
    double epsilon = call->attr.epsilon > 0.0f ? (double)call->attr.epsilon : CM_TRANSFORM_EPSILON;
    for (int r = 0; r < x->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(x); i++) {
            double value = (double)ref_row(x, r)[i];
            ref_row(y, r)[i] =
                (float)(call->attr.inverse ? cm_transform_inverse(value, epsilon) : cm_transform(value, epsilon));
        }
    return CM_OK;
}

cm_status cm_ref_two_hot(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, two_hot, y), *value = CM_ARG(call, two_hot, value);
    const cm_support *support = &call->attr.support;
    for (int r = 0; r < y->dim[0]; r++) {
        int index;
        double fraction;
        bool known = cm_support_project(support, (double)ref_at(value, r), &index, &fraction);
        float *row = ref_row(y, r);
        for (int i = 0; i < support->size; i++) row[i] = known ? 0.0f : NAN;
        if (!known) continue;
        row[index] = (float)(1.0 - fraction);
        if (fraction > 0.0) row[index + 1] = (float)fraction;
    }
    return CM_OK;
}

/* The value of a row of logits (or of the one output of a scalar head). */
static double decode(const cm_support *support, const float *logits) {
    if (support->size == 1) return (double)logits[0];
    cm_softmax_d s = ref_softmax_of(logits, NULL, support->size);
    double mean = 0.0, step = cm_support_step(support);
    for (int i = 0; i < support->size; i++)
        mean += cm_softmax_probability_d(&s, (double)logits[i]) * ((double)support->min + step * i);
    return cm_support_value(support, mean);
}

cm_status cm_ref_support_decode(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *value = CM_ARG(call, support_decode, value), *logits = CM_ARG(call, support_decode, logits);
    for (int b = 0; b < logits->dim[0]; b++)
        ((float *)value->data)[b] = (float)decode(&call->attr.support, ref_row(logits, b));
    return CM_OK;
}

/* One row of categorical_loss: the loss, and coefficient times its gradient into dlogits (NULL: not wanted). */
static double categorical_row(const cm_call *call, int b, float *dlogits) {
    const cm_support *support = &call->attr.support;
    const float *logits = ref_row(CM_ARG(call, categorical_loss, logits), b);
    double c = (double)ref_at(CM_ARG(call, categorical_loss, coefficient), b), fraction;
    int index;
    if (!cm_support_project(support, (double)ref_at(CM_ARG(call, categorical_loss, target), b), &index, &fraction))
        index = 0, fraction = NAN;
    cm_softmax_d s = ref_softmax_of(logits, NULL, support->size);
    double loss = 0.0;
    if (fraction != 1.0) loss -= (1.0 - fraction) * cm_softmax_log_d(&s, (double)logits[index]);
    if (fraction != 0.0) loss -= fraction * cm_softmax_log_d(&s, (double)logits[index + 1]);
    for (int i = 0; dlogits && i < support->size; i++) {
        double target = cm_two_hot_weight_d(i, index, fraction);
        ref_put(dlogits + i, c * (cm_softmax_probability_d(&s, (double)logits[i]) - target),
                CM_ADDS(call, categorical_loss, dlogits));
    }
    return loss;
}

cm_status cm_ref_categorical_loss(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *loss = CM_ARG(call, categorical_loss, loss), *dlogits = CM_ARG(call, categorical_loss, dlogits);
    const cm_tensor *decoded = CM_ARG(call, categorical_loss, decoded);
    const cm_tensor *logits = CM_ARG(call, categorical_loss, logits);
    for (int b = 0; b < logits->dim[0]; b++) {
        if (decoded->data) ((float *)decoded->data)[b] = (float)decode(&call->attr.support, ref_row(logits, b));
        ((float *)loss->data)[b] = (float)categorical_row(call, b, dlogits->data ? ref_row(dlogits, b) : NULL);
    }
    return CM_OK;
}
