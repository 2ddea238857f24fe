#include "backend/cuda/ops/optimizer.h"

#include "backend/cuda/ops/ops.h"
#include "backend/cuda/ops/weights.h"

cm_status cm_cuda_add_into(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, add_into, y);
    cm_vector_args args = {.y = y->data, .x = CM_ARG(call, add_into, x)->data, .n = y->dim[0]};
    CM_LAUNCH(stream, call, cm_add_into_each, &args, args.n, 1);
    return CM_OK;
}

cm_status cm_cuda_sum_squares(cm_stream *stream, const cm_call *call) {
    const cm_tensor *partial = CM_ARG(call, sum_squares, partial), *x = CM_ARG(call, sum_squares, x);
    cm_vector_args args = {.y = partial->data, .x = x->data, .n = x->dim[0]};
    CM_LAUNCH(stream, call, cm_sum_squares_blocks, &args, partial->dim[0], CM_BLOCK);
    return CM_OK;
}

cm_status cm_cuda_clip(cm_stream *stream, const cm_call *call) {
    const cm_tensor *partial = CM_ARG(call, clip, partial), *check = CM_ARG(call, clip, check);
    cm_vector_args args = {.y = CM_ARG(call, clip, factor)->data,
                           .x = partial->data,
                           .n = partial->dim[0],
                           .check = check->data,
                           .checks = check->data ? check->dim[0] : 0,
                           .scaling = CM_ARG(call, clip, scaling)->data,
                           .clip = cm_clip_rule_of(&call->attr)};
    CM_LAUNCH(stream, call, cm_clip_all, &args, 1, CM_BLOCK);
    return CM_OK;
}

cm_status cm_cuda_adam_step(cm_stream *stream, const cm_call *call) {
    cm_vector_args args = {.y = CM_ARG(call, adam_step, parameter)->data,
                           .first = CM_ARG(call, adam_step, first)->data,
                           .second = CM_ARG(call, adam_step, second)->data,
                           .x = CM_ARG(call, adam_step, gradient)->data,
                           .n = CM_ARG(call, adam_step, gradient)->dim[0],
                           .factor = CM_ARG(call, adam_step, factor)->data,
                           .scaling = CM_ARG(call, adam_step, scaling)->data,
                           .rates = cm_rates_of_f(&call->attr)};
    args.copies = cm_weights_within(stream, args.y, args.n, args.copy);
    CM_LAUNCH(stream, call, cm_adam_each, &args, args.n, 1);
    return CM_OK;
}

cm_status cm_cuda_sgd_step(cm_stream *stream, const cm_call *call) {
    cm_vector_args args = {.y = CM_ARG(call, sgd_step, parameter)->data,
                           .first = CM_ARG(call, sgd_step, momentum)->data,
                           .x = CM_ARG(call, sgd_step, gradient)->data,
                           .n = CM_ARG(call, sgd_step, gradient)->dim[0],
                           .factor = CM_ARG(call, sgd_step, factor)->data,
                           .rates = cm_rates_of_f(&call->attr)};
    args.copies = cm_weights_within(stream, args.y, args.n, args.copy);
    CM_LAUNCH(stream, call, cm_sgd_each, &args, args.n, 1);
    return CM_OK;
}

cm_status cm_cuda_lerp(cm_stream *stream, const cm_call *call) {
    cm_vector_args args = {.y = CM_ARG(call, lerp, y)->data,
                           .x = CM_ARG(call, lerp, x)->data,
                           .n = CM_ARG(call, lerp, x)->dim[0],
                           .factor = CM_ARG(call, lerp, factor)->data,
                           .scale = call->attr.scale};
    CM_LAUNCH(stream, call, cm_lerp_each, &args, args.n, 1);
    return CM_OK;
}
