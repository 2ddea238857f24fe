#include "export/onnx_file.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of fields by message, and of enums: onnx/onnx.proto. */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_METADATA = 14,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_ARRAY = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_TYPE = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIM = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    PORT_NAME = 1,
    PORT_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_TYPE_ELEMENT = 1,
    TENSOR_TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_NAME = 2
};
enum { ATTRIBUTE_IS_FLOAT = 1, ATTRIBUTE_IS_INT = 2, ATTRIBUTE_IS_INTS = 7 };
enum { IR_VERSION = 8 }; /* the first that has opset 17 */
static const uint64_t most_bytes = (uint64_t)1 << 31;

static const int64_t elements[] = {[CM_ONNX_FLOAT] = 1, [CM_ONNX_UINT8] = 2, [CM_ONNX_INT64] = 7};

static void put_array(cm_proto *out, const cm_onnx_info *info) {
    const size_t begun = cm_proto_begin(out, GRAPH_ARRAY);
    for (int d = 0; d < info->ndim; d++) cm_proto_put_int(out, TENSOR_DIM, info->dim[d]);
    cm_proto_put_int(out, TENSOR_TYPE, elements[info->type]);
    cm_proto_put_text(out, TENSOR_NAME, info->name);
    if (info->floats) cm_proto_put_bytes(out, TENSOR_RAW, info->floats, info->count * sizeof *info->floats);
    if (info->bytes) cm_proto_put_bytes(out, TENSOR_RAW, info->bytes, info->count);
    if (info->ints) cm_proto_put_bytes(out, TENSOR_RAW, info->ints, info->count * sizeof *info->ints);
    cm_proto_end(out, begun);
}

static void put_shape(cm_proto *out, const cm_onnx_info *info) {
    const size_t shape = cm_proto_begin(out, TENSOR_TYPE_SHAPE);
    for (int d = 0; d < info->ndim; d++) {
        const size_t dim = cm_proto_begin(out, SHAPE_DIM);
        if (info->dim[d] == CM_ONNX_BATCH) {
            cm_proto_put_text(out, DIM_NAME, "batch");
        } else {
            cm_proto_put_int(out, DIM_VALUE, info->dim[d]);
        }
        cm_proto_end(out, dim);
    }
    cm_proto_end(out, shape);
}

static void put_port(cm_proto *out, uint32_t field, const cm_onnx_info *info) {
    const size_t port = cm_proto_begin(out, field);
    cm_proto_put_text(out, PORT_NAME, info->name);
    const size_t type = cm_proto_begin(out, PORT_TYPE), tensor = cm_proto_begin(out, TYPE_TENSOR);
    cm_proto_put_int(out, TENSOR_TYPE_ELEMENT, elements[info->type]);
    put_shape(out, info);
    cm_proto_end(out, tensor);
    cm_proto_end(out, type);
    cm_proto_end(out, port);
}

static void put_attribute(cm_proto *out, const cm_onnx_attribute *attribute) {
    static const int64_t types[] = {[CM_ONNX_ATTRIBUTE_INT] = ATTRIBUTE_IS_INT,
                                    [CM_ONNX_ATTRIBUTE_INTS] = ATTRIBUTE_IS_INTS,
                                    [CM_ONNX_ATTRIBUTE_FLOAT] = ATTRIBUTE_IS_FLOAT};
    const size_t begun = cm_proto_begin(out, NODE_ATTRIBUTE);
    cm_proto_put_text(out, ATTRIBUTE_NAME, attribute->name);
    switch (attribute->kind) {
    case CM_ONNX_ATTRIBUTE_INT: cm_proto_put_int(out, ATTRIBUTE_INT, attribute->ints[0]); break;
    case CM_ONNX_ATTRIBUTE_INTS:
        for (int i = 0; i < attribute->count; i++) cm_proto_put_int(out, ATTRIBUTE_INTS, attribute->ints[i]);
        break;
    case CM_ONNX_ATTRIBUTE_FLOAT: cm_proto_put_float(out, ATTRIBUTE_FLOAT, attribute->real); break;
    }
    cm_proto_put_int(out, ATTRIBUTE_TYPE, types[attribute->kind]);
    cm_proto_end(out, begun);
}

