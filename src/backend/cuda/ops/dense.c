/* Dense layers: a product whose epilogue does bias and relu, and a kernel for what it cannot do. */
#include "backend/cuda/ops/dense.h"

#include "backend/cuda/ops/columns.h"
#include "backend/cuda/ops/int8.h"
#include "backend/cuda/ops/plan.h"
#include "core/log.h"

/* Are the inputs of products copied to 16 bits? */
static bool is_half(const cm_call *call) { return call->attr.compute != CM_F32; }

cm_status cm_half_run(cm_stream *stream, const cm_call *call, cm_dense_args *args, int64_t rows) {
    const bool eights =
        args->columns % CM_EIGHT == 0 && args->half_stride % CM_EIGHT == 0 && cm_alignment_gap(args->to) == 0;
    args->fours = cm_are_fours(&args->x);
    if (eights) {
        CM_LAUNCH(stream, call, cm_half_eights, args, rows * args->columns / CM_EIGHT, 1);
    } else {
        CM_LAUNCH(stream, call, cm_half_each, args, rows * args->columns, 1);
    }
    return CM_OK;
}

/* A matrix as a product reads it: the tensor itself, or a copy of 16 bits that is made in the order of the stream. */
typedef struct operand {
    const cm_tensor *from; /* to be copied; NULL: nothing is */
    cm_tensor t;           /* what is read; without an address if the copy lies in the workspace */
} operand;

/* `copy`: a tensor for the copy, or without an address. */
static operand operand_of(const cm_call *call, const cm_tensor *t, const cm_tensor *copy) {
    operand o = {NULL, *t};
    if (!is_half(call) || t->dtype != CM_F32) return o;
    o.from = t;
    if (copy->data) {
        o.t = *copy;
    } else {
        o.t.data = NULL;
        o.t.stride = cm_half_row(t->dim[1]);
    }
    return o;
}

static size_t workspace_of(const operand *o) {
    return o->t.data ? 0 : (size_t)o->t.dim[0] * (size_t)o->t.stride * sizeof(uint16_t);
}

/* Copies in the workspace and of weights begin at multiples of 16 bytes. */
static int gap_of(const void *data, bool copied) { return copied ? 0 : cm_alignment_gap(data); }

/* Makes the copy, if one is to be made; `place` is where in the workspace. *address is what the product reads. */
static cm_status make_operand(cm_stream *stream, const cm_call *call, const operand *o, size_t place,
                              const void **address) {
    void *to = o->t.data ? o->t.data : cm_ops_at(stream, place);
    *address = to;
    if (!o->from) return CM_OK;
    cm_dense_args args = {
        .x = cm_rows_of(o->from), .n = o->t.dim[1], .to = to, .half_stride = o->t.stride, .type = call->attr.compute};
    args.columns = args.n;
    return cm_half_run(stream, call, &args, o->t.dim[0]);
}

/* ---- forward ---- */

/* Has a kernel something to do after the product? Not for relu of the product itself. */
static bool has_end(const cm_call *call) {
    const cm_activation activation = call->attr.activation;
    const bool by_product = activation == CM_ACT_NONE || (activation == CM_ACT_RELU && !CM_ADDS(call, dense, y));
    return !by_product || CM_ARG(call, dense, action)->data;
}

/* y += relu(...) and y += (... + action) need the product by itself first; without adding it waits in the place of y.
 */
static bool is_apart(const cm_call *call) { return CM_ADDS(call, dense, y) && has_end(call); }

static operand forward_x(const cm_call *call) {
    return operand_of(call, CM_ARG(call, dense, x), CM_ARG(call, dense, half_x));
}

/* Workspace: x in 16 bits, the product by itself. */
typedef struct forward_places {
    size_t x, y, bytes;
} forward_places;

static forward_places places_of(const cm_call *call, const operand *x) {
    const cm_tensor *y = CM_ARG(call, dense, y);
    forward_places p = {0};
    p.x = cm_ops_piece(&p.bytes, workspace_of(x));
    p.y = cm_ops_piece(&p.bytes, is_apart(call) ? (size_t)y->dim[0] * (size_t)y->dim[1] * sizeof(float) : 0);
    return p;
}

