/* Which operations become which steps of a fused row-wise kernel. Where their rows lie is row_places.h. */
#include "backend/cuda/fused/row_build.h"

#include "backend/cuda/fused/row_places.h"
#include "backend/cuda/ops/plan.h"

_Static_assert(sizeof(cm_row_kernel_args) <= CM_LAUNCH_BYTES, "the arguments of a kernel are at most as many bytes");
_Static_assert(sizeof(cm_row_step) % 16 == 0, "a part of the arguments is a multiple of 16 bytes");

/* ---- layers ---- */

/* A product of rows x with a weight; half_x: the copy that the call makes of x, or NULL. */
typedef struct layer {
    const cm_tensor *y, *x, *half_x, *weight;
} layer;

/* A layer reads x from shared memory, at multiples of 16 bytes: others are brought there first, and so are those
 * of which it is to make a copy. */
static bool bring_rows(cm_row_places *all, const layer *of) {
    const bool copies = of->half_x && of->half_x->data;
    if (cm_places_is_shared(all, of->x) && !copies) return true;
    cm_row_step *s = cm_places_step(all, CM_OP_activation, of->x->dim[1]);
    if (!s) return false;
    if (of->x->dtype != CM_F32) { /* the pass has the copy alone */
        if (!cm_places_read_copy(all, of->x)) return false;
    } else if (!cm_places_read(all, CM_ROW_X, of->x) || (copies && !cm_places_write_copy(all, &s->half, of->half_x))) {
        return false;
    }
    cm_places_write_near(all, of->x);
    return true;
}

static bool add_layer(cm_row_places *all, const cm_call *call, layer of) {
    if (call->attr.compute == CM_I8 || of.x->dim[0] != all->args->rows || !bring_rows(all, &of)) return false;
    cm_row_step *s = cm_places_step(all, call->op, of.y->dim[1]);
    if (!s) return false;
    const cm_weight_copy *half = call->attr.compute == CM_F32 ? NULL : ((const cm_cuda_plan *)call->plan)->copy;
    s->k = of.x->dim[1];
    s->type = (uint8_t)call->attr.compute;
    s->add = call->attr.accumulate & 1u;
    s->of.dense.weight = half ? half->block.base : of.weight->data;
    s->of.dense.weight_row = half ? half->stride : of.weight->stride;
    cm_places_read_near(all, of.x);
    return cm_places_write(all, of.y);
}

static bool add_dense(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense, x), *weight = CM_ARG(call, dense, weight);
    const cm_tensor *action = CM_ARG(call, dense, action);
    if (!add_layer(
            all, call,
            (layer){.y = CM_ARG(call, dense, y), .x = x, .half_x = CM_ARG(call, dense, half_x), .weight = weight}))
        return false;
    cm_row_step *s = cm_places_last(all);
    s->activation = (uint8_t)call->attr.activation;
    s->of.dense.bias = CM_ARG(call, dense, bias)->data;
    if (action->data) {
        s->of.dense.columns = (const float *)weight->data + x->dim[1];
        s->of.dense.columns_row = weight->stride;
        s->index = action->data;
        s->encoding = (uint8_t)call->attr.encoding;
        s->limit = call->attr.actions;
    }
    return true;
}

static bool add_dense_backward(cm_row_places *all, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx);
    if (!dx->data || CM_ARG(call, dense_backward, dweight)->data || CM_ARG(call, dense_backward, dbias)->data)
        return false;
    return add_layer(
        all, call,
        (layer){.y = dx, .x = CM_ARG(call, dense_backward, dy), .weight = CM_ARG(call, dense_backward, weight)});
}

/* ---- other operations ---- */

/* An operation on rows: y of x, and of z and w where they are not NULL, with copies of y where one is wanted. */
typedef struct mapped {
    const cm_tensor *y, *x, *z, *w, *half;
} mapped;

