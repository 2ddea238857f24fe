/* Variables and the life of a tape. */
#include "backend/tape/tape_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

cm_status cm_tape_create(bool training, cm_dtype compute, cm_tape **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a tape"));
    (*out)->training = training;
    (*out)->compute = compute;
    return CM_OK;
}

void cm_tape_destroy(cm_tape *tape) {
    if (!tape) return;
    free(tape->var);
    free(tape->forward.node);
    free(tape->backward.node);
    free(tape->segments);
    free(tape->norm);
    free(tape->range);
    free(tape->ends);
    free(tape);
}

void cm_tape_error(cm_tape *tape, const char *format, ...) {
    if (tape->error != CM_OK) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tape->message, sizeof tape->message, format, arguments);
    va_end(arguments);
    tape->error = CM_ERR_INPUT;
}

bool cm_tape_grow(cm_tape *tape, void *items, int count, int *capacity, size_t size) {
    if (tape->error != CM_OK) return false;
    if (count < *capacity) return true;
    int wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*(void **)items, (size_t)wanted * size);
    if (!grown) {
        cm_tape_error(tape, "no memory for a tape of %d entries", wanted);
        tape->error = CM_ERR_MEMORY;
        return false;
    }
    *(void **)items = grown;
    *capacity = wanted;
    return true;
}

static size_t row_bytes(const cm_tensor *t) { return (size_t)t->stride * cm_dtype_size(t->dtype); }

static cm_var add_var(cm_tape *tape, const cm_tape_var *var) {
    if (!cm_tape_grow(tape, &tape->var, tape->vars, &tape->var_capacity, sizeof *tape->var)) return CM_NO_VAR;
    tape->var[tape->vars] = *var;
    return tape->vars++;
}

cm_var cm_tape_new(cm_tape *tape, cm_memory memory, cm_dtype dtype, int ndim, const int *dim, bool gradient) {
    cm_tape_var var = {.memory = memory, .lies_in = CM_NO_VAR, .grad = CM_NO_VAR, .base = CM_NO_VAR};
    var.shape = cm_tensor_make(NULL, dtype, ndim, dim);
    if (memory != CM_MEM_WORK) { /* places in WORK are given when all are known */
        var.offset = tape->bytes[memory];
        tape->bytes[memory] += cm_align(cm_tensor_bytes(&var.shape));
    }
    cm_var index = add_var(tape, &var);
    if (index == CM_NO_VAR) return CM_NO_VAR;
    if (gradient && tape->training) {
        cm_var grad = cm_tape_new(tape, CM_MEM_WORK, CM_F32, ndim, dim, false);
        if (grad == CM_NO_VAR) return CM_NO_VAR;
        tape->var[index].grad = grad;
    }
    return index;
}

cm_var cm_tape_new_like(cm_tape *tape, cm_var x) {
    if (x == CM_NO_VAR || tape->error != CM_OK) return CM_NO_VAR;
    cm_tensor shape = tape->var[x].shape;
    return cm_tape_new(tape, CM_MEM_WORK, CM_F32, shape.ndim, shape.dim, true);
}

cm_var cm_tape_alias(cm_tape *tape, cm_var x, const cm_tensor *shape, size_t offset) {
    if (x == CM_NO_VAR || tape->error != CM_OK) return CM_NO_VAR;
    cm_tape_var alias = tape->var[x];
    if (alias.memory == CM_MEM_WORK && alias.lies_in == CM_NO_VAR) alias.lies_in = x, alias.offset = 0;
    alias.shape = *shape;
    alias.offset += offset;
    alias.grad = alias.base = CM_NO_VAR;
    alias.slice = alias.written = false;
    alias.used = 0;
    return add_var(tape, &alias);
}

cm_var cm_tape_view(cm_tape *tape, cm_var base, const cm_tensor *shape, size_t offset, bool slice) {
    cm_var view = cm_tape_alias(tape, base, shape, offset);
    if (view == CM_NO_VAR) return CM_NO_VAR;
    tape->var[view].base = base;
    tape->var[view].slice = slice;
    cm_var gradient = cm_tape_alias(tape, tape->var[base].grad, shape, offset);
    tape->var[view].grad = gradient;
    return view;
}

cm_var cm_tape_input(cm_tape *tape, cm_dtype dtype, int ndim, const int *dim) {
    return cm_tape_new(tape, CM_MEM_INPUT, dtype, ndim, dim, false);
}

cm_var cm_tape_pool(cm_tape *tape, int slots, int width) {
    cm_tape_var var = {.memory = CM_MEM_POOL, .lies_in = CM_NO_VAR, .grad = CM_NO_VAR, .base = CM_NO_VAR};
    var.shape = cm_tensor_2d(NULL, CM_F32, slots, width);
    return add_var(tape, &var);
}

