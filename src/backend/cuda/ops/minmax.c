#include "backend/cuda/ops/minmax.h"

#include "backend/cuda/ops/ops.h"

static cm_minmax_args args_of(const cm_call *call, const cm_tensor *x) {
    int groups = call->attr.per_channel ? cm_tensor_last(x) : 1;
    return (cm_minmax_args){.groups = groups, .n = cm_tensor_row_size(x) / groups, .step = groups};
}

/* y and nothing else, of rows of fours? */
static bool makes_fours(const cm_minmax_args *args) {
    return args->groups == 1 && args->n % CM_FOUR == 0 && cm_are_fours(&args->x) && cm_are_fours(&args->y) &&
           !args->saved.data && !args->half.data && !args->half_x.data;
}

cm_status cm_cuda_minmax(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, minmax, x);
    cm_minmax_args args = args_of(call, x);
    args.x = cm_rows_of(x);
    args.y = cm_rows_of(CM_ARG(call, minmax, y));
    args.saved = cm_rows_of(CM_ARG(call, minmax, saved));
    args.half = cm_half_rows_of(CM_ARG(call, minmax, half));
    args.half_x = cm_half_rows_of(CM_ARG(call, minmax, half_x));
    if (makes_fours(&args)) {
        CM_LAUNCH(stream, call, cm_minmax_fours, &args, x->dim[0], cm_lanes_for(args.n));
    } else {
        CM_LAUNCH(stream, call, cm_minmax_groups, &args, (int64_t)x->dim[0] * args.groups, cm_lanes_for(args.n));
    }
    return CM_OK;
}

cm_status cm_cuda_minmax_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, minmax_backward, y);
    cm_minmax_args args = args_of(call, y);
    args.y = cm_rows_of(y);
    args.dx = cm_rows_of(CM_ARG(call, minmax_backward, dx));
    args.dy = cm_rows_of(CM_ARG(call, minmax_backward, dy));
    args.saved = cm_rows_of(CM_ARG(call, minmax_backward, saved));
    args.half = cm_half_rows_of(CM_ARG(call, minmax_backward, half));
    args.add = CM_ADDS(call, minmax_backward, dx);
    CM_LAUNCH(stream, call, cm_minmax_slopes, &args, (int64_t)y->dim[0] * args.groups, cm_lanes_for(args.n));
    return CM_OK;
}
