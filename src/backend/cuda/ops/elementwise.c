#include "backend/cuda/ops/elementwise.h"

#include "backend/cuda/ops/ops.h"

typedef int (*map_launch)(const cm_map_args *args, int64_t items, int lanes, void *queue);

/* Tensors of a call, all of one shape: the output, its copy, then what the kernel reads. */
typedef struct map_tensors {
    int out, half, a, b, c; /* NONE where the kernel has no such input */
} map_tensors;
enum { NONE = -1 };

static cm_rows rows_of(const cm_call *call, int tensor) {
    cm_rows none = {NULL, 0};
    return tensor == NONE ? none : cm_rows_of(&call->t[tensor]);
}

static bool is_whole(const cm_call *call, int tensor) {
    return tensor == NONE || cm_tensor_contiguous(&call->t[tensor]);
}

static cm_status run_map(cm_stream *stream, const cm_call *call, map_launch launch, map_tensors t, const float *times) {
    const cm_tensor *out = &call->t[t.out];
    int64_t items = (int64_t)cm_tensor_count(out);
    const cm_tensor absent = {.data = NULL}, *half = t.half == NONE ? &absent : &call->t[t.half];
    bool whole =
        !half->data && is_whole(call, t.out) && is_whole(call, t.a) && is_whole(call, t.b) && is_whole(call, t.c);
    cm_map_args args = {.out = rows_of(call, t.out),
                        .a = rows_of(call, t.a),
                        .b = rows_of(call, t.b),
                        .c = rows_of(call, t.c),
                        .half = cm_half_rows_of(half),
                        .n = whole ? items : cm_tensor_row_size(out),
                        .activation = call->attr.activation,
                        .scale = call->attr.scale,
                        .times = times,
                        .add = call->attr.accumulate >> t.out & 1u};
    return cm_ops_launched(stream, launch(&args, items, 1, cm_ops_queue(stream)), cm_op_name(call->op));
}

cm_status cm_cuda_activation(cm_stream *stream, const cm_call *call) {
    map_tensors t = {CM_T_activation_y, CM_T_activation_half, CM_T_activation_x, NONE, NONE};
    return run_map(stream, call, cm_map_activation_launch, t, NULL);
}

cm_status cm_cuda_activation_backward(cm_stream *stream, const cm_call *call) {
    map_tensors t = {CM_T_activation_backward_dx, CM_T_activation_backward_half, CM_T_activation_backward_dy,
                     CM_T_activation_backward_x, CM_T_activation_backward_y};
    return run_map(stream, call, cm_map_slope_launch, t, NULL);
}

cm_status cm_cuda_add(cm_stream *stream, const cm_call *call) {
    map_tensors t = {CM_T_add_y, CM_T_add_half, CM_T_add_a, CM_T_add_b, NONE};
    return run_map(stream, call, cm_map_add_launch, t, NULL);
}

cm_status cm_cuda_scale_add(cm_stream *stream, const cm_call *call) {
    map_tensors t = {CM_T_scale_add_y, CM_T_scale_add_half, CM_T_scale_add_x, NONE, NONE};
    return run_map(stream, call, cm_map_scale_launch, t, CM_ARG(call, scale_add, times)->data);
}