/* The variable of a parameter range: one per range, however often it is asked for. */
static cm_var param_var(cm_tape *tape, const cm_tensor *shape, size_t offset, bool state) {
    cm_memory memory = state ? CM_MEM_STATE : CM_MEM_PARAMETER;
    for (cm_var i = 0; i < tape->vars; i++) {
        const cm_tape_var *v = &tape->var[i];
        if (v->memory == memory && v->offset == offset && cm_tensor_same_shape(&v->shape, shape)) return i;
    }
    cm_tape_var var = {.memory = memory, .offset = offset, .shape = *shape};
    var.lies_in = var.grad = var.base = CM_NO_VAR;
    if (tape->training && !state) {
        cm_tape_var grad = var;
        grad.memory = CM_MEM_GRADIENT;
        var.grad = add_var(tape, &grad);
    }
    return add_var(tape, &var);
}

cm_var cm_tape_param(cm_tape *tape, const cm_param *param) { return cm_tape_merged(tape, &param, 1); }

cm_var cm_tape_merged(cm_tape *tape, const cm_param *const *params, int count) {
    cm_tensor shape = cm_param_tensor(params[0], NULL);
    float range = params[0]->range;
    size_t end = params[0]->offset + params[0]->count;
    for (int i = 1; i < count; i++) {
        if (params[i]->offset != end || params[i]->state != params[0]->state) {
            cm_tape_error(tape, "parameters %s and %s are not neighbours and cannot be merged", params[0]->name,
                          params[i]->name);
            return CM_NO_VAR;
        }
        end += params[i]->count;
        shape.dim[0] += params[i]->dim[0];
        range = fminf(range, params[i]->range);
    }
    const cm_var merged = param_var(tape, &shape, params[0]->offset * sizeof(float), params[0]->state);
    if (merged != CM_NO_VAR) tape->var[merged].range = range;
    return merged;
}

cm_var cm_tape_constant(cm_tape *tape, int n, float value) {
    for (int i = 0; i < tape->constants; i++) {
        const cm_tape_constant_fill *c = &tape->constant[i];
        if (c->value == value && tape->var[c->var].shape.dim[0] == n) return c->var;
    }
    if (tape->constants == CM_TAPE_CONSTANTS) {
        cm_tape_error(tape, "more than %d constants on one tape", CM_TAPE_CONSTANTS);
        return CM_NO_VAR;
    }
    cm_var var = cm_tape_new(tape, CM_MEM_WORK, CM_F32, 1, &n, false);
    if (var != CM_NO_VAR) tape->constant[tape->constants++] = (cm_tape_constant_fill){var, value};
    return var;
}

void cm_tape_result(cm_tape *tape, cm_var x) {
    if (x == CM_NO_VAR || tape->error != CM_OK) return;
    cm_tape_var *var = &tape->var[x];
    if (var->memory == CM_MEM_RESULT) return;
    bool viewed = var->memory != CM_MEM_WORK || var->lies_in != CM_NO_VAR;
    for (cm_var i = 0; i < tape->vars; i++) viewed = viewed || tape->var[i].lies_in == x;
    if (viewed) {
        cm_tape_error(tape, "a view, or a variable with views, cannot be a result");
        return;
    }
    var->memory = CM_MEM_RESULT;
    var->offset = tape->bytes[CM_MEM_RESULT];
    tape->bytes[CM_MEM_RESULT] += cm_align(cm_tensor_bytes(&var->shape));
}

cm_var cm_tape_columns(cm_tape *tape, cm_var x, int first, int columns) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    cm_tensor shape = tape->var[x].shape;
    if (shape.ndim != 2 || first < 0 || columns < 1 || first + columns > shape.dim[1]) {
        cm_tape_error(tape, "columns %d..%d of a variable with %d dimensions and %d columns", first,
                      first + columns - 1, shape.ndim, shape.dim[1]);
        return CM_NO_VAR;
    }
    if (columns == shape.dim[1]) return x;
    shape.dim[1] = columns;
    return cm_tape_view(tape, x, &shape, (size_t)first * sizeof(float), true);
}

cm_var cm_tape_rows(cm_tape *tape, cm_var x, int first, int rows) {
    if (x == CM_NO_VAR || tape->error != CM_OK) return CM_NO_VAR;
    cm_tensor shape = tape->var[x].shape;
    if (first < 0 || rows < 1 || first + rows > shape.dim[0]) {
        cm_tape_error(tape, "rows %d..%d of a variable with %d rows", first, first + rows - 1, shape.dim[0]);
        return CM_NO_VAR;
    }
    if (rows == shape.dim[0]) return x;
    const size_t offset = (size_t)first * row_bytes(&shape);
    shape.dim[0] = rows;
    return cm_tape_view(tape, x, &shape, offset, true);
}

cm_var cm_tape_flatten(cm_tape *tape, cm_var x) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    cm_tensor shape = tape->var[x].shape;
    if (shape.ndim == 2) return x;
    shape = cm_tensor_2d(NULL, shape.dtype, shape.dim[0], cm_tensor_row_size(&shape));
    return cm_tape_view(tape, x, &shape, 0, false);
}

