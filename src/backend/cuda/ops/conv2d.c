/* Convolutions: the sums of convolution.h, in 16 bits between copies, and kernels for bias, relu and adding. */
#include "backend/cuda/ops/batch_norm.h"
#include "backend/cuda/ops/dense.h"
#include "backend/cuda/ops/int8.h"
#include "backend/cuda/ops/plan.h"
#include "backend/cuda/ops/points.h"

/* Are the inputs of products copied to 16 bits? */
static bool is_half(const cm_call *call) { return call->attr.compute != CM_F32; }

/* In 16 bits copies, activations and workspace begin at multiples of 16; in float32 weights stand where the parameters
 * are.
 */
static int gap_of(const cm_call *call, const cm_tensor *t) { return is_half(call) ? 0 : cm_alignment_gap(t->data); }

/* Of the tensors x, weight, y or the gradients in their place. */
static cm_convolution convolution_of(const cm_call *call, cm_convolution_way way, const cm_tensor *const t[3]) {
    const cm_tensor *x = t[0], *weight = t[1], *y = t[2];
    const bool half = is_half(call);
    return (cm_convolution){.way = way,
                            .B = x->dim[0],
                            .H = x->dim[1],
                            .W = x->dim[2],
                            .C = half ? cm_half_row(x->dim[3]) : x->dim[3],
                            .O = half ? cm_half_row(weight->dim[0]) : weight->dim[0],
                            .P = y->dim[1],
                            .Q = y->dim[2],
                            .k = weight->dim[1],
                            .stride = call->attr.stride,
                            .type = call->attr.compute,
                            .x_gap = gap_of(call, x),
                            .weight_gap = gap_of(call, weight),
                            .y_gap = gap_of(call, y)};
}

/* In 16 bits channels are as many as a multiple of 8, with zeros after the last: tensor cores read 16 bytes at a time,
 * and cuDNN need not have another way. */
static size_t half_bytes(const cm_tensor *t) {
    return (size_t)cm_vector_count(t) * (size_t)cm_half_row(cm_tensor_last(t)) * sizeof(uint16_t);
}

static size_t half_weight_bytes(const cm_tensor *weight) {
    cm_tensor first = *weight;
    first.dim[0] = cm_half_row(weight->dim[0]);
    return half_bytes(&first);
}

static cm_status make_half(cm_stream *stream, const cm_call *call, const cm_tensor *t, void *to) {
    cm_dense_args args = {.x = cm_vectors_of(t), .n = cm_tensor_last(t), .to = to, .type = call->attr.compute};
    args.half_stride = args.columns = cm_half_row(cm_tensor_last(t));
    return cm_half_run(stream, call, &args, cm_vector_count(t));
}

/* *out: t in 16 bits, which is made at `place` if t is of float32. */
static cm_status take_half(cm_stream *stream, const cm_call *call, const cm_tensor *t, void *place, const void **out) {
    *out = t->dtype == CM_F32 ? place : t->data;
    return t->dtype == CM_F32 ? make_half(stream, call, t, place) : CM_OK;
}

static cm_status acquire(cm_stream *stream, const cm_call *call, const cm_tensor *weight, cm_cuda_plan *plan) {
    return cm_weights_acquire(stream, weight, cm_tensor_last(weight), call->attr.compute, &plan->copy);
}

/* t (+)= act(result + bias), of a result in 16 bits (`from`) or in float32 (`x`). */
static cm_status finish(cm_stream *stream, const cm_call *call, const cm_tensor *t, cm_dense_args *args) {
    args->n = cm_tensor_last(t);
    args->half_stride = cm_half_row(cm_tensor_last(t));
    args->type = call->attr.compute;
    args->y = (cm_rows){t->data, args->n};
    CM_LAUNCH(stream, call, cm_dense_end_each, args, (int64_t)cm_tensor_count(t), 1);
    return CM_OK;
}

/* ---- forward: point by point ---- */

static bool is_of_points(const cm_stream *stream, const cm_call *call) {
    const cm_tensor *weight = CM_ARG(call, conv2d, weight);
    return is_half(call) && cm_ops_limits_of(stream).multiplies_16_bits && weight->dim[1] == 1 &&
           call->attr.stride == 1 && weight->dim[0] <= CM_POINT_OUTPUTS && CM_ARG(call, conv2d, y)->dtype == CM_F32;
}

