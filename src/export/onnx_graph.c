#include "export/onnx_graph.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

cm_status cm_onnx_graph_create(const char *name, cm_onnx_graph **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a graph of ONNX"));
    (*out)->name = name;
    return CM_OK;
}

void cm_onnx_graph_destroy(cm_onnx_graph *graph) {
    if (!graph) return;
    for (int i = 0; i < graph->values; i++) {
        free(graph->value[i].floats);
        free(graph->value[i].ints);
        free(graph->value[i].bytes);
    }
    free(graph->value);
    free(graph->node);
    free(graph);
}

cm_status cm_onnx_graph_finish(const cm_onnx_graph *graph) {
    return graph->status == CM_OK ? CM_OK : cm_fail(graph->status, "%s", graph->message);
}

void cm_onnx_graph_fail(cm_onnx_graph *graph, const char *format, ...) {
    va_list arguments;
    if (graph->status != CM_OK) return;
    va_start(arguments, format);
    vsnprintf(graph->message, sizeof graph->message, format, arguments);
    va_end(arguments);
    graph->status = CM_ERR_INPUT;
}

static void fail_memory(cm_onnx_graph *graph) {
    cm_onnx_graph_fail(graph, "%s: no memory for its graph", graph->name);
    graph->status = CM_ERR_MEMORY;
}

/* Makes room for one more; false after an error. */
static bool grow(cm_onnx_graph *graph, void *items, int count, int *capacity, size_t size) {
    if (graph->status != CM_OK) return false;
    if (count < *capacity) return true;
    const int wanted = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*(void **)items, (size_t)wanted * size);
    if (!grown) {
        fail_memory(graph);
        return false;
    }
    *(void **)items = grown;
    *capacity = wanted;
    return true;
}

/* ---- values ---- */

static cm_onnx_value add_value(cm_onnx_graph *graph, cm_onnx_kind kind, const cm_onnx_port *port) {
    if (!grow(graph, &graph->value, graph->values, &graph->value_capacity, sizeof *graph->value)) return CM_NO_VALUE;
    cm_onnx_info *info = &graph->value[graph->values];
    *info = (cm_onnx_info){.kind = kind, .type = port->type, .ndim = port->ndim, .count = 1};
    snprintf(info->name, sizeof info->name, "%s", port->name);
    for (int d = 0; d < port->ndim; d++) {
        info->dim[d] = port->dim[d];
        info->count *= (size_t)port->dim[d];
    }
    return graph->values++;
}

cm_onnx_value cm_onnx_input(cm_onnx_graph *graph, const cm_onnx_port *port) {
    const cm_onnx_value value = add_value(graph, CM_ONNX_INPUT, port);
    if (value != CM_NO_VALUE) graph->input[graph->inputs++] = value;
    return value;
}

void cm_onnx_output(cm_onnx_graph *graph, cm_onnx_value value, const cm_onnx_port *port) {
    if (graph->status != CM_OK || value == CM_NO_VALUE) return;
    cm_onnx_info *info = &graph->value[value];
    info->type = port->type;
    info->ndim = port->ndim;
    memcpy(info->dim, port->dim, sizeof info->dim);
    snprintf(info->name, sizeof info->name, "%s", port->name);
    graph->output[graph->outputs++] = value;
}

static cm_onnx_value find_array(const cm_onnx_graph *graph, const char *name) {
    for (cm_onnx_value i = 0; i < graph->values; i++)
        if (graph->value[i].kind == CM_ONNX_ARRAY && strcmp(graph->value[i].name, name) == 0) return i;
    return CM_NO_VALUE;
}

/* Numbers of a new value, to be filled in; NULL after an error. */
static float *alloc_floats(cm_onnx_graph *graph, cm_onnx_value value) {
    if (value == CM_NO_VALUE) return NULL;
    cm_onnx_info *info = &graph->value[value];
    info->floats = malloc((info->count + 1) * sizeof(float));
    if (!info->floats) fail_memory(graph);
    return info->floats;
}