static bool add_map(cm_row_places *all, const cm_call *call, mapped of) {
    cm_row_step *s = cm_places_step(all, call->op, cm_tensor_row_size(of.y));
    if (!s) return false;
    s->activation = (uint8_t)call->attr.activation;
    s->add = call->attr.accumulate & 1u;
    return cm_places_read(all, CM_ROW_X, of.x) && (!of.z || cm_places_read(all, CM_ROW_Z, of.z)) &&
           (!of.w || cm_places_read(all, CM_ROW_W, of.w)) && cm_places_write(all, of.y) &&
           (!of.half || cm_places_write_half(all, of.half));
}

static bool add_activation(cm_row_places *all, const cm_call *call) {
    return add_map(all, call,
                   (mapped){.y = CM_ARG(call, activation, y),
                            .x = CM_ARG(call, activation, x),
                            .half = CM_ARG(call, activation, half)});
}

static bool add_activation_backward(cm_row_places *all, const cm_call *call) {
    return add_map(all, call,
                   (mapped){.y = CM_ARG(call, activation_backward, dx),
                            .x = CM_ARG(call, activation_backward, dy),
                            .z = CM_ARG(call, activation_backward, x),
                            .w = CM_ARG(call, activation_backward, y),
                            .half = CM_ARG(call, activation_backward, half)});
}

static bool add_add(cm_row_places *all, const cm_call *call) {
    return add_map(all, call,
                   (mapped){.y = CM_ARG(call, add, y),
                            .x = CM_ARG(call, add, a),
                            .z = CM_ARG(call, add, b),
                            .half = CM_ARG(call, add, half)});
}

static bool add_scale_add(cm_row_places *all, const cm_call *call) {
    if (CM_ARG(call, scale_add, times)->data || !add_map(all, call,
                                                         (mapped){.y = CM_ARG(call, scale_add, y),
                                                                  .x = CM_ARG(call, scale_add, x),
                                                                  .half = CM_ARG(call, scale_add, half)}))
        return false;
    cm_places_last(all)->number = call->attr.scale;
    return true;
}

/* Runs of rows, with the vectors that scale and shift them. */
static void set_norm(cm_row_places *all, const cm_call *call, const cm_tensor *scale, const cm_tensor *shift) {
    cm_row_step *s = cm_places_last(all);
    s->k = call->attr.groups ? call->attr.groups : 1;
    s->n /= s->k;
    s->number = call->attr.epsilon;
    s->of.norm.scale = scale->data;
    s->of.norm.shift = shift->data;
}

static bool add_layer_norm(cm_row_places *all, const cm_call *call) {
    if (!add_map(all, call,
                 (mapped){.y = CM_ARG(call, layer_norm, y),
                          .x = CM_ARG(call, layer_norm, x),
                          .half = CM_ARG(call, layer_norm, half)}))
        return false;
    set_norm(all, call, CM_ARG(call, layer_norm, scale), CM_ARG(call, layer_norm, shift));
    return cm_places_save(all, CM_ARG(call, layer_norm, saved), true);
}

static bool add_layer_norm_backward(cm_row_places *all, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, layer_norm_backward, dx);
    if (!dx->data || CM_ARG(call, layer_norm_backward, dscale)->data ||
        CM_ARG(call, layer_norm_backward, dshift)->data ||
        !add_map(all, call,
                 (mapped){.y = dx,
                          .x = CM_ARG(call, layer_norm_backward, dy),
                          .z = CM_ARG(call, layer_norm_backward, x),
                          .half = CM_ARG(call, layer_norm_backward, half)}))
        return false;
    set_norm(all, call, CM_ARG(call, layer_norm_backward, scale), CM_ARG(call, layer_norm_backward, shift));
    return cm_places_save(all, CM_ARG(call, layer_norm_backward, saved), false);
}