static cm_status run_points(cm_stream *stream, const cm_call *call) {
    const cm_weight_copy *weight = ((const cm_cuda_plan *)call->plan)->copy;
    const cm_tensor *x = CM_ARG(call, conv2d, x), *y = CM_ARG(call, conv2d, y);
    cm_points_args args = {.y = cm_vectors_of(y),
                           .weight = (const uint16_t *)(const void *)weight->block.base,
                           .weight_row = weight->stride,
                           .points = cm_vector_count(y),
                           .bias = CM_ARG(call, conv2d, bias)->data,
                           .n = cm_tensor_last(y),
                           .k = cm_tensor_last(x),
                           .activation = call->attr.activation,
                           .type = call->attr.compute,
                           .add = CM_ADDS(call, conv2d, y)};
    if (x->dtype == CM_F32) {
        args.x = cm_vectors_of(x);
    } else {
        args.from = x->data;
    }
    CM_LAUNCH(stream, call, cm_points_each, &args, (args.points + CM_POINTS - 1) / CM_POINTS, CM_WARP);
    return CM_OK;
}

/* ---- forward ---- */

/* The result is made apart where y cannot take it: in 16 bits, or to be added after relu. */
static bool is_apart(const cm_call *call) {
    return (is_half(call) && CM_ARG(call, conv2d, y)->dtype == CM_F32) ||
           (CM_ADDS(call, conv2d, y) && call->attr.activation != CM_ACT_NONE);
}

typedef struct forward_places {
    size_t x, y, bytes;
} forward_places;

static forward_places places_of(const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, conv2d, x), *y = CM_ARG(call, conv2d, y);
    forward_places p = {0};
    p.x = cm_ops_piece(&p.bytes, is_half(call) && x->dtype == CM_F32 ? half_bytes(x) : 0);
    p.y = cm_ops_piece(&p.bytes, !is_apart(call) ? 0
                                 : is_half(call) ? half_bytes(y)
                                                 : cm_tensor_count(y) * sizeof(float));
    return p;
}

size_t cm_cuda_conv2d_workspace(const cm_call *call) {
    return call->attr.compute == CM_I8 ? cm_cuda_int8_workspace(call) : places_of(call).bytes;
}

static void free_convolutions(cm_cuda_plan *plan) {
    for (int i = 0; i < CM_PLAN_CONVOLUTIONS; i++) cm_convolution_free(plan->convolution[i]);
    cm_convolution_norm_free(plan->whole);
}

static cm_status make_conv2d(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *t[3] = {CM_ARG(call, conv2d, x), CM_ARG(call, conv2d, weight), CM_ARG(call, conv2d, y)};
    plan->free = free_convolutions;
    if (is_half(call)) CM_TRY(acquire(stream, call, t[1], plan));
    if (is_of_points(stream, call)) return CM_OK; /* and no plan of a convolution */
    cm_convolution convolution = convolution_of(call, CM_CONVOLVE, t);
    convolution.accumulate = !is_apart(call) && CM_ADDS(call, conv2d, y);
    if (is_apart(call)) convolution.y_gap = 0;
    return cm_convolution_prepare(stream, &convolution, &plan->convolution[0]);
}

cm_status cm_cuda_conv2d_prepare(cm_stream *stream, cm_call *call) {
    if (call->attr.compute == CM_I8) return cm_cuda_int8_prepare(stream, call);
    return cm_cuda_plan_find(stream, call, 1u << CM_T_conv2d_weight, make_conv2d);
}

cm_status cm_cuda_conv2d(cm_stream *stream, const cm_call *call) {
    if (call->attr.compute == CM_I8) return cm_cuda_int8_run(stream, call);
    const cm_cuda_plan *plan = call->plan;
    if (!plan->convolution[0]) return run_points(stream, call);
    const cm_tensor *x = CM_ARG(call, conv2d, x), *y = CM_ARG(call, conv2d, y);
    forward_places p = places_of(call);
    const void *from = x->data, *weight = CM_ARG(call, conv2d, weight)->data;
    bool half = is_half(call), apart = is_apart(call);
    if (half) weight = plan->copy->block.base;
    if (half) CM_TRY(take_half(stream, call, x, cm_ops_at(stream, p.x), &from));
    void *result = apart ? cm_ops_at(stream, p.y) : y->data;
    CM_TRY(cm_convolution_run(stream, plan->convolution[0], from, weight, result));
    cm_dense_args args = {.bias = CM_ARG(call, conv2d, bias)->data,
                          .activation = call->attr.activation,
                          .from = half ? result : NULL,
                          .x = {result, cm_tensor_last(y)},
                          .add = apart && CM_ADDS(call, conv2d, y)};
    bool done = !apart && !args.bias && args.activation == CM_ACT_NONE;
    return done ? CM_OK : finish(stream, call, y, &args);
}