cm_onnx_value cm_onnx_array(cm_onnx_graph *graph, const cm_onnx_port *port, const float *data, bool is_trained) {
    const cm_onnx_value known = find_array(graph, port->name);
    if (known != CM_NO_VALUE) return known;
    const cm_onnx_value value = add_value(graph, CM_ONNX_ARRAY, port);
    float *floats = alloc_floats(graph, value);
    if (!floats) return CM_NO_VALUE;
    memcpy(floats, data, graph->value[value].count * sizeof *floats);
    graph->value[value].is_trained = is_trained;
    return value;
}

cm_onnx_value cm_onnx_bytes(cm_onnx_graph *graph, const cm_onnx_port *port, const uint8_t *data) {
    const cm_onnx_value known = find_array(graph, port->name);
    if (known != CM_NO_VALUE) return known;
    const cm_onnx_value value = add_value(graph, CM_ONNX_ARRAY, port);
    if (value == CM_NO_VALUE) return CM_NO_VALUE;
    cm_onnx_info *info = &graph->value[value];
    info->bytes = malloc(info->count + 1);
    if (!info->bytes) fail_memory(graph);
    if (info->bytes) memcpy(info->bytes, data, info->count);
    return info->bytes ? value : CM_NO_VALUE;
}

cm_onnx_value cm_onnx_zero_points(cm_onnx_graph *graph, int64_t n) {
    char name[CM_ONNX_NAME];
    snprintf(name, sizeof name, "constants.zero_points_%lld", (long long)n);
    const cm_onnx_port port = {name, CM_ONNX_UINT8, n > 0, {n}};
    uint8_t *points = malloc((size_t)n + 1);
    if (!points) fail_memory(graph);
    if (points) memset(points, CM_ONNX_ZERO_POINT, (size_t)n + 1);
    const cm_onnx_value value = points ? cm_onnx_bytes(graph, &port, points) : CM_NO_VALUE;
    free(points);
    return value;
}

cm_onnx_value cm_onnx_filled(cm_onnx_graph *graph, int n, float number) {
    char name[CM_ONNX_NAME];
    snprintf(name, sizeof name, "constants.%s_%d", number == 0.0f ? "zeros" : "ones", n);
    if (number != 0.0f && number != 1.0f) cm_onnx_graph_fail(graph, "a constant of %g has no name", (double)number);
    const cm_onnx_value known = find_array(graph, name);
    if (known != CM_NO_VALUE) return known;
    const cm_onnx_value value = add_value(graph, CM_ONNX_ARRAY, &(cm_onnx_port){name, CM_ONNX_FLOAT, 1, {n}});
    float *floats = alloc_floats(graph, value);
    for (int i = 0; floats && i < n; i++) floats[i] = number;
    return floats ? value : CM_NO_VALUE;
}

cm_onnx_value cm_onnx_scalar(cm_onnx_graph *graph, float number) {
    char name[CM_ONNX_NAME];
    snprintf(name, sizeof name, "constant_%d", graph->values);
    const cm_onnx_value value = add_value(graph, CM_ONNX_CONSTANT, &(cm_onnx_port){name, CM_ONNX_FLOAT, 0, {0}});
    float *floats = alloc_floats(graph, value);
    if (floats) floats[0] = number;
    return floats ? value : CM_NO_VALUE;
}

cm_onnx_value cm_onnx_ints(cm_onnx_graph *graph, const int64_t *ints, int count) {
    char name[CM_ONNX_NAME];
    snprintf(name, sizeof name, "constant_%d", graph->values);
    const cm_onnx_port port = {name, CM_ONNX_INT64, 1, {count}};
    const cm_onnx_value value = add_value(graph, CM_ONNX_CONSTANT, &port);
    if (value == CM_NO_VALUE) return CM_NO_VALUE;
    int64_t *copy = graph->value[value].ints = malloc((size_t)count * sizeof *copy);
    if (!copy) fail_memory(graph);
    for (int i = 0; copy && i < count; i++) copy[i] = ints[i];
    return copy ? value : CM_NO_VALUE;
}

/* ---- nodes ---- */

