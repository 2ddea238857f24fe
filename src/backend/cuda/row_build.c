/* Makes the steps of a row pass: which rows lie in the block's memory, and where. */
#include "backend/cuda/row_build.h"

#include <stddef.h>
#include <string.h>

#include "backend/cuda/ops.h"
#include "backend/cuda/plan.h"

_Static_assert(sizeof(cm_row_pass_args) <= 32764, "the arguments of a kernel are at most as many bytes");
_Static_assert(sizeof(cm_row_step) % 16 == 0, "a part of the arguments is a multiple of 16 bytes");

enum { Y, X, Z, W, ALSO, PLACES, NONE = -1 };

/* Rows that a step leaves in the block's memory for those up to `last`. */
typedef struct slot {
    cm_row_range rows, copy; /* where the call would have written them, and their copy of 16 bits, if it makes one */
    int columns, made, last;
    int32_t first, room; /* floats of a row's stride in the block's memory, and where row 0 begins there */
} slot;

typedef struct builder {
    const cm_fusible *pass;
    cm_row_pass_args *args;
    bool trains;
    slot slot[CM_ROW_STEPS];
    int slots;
    int16_t used[CM_ROW_STEPS][PLACES]; /* slots of a step's places, or NONE */
    cm_row_ranges touched;              /* of the device's memory */
    const cm_tensor *scattered;         /* the rows that were last scattered to; NULL: none yet */
} builder;

static cm_row_step *last_step(builder *b) { return &b->args->step[b->args->steps - 1]; }

/* A new step of an operation on rows of n elements; NULL if there are too many. */
static cm_row_step *add_step(builder *b, cm_op op, int n) {
    if (b->args->steps == CM_ROW_STEPS) return NULL;
    memset(b->used[b->args->steps], NONE, sizeof b->used[0]);
    b->args->steps++;
    *last_step(b) = (cm_row_step){.n = n, .k = 1, .op = (uint8_t)op};
    return last_step(b);
}

/* ---- places ---- */

static bool is_within(const void *at, const void *base, size_t bytes) {
    return (const char *)at >= (const char *)base && (const char *)at < (const char *)base + bytes;
}

static cm_row_place *place_of(builder *b, int which) {
    cm_row_step *s = last_step(b);
    cm_row_place *const places[PLACES] = {&s->y, &s->x, &s->z, &s->w, &s->also};
    return places[which];
}

/* The slot with the rows, or of the copy, that a later call would find from an address on, the latest first. */
static int find_slot(const builder *b, const cm_tensor *t) {
    for (int i = b->slots - 1; i >= 0; i--) {
        const cm_row_range *r = t->dtype == CM_F32 ? &b->slot[i].rows : &b->slot[i].copy;
        if (r->base && is_within(t->data, r->base, (size_t)r->bytes)) return i;
    }
    return NONE;
}

/* The column of a slot that t begins with. */
static int column_of(const slot *s, const cm_tensor *t) {
    const cm_row_range *r = t->dtype == CM_F32 ? &s->rows : &s->copy;
    return (int)(((const char *)t->data - r->base) / (int64_t)cm_dtype_size(t->dtype));
}

static bool is_whole(const slot *s, const cm_tensor *t) {
    const cm_row_range *r = t->dtype == CM_F32 ? &s->rows : &s->copy;
    return t->stride * (int64_t)cm_dtype_size(t->dtype) == r->stride &&
           column_of(s, t) + cm_tensor_row_size(t) <= s->columns;
}

/* A place of the last step is a new slot, with the rows of t. */
static void add_slot(builder *b, int which, const cm_tensor *t) {
    const int step = b->args->steps - 1;
    slot *s = &b->slot[b->slots];
    *s = (slot){.columns = cm_tensor_row_size(t), .made = step, .last = step};
    *(t->dtype == CM_F32 ? &s->rows : &s->copy) = cm_row_range_of(t);
    b->used[step][which] = (int16_t)b->slots++;
    *place_of(b, which) = (cm_row_place){NULL, 0, 1};
}

static void use_slot(builder *b, int which, int at, int column) {
    const int step = b->args->steps - 1;
    *place_of(b, which) = (cm_row_place){NULL, column, 1};
    b->used[step][which] = (int16_t)at;
    b->slot[at].last = step;
}

static bool is_work(const builder *b, const cm_tensor *t) {
    return is_within(t->data, b->pass->work, b->pass->work_bytes);
}

