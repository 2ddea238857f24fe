/* Makes the steps of a row pass out of the calls of a pass: which rows lie in the block's memory, and where. */
#include "backend/cuda/row_pass.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/plan.h"
#include "core/arena.h"

_Static_assert(sizeof(cm_row_pass_args) <= 4096, "the arguments of a kernel are at most 4 KiB");

enum { Y, X, Z, PLACES, NONE = -1 };

/* Rows that a step leaves in the block's memory for those up to `last`. */
typedef struct slot {
    const char *base; /* where the call would have written them */
    int stride, columns;
    int made, last;
    int32_t first, room; /* floats of a row's stride in the block's memory, and where row 0 begins there */
} slot;

typedef struct builder {
    const cm_fusible *pass;
    cm_row_pass_args *args;
    slot slot[CM_ROW_STEPS];
    int slots;
    int16_t used[CM_ROW_STEPS][PLACES]; /* slots of a step's places, or NONE */
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
    return which == Y ? &s->y : which == X ? &s->x : &s->z;
}

/* The slot with the rows that a later call would find from an address on, the latest first. */
static int find_slot(const builder *b, const void *at) {
    for (int i = b->slots - 1; i >= 0; i--)
        if (is_within(at, b->slot[i].base, (size_t)b->slot[i].columns * sizeof(float))) return i;
    return NONE;
}

static bool add_slot(builder *b, const cm_tensor *t) {
    const int step = b->args->steps - 1, columns = cm_tensor_row_size(t);
    b->slot[b->slots] = (slot){.base = t->data, .stride = t->stride, .columns = columns, .made = step, .last = step};
    b->used[step][Y] = (int16_t)b->slots++;
    b->args->step[step].y = (cm_row_place){NULL, 0, 1};
    return true;
}

static bool are_rows(const builder *b, const cm_tensor *t) { return t->dtype == CM_F32 && t->dim[0] == b->args->rows; }

/* The last step reads rows of t, which may be columns of what another has left. */
static bool read_rows(builder *b, int which, const cm_tensor *t) {
    const int step = b->args->steps - 1, at = find_slot(b, t->data);
    if (!t->data) return true;
    if (!are_rows(b, t)) return false;
    if (b->scattered && is_within(t->data, b->scattered->data, cm_tensor_bytes(b->scattered))) return false;
    *place_of(b, which) = (cm_row_place){t->data, 0, t->stride};
    if (at == NONE) return true;
    slot *s = &b->slot[at];
    const int column = (int)(((const char *)t->data - s->base) / (ptrdiff_t)sizeof(float));
    *place_of(b, which) = (cm_row_place){NULL, column, 1};
    b->used[step][which] = (int16_t)at;
    s->last = step;
    return t->stride == s->stride && column + cm_tensor_row_size(t) <= s->columns;
}

static bool write_rows(builder *b, const cm_tensor *t) {
    if (!are_rows(b, t)) return false;
    last_step(b)->y = (cm_row_place){t->data, 0, t->stride};
    return !is_within(t->data, b->pass->work, b->pass->work_bytes) || add_slot(b, t);
}

/* ---- operations ---- */

/* A layer reads x from the block's memory, at multiples of 16 bytes: others are brought there first. */
static bool bring_rows(builder *b, const cm_tensor *x) {
    const int at = find_slot(b, x->data);
    if (at != NONE && ((const char *)x->data - b->slot[at].base) % 16 == 0) return true;
    return add_step(b, CM_OP_activation, x->dim[1]) && read_rows(b, X, x) && add_slot(b, x);
}

static bool add_dense(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, dense, x), *y = CM_ARG(call, dense, y), *weight = CM_ARG(call, dense, weight);
    const cm_tensor *action = CM_ARG(call, dense, action);
    const cm_dtype type = call->attr.compute;
    if (!are_rows(b, x) || !bring_rows(b, x)) return false;
    cm_row_step *s = add_step(b, CM_OP_dense, y->dim[1]);
    if (!s) return false;
    const cm_weight_copy *copy = type == CM_F32 ? NULL : ((const cm_cuda_plan *)call->plan)->copy;
    s->k = x->dim[1];
    s->type = (uint8_t)type;
    s->activation = (uint8_t)call->attr.activation;
    s->of.dense.weight = copy ? copy->block.base : weight->data;
    s->of.dense.weight_row = copy ? copy->stride : weight->stride;
    s->of.dense.bias = CM_ARG(call, dense, bias)->data;
    if (action->data) {
        s->of.dense.columns = (const float *)weight->data + x->dim[1];
        s->of.dense.columns_row = weight->stride;
        s->index = action->data;
        s->encoding = (uint8_t)call->attr.encoding;
        s->limit = call->attr.actions;
    }
    return read_rows(b, X, x) && write_rows(b, y);
}

