/* Dense layers: a product whose epilogue does bias and relu, and kernels for what it cannot do. */
#include "backend/cuda/dense.h"

#include "backend/cuda/columns.h"
#include "backend/cuda/plan.h"

/* Are the inputs of products copied to 16 bits? */
static bool is_narrow(const cm_call *call) { return call->attr.compute != CM_F32; }

/* A matrix as a product reads it: itself, or its 16-bit copy in the workspace, made in the order of the stream. */
static size_t narrow_bytes(const cm_tensor *t) {
    return (size_t)t->dim[0] * (size_t)cm_narrow_row(t->dim[1]) * sizeof(uint16_t);
}

static int64_t row_step(const cm_tensor *t, bool narrow) { return narrow ? cm_narrow_row(t->dim[1]) : t->stride; }

/* Copies begin at multiples of 16 bytes. */
static int gap_of(const cm_tensor *t, bool narrow) { return narrow ? 0 : cm_alignment_gap(t->data); }

static cm_status make_narrow(cm_stream *stream, const cm_call *call, const cm_tensor *t, void *to) {
    cm_dense_args args = {
        .x = cm_rows_of(t), .n = t->dim[1], .to = to, .narrow = cm_narrow_row(t->dim[1]), .type = call->attr.compute};
    CM_LAUNCH(stream, call, cm_narrow_each, &args, t->dim[0] * args.narrow, 1);
    return CM_OK;
}

/* What kernels need to know of the action's encoding: `weight` is the whole one, or its gradient. */
static void set_encoding(cm_dense_args *args, const cm_call *call, const cm_tensor *weight, const cm_tensor *action,
                         int inputs) {
    if (!action->data) return;
    args->weight = cm_rows_of(weight);
    args->weight.data += inputs;
    args->action = action->data;
    args->encoding = call->attr.encoding;
    args->actions = call->attr.actions;
    args->type = call->attr.compute;
}

/* ---- forward ---- */

/* y += relu(...) and y += (... + action) need the product by itself first. */
static bool is_apart(const cm_call *call) {
    bool more = call->attr.activation != CM_ACT_NONE || CM_ARG(call, dense, action)->data;
    return CM_ADDS(call, dense, y) && more;
}

/* Workspace: x in 16 bits, the product by itself. */
typedef struct forward_places {
    size_t x, y, bytes;
} forward_places;

static forward_places places_of(const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense, x), *y = CM_ARG(call, dense, y);
    forward_places p = {0};
    p.x = cm_ops_piece(&p.bytes, is_narrow(call) ? narrow_bytes(x) : 0);
    p.y = cm_ops_piece(&p.bytes, is_apart(call) ? (size_t)y->dim[0] * (size_t)y->dim[1] * sizeof(float) : 0);
    return p;
}

static cm_status make_dense(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *x = CM_ARG(call, dense, x), *y = CM_ARG(call, dense, y), *weight = CM_ARG(call, dense, weight);
    bool narrow = is_narrow(call), apart = is_apart(call), action = CM_ARG(call, dense, action)->data != NULL;
    plan->workspace = places_of(call).bytes;
    if (narrow) CM_TRY(cm_weights_acquire(stream, weight, x->dim[1], call->attr.compute, &plan->copy));
    cm_product product = {.m = x->dim[0],
                          .n = weight->dim[0],
                          .k = x->dim[1],
                          .b_across = true,
                          .a_row = row_step(x, narrow),
                          .b_row = narrow ? plan->copy->stride : weight->stride,
                          .c_row = apart ? y->dim[1] : y->stride,
                          .a_gap = gap_of(x, narrow),
                          .b_gap = gap_of(weight, narrow),
                          .c_gap = gap_of(y, apart),
                          .bias_gap = cm_alignment_gap(CM_ARG(call, dense, bias)->data),
                          .type = call->attr.compute,
                          .bias = !apart && !action && CM_ARG(call, dense, bias)->data,
                          .relu = !apart && call->attr.activation == CM_ACT_RELU,
                          .accumulate = !apart && (action || CM_ADDS(call, dense, y))};
    return cm_product_prepare(stream, &product, &plan->product[0]);
}

cm_status cm_cuda_dense_prepare(cm_stream *stream, cm_call *call) {
    return cm_cuda_plan_find(stream, call, CM_T_dense_weight, make_dense);
}

cm_status cm_cuda_dense(cm_stream *stream, const cm_call *call) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *x = CM_ARG(call, dense, x), *y = CM_ARG(call, dense, y), *weight = CM_ARG(call, dense, weight);
    const cm_tensor *action = CM_ARG(call, dense, action);
    forward_places p = places_of(call);
    bool apart = is_apart(call);
    cm_product_data data = {x->data, weight->data, CM_ARG(call, dense, bias)->data, y->data};
    cm_dense_args args = {.y = cm_rows_of(y),
                          .n = y->dim[1],
                          .bias = data.bias,
                          .activation = call->attr.activation,
                          .add = CM_ADDS(call, dense, y)};
    int64_t items = (int64_t)y->dim[0] * y->dim[1];
    set_encoding(&args, call, weight, action, x->dim[1]);
    if (is_narrow(call)) {
        data.a = cm_ops_at(stream, p.x);
        data.b = plan->copy->block.base;
        CM_TRY(make_narrow(stream, call, x, cm_ops_at(stream, p.x)));
    }
    if (apart) data.c = cm_ops_at(stream, p.y);
    if (!apart && action->data) CM_LAUNCH(stream, call, cm_dense_begin_each, &args, items, 1);
    CM_TRY(cm_product_run(stream, plan->product[0], &data));
    if (!apart) return CM_OK;
    args.x = (cm_rows){data.c, y->dim[1]};
    CM_LAUNCH(stream, call, cm_dense_end_each, &args, items, 1);
    return CM_OK;
}