/* Rows of the device's memory; the slots that have some of what is written there are old. */
static bool touch(builder *b, const cm_tensor *t, bool writes) {
    const cm_row_range rows = cm_row_range_of(t);
    if (t->data && t->dim[0] != b->args->rows) return false;
    for (int i = 0; writes && i < b->slots; i++) {
        slot *s = &b->slot[i];
        if (cm_row_relate(&s->rows, &rows) != CM_ROWS_APART) s->rows.base = NULL;
        if (cm_row_relate(&s->copy, &rows) != CM_ROWS_APART) s->copy.base = NULL;
    }
    return cm_row_touch(&b->touched, &rows, writes);
}

static bool are_rows(const builder *b, const cm_tensor *t) { return t->dtype == CM_F32 && t->dim[0] == b->args->rows; }

/* The last step reads rows of t, which may be columns of what another has left. */
static bool read_rows(builder *b, int which, const cm_tensor *t) {
    if (!t->data) return true;
    if (!are_rows(b, t)) return false;
    if (b->scattered && is_within(t->data, b->scattered->data, cm_tensor_bytes(b->scattered))) return false;
    const int at = find_slot(b, t);
    if (at != NONE && is_whole(&b->slot[at], t)) {
        use_slot(b, which, at, column_of(&b->slot[at], t));
        return true;
    }
    *place_of(b, which) = (cm_row_place){t->data, 0, t->stride};
    return !is_work(b, t) && touch(b, t, false);
}

/* What a pass that trains keeps goes to the device, and to the block's memory where a layer may read it next: layers
 * themselves write their results once, lane by lane. */
static bool keep_rows(builder *b, const cm_tensor *t) {
    cm_row_step *s = last_step(b);
    const cm_row_place kept = {t->data, 0, t->stride};
    if (!touch(b, t, true)) return false;
    if (!b->trains || cm_row_is_layer(s)) {
        s->y = kept;
        return true;
    }
    add_slot(b, s->add ? ALSO : Y, t);
    *(s->add ? &s->y : &s->also) = kept;
    return true;
}

static bool write_rows(builder *b, const cm_tensor *t) {
    if (!are_rows(b, t)) return false;
    if (!is_work(b, t)) return keep_rows(b, t);
    add_slot(b, Y, t);
    return true;
}

/* Rows that a kernel leaves for the backward pass. */
static bool save_rows(builder *b, const cm_tensor *t, bool writes) {
    if (!t->data) return true;
    last_step(b)->saved = (cm_row_place){t->data, 0, t->stride};
    return b->trains && touch(b, t, writes);
}

static bool write_copy(builder *b, cm_row_copy *copy, const cm_tensor *t) {
    if (!t->data) return true;
    *copy = (cm_row_copy){t->data, t->stride};
    last_step(b)->type = (uint8_t)t->dtype;
    return touch(b, t, true);
}

/* The copy of y, of which the slot knows, too. */
static bool write_narrow(builder *b, const cm_tensor *t) {
    if (!write_copy(b, &last_step(b)->narrow, t)) return false;
    if (t->data) b->slot[b->slots - 1].copy = cm_row_range_of(t);
    return true;
}

/* ---- operations ---- */

/* A layer reads x from the block's memory, at multiples of 16 bytes: others are brought there first, and so are those
 * of which it is to make a copy. */
static bool bring_rows(builder *b, const cm_tensor *x, const cm_tensor *copy) {
    const int at = find_slot(b, x);
    const bool there = at != NONE && is_whole(&b->slot[at], x) && column_of(&b->slot[at], x) % 4 == 0;
    if (there && !copy->data) return true;
    cm_row_step *s = add_step(b, CM_OP_activation, x->dim[1]);
    if (!s) return false;
    if (x->dtype == CM_F32) {
        if (!read_rows(b, X, x) || !write_copy(b, &s->narrow, copy)) return false;
    } else { /* the pass has the copy alone */
        s->of.from = (cm_row_copy){x->data, x->stride};
        s->type = (uint8_t)x->dtype;
        if (!touch(b, x, false)) return false;
    }
    add_slot(b, Y, x);
    return true;
}

/* A step that multiplies rows by a weight of which calls read `columns` columns. */
static bool add_layer(builder *b, const cm_call *call, const cm_tensor *y, const cm_tensor *x, const cm_tensor *copy,
                      const cm_tensor *weight) {
    if (x->dim[0] != b->args->rows || !bring_rows(b, x, copy)) return false;
    cm_row_step *s = add_step(b, call->op, y->dim[1]);
    if (!s) return false;
    const cm_weight_copy *narrow = call->attr.compute == CM_F32 ? NULL : ((const cm_cuda_plan *)call->plan)->copy;
    const int at = find_slot(b, x);
    s->k = x->dim[1];
    s->type = (uint8_t)call->attr.compute;
    s->add = call->attr.accumulate & 1u;
    s->of.dense.weight = narrow ? narrow->block.base : weight->data;
    s->of.dense.weight_row = narrow ? narrow->stride : weight->stride;
    use_slot(b, X, at, column_of(&b->slot[at], x));
    return write_rows(b, y);
}

