/* activation, add, scale_add. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

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
    const cm_tensor *y = CM_ARG(call, activation, y), *x = CM_ARG(call, activation, x);
    for (int r = 0; r < y->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(y); i++)
            ref_row(y, r)[i] = (float)cm_act_d(call->attr.activation, (double)ref_row(x, r)[i]);
    return CM_OK;
}

cm_status cm_ref_activation_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, activation_backward, dx), *dy = CM_ARG(call, activation_backward, dy);
    const cm_tensor *x = CM_ARG(call, activation_backward, x), *y = CM_ARG(call, activation_backward, y);
    bool add = CM_ADDS(call, activation_backward, dx);
    for (int r = 0; r < dx->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(dx); i++) {
            double slope = cm_slope_d(call->attr.activation, (double)ref_row(x, r)[i], (double)ref_row(y, r)[i]);
            ref_put(ref_row(dx, r) + i, (double)ref_row(dy, r)[i] * slope, add);
        }
    return CM_OK;
}

cm_status cm_ref_add(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, add, y), *a = CM_ARG(call, add, a), *b = CM_ARG(call, add, b);
    for (int r = 0; r < y->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(y); i++) {
            double sum = (double)ref_row(a, r)[i] + (double)ref_row(b, r)[i];
            ref_row(y, r)[i] = (float)cm_act_d(call->attr.activation, sum);
        }
    return CM_OK;
}

cm_status cm_ref_scale_add(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, scale_add, y), *x = CM_ARG(call, scale_add, x);
    const cm_tensor *times = CM_ARG(call, scale_add, times);
    const double scale = (double)call->attr.scale * (times->data ? (double)ref_at(times, 0) : 1.0);
    bool add = CM_ADDS(call, scale_add, y);
    for (int r = 0; r < y->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(y); i++)
            ref_put(ref_row(y, r) + i, scale * (double)ref_row(x, r)[i], add);
    return CM_OK;
}