/* ---- backward ---- */

enum { DX, DWEIGHT };

/* Workspace: dy and x in 16 bits, the sums of chunks. */
typedef struct backward_places {
    size_t dy, x, sums, bytes;
} backward_places;

static backward_places backward_places_of(const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *dy = CM_ARG(call, dense_backward, dy);
    backward_places p = {0};
    p.dy = cm_ops_piece(&p.bytes, is_narrow(call) ? narrow_bytes(dy) : 0);
    p.x = cm_ops_piece(&p.bytes, is_narrow(call) ? narrow_bytes(x) : 0);
    p.sums = cm_ops_piece(&p.bytes, cm_column_sums_bytes(dy->dim[0], dy->dim[1]));
    return p;
}

static cm_status make_dx(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *weight = CM_ARG(call, dense_backward, weight);
    bool narrow = is_narrow(call);
    if (narrow) CM_TRY(cm_weights_acquire(stream, weight, dx->dim[1], call->attr.compute, &plan->copy));
    cm_product product = {.m = dy->dim[0],
                          .n = dx->dim[1],
                          .k = dy->dim[1],
                          .a_row = row_step(dy, narrow),
                          .b_row = narrow ? plan->copy->stride : weight->stride,
                          .c_row = dx->stride,
                          .a_gap = gap_of(dy, narrow),
                          .b_gap = gap_of(weight, narrow),
                          .c_gap = gap_of(dx, false),
                          .type = call->attr.compute,
                          .accumulate = CM_ADDS(call, dense_backward, dx)};
    return cm_product_prepare(stream, &product, &plan->product[DX]);
}

static cm_status make_dweight(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *dweight = CM_ARG(call, dense_backward, dweight);
    bool narrow = is_narrow(call);
    cm_product product = {.m = dy->dim[1],
                          .n = x->dim[1],
                          .k = dy->dim[0],
                          .a_across = true,
                          .a_row = row_step(dy, narrow),
                          .b_row = row_step(x, narrow),
                          .c_row = dweight->stride,
                          .a_gap = gap_of(dy, narrow),
                          .b_gap = gap_of(x, narrow),
                          .c_gap = gap_of(dweight, false),
                          .type = call->attr.compute,
                          .accumulate = CM_ADDS(call, dense_backward, dweight)};
    return cm_product_prepare(stream, &product, &plan->product[DWEIGHT]);
}

static cm_status make_dense_backward(cm_stream *stream, const cm_call *call, cm_cuda_plan *plan) {
    plan->workspace = backward_places_of(call).bytes;
    if (CM_ARG(call, dense_backward, dx)->data) CM_TRY(make_dx(stream, call, plan));
    return CM_ARG(call, dense_backward, dweight)->data ? make_dweight(stream, call, plan) : CM_OK;
}

cm_status cm_cuda_dense_backward_prepare(cm_stream *stream, cm_call *call) {
    return cm_cuda_plan_find(stream, call, CM_T_dense_backward_weight, make_dense_backward);
}

/* The columns of dweight that belong to the action's encoding. */
static cm_status run_action(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *dweight = CM_ARG(call, dense_backward, dweight), *action = CM_ARG(call, dense_backward, action);
    if (!action->data) return CM_OK;
    cm_dense_args args = {
        .x = cm_rows_of(dy), .n = dy->dim[1], .samples = dy->dim[0], .add = CM_ADDS(call, dense_backward, dweight)};
    set_encoding(&args, call, dweight, action, x->dim[1]);
    int columns = dweight->dim[1] - x->dim[1];
    CM_LAUNCH(stream, call, cm_dense_action_slopes, &args, (int64_t)columns * dy->dim[1],
              cm_lanes_for_sum(args.samples));
    return CM_OK;
}

static cm_status run_bias(cm_stream *stream, const cm_call *call, void *workspace) {
    const cm_tensor *dy = CM_ARG(call, dense_backward, dy), *dbias = CM_ARG(call, dense_backward, dbias);
    cm_column_sums sums = {cm_rows_of(dy), dy->dim[0], dy->dim[1], dbias->data, CM_ADDS(call, dense_backward, dbias)};
    return cm_column_sums_run(stream, call, &sums, workspace);
}

cm_status cm_cuda_dense_backward(cm_stream *stream, const cm_call *call) {
    const cm_cuda_plan *plan = call->plan;
    const cm_tensor *x = CM_ARG(call, dense_backward, x), *dy = CM_ARG(call, dense_backward, dy);
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx), *dweight = CM_ARG(call, dense_backward, dweight);
    backward_places p = backward_places_of(call);
    const void *weight = CM_ARG(call, dense_backward, weight)->data, *of_dy = dy->data, *of_x = x->data;
    if (is_narrow(call)) {
        if (plan->copy) weight = plan->copy->block.base;
        of_dy = cm_ops_at(stream, p.dy);
        of_x = cm_ops_at(stream, p.x);
        CM_TRY(make_narrow(stream, call, dy, cm_ops_at(stream, p.dy)));
        if (dweight->data) CM_TRY(make_narrow(stream, call, x, cm_ops_at(stream, p.x)));
    }
    if (dweight->data) {
        cm_product_data data = {of_dy, of_x, NULL, dweight->data};
        CM_TRY(cm_product_run(stream, plan->product[DWEIGHT], &data));
        CM_TRY(run_action(stream, call));
    }
    CM_TRY(run_bias(stream, call, cm_ops_at(stream, p.sums)));
    cm_product_data data = {of_dy, weight, NULL, dx->data};
    return dx->data ? cm_product_run(stream, plan->product[DX], &data) : CM_OK;
}