cm_var cm_tape_reshape_nhwc(cm_tape *tape, cm_var x, int height, int width, int channels) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    int dim[4] = {tape->var[x].shape.dim[0], height, width, channels};
    cm_tensor shape = cm_tensor_make(NULL, tape->var[x].shape.dtype, 4, dim);
    if (cm_tensor_count(&shape) != cm_tensor_count(&tape->var[x].shape)) {
        cm_tape_error(tape, "a variable of %d columns cannot be NHWC activations of %d x %d x %d",
                      tape->var[x].shape.dim[1], height, width, channels);
        return CM_NO_VAR;
    }
    return cm_tape_view(tape, x, &shape, 0, false);
}

cm_var cm_tape_reshape_rows(cm_tape *tape, cm_var x, int rows) {
    if (x == CM_NO_VAR || tape->error != CM_OK) return CM_NO_VAR;
    const cm_tensor *from = &tape->var[x].shape;
    const int all = (int)cm_tensor_count(from);
    if (rows < 1 || all % rows != 0 || !cm_tensor_contiguous(from)) {
        cm_tape_error(tape, "%d numbers cannot be %d rows", all, rows);
        return CM_NO_VAR;
    }
    const cm_tensor shape = cm_tensor_2d(NULL, from->dtype, rows, all / rows);
    return cm_tape_view(tape, x, &shape, 0, false);
}

cm_var cm_tape_each_number(cm_tape *tape, cm_var x, cm_policy_form form) {
    if (x == CM_NO_VAR || form.numbers == 1) return x;
    return cm_tape_reshape_rows(tape, x, tape->var[x].shape.dim[0] * form.numbers);
}

cm_var cm_tape_stop_gradient(cm_tape *tape, cm_var x) {
    if (x == CM_NO_VAR || tape->var[x].grad == CM_NO_VAR) return x;
    const cm_tensor shape = tape->var[x].shape;
    return cm_tape_alias(tape, x, &shape, 0);
}

void cm_tape_part(cm_tape *tape, cm_call_part part) { tape->part = part; }

cm_tape_node *cm_tape_append(cm_tape *tape, cm_tape_list *list, cm_op op) {
    if (!cm_tape_grow(tape, &list->node, list->count, &list->capacity, sizeof *list->node)) return NULL;
    cm_tape_node *node = &list->node[list->count++];
    memset(node, 0, sizeof *node);
    node->op = op, node->part = tape->part;
    node->segment = tape->segment;
    for (int i = 0; i < CM_CALL_TENSORS; i++) node->t[i] = CM_NO_VAR;
    return node;
}

void cm_tape_remove(cm_tape_list *list, int place) {
    list->count--;
    for (int i = place; i < list->count; i++) list->node[i] = list->node[i + 1];
}

static size_t end_of(const cm_tape_var *v) { return v->offset + cm_tensor_bytes(&v->shape); }

bool cm_tape_overlap(const cm_tape_var *a, const cm_tape_var *b) {
    return a->memory == b->memory && a->offset < end_of(b) && b->offset < end_of(a);
}

bool cm_tape_inside(const cm_tape_var *part, const cm_tape_var *whole) {
    return part->memory == whole->memory && part->offset >= whole->offset && end_of(part) <= end_of(whole);
}

bool cm_tape_is_silent(const cm_tape *tape, const cm_tape_node *node) {
    if (node->op != CM_OP_scale_add) return false;
    const cm_tape_var *y = &tape->var[node->t[CM_T_scale_add_y]], *x = &tape->var[node->t[CM_T_scale_add_x]];
    return y->memory == x->memory && y->offset == x->offset;
}

cm_var cm_tape_root(const cm_tape *tape, cm_var x) {
    while (tape->var[x].base != CM_NO_VAR && !tape->var[x].slice) x = tape->var[x].base;
    return x;
}

bool cm_tape_wants(const cm_tape *tape, cm_var x) { return x != CM_NO_VAR && tape->var[x].grad != CM_NO_VAR; }

void cm_tape_use_half(cm_tape *tape) { tape->half = tape->training && tape->compute != CM_F32; }

void cm_tape_use_branches(cm_tape *tape, int branches) { tape->branches = branches; }

size_t cm_tape_bytes(const cm_tape *tape, cm_memory memory) { return tape->bytes[memory]; }

size_t cm_tape_offset(const cm_tape *tape, cm_var var) { return tape->var[var].offset; }

const cm_tensor *cm_tape_shape(const cm_tape *tape, cm_var var) { return &tape->var[var].shape; }

int cm_tape_norm_calls(const cm_tape *tape) { return tape->norms; }

const cm_norm_call *cm_tape_norm_call(const cm_tape *tape, int index) { return &tape->norm[index]; }