/* y = act(a), or act(a + b). */
static bool add_map(builder *b, const cm_call *call, const cm_tensor *y, const cm_tensor *x, const cm_tensor *z) {
    cm_row_step *s = add_step(b, call->op, cm_tensor_row_size(y));
    if (!s) return false;
    s->activation = (uint8_t)call->attr.activation;
    return read_rows(b, X, x) && (!z || read_rows(b, Z, z)) && write_rows(b, y);
}

static bool add_activation(builder *b, const cm_call *call) {
    return add_map(b, call, CM_ARG(call, activation, y), CM_ARG(call, activation, x), NULL);
}

static bool add_add(builder *b, const cm_call *call) {
    return add_map(b, call, CM_ARG(call, add, y), CM_ARG(call, add, a), CM_ARG(call, add, b));
}

static bool add_layer_norm(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, layer_norm, x), *y = CM_ARG(call, layer_norm, y);
    const int groups = call->attr.groups ? call->attr.groups : 1;
    if (CM_ARG(call, layer_norm, saved)->data || !add_map(b, call, y, x, NULL)) return false;
    cm_row_step *s = last_step(b);
    s->n = cm_tensor_row_size(x) / groups;
    s->k = groups;
    s->epsilon = call->attr.epsilon;
    s->of.norm.scale = CM_ARG(call, layer_norm, scale)->data;
    s->of.norm.shift = CM_ARG(call, layer_norm, shift)->data;
    return true;
}

static bool add_batch_norm(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, batch_norm_inference, x), *y = CM_ARG(call, batch_norm_inference, y);
    if (x->ndim != 2 || !add_map(b, call, y, x, CM_ARG(call, batch_norm_inference, residual))) return false;
    cm_row_step *s = last_step(b);
    s->epsilon = call->attr.epsilon;
    s->of.norm.scale = CM_ARG(call, batch_norm_inference, scale)->data;
    s->of.norm.shift = CM_ARG(call, batch_norm_inference, shift)->data;
    s->of.norm.mean = CM_ARG(call, batch_norm_inference, mean)->data;
    s->of.norm.variance = CM_ARG(call, batch_norm_inference, variance)->data;
    return true;
}

static bool add_minmax(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, minmax, x);
    const int groups = call->attr.per_channel ? cm_tensor_last(x) : 1;
    if (CM_ARG(call, minmax, saved)->data || !add_map(b, call, CM_ARG(call, minmax, y), x, NULL)) return false;
    last_step(b)->n = cm_tensor_row_size(x) / groups;
    last_step(b)->k = groups;
    return true;
}

/* The runs of more dimensions than two would be more rows. */
static bool add_one_hot(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, one_hot, x);
    return x->ndim == 2 && add_map(b, call, CM_ARG(call, one_hot, y), x, NULL);
}

static bool add_embedding(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, embedding_add, x), *table = CM_ARG(call, embedding_add, table);
    if (!add_map(b, call, CM_ARG(call, embedding_add, y), x, NULL)) return false;
    last_step(b)->of.table = cm_rows_of(table);
    last_step(b)->index = CM_ARG(call, embedding_add, action)->data;
    last_step(b)->limit = table->dim[0];
    return true;
}

/* Another block may have scattered already when one gathers: a pass that gathers what it has scattered is none. */
static bool add_gather(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, gather_rows, x), *y = CM_ARG(call, gather_rows, y);
    cm_row_step *s = add_step(b, CM_OP_gather_rows, cm_tensor_row_size(y));
    if (!s || find_slot(b, x->data) != NONE || (b->scattered && b->scattered->data == x->data)) return false;
    s->x = (cm_row_place){x->data, 0, x->stride};
    s->index = CM_ARG(call, gather_rows, rows)->data;
    s->limit = x->dim[0];
    return write_rows(b, y);
}

static bool add_scatter(builder *b, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, scatter_rows, x), *y = CM_ARG(call, scatter_rows, y);
    cm_row_step *s = add_step(b, CM_OP_scatter_rows, cm_tensor_row_size(x));
    if (!s || is_within(y->data, b->pass->work, b->pass->work_bytes) || b->scattered) return false;
    s->y = (cm_row_place){y->data, 0, y->stride};
    s->index = CM_ARG(call, scatter_rows, rows)->data;
    s->limit = y->dim[0];
    b->scattered = y;
    return read_rows(b, X, x);
}

/* Values are a vector, which has no place in the block's memory. */
static bool add_decode(builder *b, const cm_call *call) {
    const cm_tensor *logits = CM_ARG(call, support_decode, logits), *value = CM_ARG(call, support_decode, value);
    if (!add_map(b, call, value, logits, NULL) || !last_step(b)->y.data) return false;
    last_step(b)->of.support = call->attr.support;
    return true;
}

/* Nothing of 16 bits is read, and no copy made. */
static bool is_wide(const cm_call *call) {
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (call->t[i].data && cm_dtype_size(call->t[i].dtype) != sizeof(float)) return false;
    return true;
}

