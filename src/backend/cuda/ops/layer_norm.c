#include "backend/cuda/ops/layer_norm.h"

#include "backend/cuda/ops/ops.h"

static cm_layer_norm_args args_of(const cm_call *call, const cm_tensor *x) {
    int groups = call->attr.groups ? call->attr.groups : 1;
    return (cm_layer_norm_args){.x = cm_rows_of(x),
                                .groups = groups,
                                .n = cm_tensor_row_size(x) / groups,
                                .epsilon = call->attr.epsilon,
                                .activation = call->attr.activation};
}

cm_status cm_cuda_layer_norm(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, layer_norm, x);
    cm_layer_norm_args args = args_of(call, x);
    args.y = cm_rows_of(CM_ARG(call, layer_norm, y));
    args.saved = cm_rows_of(CM_ARG(call, layer_norm, saved));
    args.half = cm_half_rows_of(CM_ARG(call, layer_norm, half));
    args.scale = CM_ARG(call, layer_norm, scale)->data;
    args.shift = CM_ARG(call, layer_norm, shift)->data;
    CM_LAUNCH(stream, call, cm_layer_norm_runs, &args, (int64_t)x->dim[0] * args.groups, cm_lanes_for(args.n));
    return CM_OK;
}

static cm_chunks chunks_of(const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, layer_norm_backward, x);
    return cm_chunks_of(x->dim[0], cm_tensor_row_size(x), 2);
}

size_t cm_cuda_layer_norm_backward_workspace(const cm_call *call) {
    const cm_chunks chunks = chunks_of(call);
    return cm_chunks_bytes(&chunks);
}

static cm_layer_norm_args backward_args(const cm_call *call) {
    cm_layer_norm_args args = args_of(call, CM_ARG(call, layer_norm_backward, x));
    args.saved = cm_rows_of(CM_ARG(call, layer_norm_backward, saved));
    args.dx = cm_rows_of(CM_ARG(call, layer_norm_backward, dx));
    args.half = cm_half_rows_of(CM_ARG(call, layer_norm_backward, half));
    args.dy = cm_rows_of(CM_ARG(call, layer_norm_backward, dy));
    args.scale = CM_ARG(call, layer_norm_backward, scale)->data;
    args.shift = CM_ARG(call, layer_norm_backward, shift)->data;
    args.add = CM_ADDS(call, layer_norm_backward, dx);
    args.chunks = chunks_of(call);
    return args;
}

static cm_columns_args sums_of(const cm_call *call, const cm_chunks *chunks) {
    return (cm_columns_args){
        .chunks = *chunks,
        .out = {CM_ARG(call, layer_norm_backward, dscale)->data, CM_ARG(call, layer_norm_backward, dshift)->data},
        .add = {CM_ADDS(call, layer_norm_backward, dscale), CM_ADDS(call, layer_norm_backward, dshift)}};
}

bool cm_layer_norm_sums(const cm_call *call, cm_layer_norm_args *partial, cm_columns_args *finish) {
    *partial = backward_args(call);
    *finish = sums_of(call, &partial->chunks);
    return finish->out[0] || finish->out[1];
}

static cm_status parameter_gradients(cm_stream *stream, const cm_call *call, const cm_layer_norm_args *args) {
    const cm_columns_args sums = sums_of(call, &args->chunks);
    if (!sums.out[0] && !sums.out[1]) return CM_OK;
    CM_LAUNCH(stream, call, cm_layer_norm_partial, args, cm_chunks_items(&sums.chunks), 1);
    CM_LAUNCH(stream, call, cm_columns_finish, &sums, sums.chunks.columns, CM_WARP);
    return CM_OK;
}

cm_status cm_cuda_layer_norm_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, layer_norm_backward, x);
    cm_layer_norm_args args = backward_args(call);
    args.chunks.partial = cm_ops_workspace(stream);
    CM_TRY(parameter_gradients(stream, call, &args)); /* before dx, which may be dy */
    if (!args.dx.data) return CM_OK;
    CM_LAUNCH(stream, call, cm_layer_norm_slopes, &args, (int64_t)x->dim[0] * args.groups, cm_lanes_for(args.n));
    return CM_OK;
}
