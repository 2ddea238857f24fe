#include "backend/cuda/ops/support.h"

#include "backend/cuda/ops/ops.h"

cm_status cm_cuda_value_transform(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, value_transform, x), *y = CM_ARG(call, value_transform, y);
    int64_t items = (int64_t)cm_tensor_count(x);
    bool whole = cm_tensor_contiguous(x) && cm_tensor_contiguous(y);
    cm_support_args args = {.x = cm_rows_of(x),
                            .y = cm_rows_of(y),
                            .n = whole ? items : cm_tensor_row_size(x),
                            .epsilon = call->attr.epsilon > 0.0f ? (double)call->attr.epsilon : CM_TRANSFORM_EPSILON,
                            .inverse = call->attr.inverse};
    CM_LAUNCH(stream, call, cm_value_transform_each, &args, items, 1);
    return CM_OK;
}

cm_status cm_cuda_two_hot(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, two_hot, y);
    cm_support_args args = {
        .support = call->attr.support, .y = cm_rows_of(y), .target = CM_ARG(call, two_hot, value)->data};
    CM_LAUNCH(stream, call, cm_two_hot_each, &args, (int64_t)cm_tensor_count(y), 1);
    return CM_OK;
}

cm_status cm_cuda_support_decode(cm_stream *stream, const cm_call *call) {
    const cm_tensor *logits = CM_ARG(call, support_decode, logits);
    cm_support_args args = {.support = call->attr.support,
                            .logits = cm_rows_of(logits),
                            .value = CM_ARG(call, support_decode, value)->data};
    CM_LAUNCH(stream, call, cm_support_decode_rows, &args, logits->dim[0], cm_lanes_for(logits->dim[1]));
    return CM_OK;
}

cm_status cm_cuda_categorical_loss(cm_stream *stream, const cm_call *call) {
    const cm_tensor *logits = CM_ARG(call, categorical_loss, logits);
    cm_support_args args = {.support = call->attr.support,
                            .logits = cm_rows_of(logits),
                            .dlogits = cm_rows_of(CM_ARG(call, categorical_loss, dlogits)),
                            .half = cm_half_rows_of(CM_ARG(call, categorical_loss, half)),
                            .loss = CM_ARG(call, categorical_loss, loss)->data,
                            .value = CM_ARG(call, categorical_loss, decoded)->data,
                            .target = CM_ARG(call, categorical_loss, target)->data,
                            .coefficient = CM_ARG(call, categorical_loss, coefficient)->data,
                            .add = CM_ADDS(call, categorical_loss, dlogits)};
    CM_LAUNCH(stream, call, cm_categorical_rows, &args, logits->dim[0], cm_lanes_for(logits->dim[1]));
    return CM_OK;
}