size_t cm_cuda_dense_workspace(const cm_call *call) {
    const operand x = forward_x(call);
    return call->attr.compute == CM_I8 ? cm_cuda_int8_workspace(call) : places_of(call, &x).bytes;
}

void cm_cuda_free_products(cm_cuda_plan *plan) {
    for (int i = 0; i < CM_PLAN_PRODUCTS; i++) cm_product_free(plan->product[i]);
}

/* Where the library has nothing with an epilogue it may have something without. A bias that is not aligned is none of
 * its business: it may be read 16 bytes at a time. */
static cm_status prepare_product(cm_stream *stream, cm_cuda_product *product, const float *bias, cm_cuda_plan *plan) {
    cm_status status = CM_ERR_DEVICE;
    if (!product->bias || cm_alignment_gap(bias) == 0) {
        status = cm_product_prepare(stream, product, &plan->product[0]);
        if (status != CM_ERR_DEVICE || !(product->bias || product->relu)) return status;
        if (cm_log_plans())
            cm_log(CM_INFO, "a dense layer's bias and relu take a launch of their own: %s", cm_error_message());
    }
    product->bias = product->relu = false;
    plan->is_bare = true;
    return cm_product_prepare(stream, product, &plan->product[0]);
}

static cm_status make_dense(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *y = CM_ARG(call, dense, y), *weight = CM_ARG(call, dense, weight);
    const operand x = forward_x(call);
    const bool half = is_half(call), apart = is_apart(call);
    plan->free = cm_cuda_free_products;
    if (half) CM_TRY(cm_weights_acquire(stream, weight, x.t.dim[1], call->attr.compute, &plan->copy));
    cm_cuda_product product = {.m = x.t.dim[0],
                               .n = weight->dim[0],
                               .k = x.t.dim[1],
                               .b_across = true,
                               .a_row = x.t.stride,
                               .b_row = half ? plan->copy->stride : weight->stride,
                               .c_row = apart ? y->dim[1] : y->stride,
                               .a_gap = gap_of(x.t.data, false),
                               .b_gap = gap_of(weight->data, half),
                               .c_gap = gap_of(y->data, apart),
                               .type = call->attr.compute,
                               .bias = !has_end(call) && CM_ARG(call, dense, bias)->data,
                               .relu = !has_end(call) && call->attr.activation == CM_ACT_RELU,
                               .accumulate = !apart && CM_ADDS(call, dense, y)};
    return prepare_product(stream, &product, CM_ARG(call, dense, bias)->data, plan);
}

cm_status cm_cuda_dense_prepare(cm_stream *stream, cm_call *call) {
    if (call->attr.compute == CM_I8) return cm_cuda_int8_prepare(stream, call);
    return cm_cuda_plan_find(stream, call, 1u << CM_T_dense_weight, make_dense);
}

/* y (+)= act(product + bias + encoding); a product that was added to y stands there. */
static cm_status run_end(cm_stream *stream, const cm_call *call, const cm_product_data *data, int inputs) {
    const cm_tensor *y = CM_ARG(call, dense, y);
    cm_dense_args args = {.y = cm_rows_of(y),
                          .x = {data->c, is_apart(call) ? y->dim[1] : y->stride},
                          .n = y->dim[1],
                          .bias = data->bias,
                          .activation = call->attr.activation,
                          .add = is_apart(call)};
    cm_dense_set_encoding(&args, call, CM_ARG(call, dense, weight), CM_ARG(call, dense, action), inputs);
    CM_LAUNCH(stream, call, cm_dense_end_each, &args, (int64_t)y->dim[0] * y->dim[1], 1);
    return CM_OK;
}

