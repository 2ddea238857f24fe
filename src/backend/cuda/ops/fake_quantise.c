#include "backend/cuda/ops/fake_quantise.h"

#include "backend/cuda/ops/ops.h"

cm_status cm_cuda_fake_quantise(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, fake_quantise, x);
    cm_fake_args args = {.y = cm_rows_of(CM_ARG(call, fake_quantise, y)),
                         .x = cm_rows_of(x),
                         .most = cm_rows_of(CM_ARG(call, fake_quantise, most)),
                         .rows = x->dim[0],
                         .n = cm_tensor_row_size(x),
                         .range = CM_ARG(call, fake_quantise, range)->data};
    CM_LAUNCH(stream, call, cm_fake_parts, &args, CM_INT8_PARTS, cm_lanes_for(args.n));
    return CM_OK;
}

cm_status cm_cuda_fake_quantise_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, fake_quantise_backward, x);
    cm_fake_args args = {.dx = cm_rows_of(CM_ARG(call, fake_quantise_backward, dx)),
                         .dy = cm_rows_of(CM_ARG(call, fake_quantise_backward, dy)),
                         .x = cm_rows_of(x),
                         .n = cm_tensor_row_size(x),
                         .range = CM_ARG(call, fake_quantise_backward, range)->data,
                         .add = CM_ADDS(call, fake_quantise_backward, dx)};
    CM_LAUNCH(stream, call, cm_fake_slopes, &args, (int64_t)cm_tensor_count(x), 1);
    return CM_OK;
}

cm_status cm_cuda_fake_quantise_rows(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, fake_quantise_rows, x);
    cm_fake_args args = {
        .y = cm_rows_of(CM_ARG(call, fake_quantise_rows, y)), .x = cm_rows_of(x), .n = cm_tensor_row_size(x)};
    CM_LAUNCH(stream, call, cm_fake_rows, &args, x->dim[0], cm_lanes_for(args.n));
    return CM_OK;
}

cm_status cm_cuda_range_update(cm_stream *stream, const cm_call *call) {
    const cm_tensor *most = CM_ARG(call, range_update, most);
    cm_fake_args args = {.most = cm_rows_of(most),
                         .rows = most->dim[0],
                         .n = most->dim[1],
                         .moved = CM_ARG(call, range_update, range)->data,
                         .factor = CM_ARG(call, range_update, factor)->data,
                         .m = call->attr.scale};
    CM_LAUNCH(stream, call, cm_range_all, &args, 1, CM_BLOCK);
    return CM_OK;
}