/* "relu_12" of Relu. */
static void name_result(const char *type, int number, char out[CM_ONNX_NAME]) {
    const int length = snprintf(out, CM_ONNX_NAME, "%s_%d", type, number);
    for (int i = 0; i < length && i < CM_ONNX_NAME; i++) out[i] = (char)tolower((unsigned char)out[i]);
}

cm_onnx_value cm_onnx_add(cm_onnx_graph *graph, const char *type, const cm_onnx_value *in, int inputs) {
    char name[CM_ONNX_NAME];
    for (int i = 0; i < inputs; i++)
        if (in[i] == CM_NO_VALUE) return CM_NO_VALUE;
    name_result(type, graph->nodes, name);
    const cm_onnx_value out = add_value(graph, CM_ONNX_RESULT, &(cm_onnx_port){name, CM_ONNX_FLOAT, 0, {0}});
    if (out == CM_NO_VALUE) return CM_NO_VALUE;
    if (!grow(graph, &graph->node, graph->nodes, &graph->node_capacity, sizeof *graph->node)) return CM_NO_VALUE;
    cm_onnx_node *node = &graph->node[graph->nodes++];
    *node = (cm_onnx_node){.type = type, .out = out, .inputs = inputs, .part = graph->part};
    memcpy(node->in, in, (size_t)inputs * sizeof *in);
    graph->part = NULL;
    return out;
}

const cm_onnx_node *cm_onnx_node_of(const cm_onnx_graph *graph, cm_onnx_value value) {
    for (int i = graph->nodes - 1; i >= 0 && value != CM_NO_VALUE; i--)
        if (graph->node[i].out == value) return &graph->node[i];
    return NULL;
}

/* Whether an output, or a node from `first` on, reads the value. */
static bool is_read(const cm_onnx_graph *graph, cm_onnx_value value, int first) {
    for (int i = 0; i < graph->outputs; i++)
        if (graph->output[i] == value) return true;
    for (int n = first; n < graph->nodes; n++)
        for (int i = 0; i < graph->node[n].inputs; i++)
            if (graph->node[n].in[i] == value) return true;
    return false;
}

void cm_onnx_prune(cm_onnx_graph *graph) {
    for (int n = graph->nodes - 1; n >= 0; n--) {
        if (is_read(graph, graph->node[n].out, n + 1)) continue;
        graph->nodes--;
        memmove(&graph->node[n], &graph->node[n + 1], (size_t)(graph->nodes - n) * sizeof *graph->node);
    }
}

/* The next attribute of the last node; NULL after an error. */
static cm_onnx_attribute *next_attribute(cm_onnx_graph *graph, const char *name) {
    if (graph->status != CM_OK || graph->nodes == 0) return NULL;
    cm_onnx_node *node = &graph->node[graph->nodes - 1];
    cm_onnx_attribute *attribute = &node->attribute[node->attributes++];
    *attribute = (cm_onnx_attribute){.name = name};
    return attribute;
}

void cm_onnx_set_int(cm_onnx_graph *graph, const char *name, int64_t value) {
    cm_onnx_attribute *attribute = next_attribute(graph, name);
    if (!attribute) return;
    attribute->kind = CM_ONNX_ATTRIBUTE_INT;
    attribute->ints[0] = value;
}

void cm_onnx_set_ints(cm_onnx_graph *graph, const char *name, const int64_t *ints, int count) {
    cm_onnx_attribute *attribute = next_attribute(graph, name);
    if (!attribute) return;
    attribute->kind = CM_ONNX_ATTRIBUTE_INTS;
    attribute->count = count;
    memcpy(attribute->ints, ints, (size_t)count * sizeof *ints);
}

void cm_onnx_set_float(cm_onnx_graph *graph, const char *name, float value) {
    cm_onnx_attribute *attribute = next_attribute(graph, name);
    if (!attribute) return;
    attribute->kind = CM_ONNX_ATTRIBUTE_FLOAT;
    attribute->real = value;
}

void cm_onnx_set_python(cm_onnx_graph *graph, const char *python) {
    if (graph->status == CM_OK && graph->nodes > 0) graph->node[graph->nodes - 1].python = python;
}