/* ---- forward, with a norm after it ---- */

/* Are the sums in 16 bits, as the kernel after them takes them? */
static bool has_half_sums(const cm_call *call) {
    return is_half(call) && cm_tensor_last(CM_ARG(call, conv2d_norm, y)) % CM_EIGHT == 0;
}

/* The convolution alone, whose result is at `sums`. */
static cm_call convolution_alone(const cm_call *call, void *sums) {
    const cm_dtype type = has_half_sums(call) ? call->attr.compute : CM_F32;
    cm_call conv = {.op = CM_OP_conv2d, .attr = {.compute = call->attr.compute, .stride = call->attr.stride}};
    conv.t[CM_T_conv2d_y] = cm_tensor_make(sums, type, 4, CM_ARG(call, conv2d_norm, y)->dim);
    conv.t[CM_T_conv2d_x] = *CM_ARG(call, conv2d_norm, x);
    conv.t[CM_T_conv2d_weight] = *CM_ARG(call, conv2d_norm, weight);
    conv.plan = call->plan;
    return conv;
}

static cm_call norm_alone(const cm_call *call, const cm_tensor *sums) {
    cm_call norm = {.op = CM_OP_batch_norm_inference, .attr = call->attr};
    norm.t[CM_T_batch_norm_inference_y] = *CM_ARG(call, conv2d_norm, y);
    norm.t[CM_T_batch_norm_inference_x] = *sums;
    norm.t[CM_T_batch_norm_inference_scale] = *CM_ARG(call, conv2d_norm, scale);
    norm.t[CM_T_batch_norm_inference_shift] = *CM_ARG(call, conv2d_norm, shift);
    norm.t[CM_T_batch_norm_inference_mean] = *CM_ARG(call, conv2d_norm, mean);
    norm.t[CM_T_batch_norm_inference_variance] = *CM_ARG(call, conv2d_norm, variance);
    norm.t[CM_T_batch_norm_inference_residual] = *CM_ARG(call, conv2d_norm, residual);
    return norm;
}

/* Workspace: that of the convolution, then the sums if they cannot wait in the place of y. */
static size_t sums_place(const cm_call *call, size_t *bytes) {
    const cm_call conv = convolution_alone(call, NULL);
    const cm_tensor *sums = CM_ARG(&conv, conv2d, y);
    *bytes = places_of(&conv).bytes;
    return cm_ops_piece(bytes, sums->dtype == CM_ARG(call, conv2d_norm, y)->dtype ? 0 : cm_tensor_bytes(sums));
}

size_t cm_cuda_conv2d_norm_workspace(const cm_call *call) {
    size_t bytes;
    if (call->attr.compute == CM_I8) return cm_cuda_int8_workspace(call);
    (void)sums_place(call, &bytes);
    return bytes;
}

static cm_status run_apart(cm_stream *stream, const void *call_) {
    const cm_call *call = call_;
    size_t bytes, place = sums_place(call, &bytes);
    const cm_call conv =
        convolution_alone(call, bytes > place ? cm_ops_at(stream, place) : CM_ARG(call, conv2d_norm, y)->data);
    const cm_call norm = norm_alone(call, CM_ARG(&conv, conv2d, y));
    CM_TRY(cm_cuda_conv2d(stream, &conv));
    return cm_cuda_batch_norm_inference(stream, &norm);
}

static cm_convolution_norm_data norm_data(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, conv2d_norm, x);
    const cm_cuda_plan *plan = call->plan;
    return (cm_convolution_norm_data){.x = x->dtype == CM_F32 ? cm_ops_workspace(stream) : x->data,
                                      .weight = plan->copy->block.base,
                                      .residual = CM_ARG(call, conv2d_norm, residual)->data,
                                      .scale = CM_ARG(call, conv2d_norm, scale)->data,
                                      .shift = CM_ARG(call, conv2d_norm, shift)->data,
                                      .mean = CM_ARG(call, conv2d_norm, mean)->data,
                                      .variance = CM_ARG(call, conv2d_norm, variance)->data,
                                      .y = CM_ARG(call, conv2d_norm, y)->data,
                                      .epsilon = call->attr.epsilon};
}

/* Memory of its own for a tensor of a measured copy of a call. */
static cm_status set_apart(cm_stream *stream, cm_tensor *t, cm_buffer *memory) {
    if (!t->data) return CM_OK;
    CM_TRY(cm_buffer_create(memory, cm_ops_device(stream), cm_tensor_bytes(t), "measuring a convolution"));
    t->data = memory->base;
    return CM_OK;
}

