#include "backend/cuda/ops/int8.h"

#include "backend/cuda/ops/plan.h"
#include "backend/int8_operands.h"

/* x in whole numbers. */
size_t cm_cuda_int8_workspace(const cm_call *call) {
    const cm_tensor *x = cm_int8_operands_of(call).x;
    return (size_t)cm_vector_count(x) * (size_t)cm_int8_place(cm_tensor_last(x));
}

static cm_status make(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_int8_operands o = cm_int8_operands_of(call);
    return cm_weights_acquire(stream, o.weight, cm_tensor_last(o.x), CM_I8, &plan->copy);
}

cm_status cm_cuda_int8_prepare(cm_stream *stream, cm_call *call) {
    const int weight = (int)(cm_int8_operands_of(call).weight - call->t);
    return cm_cuda_plan_find(stream, call, 1u << weight, make);
}

static cm_status make_numbers(cm_stream *stream, const cm_call *call, const cm_tensor *x) {
    const cm_int8_rows_args args = {.x = cm_vectors_of(x),
                                    .n = cm_tensor_last(x),
                                    .words = cm_int8_place(cm_tensor_last(x)) / CM_INT8_WORD,
                                    .to = cm_ops_workspace(stream),
                                    .inverse = cm_int8_inverse(call->attr.range)};
    CM_LAUNCH(stream, call, cm_int8_rows_each, &args, cm_vector_count(x) * args.words, 1);
    return CM_OK;
}

/* Of a dense layer: an image of one place for each row. */
static void set_shapes(cm_int8_layer_args *args, const cm_call *call, const cm_int8_operands *o) {
    args->H = args->W = args->P = args->Q = args->window = args->stride = 1;
    if (call->op == CM_OP_dense) return;
    args->H = o->x->dim[1], args->W = o->x->dim[2];
    args->P = o->y->dim[1], args->Q = o->y->dim[2];
    args->window = o->weight->dim[1], args->stride = call->attr.stride;
}

static void set_norm(cm_int8_layer_args *args, const cm_call *call, const cm_int8_operands *o) {
    if (!o->norm->data) return;
    args->scale = o->norm[0].data, args->shift = o->norm[1].data;
    args->mean = o->norm[2].data, args->variance = o->norm[3].data;
    args->epsilon = call->attr.epsilon;
}

static cm_dense_args end_of(const cm_call *call, const cm_int8_operands *o) {
    cm_dense_args end = {.y = cm_vectors_of(o->y),
                         .n = cm_tensor_last(o->y),
                         .bias = o->bias->data,
                         .activation = call->attr.activation};
    cm_dense_set_encoding(&end, call, o->weight, o->action, cm_tensor_last(o->x));
    end.type = CM_F32;
    return end;
}

cm_status cm_cuda_int8_run(cm_stream *stream, const cm_call *call) {
    const cm_int8_operands o = cm_int8_operands_of(call);
    const cm_weight_copy *copy = ((const cm_cuda_plan *)call->plan)->copy;
    cm_int8_layer_args args = {.end = end_of(call, &o),
                               .x = cm_ops_workspace(stream),
                               .weight = copy->block.base,
                               .steps = cm_weight_steps(copy),
                               .step = cm_int8_step(call->attr.range),
                               .rows = cm_vector_count(o.y),
                               .n = cm_tensor_last(o.y),
                               .place = cm_int8_place(cm_tensor_last(o.x)),
                               .residual = cm_vectors_of(o.residual)};
    set_shapes(&args, call, &o);
    set_norm(&args, call, &o);
    CM_TRY(make_numbers(stream, call, o.x));
    const int64_t high = (args.rows + CM_INT8_TILE - 1) / CM_INT8_TILE;
    CM_LAUNCH(stream, call, cm_int8_layer_each, &args, high * ((args.n + CM_INT8_TILE - 1) / CM_INT8_TILE), CM_WARP);
    return CM_OK;
}