static bool add_dense(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense, x), *weight = CM_ARG(call, dense, weight);
    const cm_tensor *action = CM_ARG(call, dense, action);
    if (!add_layer(b, call, CM_ARG(call, dense, y), x, CM_ARG(call, dense, narrow_x), weight)) return false;
    cm_row_step *s = last_step(b);
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

static bool add_dense_backward(builder *b, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, dense_backward, dx), none = {0};
    if (!dx->data || CM_ARG(call, dense_backward, dweight)->data || CM_ARG(call, dense_backward, dbias)->data)
        return false;
    return add_layer(b, call, dx, CM_ARG(call, dense_backward, dy), &none, CM_ARG(call, dense_backward, weight));
}

/* An operation on rows: y of x, and of z and w where they are not NULL, with copies of y where one is wanted. */
typedef struct mapped {
    const cm_tensor *y, *x, *z, *w, *narrow;
} mapped;

static bool add_map(builder *b, const cm_call *call, mapped of) {
    cm_row_step *s = add_step(b, call->op, cm_tensor_row_size(of.y));
    if (!s) return false;
    s->activation = (uint8_t)call->attr.activation;
    s->add = call->attr.accumulate & 1u;
    return read_rows(b, X, of.x) && (!of.z || read_rows(b, Z, of.z)) && (!of.w || read_rows(b, W, of.w)) &&
           write_rows(b, of.y) && (!of.narrow || write_narrow(b, of.narrow));
}

static bool add_activation(builder *b, const cm_call *call) {
    return add_map(b, call,
                   (mapped){.y = CM_ARG(call, activation, y),
                            .x = CM_ARG(call, activation, x),
                            .narrow = CM_ARG(call, activation, narrow)});
}

static bool add_activation_backward(builder *b, const cm_call *call) {
    return add_map(b, call,
                   (mapped){.y = CM_ARG(call, activation_backward, dx),
                            .x = CM_ARG(call, activation_backward, dy),
                            .z = CM_ARG(call, activation_backward, x),
                            .w = CM_ARG(call, activation_backward, y),
                            .narrow = CM_ARG(call, activation_backward, narrow)});
}

static bool add_add(builder *b, const cm_call *call) {
    return add_map(b, call,
                   (mapped){.y = CM_ARG(call, add, y),
                            .x = CM_ARG(call, add, a),
                            .z = CM_ARG(call, add, b),
                            .narrow = CM_ARG(call, add, narrow)});
}

static bool add_scale_add(builder *b, const cm_call *call) {
    if (CM_ARG(call, scale_add, times)->data || !add_map(b, call,
                                                         (mapped){.y = CM_ARG(call, scale_add, y),
                                                                  .x = CM_ARG(call, scale_add, x),
                                                                  .narrow = CM_ARG(call, scale_add, narrow)}))
        return false;
    last_step(b)->number = call->attr.scale;
    return true;
}

/* Runs of rows, with the vectors that scale and shift them. */
static void set_norm(builder *b, const cm_call *call, const cm_tensor *scale, const cm_tensor *shift) {
    cm_row_step *s = last_step(b);
    s->k = call->attr.groups ? call->attr.groups : 1;
    s->n /= s->k;
    s->number = call->attr.epsilon;
    s->of.norm.scale = scale->data;
    s->of.norm.shift = shift->data;
}

static bool add_layer_norm(builder *b, const cm_call *call) {
    if (!add_map(b, call,
                 (mapped){.y = CM_ARG(call, layer_norm, y),
                          .x = CM_ARG(call, layer_norm, x),
                          .narrow = CM_ARG(call, layer_norm, narrow)}))
        return false;
    set_norm(b, call, CM_ARG(call, layer_norm, scale), CM_ARG(call, layer_norm, shift));
    return save_rows(b, CM_ARG(call, layer_norm, saved), true);
}

static bool add_layer_norm_backward(builder *b, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, layer_norm_backward, dx);
    if (!dx->data || CM_ARG(call, layer_norm_backward, dscale)->data ||
        CM_ARG(call, layer_norm_backward, dshift)->data ||
        !add_map(b, call,
                 (mapped){.y = dx,
                          .x = CM_ARG(call, layer_norm_backward, dy),
                          .z = CM_ARG(call, layer_norm_backward, x),
                          .narrow = CM_ARG(call, layer_norm_backward, narrow)}))
        return false;
    set_norm(b, call, CM_ARG(call, layer_norm_backward, scale), CM_ARG(call, layer_norm_backward, shift));
    return save_rows(b, CM_ARG(call, layer_norm_backward, saved), false);
}