enum { TRIED = 3 };

/* What a measurement overwrites is not the call's; of x that is the copy in 16 bits, which either way reads. */
static cm_status set_all_apart(cm_stream *stream, cm_call *apart, cm_buffer memory[TRIED]) {
    cm_tensor *x = &apart->t[CM_T_conv2d_norm_x];
    x->dim[3] = cm_half_row(x->dim[3]);
    *x = cm_tensor_make(x->data, apart->attr.compute, 4, x->dim);
    CM_TRY(set_apart(stream, x, &memory[0]));
    CM_TRY(set_apart(stream, &apart->t[CM_T_conv2d_norm_residual], &memory[1]));
    return set_apart(stream, &apart->t[CM_T_conv2d_norm_y], &memory[2]);
}

/* Looks for one launch. */
static cm_status find_whole(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *y = CM_ARG(call, conv2d_norm, y), *residual = CM_ARG(call, conv2d_norm, residual);
    const cm_tensor *t[3] = {CM_ARG(call, conv2d_norm, x), CM_ARG(call, conv2d_norm, weight), y};
    const cm_convolution_norm what = {.convolution = convolution_of(call, CM_CONVOLVE, t),
                                      .y = y->dtype,
                                      .residual = residual->dtype,
                                      .adds = residual->data,
                                      .relu = call->attr.activation == CM_ACT_RELU};
    cm_call apart = *call;
    const cm_convolution_fallback fallback = {run_apart, &apart};
    cm_buffer memory[TRIED] = {{0}};
    apart.plan = plan;
    cm_status status = set_all_apart(stream, &apart, memory);
    const cm_convolution_norm_data data = norm_data(stream, &apart);
    if (status == CM_OK) status = cm_convolution_norm_prepare(stream, &what, &data, &fallback, &plan->whole);
    for (int i = 0; i < TRIED; i++) cm_buffer_destroy(&memory[i]);
    return status;
}

/* A plan reads and writes 16 bytes at a time. */
static bool may_be_whole(const cm_call *call) {
    const void *y = CM_ARG(call, conv2d_norm, y)->data, *residual = CM_ARG(call, conv2d_norm, residual)->data;
    return has_half_sums(call) && cm_alignment_gap(y) == 0 && cm_alignment_gap(residual) == 0;
}

static cm_status make_conv2d_norm(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_call conv = convolution_alone(call, CM_ARG(call, conv2d_norm, y)->data);
    CM_TRY(make_conv2d(stream, &conv, plan));
    return may_be_whole(call) ? find_whole(stream, call, plan) : CM_OK;
}

cm_status cm_cuda_conv2d_norm_prepare(cm_stream *stream, cm_call *call) {
    if (call->attr.compute == CM_I8) return cm_cuda_int8_prepare(stream, call);
    return cm_cuda_plan_find(stream, call, 1u << CM_T_conv2d_norm_weight, make_conv2d_norm);
}

cm_status cm_cuda_conv2d_norm(cm_stream *stream, const cm_call *call) {
    if (call->attr.compute == CM_I8) return cm_cuda_int8_run(stream, call);
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *x = CM_ARG(call, conv2d_norm, x);
    if (!plan->whole) return run_apart(stream, call);
    if (x->dtype == CM_F32) CM_TRY(make_half(stream, call, x, cm_ops_workspace(stream)));
    const cm_convolution_norm_data data = norm_data(stream, call);
    return cm_convolution_norm_run(stream, plan->whole, &data);
}

/* ---- backward ---- */

enum { DX, DWEIGHT };

/* Workspace: dy and x in 16 bits where they are not, a result in 16 bits that is not one of the call's, the sums of
 * chunks. */
typedef struct backward_places {
    size_t dy, x, result, sums, bytes;
} backward_places;

static backward_places backward_places_of(const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, conv2d_backward, x), *dy = CM_ARG(call, conv2d_backward, dy);
    size_t of_x = half_bytes(x), of_weight = half_weight_bytes(CM_ARG(call, conv2d_backward, weight));
    bool half = is_half(call);
    backward_places p = {0};
    p.dy = cm_ops_piece(&p.bytes, half && dy->dtype == CM_F32 ? half_bytes(dy) : 0);
    p.x = cm_ops_piece(&p.bytes, half && x->dtype == CM_F32 ? of_x : 0);
    p.result = cm_ops_piece(&p.bytes, !half ? 0 : of_x > of_weight ? of_x : of_weight);
    p.sums = cm_ops_piece(&p.bytes, cm_column_sums_bytes(cm_vector_count(dy), cm_tensor_last(dy)));
    return p;
}