cm_status cm_cuda_dense(cm_stream *stream, const cm_call *call) {
    if (call->attr.compute == CM_I8) return cm_cuda_int8_run(stream, call);
    const cm_cuda_plan *plan = call->plan;
    const operand x = forward_x(call);
    const forward_places p = places_of(call, &x);
    cm_product_data data = {NULL, CM_ARG(call, dense, weight)->data, CM_ARG(call, dense, bias)->data,
                            CM_ARG(call, dense, y)->data};
    if (is_half(call)) data.b = plan->copy->block.base;
    if (is_apart(call)) data.c = cm_ops_at(stream, p.y);
    CM_TRY(make_operand(stream, call, &x, p.x, &data.a));
    CM_TRY(cm_product_run(stream, plan->product[0], &data));
    return has_end(call) || plan->is_bare ? run_end(stream, call, &data, x.t.dim[1]) : CM_OK;
}

/* ---- backward ---- */

enum { DX, DWEIGHT };

/* What the products read, and where it lies in the workspace; after it the sums of chunks. */
typedef struct backward_parts {
    operand dy, x;
    size_t dy_at, x_at, sums_at, bytes;
} backward_parts;

/* The samples in chunks, for the columns of dweight that belong to the action's encoding. */
static cm_chunks action_chunks(const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *dy = CM_ARG(call, dense_backward, dy);
    const int columns = CM_ARG(call, dense_backward, dweight)->dim[1] - x->dim[1];
    return cm_chunks_of(dy->dim[0], columns * dy->dim[1], 1);
}

bool cm_dense_action_sum(const cm_call *call, cm_dense_args *out) {
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *dweight = CM_ARG(call, dense_backward, dweight), *action = CM_ARG(call, dense_backward, action);
    if (!dweight->data || !action->data) return false;
    *out = (cm_dense_args){.x = cm_rows_of(dy),
                           .n = dy->dim[1],
                           .chunks = action_chunks(call),
                           .add = CM_ADDS(call, dense_backward, dweight)};
    cm_dense_set_encoding(out, call, dweight, action, x->dim[1]);
    return true;
}

static size_t action_bytes(const cm_call *call) {
    cm_dense_args args;
    return cm_dense_action_sum(call, &args) ? cm_chunks_bytes(&args.chunks) : 0;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static backward_parts backward_parts_of(const cm_call *call) {
    const cm_tensor *dy = CM_ARG(call, dense_backward, dy), *half_dy = CM_ARG(call, dense_backward, half_dy);
    const cm_tensor none = {0};
    backward_parts p = {.dy = operand_of(call, half_dy->data ? half_dy : dy, &none),
                        .x = operand_of(call, CM_ARG(call, dense_backward, x), &none)};
    p.dy_at = cm_ops_piece(&p.bytes, workspace_of(&p.dy));
    p.x_at = cm_ops_piece(&p.bytes, workspace_of(&p.x));
    p.sums_at = cm_ops_piece(&p.bytes, larger(cm_column_sums_bytes(dy->dim[0], dy->dim[1]), action_bytes(call)));
    return p;
}

size_t cm_cuda_dense_backward_workspace(const cm_call *call) { return backward_parts_of(call).bytes; }

static cm_status make_dx(cm_stream *stream, const cm_call *call, const cm_tensor *dy, cm_cuda_plan *plan) {
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx), *weight = CM_ARG(call, dense_backward, weight);
    bool half = is_half(call);
    if (half) CM_TRY(cm_weights_acquire(stream, weight, dx->dim[1], call->attr.compute, &plan->copy));
    cm_cuda_product product = {.m = dy->dim[0],
                               .n = dx->dim[1],
                               .k = dy->dim[1],
                               .a_row = dy->stride,
                               .b_row = half ? plan->copy->stride : weight->stride,
                               .c_row = dx->stride,
                               .a_gap = gap_of(dy->data, false),
                               .b_gap = gap_of(weight->data, half),
                               .c_gap = gap_of(dx->data, false),
                               .type = call->attr.compute,
                               .accumulate = CM_ADDS(call, dense_backward, dx)};
    return cm_product_prepare(stream, &product, &plan->product[DX]);
}