static bool add_batch_norm(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, batch_norm_inference, x), *y = CM_ARG(call, batch_norm_inference, y);
    if (x->ndim != 2 || !add_map(b, call, (mapped){.y = y, .x = x, .z = CM_ARG(call, batch_norm_inference, residual)}))
        return false;
    cm_row_step *s = last_step(b);
    s->number = call->attr.epsilon;
    s->of.norm.scale = CM_ARG(call, batch_norm_inference, scale)->data;
    s->of.norm.shift = CM_ARG(call, batch_norm_inference, shift)->data;
    s->of.norm.mean = CM_ARG(call, batch_norm_inference, mean)->data;
    s->of.norm.variance = CM_ARG(call, batch_norm_inference, variance)->data;
    return true;
}

/* Groups of rows of x. */
static void set_groups(builder *b, const cm_call *call, const cm_tensor *x) {
    last_step(b)->k = call->attr.per_channel ? cm_tensor_last(x) : 1;
    last_step(b)->n = cm_tensor_row_size(x) / last_step(b)->k;
}

static bool add_minmax(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, minmax, x);
    if (!add_map(b, call, (mapped){.y = CM_ARG(call, minmax, y), .x = x, .narrow = CM_ARG(call, minmax, narrow)}))
        return false;
    set_groups(b, call, x);
    return write_copy(b, &last_step(b)->narrow_x, CM_ARG(call, minmax, narrow_x)) &&
           save_rows(b, CM_ARG(call, minmax, saved), true);
}

static bool add_minmax_backward(builder *b, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, minmax_backward, y);
    if (!add_map(b, call,
                 (mapped){.y = CM_ARG(call, minmax_backward, dx),
                          .x = CM_ARG(call, minmax_backward, dy),
                          .z = y,
                          .narrow = CM_ARG(call, minmax_backward, narrow)}))
        return false;
    set_groups(b, call, y);
    return save_rows(b, CM_ARG(call, minmax_backward, saved), false);
}

/* The runs of more dimensions than two would be more rows. */
static bool add_one_hot(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, one_hot, x);
    return x->ndim == 2 && add_map(b, call, (mapped){.y = CM_ARG(call, one_hot, y), .x = x});
}

static bool add_embedding(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, embedding_add, x), *table = CM_ARG(call, embedding_add, table);
    if (!add_map(b, call, (mapped){.y = CM_ARG(call, embedding_add, y), .x = x})) return false;
    last_step(b)->of.table = cm_rows_of(table);
    last_step(b)->index = CM_ARG(call, embedding_add, action)->data;
    last_step(b)->limit = table->dim[0];
    return true;
}

/* Another block may have scattered already when one gathers: a pass that gathers what it has scattered is none. */
static bool add_gather(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, gather_rows, x), *y = CM_ARG(call, gather_rows, y);
    cm_row_step *s = add_step(b, CM_OP_gather_rows, cm_tensor_row_size(y));
    if (!s || find_slot(b, x) != NONE || (b->scattered && b->scattered->data == x->data)) return false;
    s->x = (cm_row_place){x->data, 0, x->stride};
    s->index = CM_ARG(call, gather_rows, rows)->data;
    s->limit = x->dim[0];
    return write_rows(b, y);
}

static bool add_scatter(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, scatter_rows, x), *y = CM_ARG(call, scatter_rows, y);
    cm_row_step *s = add_step(b, CM_OP_scatter_rows, cm_tensor_row_size(x));
    if (!s || is_work(b, y) || b->scattered) return false;
    s->y = (cm_row_place){y->data, 0, y->stride};
    s->index = CM_ARG(call, scatter_rows, rows)->data;
    s->limit = y->dim[0];
    b->scattered = y;
    return read_rows(b, X, x);
}

/* Values are a vector, which has no place in the block's memory. */
static bool add_decode(builder *b, const cm_call *call) {
    const cm_tensor *logits = CM_ARG(call, support_decode, logits), *value = CM_ARG(call, support_decode, value);
    if (!add_map(b, call, (mapped){.y = value, .x = logits}) || !last_step(b)->y.data) return false;
    last_step(b)->of.support = call->attr.support;
    return true;
}

/* Nothing of 16 bits is read, and no copy made. */
static bool is_wide(const cm_call *call) {
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (call->t[i].data && cm_dtype_size(call->t[i].dtype) != sizeof(float)) return false;
    return true;
}

