#include "export/translate.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

/* ---- shapes ---- */

cm_onnx_value cm_translate_reshape(cm_translation *t, cm_onnx_value value, const int64_t *dim, int ndim) {
    return CM_ONNX(t->graph, Reshape, value, cm_onnx_ints(t->graph, dim, ndim));
}

static cm_onnx_value transpose(cm_translation *t, cm_onnx_value value, const int64_t order[4]) {
    const cm_onnx_value out = CM_ONNX(t->graph, Transpose, value);
    cm_onnx_set_ints(t->graph, "perm", order, 4);
    return out;
}

cm_onnx_value cm_translate_channels_first(cm_translation *t, cm_onnx_value value) {
    return transpose(t, value, (const int64_t[]){0, 3, 1, 2});
}

/* Of what has just been turned it is what it was. */
cm_onnx_value cm_translate_channels_last(cm_translation *t, cm_onnx_value value) {
    const cm_onnx_node *node = cm_onnx_node_of(t->graph, value);
    if (node && strcmp(node->type, "Transpose") == 0) return node->in[0];
    return transpose(t, value, (const int64_t[]){0, 2, 3, 1});
}

cm_onnx_value cm_translate_columns(cm_translation *t, cm_onnx_value rows, int first, int count) {
    const int64_t from = first, to = first + count, axis = 1;
    return CM_ONNX(t->graph, Slice, rows, cm_onnx_ints(t->graph, &from, 1), cm_onnx_ints(t->graph, &to, 1),
                   cm_onnx_ints(t->graph, &axis, 1));
}

/* [N, H, W, C] at (n, c, cell) of a tensor of these dimensions, and the same with channels first. */
static size_t last_at(const int dim[4], int n, int c, int cell) {
    return ((size_t)n * dim[1] * dim[2] + cell) * dim[3] + c;
}
static size_t first_at(const int dim[4], int n, int c, int cell) {
    return ((size_t)n * dim[3] + c) * dim[1] * dim[2] + cell;
}

void cm_channels_first(float *to, const float *from, const int dim[4]) {
    for (int n = 0; n < dim[0]; n++)
        for (int c = 0; c < dim[3]; c++)
            for (int i = 0; i < dim[1] * dim[2]; i++) to[first_at(dim, n, c, i)] = from[last_at(dim, n, c, i)];
}

void cm_channels_last(float *to, const float *from, const int dim[4]) {
    for (int n = 0; n < dim[0]; n++)
        for (int c = 0; c < dim[3]; c++)
            for (int i = 0; i < dim[1] * dim[2]; i++) to[last_at(dim, n, c, i)] = from[first_at(dim, n, c, i)];
}

/* ---- arrays ---- */

/* In 8 bits if its layer is, or would be if it were not merged with one in float32. */
static cm_onnx_value add_array(cm_translation *t, const cm_param *param, const cm_onnx_port *port, const float *data) {
    if (param->range > 0.0f) return cm_translate_int8_weight(t, port, data);
    return cm_onnx_array(t->graph, port, data, !param->state);
}

static cm_onnx_value add_planes(cm_translation *t, const cm_param *param, const float *data) {
    float *copy = NULL;
    if (cm_alloc(&copy, param->count, sizeof *copy, "the weights of a convolution") != CM_OK) {
        cm_onnx_graph_fail(t->graph, "%s", cm_error_message());
        return CM_NO_VALUE;
    }
    cm_channels_first(copy, data, param->dim);
    const cm_onnx_port port = {
        param->name, CM_ONNX_FLOAT, 4, {param->dim[0], param->dim[3], param->dim[1], param->dim[2]}};
    const cm_onnx_value value = add_array(t, param, &port, copy);
    free(copy);
    return value;
}

static cm_onnx_value add_param(cm_translation *t, const cm_param *param) {
    const float *data = (param->state ? t->weights.state : t->weights.parameters) + param->offset;
    cm_onnx_port port = {param->name, CM_ONNX_FLOAT, param->ndim, {0}};
    if (param->ndim == 4) return add_planes(t, param, data);
    for (int d = 0; d < param->ndim; d++) port.dim[d] = param->dim[d];
    return add_array(t, param, &port, data);
}

/* The parameters that a variable covers: one, or several neighbours after each other. */
static cm_onnx_value read_params(cm_translation *t, cm_var var) {
    enum { MERGED_MOST = CM_ONNX_INPUTS };
    const cm_tape_where where = cm_tape_where_is(t->tape, var);
    const size_t end = where.first + cm_tensor_count(cm_tape_shape(t->tape, var));
    cm_onnx_value part[MERGED_MOST];
    int parts = 0;
    for (int i = 0; i < t->weights.table->count && parts < MERGED_MOST; i++) {
        const cm_param *p = &t->weights.table->param[i];
        if (p->state != (where.memory == CM_MEM_STATE) || p->offset < where.first || p->offset >= end) continue;
        part[parts++] = add_param(t, p);
    }
    if (parts == 1) return part[0];
    const cm_onnx_value merged = cm_onnx_add(t->graph, "Concat", part, parts);
    cm_onnx_set_int(t->graph, "axis", 0);
    return merged;
}

