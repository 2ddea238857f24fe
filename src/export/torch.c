#include "export/torch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        ".hidden cm_torch_head\n"
        ".global cm_torch_head\n"
        "cm_torch_head:\n"
        ".incbin \"src/export/torch_head.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cm_torch_head[] __attribute__((visibility("hidden")));

static const struct {
    const char *type, *text;
} rows[] = {
#define CM_TORCH(type, text) {#type, text},
#include "export/torch.def"
#undef CM_TORCH
};

static const char *text_of(const cm_onnx_node *node) {
    if (node->python) return node->python;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].type, node->type) == 0) return rows[i].text;
    return NULL;
}

/* ---- values ---- */

/* "(1, 2)"; a single number alone. */
static void put_ints(FILE *out, const int64_t *ints, int count) {
    if (count != 1) fprintf(out, "(");
    for (int i = 0; i < count; i++) fprintf(out, "%s%lld", i ? ", " : "", (long long)ints[i]);
    if (count != 1) fprintf(out, ")");
}

/* The shortest decimal that reads back as the same float32: "1e-05", "2.0". */
static void put_float(FILE *out, float value) {
    enum { DIGITS_MOST = 9 };
    char text[40];
    for (int digits = 1; digits <= DIGITS_MOST; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value) break;
    }
    fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_value(FILE *out, const cm_onnx_info *info) {
    switch (info->kind) {
    case CM_ONNX_INPUT:
    case CM_ONNX_RESULT: fprintf(out, "%s", info->name); break;
    case CM_ONNX_ARRAY: fprintf(out, "w[\"%s\"]", info->name); break;
    case CM_ONNX_CONSTANT:
        if (info->ints) {
            put_ints(out, info->ints, (int)info->count);
        } else {
            put_float(out, info->floats[0]);
        }
        break;
    }
}

static void put_attribute(FILE *out, const cm_onnx_attribute *attribute) {
    const int count = strcmp(attribute->name, "pads") == 0 ? attribute->count / 2 : attribute->count;
    switch (attribute->kind) {
    case CM_ONNX_ATTRIBUTE_INT: fprintf(out, "%lld", (long long)attribute->ints[0]); break;
    case CM_ONNX_ATTRIBUTE_INTS: put_ints(out, attribute->ints, count); break;
    case CM_ONNX_ATTRIBUTE_FLOAT: put_float(out, attribute->real); break;
    }
}

/* ---- nodes ---- */

static void put_all(FILE *out, const cm_onnx_graph *graph, const cm_onnx_node *node) {
    for (int i = 0; i < node->inputs; i++) {
        if (i > 0) fprintf(out, ", ");
        put_value(out, &graph->value[node->in[i]]);
    }
}

/* What stands between braces, word[length]. */
static void put_field(FILE *out, const cm_onnx_graph *graph, const cm_onnx_node *node, const char *word,
                      size_t length) {
    const bool may_lack = *word == ',';
    const char *name = word + may_lack;
    if (isdigit((unsigned char)*name)) {
        const int place = *name - '0';
        if (place >= node->inputs) return;
        if (may_lack) fprintf(out, ", ");
        put_value(out, &graph->value[node->in[place]]);
    } else if (*name == '*') {
        put_all(out, graph, node);
    }
    for (int i = 0; i < node->attributes; i++)
        if (strlen(node->attribute[i].name) == length && strncmp(node->attribute[i].name, word, length) == 0)
            put_attribute(out, &node->attribute[i]);
}

static cm_status put_node(FILE *out, const cm_onnx_graph *graph, const cm_onnx_node *node) {
    const char *text = text_of(node);
    if (!text)
        return cm_fail(CM_ERR_INPUT, "%s: operator %s cannot be written for PyTorch yet", graph->name, node->type);
    if (node->part) fprintf(out, "        # %s\n", node->part);
    fprintf(out, "        %s = ", graph->value[node->out].name);
    for (const char *c = text; *c; c++) {
        const char *end = *c == '{' ? strchr(c, '}') : NULL;
        if (end) {
            put_field(out, graph, node, c + 1, (size_t)(end - c - 1));
            c = end;
        } else {
            fputc(*c, out);
        }
    }
    fprintf(out, "\n");
    return CM_OK;
}

/* ---- methods ---- */