/* Of a pass that trains alone. */
static bool add_backward(builder *b, const cm_call *call) {
    switch (call->op) {
    case CM_OP_scale_add: return add_scale_add(b, call);
    case CM_OP_dense_backward: return add_dense_backward(b, call);
    case CM_OP_activation_backward: return add_activation_backward(b, call);
    case CM_OP_layer_norm_backward: return add_layer_norm_backward(b, call);
    case CM_OP_minmax_backward: return add_minmax_backward(b, call);
    default: return false;
    }
}

/* Of one that does not. */
static bool add_inference(builder *b, const cm_call *call) {
    switch (call->op) {
    case CM_OP_batch_norm_inference: return add_batch_norm(b, call);
    case CM_OP_one_hot: return add_one_hot(b, call);
    case CM_OP_embedding_add: return add_embedding(b, call);
    case CM_OP_gather_rows: return add_gather(b, call);
    case CM_OP_scatter_rows: return add_scatter(b, call);
    case CM_OP_support_decode: return add_decode(b, call);
    default: return false;
    }
}

static bool add_call(builder *b, const cm_call *call) {
    if (!b->trains && (call->attr.accumulate || !is_wide(call))) return false;
    switch (call->op) {
    case CM_OP_dense: return add_dense(b, call);
    case CM_OP_activation: return add_activation(b, call);
    case CM_OP_add: return add_add(b, call);
    case CM_OP_layer_norm: return add_layer_norm(b, call);
    case CM_OP_minmax: return add_minmax(b, call);
    default: return b->trains ? add_backward(b, call) : add_inference(b, call);
    }
}

/* ---- the block's memory ---- */

/* Floats from row to row: rows of a tile that lanes read at once begin at different banks. */
static int32_t room_for(int columns) { return (columns + 7) / 8 * 8 + 4; }

/* The first place for slot i beside those before it that are still read when it is made. Returns where it ends. */
static int32_t put_slot(builder *b, int i) {
    slot *s = &b->slot[i];
    s->room = room_for(s->columns);
    s->first = 0;
    for (int j = 0; j < i; j++) {
        const slot *other = &b->slot[j];
        const bool meets =
            s->first < other->first + CM_ROW_TILE * other->room && other->first < s->first + CM_ROW_TILE * s->room;
        if (other->last < s->made || !meets) continue;
        s->first = other->first + CM_ROW_TILE * other->room;
        j = -1; /* beside those before it, too? */
    }
    return s->first + CM_ROW_TILE * s->room;
}

/* Puts every slot somewhere and tells the steps. */
static void lay_out(builder *b) {
    int32_t end = 0;
    bool stages = false;
    for (int i = 0; i < b->slots; i++) {
        const int32_t here = put_slot(b, i);
        end = here > end ? here : end;
    }
    for (int i = 0; i < b->args->steps; i++) {
        cm_row_step *s = &b->args->step[i];
        cm_row_place *places[PLACES] = {&s->y, &s->x, &s->z, &s->w, &s->also};
        stages = stages || (cm_row_is_layer(s) && s->type == CM_F32);
        for (int p = 0; p < PLACES; p++) {
            if (b->used[i][p] == NONE) continue;
            places[p]->first += b->slot[b->used[i][p]].first;
            places[p]->stride = b->slot[b->used[i][p]].room;
        }
    }
    b->args->stage = end;
    b->args->memory = (uint32_t)(end + (stages ? CM_ROW_STAGE : 0)) * (uint32_t)sizeof(float);
    b->args->used = (uint32_t)(offsetof(cm_row_pass_args, step) + (size_t)b->args->steps * sizeof(cm_row_step));
}

/* The rows of a pass: those of its first call, whose tensor 0 may be a whole pool if it scatters. */
static int rows_of(const cm_fusible *pass) {
    for (int i = 0; i < pass->count; i++)
        if (pass->calls[i].lane == 0 && pass->calls[i].op != CM_OP_scatter_rows) return pass->calls[i].t[0].dim[0];
    return 0;
}

int cm_row_build(const cm_fusible *pass, cm_row_pass_args *args) {
    builder b = {.pass = pass, .args = args, .trains = !pass->work};
    int calls = 0;
    *args = (cm_row_pass_args){.rows = rows_of(pass)};
    for (; calls < pass->count; calls++) {
        const int steps = args->steps, slots = b.slots;
        if (pass->calls[calls].lane != 0 || add_call(&b, &pass->calls[calls])) continue;
        args->steps = steps;
        b.slots = slots;
        break;
    }
    lay_out(&b);
    return calls;
}
