/* activation, add, scale_add. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

#define SQRT_2_PI 0.79788456080286535588
#define GELU_CUBE 0.044715

static double sigmoid(double x) {
    double e = exp(-fabs(x));
    return x < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

static double gelu_tanh_of(double x) { return tanh(SQRT_2_PI * (x + GELU_CUBE * x * x * x)); }

double ref_act(cm_activation activation, double x) {
    switch (activation) {
    case CM_ACT_RELU: return x <= 0.0 ? 0.0 : x; /* NaN stays NaN */
    case CM_ACT_GELU_TANH: return 0.5 * x * (1.0 + gelu_tanh_of(x));
    case CM_ACT_ELU: return x <= 0.0 ? expm1(x) : x;
    case CM_ACT_TANH: return tanh(x);
    case CM_ACT_SIGMOID: return sigmoid(x);
    case CM_ACT_SOFTPLUS: return (x <= 0.0 ? 0.0 : x) + log1p(exp(-fabs(x)));
    case CM_ACT_NONE: break;
    }
    return x;
}

double ref_slope(cm_activation activation, double x, double y) {
    switch (activation) {
    case CM_ACT_RELU: return y > 0.0 ? 1.0 : 0.0;
    case CM_ACT_GELU_TANH: {
        double t = gelu_tanh_of(x);
        return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * SQRT_2_PI * (1.0 + 3.0 * GELU_CUBE * x * x);
    }
    case CM_ACT_ELU: return x <= 0.0 ? exp(x) : 1.0;
    case CM_ACT_TANH: {
        double t = tanh(x);
        return 1.0 - t * t;
    }
    case CM_ACT_SIGMOID: {
        double s = sigmoid(x);
        return s * (1.0 - s);
    }
    case CM_ACT_SOFTPLUS: return sigmoid(x);
    case CM_ACT_NONE: break;
    }
    return 1.0;
}

cm_status ref_check_range(const cm_call *call, const char *name, const cm_tensor *index, int limit) {
    for (int i = 0; i < index->dim[0]; i++) {
        int value = ref_int(index, i);
        if (value < 0 || value >= limit)
            return cm_fail(CM_ERR_INPUT, "%s: %s[%d] is %d, must be in [0, %d)", cm_op_name(call->op), name, i, value,
                           limit);
    }
    return CM_OK;
}

cm_status cm_ref_activation(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = REF_ARG(call, activation, y), *x = REF_ARG(call, activation, x);
    for (int r = 0; r < y->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(y); i++)
            ref_row(y, r)[i] = (float)ref_act(call->attr.activation, (double)ref_row(x, r)[i]);
    return CM_OK;
}

cm_status cm_ref_activation_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = REF_ARG(call, activation_backward, dx), *dy = REF_ARG(call, activation_backward, dy);
    const cm_tensor *x = REF_ARG(call, activation_backward, x), *y = REF_ARG(call, activation_backward, y);
    bool add = REF_ADDS(call, activation_backward, dx);
    for (int r = 0; r < dx->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(dx); i++) {
            double slope = ref_slope(call->attr.activation, (double)ref_row(x, r)[i], (double)ref_row(y, r)[i]);
            ref_put(ref_row(dx, r) + i, (double)ref_row(dy, r)[i] * slope, add);
        }
    return CM_OK;
}

cm_status cm_ref_add(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = REF_ARG(call, add, y), *a = REF_ARG(call, add, a), *b = REF_ARG(call, add, b);
    for (int r = 0; r < y->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(y); i++) {
            double sum = (double)ref_row(a, r)[i] + (double)ref_row(b, r)[i];
            ref_row(y, r)[i] = (float)ref_act(call->attr.activation, sum);
        }
    return CM_OK;
}

cm_status cm_ref_scale_add(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = REF_ARG(call, scale_add, y), *x = REF_ARG(call, scale_add, x);
    bool add = REF_ADDS(call, scale_add, y);
    for (int r = 0; r < y->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(y); i++)
            ref_put(ref_row(y, r) + i, (double)call->attr.scale * (double)ref_row(x, r)[i], add);
    return CM_OK;
}