static void put_port(FILE *out, const cm_onnx_info *info) {
    static const char *const types[] = {
        [CM_ONNX_FLOAT] = "float32", [CM_ONNX_INT64] = "int64", [CM_ONNX_UINT8] = "uint8"};
    fprintf(out, "%s %s [batch", info->name, types[info->type]);
    for (int d = 1; d < info->ndim; d++) fprintf(out, ", %lld", (long long)info->dim[d]);
    fprintf(out, "]");
}

static void put_ports(FILE *out, const cm_onnx_graph *graph, const cm_onnx_value *ports, int count) {
    for (int i = 0; i < count; i++) {
        fprintf(out, "%s", i ? ", " : "");
        put_port(out, &graph->value[ports[i]]);
    }
}

static cm_status put_method(FILE *out, const cm_onnx_graph *graph) {
    fprintf(out, "\n    def %s(self", graph->name);
    for (int i = 0; i < graph->inputs; i++) fprintf(out, ", %s: Tensor", graph->value[graph->input[i]].name);
    fprintf(out, ") -> tuple[Tensor, ...]:\n        \"\"\"");
    put_ports(out, graph, graph->input, graph->inputs);
    fprintf(out, "\n        -> ");
    put_ports(out, graph, graph->output, graph->outputs);
    fprintf(out, "\"\"\"\n        w = self.arrays()\n");
    for (int i = 0; i < graph->nodes; i++) CM_TRY(put_node(out, graph, &graph->node[i]));
    fprintf(out, "        return ");
    for (int i = 0; i < graph->outputs; i++) fprintf(out, "%s%s", i ? ", " : "", graph->value[graph->output[i]].name);
    fprintf(out, "\n");
    return CM_OK;
}

/* ---- arrays ---- */

static bool is_new(cm_onnx_graph *const *graphs, int graph, const char *name) {
    for (int g = 0; g < graph; g++)
        for (int i = 0; i < graphs[g]->values; i++)
            if (graphs[g]->value[i].kind == CM_ONNX_ARRAY && strcmp(graphs[g]->value[i].name, name) == 0) return false;
    return true;
}

static void put_shape(FILE *out, const cm_onnx_info *info) {
    fprintf(out, "        \"%s\": (", info->name);
    for (int d = 0; d < info->ndim; d++)
        fprintf(out, "%lld,%s", (long long)info->dim[d], d + 1 < info->ndim ? " " : "");
    fprintf(out, "),\n");
}

static void put_name(FILE *out, const cm_onnx_info *info) {
    if (!info->is_trained) fprintf(out, "            \"%s\",\n", info->name);
}

static void put_arrays(FILE *out, cm_onnx_graph *const *graphs, int count,
                       void (*put)(FILE *out, const cm_onnx_info *info)) {
    for (int g = 0; g < count; g++)
        for (int i = 0; i < graphs[g]->values; i++) {
            const cm_onnx_info *info = &graphs[g]->value[i];
            if (info->kind == CM_ONNX_ARRAY && is_new(graphs, g, info->name)) put(out, info);
        }
}

static cm_status put_module(FILE *out, cm_onnx_graph *const *graphs, int count) {
    fprintf(out, "%s\n\nclass Network(Arrays):\n    SHAPES: ClassVar[dict[str, tuple[int, ...]]] = {\n", cm_torch_head);
    put_arrays(out, graphs, count, put_shape);
    fprintf(out, "    }\n    BUFFERS: ClassVar[frozenset[str]] = frozenset(\n        (\n");
    put_arrays(out, graphs, count, put_name);
    fprintf(out, "        )\n    )\n");
    for (int g = 0; g < count; g++) CM_TRY(put_method(out, graphs[g]));
    return CM_OK;
}

cm_status cm_torch_write(cm_onnx_graph *const *graphs, int count, char **out) {
    size_t size = 0;
    *out = NULL;
    for (int g = 0; g < count; g++) CM_TRY(cm_onnx_graph_finish(graphs[g]));
    FILE *text = open_memstream(out, &size);
    cm_status status = text ? put_module(text, graphs, count) : CM_OK;
    const bool is_whole = text && !ferror(text);
    if (text && fclose(text) == 0 && is_whole && status == CM_OK) return CM_OK;
    free(*out);
    *out = NULL;
    return status == CM_OK ? cm_fail(CM_ERR_MEMORY, "no memory for the text of a network") : status;
}