static void put_node(cm_proto *out, const cm_onnx_graph *graph, const cm_onnx_node *node) {
    const size_t begun = cm_proto_begin(out, GRAPH_NODE);
    for (int i = 0; i < node->inputs; i++) cm_proto_put_text(out, NODE_INPUT, graph->value[node->in[i]].name);
    cm_proto_put_text(out, NODE_OUTPUT, graph->value[node->out].name);
    cm_proto_put_text(out, NODE_NAME, graph->value[node->out].name);
    cm_proto_put_text(out, NODE_TYPE, node->type);
    for (int i = 0; i < node->attributes; i++) put_attribute(out, &node->attribute[i]);
    cm_proto_end(out, begun);
}

static void put_graph(cm_proto *out, const cm_onnx_graph *graph) {
    const size_t begun = cm_proto_begin(out, MODEL_GRAPH);
    for (int i = 0; i < graph->nodes; i++) put_node(out, graph, &graph->node[i]);
    cm_proto_put_text(out, GRAPH_NAME, graph->name);
    for (int i = 0; i < graph->values; i++)
        if (graph->value[i].kind >= CM_ONNX_ARRAY) put_array(out, &graph->value[i]);
    for (int i = 0; i < graph->inputs; i++) put_port(out, GRAPH_INPUT, &graph->value[graph->input[i]]);
    for (int i = 0; i < graph->outputs; i++) put_port(out, GRAPH_OUTPUT, &graph->value[graph->output[i]]);
    cm_proto_end(out, begun);
}

static void put_entry(cm_proto *out, const char *key, const char *value) {
    const size_t begun = cm_proto_begin(out, MODEL_METADATA);
    cm_proto_put_text(out, ENTRY_KEY, key);
    cm_proto_put_text(out, ENTRY_VALUE, value);
    cm_proto_end(out, begun);
}

static cm_status put_fact(cm_proto *out, const cm_json *fact) {
    cm_json_writer *json = NULL;
    if (cm_json_string(fact)) {
        put_entry(out, cm_json_key(fact), cm_json_string(fact));
        return CM_OK;
    }
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_put(json, NULL, fact);
    const char *text = cm_json_writer_text(json, &(size_t){0});
    if (text) put_entry(out, cm_json_key(fact), text);
    cm_json_writer_destroy(json);
    return text ? CM_OK : CM_ERR_MEMORY;
}

static cm_status check_size(const cm_onnx_graph *graph) {
    uint64_t bytes = 0;
    for (int i = 0; i < graph->values; i++) {
        const cm_onnx_info *info = &graph->value[i];
        if (info->floats || info->bytes) bytes += info->count * (info->floats ? sizeof(float) : 1);
    }
    if (bytes < most_bytes) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its weights take %.1f GB, and an ONNX file has at most 2: use --torch",
                   graph->name, (double)bytes / 1e9);
}

cm_status cm_onnx_write(const cm_onnx_graph *graph, const cm_onnx_about *about, cm_proto *out) {
    CM_TRY(cm_onnx_graph_finish(graph));
    CM_TRY(check_size(graph));
    cm_proto_reset(out);
    cm_proto_put_int(out, MODEL_IR_VERSION, IR_VERSION);
    cm_proto_put_text(out, MODEL_PRODUCER, "cumind");
    cm_proto_put_text(out, MODEL_PRODUCER_VERSION, about->version);
    put_graph(out, graph);
    const size_t opset = cm_proto_begin(out, MODEL_OPSET);
    cm_proto_put_text(out, OPSET_DOMAIN, "");
    cm_proto_put_int(out, OPSET_VERSION, CM_ONNX_OPSET);
    cm_proto_end(out, opset);
    for (const cm_json *fact = cm_json_first(about->facts); fact; fact = cm_json_next(fact))
        CM_TRY(put_fact(out, fact));
    return cm_proto_check(out);
}
