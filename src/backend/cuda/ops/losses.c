#include "backend/cuda/ops/losses.h"

#include "backend/cuda/ops/ops.h"

cm_status cm_cuda_policy_loss(cm_stream *stream, const cm_call *call) {
    const cm_tensor *logits = CM_ARG(call, policy_loss, logits);
    cm_loss_args args = {.x = cm_rows_of(logits),
                         .y = cm_rows_of(CM_ARG(call, policy_loss, target)),
                         .legal = cm_rows_of(CM_ARG(call, policy_loss, legal)),
                         .dx = cm_rows_of(CM_ARG(call, policy_loss, dlogits)),
                         .half = cm_half_rows_of(CM_ARG(call, policy_loss, half)),
                         .loss = CM_ARG(call, policy_loss, loss)->data,
                         .entropy = CM_ARG(call, policy_loss, entropy)->data,
                         .coefficient = CM_ARG(call, policy_loss, coefficient)->data,
                         .n = logits->dim[1],
                         .weight = call->attr.scale,
                         .kl = call->attr.kl,
                         .add = CM_ADDS(call, policy_loss, dlogits)};
    CM_LAUNCH(stream, call, cm_policy_rows, &args, logits->dim[0], cm_lanes_for(args.n));
    return CM_OK;
}

cm_status cm_cuda_scalar_loss(cm_stream *stream, const cm_call *call) {
    const cm_tensor *prediction = CM_ARG(call, scalar_loss, prediction);
    cm_loss_args args = {.x = cm_rows_of(prediction),
                         .dx = cm_rows_of(CM_ARG(call, scalar_loss, dprediction)),
                         .half = cm_half_rows_of(CM_ARG(call, scalar_loss, half)),
                         .loss = CM_ARG(call, scalar_loss, loss)->data,
                         .target = CM_ARG(call, scalar_loss, target)->data,
                         .coefficient = CM_ARG(call, scalar_loss, coefficient)->data,
                         .add = CM_ADDS(call, scalar_loss, dprediction)};
    CM_LAUNCH(stream, call, cm_scalar_loss_each, &args, prediction->dim[0], 1);
    return CM_OK;
}

typedef int (*loss_launch)(const cm_loss_args *args, int64_t items, int lanes, void *queue);

/* square_loss and consistency_loss, whose tensors stand in one order (tape_ops.c makes sure of it). */
static cm_status pair_loss(cm_stream *stream, const cm_call *call, loss_launch launch) {
    const cm_tensor *x = CM_ARG(call, square_loss, x);
    cm_loss_args args = {.x = cm_rows_of(x),
                         .y = cm_rows_of(CM_ARG(call, square_loss, y)),
                         .dx = cm_rows_of(CM_ARG(call, square_loss, dx)),
                         .loss = CM_ARG(call, square_loss, loss)->data,
                         .coefficient = CM_ARG(call, square_loss, coefficient)->data,
                         .n = x->dim[1],
                         .add = CM_ADDS(call, square_loss, dx)};
    int result = launch(&args, x->dim[0], cm_lanes_for(args.n), cm_ops_queue(stream));
    return cm_ops_launched(stream, result, cm_op_name(call->op));
}

cm_status cm_cuda_square_loss(cm_stream *stream, const cm_call *call) {
    return pair_loss(stream, call, cm_square_rows_launch);
}

cm_status cm_cuda_consistency_loss(cm_stream *stream, const cm_call *call) {
    return pair_loss(stream, call, cm_consistency_rows_launch);
}