static bool add_batch_norm(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, batch_norm_inference, x), *y = CM_ARG(call, batch_norm_inference, y);
    if (!add_map(all, call, (mapped){.y = y, .x = x, .z = CM_ARG(call, batch_norm_inference, residual)})) return false;
    cm_row_step *s = cm_places_last(all);
    s->n = cm_tensor_last(x);
    s->k = cm_tensor_row_size(x) / s->n;
    s->number = call->attr.epsilon;
    s->of.norm.scale = CM_ARG(call, batch_norm_inference, scale)->data;
    s->of.norm.shift = CM_ARG(call, batch_norm_inference, shift)->data;
    s->of.norm.mean = CM_ARG(call, batch_norm_inference, mean)->data;
    s->of.norm.variance = CM_ARG(call, batch_norm_inference, variance)->data;
    return true;
}

/* Groups of rows of x. */
static void set_groups(cm_row_places *all, const cm_call *call, const cm_tensor *x) {
    cm_places_last(all)->k = call->attr.per_channel ? cm_tensor_last(x) : 1;
    cm_places_last(all)->n = cm_tensor_row_size(x) / cm_places_last(all)->k;
}

static bool add_minmax(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, minmax, x);
    if (!add_map(all, call, (mapped){.y = CM_ARG(call, minmax, y), .x = x, .half = CM_ARG(call, minmax, half)}))
        return false;
    set_groups(all, call, x);
    return cm_places_write_copy(all, &cm_places_last(all)->half_x, CM_ARG(call, minmax, half_x)) &&
           cm_places_save(all, CM_ARG(call, minmax, saved), true);
}

static bool add_minmax_backward(cm_row_places *all, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, minmax_backward, y);
    if (!add_map(all, call,
                 (mapped){.y = CM_ARG(call, minmax_backward, dx),
                          .x = CM_ARG(call, minmax_backward, dy),
                          .z = y,
                          .half = CM_ARG(call, minmax_backward, half)}))
        return false;
    set_groups(all, call, y);
    return cm_places_save(all, CM_ARG(call, minmax_backward, saved), false);
}

/* The runs of more dimensions than two would be more rows. */
static bool add_one_hot(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, one_hot, x);
    return x->ndim == 2 && add_map(all, call, (mapped){.y = CM_ARG(call, one_hot, y), .x = x});
}

static bool add_embedding(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, embedding_add, x), *table = CM_ARG(call, embedding_add, table);
    if (!add_map(all, call, (mapped){.y = CM_ARG(call, embedding_add, y), .x = x})) return false;
    cm_places_last(all)->of.table = cm_rows_of(table);
    cm_places_last(all)->index = CM_ARG(call, embedding_add, action)->data;
    cm_places_last(all)->limit = table->dim[0];
    return true;
}

static bool add_gather(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, gather_rows, x), *y = CM_ARG(call, gather_rows, y);
    cm_row_step *s = cm_places_step(all, CM_OP_gather_rows, cm_tensor_row_size(y));
    if (!s || !cm_places_gather(all, x)) return false;
    s->index = CM_ARG(call, gather_rows, rows)->data;
    s->limit = x->dim[0];
    return cm_places_write(all, y);
}

static bool add_scatter(cm_row_places *all, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, scatter_rows, x), *y = CM_ARG(call, scatter_rows, y);
    cm_row_step *s = cm_places_step(all, CM_OP_scatter_rows, cm_tensor_row_size(x));
    if (!s || !cm_places_scatter(all, y)) return false;
    s->index = CM_ARG(call, scatter_rows, rows)->data;
    s->limit = y->dim[0];
    return cm_places_read(all, CM_ROW_X, x);
}

/* Values are results, on the device in any case. */
static bool add_decode(cm_row_places *all, const cm_call *call) {
    const cm_tensor *logits = CM_ARG(call, support_decode, logits), *value = CM_ARG(call, support_decode, value);
    if (!add_map(all, call, (mapped){.y = value, .x = logits})) return false;
    cm_row_step *s = cm_places_last(all);
    s->of.support = call->attr.support;
    return s->y.data || s->also.data;
}

/* ---- calls ---- */

/* Nothing of 16 bits is read, and no copy made. */
static bool is_wide(const cm_call *call) {
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (call->t[i].data && cm_dtype_size(call->t[i].dtype) != sizeof(float)) return false;
    return true;
}