/* ---- variables ---- */

/* From rows [B, n] to the shape of the variable. */
static cm_onnx_value shaped(cm_translation *t, cm_var var, cm_onnx_value rows) {
    const cm_tensor *shape = cm_tape_shape(t->tape, var);
    int64_t dim[CM_MAX_DIMS] = {CM_ONNX_BATCH};
    for (int d = 1; d < shape->ndim; d++) dim[d] = shape->dim[d];
    if (shape->ndim == 2) return rows;
    const cm_onnx_value value = cm_translate_reshape(t, rows, dim, shape->ndim);
    return shape->ndim == 4 ? cm_translate_channels_first(t, value) : value;
}

/* A view has the value of its base, in its own shape or in part. */
static cm_onnx_value read_view(cm_translation *t, cm_var var, const cm_tape_where *where) {
    const cm_tensor *shape = cm_tape_shape(t->tape, var), *base = cm_tape_shape(t->tape, where->base);
    cm_onnx_value rows = cm_translate_read_rows(t, where->base);
    if (where->is_slice) {
        if (shape->ndim == 2 && base->ndim == 2 && (int)where->first < base->dim[1])
            return cm_translate_columns(t, rows, (int)where->first, shape->dim[1]);
        cm_onnx_graph_fail(t->graph, "%s: rows of a variable have no form in ONNX", t->graph->name);
        return CM_NO_VALUE;
    }
    const int64_t dim[2] = {CM_ONNX_BATCH, cm_tensor_row_size(shape)};
    if (cm_tensor_row_size(shape) != cm_tensor_row_size(base)) rows = cm_translate_reshape(t, rows, dim, 2);
    return shaped(t, var, rows);
}

static cm_onnx_value make_value(cm_translation *t, cm_var var) {
    const cm_tape_where where = cm_tape_where_is(t->tape, var);
    float number;
    if (where.base != CM_NO_VAR) return read_view(t, var, &where);
    if (where.memory == CM_MEM_PARAMETER || where.memory == CM_MEM_STATE) return read_params(t, var);
    if (cm_tape_is_constant(t->tape, var, &number))
        return cm_onnx_filled(t->graph, cm_tape_shape(t->tape, var)->dim[0], number);
    cm_onnx_graph_fail(t->graph, "%s: variable %d is read before it is written", t->graph->name, var);
    return CM_NO_VALUE;
}

cm_onnx_value cm_translate_read(cm_translation *t, cm_var var) {
    if (var == CM_NO_VAR || t->graph->status != CM_OK) return CM_NO_VALUE;
    if (t->value[var] == CM_NO_VALUE) t->value[var] = make_value(t, var);
    return t->value[var];
}

cm_onnx_value cm_translate_read_rows(cm_translation *t, cm_var var) {
    cm_onnx_value value = cm_translate_read(t, var);
    if (value == CM_NO_VALUE) return CM_NO_VALUE;
    const cm_tensor *shape = cm_tape_shape(t->tape, var);
    const int64_t dim[2] = {CM_ONNX_BATCH, cm_tensor_row_size(shape)};
    if (shape->ndim == 2) return value;
    if (shape->ndim == 4) value = cm_translate_channels_last(t, value);
    return cm_translate_reshape(t, value, dim, 2);
}

void cm_translate_write(cm_translation *t, cm_var var, cm_onnx_value value) {
    if (value != CM_NO_VALUE) t->value[var] = value;
}

void cm_translate_write_rows(cm_translation *t, cm_var var, cm_onnx_value rows) {
    cm_tape_where where = cm_tape_where_is(t->tape, var);
    while (where.base != CM_NO_VAR && !where.is_slice) { /* what reads it reads another view, or the whole */
        var = where.base;
        where = cm_tape_where_is(t->tape, var);
    }
    if (rows != CM_NO_VALUE) t->value[var] = shaped(t, var, rows);
}

/* ---- a translation ---- */

cm_status cm_translation_open(cm_translation *t, const cm_tape *tape, const cm_export_weights *weights,
                              cm_onnx_graph *graph) {
    *t = (cm_translation){.tape = tape, .weights = *weights, .graph = graph, .values = cm_tape_variables(tape)};
    CM_TRY(cm_alloc(&t->value, (size_t)t->values + 1, sizeof *t->value, "the values of a graph"));
    for (int i = 0; i < t->values; i++) t->value[i] = CM_NO_VALUE;
    return CM_OK;
}

void cm_translation_close(cm_translation *t) { free(t->value); }
