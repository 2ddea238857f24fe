/* Copies of 16 bits on tapes that train: what the products of dense layers read is written in their type by the calls
 * that make it, next to the float32 that others read, or else by the first layer that reads it.
 *
 * A copy is of a whole block of memory, so that parts of a variable are parts of its copy. Calls are gone through in
 * their order. What a layer reads are the results of the last calls that have written it: if all of those can write the
 * copy they do, and the layer reads that. */
#include <stdlib.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"

enum { NOWHERE = -1, EIGHTS = 8 /* rows, and slices that are read, begin at multiples of 16 bytes */ };

/* A rectangle of the rows and columns of a block. */
typedef struct area {
    cm_var block; /* the variable that spans it */
    int row, rows, column, columns;
} area;

/* A call that writes an area, or a copy of it. */
typedef struct writing {
    cm_tape_node *node;
    int copy; /* tensor of the call for the copy, NOWHERE: it has none */
    bool copies;
    area at;
} writing;

typedef struct copier {
    cm_tape *tape;
    cm_var *block; /* of each variable */
    cm_var *copy;  /* of each block; CM_NO_VAR: none yet */
    writing *writings;
    int count;
    int *last; /* the writings that `find_last` finds */
} copier;

/* ---- areas ---- */

/* The first of the largest variables around v: gradients of views do not say whose part they are. */
static cm_var block_of(const cm_tape *tape, cm_var v) {
    size_t most = 0;
    cm_var block = v;
    for (cm_var b = 0; b < tape->vars; b++) {
        const size_t bytes = cm_tensor_bytes(&tape->var[b].shape);
        if (bytes <= most || !cm_tape_inside(&tape->var[v], &tape->var[b])) continue;
        block = b;
        most = bytes;
    }
    return block;
}

/* False if v is no rectangle of float32 in its block; then *out is all of that. */
static bool find_area(const copier *c, cm_var v, area *out) {
    const cm_tape_var *var = &c->tape->var[v], *block = &c->tape->var[c->block[v]];
    const int step = cm_tensor_row_size(&block->shape), columns = cm_tensor_row_size(&var->shape);
    const size_t first = (var->offset - block->offset) / sizeof(float);
    *out = (area){c->block[v], (int)(first / (size_t)step), var->shape.dim[0], (int)(first % (size_t)step), columns};
    if (var->shape.dtype == CM_F32 && block->shape.dtype == CM_F32 && out->column + columns <= step &&
        (var->shape.stride == step || out->rows == 1))
        return true;
    *out = (area){c->block[v], 0, block->shape.dim[0], 0, step};
    return false;
}

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

static int64_t elements(const area *a) { return a->rows > 0 && a->columns > 0 ? (int64_t)a->rows * a->columns : 0; }

static area common_of(const area *a, const area *b) {
    area both = {a->block, most(a->row, b->row), 0, most(a->column, b->column), 0};
    if (a->block != b->block) return both;
    both.rows = least(a->row + a->rows, b->row + b->rows) - both.row;
    both.columns = least(a->column + a->columns, b->column + b->columns) - both.column;
    return both;
}

/* ---- writers of an area ---- */

/* The most elements of an area that one of c->last[found] has. */
static int64_t covered_by(const copier *c, const area *a, int found) {
    int64_t covered = 0;
    for (int i = 0; i < found; i++) {
        const area both = common_of(a, &c->writings[c->last[i]].at);
        if (elements(&both) > covered) covered = elements(&both);
    }
    return covered;
}

/* Fills c->last with the writings whose results an area holds, and returns their number; 0 if one of them cannot write
 * a copy, if one is covered in part, or if they are not all of the area. */
static int find_last(const copier *c, const area *a) {
    int64_t rest = elements(a);
    int found = 0;
    for (int i = c->count - 1; i >= 0 && rest > 0; i--) {
        const writing *w = &c->writings[i];
        const area both = common_of(a, &w->at);
        const int64_t covered = covered_by(c, &both, found);
        if (elements(&both) == covered) continue;
        if (covered > 0 || (!w->copies && w->copy == NOWHERE)) return 0;
        c->last[found++] = i;
        rest -= elements(&both);
    }
    return rest == 0 ? found : 0;
}

/* ---- copies ---- */

static cm_var copy_of(copier *c, const area *a) {
    const cm_tensor *block = &c->tape->var[a->block].shape;
    const int step = (cm_tensor_row_size(block) + EIGHTS - 1) / EIGHTS * EIGHTS, dim[2] = {block->dim[0], step};
    const cm_dtype type = c->tape->compute;
    if (c->copy[a->block] == CM_NO_VAR) c->copy[a->block] = cm_tape_new(c->tape, CM_MEM_WORK, type, 2, dim, false);
    cm_tensor shape = cm_tensor_2d(NULL, type, a->rows, a->columns);
    shape.stride = step;
    const size_t first = (size_t)a->row * (size_t)step + (size_t)a->column;
    return cm_tape_view(c->tape, c->copy[a->block], &shape, first * cm_dtype_size(type), true);
}

static void add_writing(copier *c, cm_tape_node *node, int copy, bool copies, const area *at) {
    c->writings[c->count++] = (writing){node, copy, copies, *at};
}