size_t cm_cuda_conv2d_backward_workspace(const cm_call *call) { return backward_places_of(call).bytes; }

static cm_status make_conv2d_backward(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *x = CM_ARG(call, conv2d_backward, x), *dx = CM_ARG(call, conv2d_backward, dx);
    const cm_tensor *weight = CM_ARG(call, conv2d_backward, weight), *dy = CM_ARG(call, conv2d_backward, dy);
    const cm_tensor *dweight = CM_ARG(call, conv2d_backward, dweight);
    bool half = is_half(call);
    plan->free = free_convolutions;
    if (dx->data) {
        const cm_tensor *const t[3] = {dx, weight, dy};
        cm_convolution convolution = convolution_of(call, CM_CONVOLVE_INPUT, t);
        convolution.accumulate = dx->dtype == call->attr.compute && CM_ADDS(call, conv2d_backward, dx);
        if (half) CM_TRY(acquire(stream, call, weight, plan));
        CM_TRY(cm_convolution_prepare(stream, &convolution, &plan->convolution[DX]));
    }
    if (!dweight->data) return CM_OK;
    const cm_tensor *const t[3] = {x, dweight, dy};
    cm_convolution convolution = convolution_of(call, CM_CONVOLVE_WEIGHT, t);
    convolution.accumulate = !half && CM_ADDS(call, conv2d_backward, dweight);
    return cm_convolution_prepare(stream, &convolution, &plan->convolution[DWEIGHT]);
}

cm_status cm_cuda_conv2d_backward_prepare(cm_stream *stream, cm_call *call) {
    return cm_cuda_plan_find(stream, call, 1u << CM_T_conv2d_backward_weight, make_conv2d_backward);
}

static cm_status run_bias(cm_stream *stream, const cm_call *call, void *workspace) {
    const cm_tensor *dy = CM_ARG(call, conv2d_backward, dy), *dbias = CM_ARG(call, conv2d_backward, dbias);
    cm_column_sums sums = {cm_vectors_of(dy), cm_vector_count(dy), cm_tensor_last(dy), dbias->data,
                           CM_ADDS(call, conv2d_backward, dbias)};
    return cm_column_sums_run(stream, call, &sums, workspace);
}

/* One gradient: its convolution of a and b, via 16 bits if that is the type of computation. */
static cm_status run_gradient(cm_stream *stream, const cm_call *call, int which, const void *a, const void *b) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *to = which == DX ? CM_ARG(call, conv2d_backward, dx) : CM_ARG(call, conv2d_backward, dweight);
    if (to->dtype == call->attr.compute) return cm_convolution_run(stream, plan->convolution[which], a, b, to->data);
    void *result = cm_ops_at(stream, backward_places_of(call).result);
    CM_TRY(cm_convolution_run(stream, plan->convolution[which], a, b, result));
    bool add = which == DX ? CM_ADDS(call, conv2d_backward, dx) : CM_ADDS(call, conv2d_backward, dweight);
    cm_dense_args args = {.from = result, .activation = CM_ACT_NONE, .add = add};
    return finish(stream, call, to, &args);
}

cm_status cm_cuda_conv2d_backward(cm_stream *stream, const cm_call *call) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *x = CM_ARG(call, conv2d_backward, x), *dy = CM_ARG(call, conv2d_backward, dy);
    bool dx = CM_ARG(call, conv2d_backward, dx)->data, dweight = CM_ARG(call, conv2d_backward, dweight)->data;
    backward_places p = backward_places_of(call);
    const void *of_dy = dy->data, *of_x = x->data, *weight = CM_ARG(call, conv2d_backward, weight)->data;
    if (is_half(call)) {
        if (plan->copy) weight = plan->copy->block.base;
        CM_TRY(take_half(stream, call, dy, cm_ops_at(stream, p.dy), &of_dy));
        if (dweight) CM_TRY(take_half(stream, call, x, cm_ops_at(stream, p.x), &of_x));
    }
    if (dweight) CM_TRY(run_gradient(stream, call, DWEIGHT, of_dy, of_x));
    CM_TRY(run_bias(stream, call, cm_ops_at(stream, p.sums)));
    return dx ? run_gradient(stream, call, DX, of_dy, weight) : CM_OK;
}