/* Of a fused segment of one that trains alone. */
static bool add_backward(cm_row_places *all, const cm_call *call) {
    switch (call->op) {
    case CM_OP_scale_add: return add_scale_add(all, call);
    case CM_OP_dense_backward: return add_dense_backward(all, call);
    case CM_OP_activation_backward: return add_activation_backward(all, call);
    case CM_OP_layer_norm_backward: return add_layer_norm_backward(all, call);
    case CM_OP_minmax_backward: return add_minmax_backward(all, call);
    default: return false;
    }
}

/* Of one that does not. */
static bool add_inference(cm_row_places *all, const cm_call *call) {
    switch (call->op) {
    case CM_OP_batch_norm_inference: return add_batch_norm(all, call);
    case CM_OP_one_hot: return add_one_hot(all, call);
    case CM_OP_embedding_add: return add_embedding(all, call);
    case CM_OP_gather_rows: return add_gather(all, call);
    case CM_OP_scatter_rows: return add_scatter(all, call);
    default: return false;
    }
}

/* Of a fused segment of one that infers. Rows by number are not in it: others may have scattered in front of a
 * measurement. */
static bool add_of_segment(cm_row_places *all, const cm_call *call) {
    return call->op == CM_OP_batch_norm_inference && add_batch_norm(all, call);
}

static bool add_call(cm_row_places *all, const cm_call *call) {
    if (!all->shows && (call->attr.accumulate || !is_wide(call))) return false;
    switch (call->op) {
    case CM_OP_dense: return add_dense(all, call);
    case CM_OP_activation: return add_activation(all, call);
    case CM_OP_add: return add_add(all, call);
    case CM_OP_layer_norm: return add_layer_norm(all, call);
    case CM_OP_minmax: return add_minmax(all, call);
    case CM_OP_support_decode: return add_decode(all, call);
    default:
        return !all->shows          ? add_inference(all, call)
               : !all->pass->infers ? add_backward(all, call)
                                    : add_of_segment(all, call);
    }
}

/* The rows of a pass: those of its first call, whose tensor 0 may be a whole pool if it scatters. */
static int rows_of(const cm_call_list *pass) {
    for (int i = 0; i < pass->count; i++)
        if (pass->calls[i].branch == 0 && pass->calls[i].op != CM_OP_scatter_rows) return pass->calls[i].t[0].dim[0];
    return 0;
}

/* Blocks have half as many rows where there are multiprocessors for them all. */
static int tile_of(int rows, int multiprocessors) {
    const int few = CM_ROW_TILE / 2;
    return (rows + few - 1) / few <= multiprocessors ? few : CM_ROW_TILE;
}

int cm_row_build(const cm_call_list *pass, int multiprocessors, cm_row_kernel_args *args) {
    cm_row_places all = {.pass = pass, .args = args, .shows = !pass->work};
    const int rows = rows_of(pass);
    int calls = 0;
    *args = (cm_row_kernel_args){.rows = rows, .tile = tile_of(rows, multiprocessors)};
    for (; calls < pass->count; calls++) {
        const int steps = args->steps, slots = all.slots;
        if (pass->calls[calls].branch != 0 || add_call(&all, &pass->calls[calls])) continue;
        cm_places_undo(&all, steps, slots);
        break;
    }
    cm_places_lay_out(&all);
    return calls;
}

static bool is_possible(const cm_row_kernel_args *args, const cm_ops_limits *limits) {
    for (int i = 0; i < args->steps; i++)
        if (cm_row_is_layer(&args->step[i]) && args->step[i].type != CM_F32 && !limits->multiplies_16_bits)
            return false;
    return (size_t)args->used + args->memory <= limits->block_bytes;
}

bool cm_row_build_whole(const cm_call_list *pass, const cm_ops_limits *limits, cm_row_kernel_args *args) {
    const int calls = cm_row_build(pass, limits->multiprocessors, args);
    return calls == pass->count && args->steps > 0 && is_possible(args, limits);
}
