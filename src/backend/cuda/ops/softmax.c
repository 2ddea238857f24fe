#include "backend/cuda/ops/softmax.h"

#include "backend/cuda/ops/ops.h"

typedef int (*softmax_launch)(const cm_softmax_args *args, int64_t items, int lanes, void *queue);

/* Every vector of t along its last axis, in runs of n; fills what the arguments share. */
static cm_status run_all(cm_stream *stream, const cm_call *call, softmax_launch launch, cm_softmax_args *args,
                         const cm_tensor *t, int n) {
    args->n = n;
    args->runs = cm_tensor_last(t) / n;
    int result = launch(args, cm_vector_count(t) * args->runs, cm_lanes_for(n), cm_ops_queue(stream));
    return cm_ops_launched(stream, result, cm_op_name(call->op));
}

/* The rows of all begin as that of softmax, or of softmax_backward; others have nothing in the place of legal. `group`:
 * elements of a run, 0: all of the last axis. */
static cm_status run_forward(cm_stream *stream, const cm_call *call, softmax_launch launch, int group) {
    const cm_tensor *x = CM_ARG(call, softmax, x);
    cm_softmax_args args = {.x = cm_vectors_of(x),
                            .y = cm_vectors_of(CM_ARG(call, softmax, y)),
                            .legal = cm_vectors_of(CM_ARG(call, softmax, legal))};
    return run_all(stream, call, launch, &args, x, group ? group : cm_tensor_last(x));
}

static cm_status run_backward(cm_stream *stream, const cm_call *call, softmax_launch launch, int group) {
    const cm_tensor *y = CM_ARG(call, softmax_backward, y);
    cm_softmax_args args = {.y = cm_vectors_of(y),
                            .dx = cm_vectors_of(CM_ARG(call, softmax_backward, dx)),
                            .dy = cm_vectors_of(CM_ARG(call, softmax_backward, dy)),
                            .add = CM_ADDS(call, softmax_backward, dx)};
    return run_all(stream, call, launch, &args, y, group ? group : cm_tensor_last(y));
}

cm_status cm_cuda_softmax(cm_stream *stream, const cm_call *call) {
    return run_forward(stream, call, cm_softmax_runs_launch, 0);
}

cm_status cm_cuda_softmax_backward(cm_stream *stream, const cm_call *call) {
    return run_backward(stream, call, cm_softmax_slopes_launch, 0);
}

cm_status cm_cuda_simnorm(cm_stream *stream, const cm_call *call) {
    return run_forward(stream, call, cm_softmax_runs_launch, call->attr.group);
}

cm_status cm_cuda_simnorm_backward(cm_stream *stream, const cm_call *call) {
    return run_backward(stream, call, cm_softmax_slopes_launch, call->attr.group);
}

cm_status cm_cuda_log_softmax(cm_stream *stream, const cm_call *call) {
    return run_forward(stream, call, cm_log_softmax_runs_launch, 0);
}

cm_status cm_cuda_log_softmax_backward(cm_stream *stream, const cm_call *call) {
    return run_backward(stream, call, cm_log_softmax_slopes_launch, 0);
}

cm_status cm_cuda_one_hot(cm_stream *stream, const cm_call *call) {
    return run_forward(stream, call, cm_one_hot_rows_launch, 0);
}