static bool add_call(builder *b, const cm_call *call) {
    if (call->attr.accumulate || !is_wide(call)) return false;
    switch (call->op) {
    case CM_OP_dense: return add_dense(b, call);
    case CM_OP_activation: return add_activation(b, call);
    case CM_OP_add: return add_add(b, call);
    case CM_OP_layer_norm: return add_layer_norm(b, call);
    case CM_OP_batch_norm_inference: return add_batch_norm(b, call);
    case CM_OP_minmax: return add_minmax(b, call);
    case CM_OP_one_hot: return add_one_hot(b, call);
    case CM_OP_embedding_add: return add_embedding(b, call);
    case CM_OP_gather_rows: return add_gather(b, call);
    case CM_OP_scatter_rows: return add_scatter(b, call);
    case CM_OP_support_decode: return add_decode(b, call);
    default: return false;
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
        cm_row_place *places[PLACES] = {&s->y, &s->x, &s->z};
        stages = stages || (s->op == CM_OP_dense && s->type == CM_F32);
        for (int p = 0; p < PLACES; p++) {
            if (b->used[i][p] == NONE) continue;
            places[p]->first += b->slot[b->used[i][p]].first;
            places[p]->stride = b->slot[b->used[i][p]].room;
        }
    }
    b->args->stage = end;
    b->args->memory = (uint32_t)(end + (stages ? CM_ROW_STAGE : 0)) * (uint32_t)sizeof(float);
}

/* The steps of a pass; false if it is not one of rows. */
static bool build(const cm_fusible *pass, cm_row_pass_args *args) {
    builder b = {.pass = pass, .args = args};
    *args = (cm_row_pass_args){0};
    for (int i = 0; i < pass->count && args->rows == 0; i++)
        if (pass->calls[i].op != CM_OP_scatter_rows) args->rows = pass->calls[i].t[0].dim[0];
    for (int i = 0; i < pass->count; i++)
        if (!add_call(&b, &pass->calls[i])) return false;
    lay_out(&b);
    return pass->count > 0;
}

/* ---- the pass ---- */

typedef struct row_pass {
    cm_row_pass_args args;
    uint64_t version; /* of the addresses in it */
} row_pass;

static int tiles_of(const cm_row_pass_args *args) { return (args->rows + CM_ROW_TILE - 1) / CM_ROW_TILE; }

/* Every block reads all weights, which a product of all rows reads once or twice: is that less than the launches that
 * are saved? A multiprocessor gets some 64 bytes per clock and multiplies some 16 numbers of a weight in float32 by the
 * rows of a tile; a launch and what follows it take some 2 us, or 3,000 clocks. */
static bool is_worth_it(const cm_row_pass_args *args, const cm_ops_limits *limits) {
    enum { CLOCKS_OF_LAUNCH = 3000, NARROW_PER_CLOCK = 32, WIDE_PER_CLOCK = 5 };
    const int64_t waves = (tiles_of(args) + limits->multiprocessors - 1) / limits->multiprocessors;
    int64_t clocks = 0;
    for (int i = 0; i < args->steps; i++) {
        const cm_row_step *s = &args->step[i];
        if (s->op == CM_OP_dense)
            clocks += (int64_t)s->n * s->k / (s->type == CM_F32 ? WIDE_PER_CLOCK : NARROW_PER_CLOCK);
    }
    return waves * clocks <= (int64_t)args->steps * CLOCKS_OF_LAUNCH;
}

static bool is_possible(const cm_row_pass_args *args, const cm_ops_limits *limits) {
    for (int i = 0; i < args->steps; i++)
        if (args->step[i].type != CM_F32 && !limits->multiplies_16_bits) return false;
    return sizeof *args + args->memory <= limits->block_bytes;
}

cm_status cm_row_pass_create(cm_stream *stream, const cm_fusible *pass, void **out) {
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    cm_row_pass_args args;
    *out = NULL;
    if (!build(pass, &args) || !is_possible(&args, &limits) || !is_worth_it(&args, &limits)) return CM_OK;
    row_pass *made = NULL;
    CM_TRY(cm_alloc(&made, 1, sizeof *made, "a pass of rows"));
    *made = (row_pass){args, pass->version};
    *out = made;
    return CM_OK;
}

cm_status cm_row_pass_run(cm_stream *stream, const cm_fusible *pass, void *row_pass_) {
    row_pass *p = row_pass_;
    if (p->version != pass->version && !build(pass, &p->args))
        return cm_fail(CM_ERR_STATE, "a pass of rows: with its new addresses it is none");
    p->version = pass->version;
    const int result = cm_row_pass_launch(&p->args, tiles_of(&p->args), CM_BLOCK, cm_ops_queue(stream));
    return cm_ops_launched(stream, result, "a pass of rows");
}

void cm_row_pass_free(void *row_pass_) { free(row_pass_); }