/* The copy of what a call reads, if those that have written it can write that, too; else CM_NO_VAR. */
static cm_var written_copy(copier *c, const area *a) {
    const int found = find_last(c, a);
    for (int i = 0; i < found; i++) {
        writing *w = &c->writings[c->last[i]];
        if (w->copies) continue;
        w->node->t[w->copy] = copy_of(c, &w->at);
        w->node->attr.compute = c->tape->compute;
        w->copies = true;
    }
    return found ? copy_of(c, a) : CM_NO_VAR;
}

/* ---- calls ---- */

static bool is_readable(const copier *c, cm_var v, area *out) {
    const cm_memory memory = c->tape->var[v].memory;
    return (memory == CM_MEM_WORK || memory == CM_MEM_INPUT) && find_area(c, v, out) && out->column % EIGHTS == 0;
}

static void read_dense(copier *c, cm_tape_node *node) {
    area a;
    if (!is_readable(c, node->t[CM_T_dense_x], &a)) return;
    const cm_var copy = written_copy(c, &a);
    if (copy != CM_NO_VAR) {
        node->t[CM_T_dense_x] = copy;
        return;
    }
    node->t[CM_T_dense_half_x] = copy_of(c, &a);
    add_writing(c, node, CM_T_dense_half_x, true, &a);
}

static void read_dense_backward(copier *c, cm_tape_node *node) {
    area a;
    cm_var *x = &node->t[CM_T_dense_backward_x];
    if (node->t[CM_T_dense_backward_dweight] != CM_NO_VAR && is_readable(c, *x, &a)) {
        const cm_var copy = written_copy(c, &a);
        if (copy != CM_NO_VAR) *x = copy;
    }
    if (is_readable(c, node->t[CM_T_dense_backward_dy], &a)) node->t[CM_T_dense_backward_half_dy] = written_copy(c, &a);
}

/* States are scaled in a call of their own, and what is in front of that is read by layers, too. */
static void read_minmax(copier *c, cm_tape_node *node) {
    area a;
    const cm_var x = node->t[CM_T_minmax_x];
    if (c->tape->var[x].shape.ndim == 2 && find_area(c, x, &a)) add_writing(c, node, CM_T_minmax_half_x, false, &a);
}

/* Where a call that writes `tensor` takes its copy. */
static int place_of_copy(cm_op op, int tensor) {
    static const struct {
        int tensor, copy;
    } places[CM_OP_COUNT] = {
#define PLACE(op, tensor) [CM_OP_##op] = {CM_T_##op##_##tensor, CM_T_##op##_half}
        PLACE(activation, y),
        PLACE(activation_backward, dx),
        PLACE(add, y),
        PLACE(scale_add, y),
        PLACE(layer_norm, y),
        PLACE(layer_norm_backward, dx),
        PLACE(minmax, y),
        PLACE(minmax_backward, dx),
        PLACE(categorical_loss, dlogits),
        PLACE(policy_loss, dlogits),
        PLACE(scalar_loss, dprediction),
#undef PLACE
    };
    return places[op].copy != 0 && places[op].tensor == tensor ? places[op].copy : NOWHERE;
}

static void write_all(copier *c, cm_tape_node *node) {
    const int tensors = cm_op_tensor_count(node->op);
    for (int t = 0; t < tensors; t++) {
        const cm_var v = node->t[t];
        if (v == CM_NO_VAR || !cm_op_tensor_written(node->op, t) || cm_op_tensor_dtype(node->op, t) != CM_F32) continue;
        area a;
        const bool takes = find_area(c, v, &a) && c->tape->var[v].shape.ndim == 2;
        add_writing(c, node, takes ? place_of_copy(node->op, t) : NOWHERE, false, &a);
    }
}

static void go_through(copier *c, cm_tape_list *list) {
    for (int i = 0; i < list->count; i++) {
        cm_tape_node *node = &list->node[i];
        if (cm_tape_is_silent(c->tape, node)) continue;
        if (node->op == CM_OP_dense) read_dense(c, node);
        if (node->op == CM_OP_dense_backward) read_dense_backward(c, node);
        if (node->op == CM_OP_minmax) read_minmax(c, node);
        write_all(c, node);
    }
}

static cm_status alloc_memory(copier *c) {
    const size_t vars = (size_t)c->tape->vars + 1;
    const size_t writings = (size_t)(c->tape->forward.count + c->tape->backward.count) * CM_CALL_TENSORS + 1;
    CM_TRY(cm_alloc(&c->block, vars, sizeof *c->block, "the copies of a tape"));
    CM_TRY(cm_alloc(&c->copy, vars, sizeof *c->copy, "the copies of a tape"));
    CM_TRY(cm_alloc(&c->writings, writings, sizeof *c->writings, "the copies of a tape"));
    return cm_alloc(&c->last, writings, sizeof *c->last, "the copies of a tape");
}

cm_status cm_tape_make_copies(cm_tape *tape) {
    copier c = {.tape = tape};
    const cm_var first = tape->vars;
    const cm_status status = alloc_memory(&c);
    for (cm_var v = 0; status == CM_OK && v < tape->vars; v++) c.copy[v] = CM_NO_VAR, c.block[v] = block_of(tape, v);
    if (status == CM_OK) {
        go_through(&c, &tape->forward);
        go_through(&c, &tape->backward);
        cm_tape_place(tape, first);
    }
    free(c.block);
    free(c.copy);
    free(c.writings);
    free(c.last);
    return status;
}