static cm_status make_dweight(cm_stream *stream, const cm_call *call, const backward_parts *p, cm_cuda_plan *plan) {
    const cm_tensor *x = &p->x.t, *dy = &p->dy.t, *dweight = CM_ARG(call, dense_backward, dweight);
    cm_cuda_product product = {.m = dy->dim[1],
                               .n = x->dim[1],
                               .k = dy->dim[0],
                               .a_across = true,
                               .a_row = dy->stride,
                               .b_row = x->stride,
                               .c_row = dweight->stride,
                               .a_gap = gap_of(dy->data, false),
                               .b_gap = gap_of(x->data, false),
                               .c_gap = gap_of(dweight->data, false),
                               .type = call->attr.compute,
                               .accumulate = CM_ADDS(call, dense_backward, dweight)};
    return cm_product_prepare(stream, &product, &plan->product[DWEIGHT]);
}

static cm_status make_dense_backward(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const backward_parts p = backward_parts_of(call);
    plan->free = cm_cuda_free_products;
    if (CM_ARG(call, dense_backward, dx)->data) CM_TRY(make_dx(stream, call, &p.dy.t, plan));
    return CM_ARG(call, dense_backward, dweight)->data ? make_dweight(stream, call, &p, plan) : CM_OK;
}

cm_status cm_cuda_dense_backward_prepare(cm_stream *stream, cm_call *call) {
    return cm_cuda_plan_find(stream, call, 1u << CM_T_dense_backward_weight, make_dense_backward);
}

/* The columns of dweight that belong to the action's encoding. */
static cm_status run_action(cm_stream *stream, const cm_call *call, void *workspace) {
    cm_dense_args args;
    if (!cm_dense_action_sum(call, &args)) return CM_OK;
    args.chunks.partial = workspace;
    CM_LAUNCH(stream, call, cm_dense_action_partial, &args, cm_chunks_items(&args.chunks), 1);
    CM_LAUNCH(stream, call, cm_dense_action_finish, &args, args.chunks.columns, CM_WARP);
    return CM_OK;
}

static cm_column_sums bias_sums(const cm_call *call) {
    const cm_tensor *dy = CM_ARG(call, dense_backward, dy), *dbias = CM_ARG(call, dense_backward, dbias);
    return (cm_column_sums){cm_rows_of(dy), dy->dim[0], dy->dim[1], dbias->data, CM_ADDS(call, dense_backward, dbias)};
}

bool cm_dense_bias_sum(const cm_call *call, cm_columns_args *out) {
    const cm_column_sums sums = bias_sums(call);
    *out = cm_column_sums_args(&sums);
    return sums.out;
}

static cm_status run_bias(cm_stream *stream, const cm_call *call, void *workspace) {
    const cm_column_sums sums = bias_sums(call);
    return cm_column_sums_run(stream, call, &sums, workspace);
}

cm_status cm_cuda_dense_backward(cm_stream *stream, const cm_call *call) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx), *dweight = CM_ARG(call, dense_backward, dweight);
    const backward_parts p = backward_parts_of(call);
    const void *weight = plan->copy ? plan->copy->block.base : CM_ARG(call, dense_backward, weight)->data, *dy, *x;
    CM_TRY(make_operand(stream, call, &p.dy, p.dy_at, &dy));
    if (dweight->data) {
        CM_TRY(make_operand(stream, call, &p.x, p.x_at, &x));
        cm_product_data data = {dy, x, NULL, dweight->data};
        CM_TRY(cm_product_run(stream, plan->product[DWEIGHT], &data));
        CM_TRY(run_action(stream, call, cm_ops_at(stream, p.sums_at)));
    }
    CM_TRY(run_bias(stream, call, cm_ops_at(stream, p.sums_at)));
    cm_product_data data = {dy, weight, NULL, dx->data};
    return dx->data ? cm_product_run(stream, plan->product[DX], &data) : CM_OK;
}
