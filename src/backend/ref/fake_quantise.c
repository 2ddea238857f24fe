/* fake_quantise, its gradient, fake_quantise_rows and range_update. */
#include <string.h>

#include "backend/ref/loops.h"
#include "backend/ref/ref.h"

cm_status cm_ref_fake_quantise(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, fake_quantise, y), *x = CM_ARG(call, fake_quantise, x);
    const float range = ref_at(CM_ARG(call, fake_quantise, range), 0);
    float *most = CM_ARG(call, fake_quantise, most)->data;
    const int n = cm_tensor_row_size(x);
    memset(most, 0, CM_INT8_PARTS * sizeof *most);
    for (int r = 0; r < x->dim[0]; r++) {
        float *of_row = &most[r % CM_INT8_PARTS];
        *of_row = fmaxf(*of_row, cm_int8_range(ref_row(x, r), (size_t)n));
        for (int i = 0; i < n; i++) ref_row(y, r)[i] = cm_int8_fake(ref_row(x, r)[i], range);
    }
    return CM_OK;
}

cm_status cm_ref_fake_quantise_backward(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *dx = CM_ARG(call, fake_quantise_backward, dx), *dy = CM_ARG(call, fake_quantise_backward, dy);
    const cm_tensor *x = CM_ARG(call, fake_quantise_backward, x);
    const float range = ref_at(CM_ARG(call, fake_quantise_backward, range), 0);
    const bool add = CM_ADDS(call, fake_quantise_backward, dx);
    for (int r = 0; r < x->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(x); i++) {
            const bool passes = cm_int8_passes(ref_row(x, r)[i], range);
            ref_put(ref_row(dx, r) + i, passes ? (double)ref_row(dy, r)[i] : 0.0, add);
        }
    return CM_OK;
}

cm_status cm_ref_fake_quantise_rows(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, fake_quantise_rows, y), *x = CM_ARG(call, fake_quantise_rows, x);
    const int n = cm_tensor_row_size(x);
    for (int r = 0; r < x->dim[0]; r++) {
        const float range = cm_int8_range(ref_row(x, r), (size_t)n);
        for (int i = 0; i < n; i++) ref_row(y, r)[i] = cm_int8_fake(ref_row(x, r)[i], range);
    }
    return CM_OK;
}

cm_status cm_ref_range_update(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *most = CM_ARG(call, range_update, most);
    float *range = CM_ARG(call, range_update, range)->data, largest = 0.0f;
    if (!cm_step_counts(CM_ARG(call, range_update, factor)->data)) return CM_OK;
    for (int r = 0; r < most->dim[0]; r++)
        largest = fmaxf(largest, cm_int8_range(ref_row(most, r), (size_t)most->dim[1]));
    *range = cm_int8_moved(*range, largest, call->attr.scale);
    return CM_OK;
}
