/* Layers in 8 bits (backend/int8.h) in ONNX: weights and inputs of a layer as QuantizeLinear and DequantizeLinear have
 * them, the layer between in float32. Numbers -127 .. 127 are bytes 1 .. 255 around a zero point of 128: ONNX Runtime
 * adds pairs of products of signed weights in 16 bits, which overflow, on processors of AVX2 without VNNI. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/int8.h"
#include "core/arena.h"
#include "export/translate.h"

/* A step to divide by: where all numbers are 0 any step does. */
static float scale_of(float range) {
    const float step = cm_int8_step(range);
    return step > 0.0f ? step : FLT_MAX;
}

/* ---- weights ---- */

typedef struct rows_int8 {
    uint8_t *number;
    float *scale; /* of each row */
} rows_int8;

static cm_status alloc_rows(rows_int8 *out, size_t rows, size_t count) {
    CM_TRY(cm_alloc(&out->number, count, 1, "weights of 8 bits"));
    return cm_alloc(&out->scale, rows, sizeof *out->scale, "weights of 8 bits");
}

static void quantise_row(const float *weight, size_t n, uint8_t *number, float *scale) {
    const float range = cm_int8_range(weight, n), inverse = cm_int8_inverse(range);
    *scale = scale_of(range);
    for (size_t i = 0; i < n; i++) number[i] = (uint8_t)(cm_int8_of(weight[i], inverse) + CM_ONNX_ZERO_POINT);
}

static cm_onnx_value add_weight(cm_translation *t, const cm_onnx_port *port, const rows_int8 *rows) {
    char name[CM_ONNX_NAME];
    cm_onnx_port numbers = *port;
    numbers.type = CM_ONNX_UINT8;
    snprintf(name, sizeof name, "%s.step", port->name);
    const cm_onnx_port steps = {name, CM_ONNX_FLOAT, 1, {port->dim[0]}};
    const cm_onnx_value weight =
        CM_ONNX(t->graph, DequantizeLinear, cm_onnx_bytes(t->graph, &numbers, rows->number),
                cm_onnx_array(t->graph, &steps, rows->scale, false), cm_onnx_zero_points(t->graph, port->dim[0]));
    cm_onnx_set_int(t->graph, "axis", 0);
    return weight;
}

cm_onnx_value cm_translate_int8_weight(cm_translation *t, const cm_onnx_port *port, const float *data) {
    rows_int8 rows = {NULL, NULL};
    cm_onnx_value weight = CM_NO_VALUE;
    size_t n = 1;
    for (int d = 1; d < port->ndim; d++) n *= (size_t)port->dim[d];
    const size_t count = (size_t)port->dim[0];
    if (alloc_rows(&rows, count, count * n) == CM_OK) {
        for (size_t r = 0; r < count; r++) quantise_row(data + r * n, n, rows.number + r * n, &rows.scale[r]);
        weight = add_weight(t, port, &rows);
    } else {
        cm_onnx_graph_fail(t->graph, "%s", cm_error_message());
    }
    free(rows.number);
    free(rows.scale);
    return weight;
}

/* ---- inputs ---- */

/* What is below the range becomes its end: QuantizeLinear has byte 0, too, which the layers have not. */
static cm_onnx_value bounded(cm_translation *t, cm_onnx_value x, float range) {
    const cm_onnx_node *node = cm_onnx_node_of(t->graph, x);
    if (node && strcmp(node->type, "Relu") == 0) return x;
    return CM_ONNX(t->graph, Max, x, cm_onnx_scalar(t->graph, -range));
}

cm_onnx_value cm_translate_int8_input(cm_translation *t, const cm_attr *attr, cm_onnx_value x) {
    if (attr->compute != CM_I8) return x;
    const cm_onnx_value scale = cm_onnx_scalar(t->graph, scale_of(attr->range));
    const cm_onnx_value zero = cm_onnx_zero_points(t->graph, 0);
    const cm_onnx_value number = CM_ONNX(t->graph, QuantizeLinear, bounded(t, x, attr->range), scale, zero);
    return CM_ONNX(t->graph, DequantizeLinear, number, scale, zero);
}
