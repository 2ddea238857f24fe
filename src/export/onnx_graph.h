/* A graph of ONNX operators in memory: what onnx_file.h writes as a file, and torch.h as Python.
 *
 * Values are numbered. A node computes one value from others. The first error is kept: functions that make values then
 * give CM_NO_VALUE and do nothing, and cm_onnx_graph_finish reports it. Dimension -1 stands for the batch.
 */
#ifndef CM_EXPORT_ONNX_GRAPH_H
#define CM_EXPORT_ONNX_GRAPH_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int cm_onnx_value;
enum { CM_NO_VALUE = -1, CM_ONNX_NAME = 96, CM_ONNX_DIMS = 5, CM_ONNX_INPUTS = 6, CM_ONNX_ATTRIBUTES = 4 };
enum { CM_ONNX_BATCH = -1, CM_ONNX_OPSET = 17, CM_ONNX_PORTS = 6 };
enum { CM_ONNX_ZERO_POINT = 128 }; /* the byte that stands for 0 */

typedef enum cm_onnx_type { CM_ONNX_FLOAT, CM_ONNX_INT64, CM_ONNX_UINT8 } cm_onnx_type;

typedef enum cm_onnx_kind {
    CM_ONNX_INPUT,   /* of the graph */
    CM_ONNX_RESULT,  /* of a node */
    CM_ONNX_ARRAY,   /* named numbers of the network, in files of weights, too */
    CM_ONNX_CONSTANT /* a few numbers of a formula */
} cm_onnx_kind;

typedef struct cm_onnx_info {
    char name[CM_ONNX_NAME]; /* unique in its graph; a Python identifier but for arrays, whose names have dots */
    cm_onnx_kind kind;
    cm_onnx_type type;
    int ndim; /* of inputs, outputs, arrays and constants; a scalar has 0 */
    int64_t dim[CM_ONNX_DIMS];
    float *floats;  /* of an array, and of constants of that type; owned */
    int64_t *ints;  /* of other constants; owned */
    uint8_t *bytes; /* of arrays of CM_ONNX_UINT8; owned */
    size_t count;
    bool is_trained; /* an array that the optimizer changes */
} cm_onnx_info;

typedef struct cm_onnx_attribute {
    const char *name;
    enum { CM_ONNX_ATTRIBUTE_INT, CM_ONNX_ATTRIBUTE_INTS, CM_ONNX_ATTRIBUTE_FLOAT } kind;
    int64_t ints[CM_ONNX_DIMS];
    int count;
    float real;
} cm_onnx_attribute;

typedef struct cm_onnx_node {
    const char *type; /* "Gemm"; static */
    cm_onnx_value in[CM_ONNX_INPUTS], out;
    int inputs, attributes;
    cm_onnx_attribute attribute[CM_ONNX_ATTRIBUTES];
    const char *python; /* in place of the operator's row in torch.def, or NULL; static */
    const char *part;   /* what of the network it begins, for people; or NULL; static */
} cm_onnx_node;

typedef struct cm_onnx_graph {
    const char *name; /* static */
    cm_onnx_info *value;
    cm_onnx_node *node;
    int values, nodes, value_capacity, node_capacity;
    cm_onnx_value input[CM_ONNX_PORTS], output[CM_ONNX_PORTS];
    int inputs, outputs;
    const char *part; /* of the next node */
    cm_status status;
    char message[256];
} cm_onnx_graph;

cm_status cm_onnx_graph_create(const char *name, cm_onnx_graph **out) CM_MUST_USE;
void cm_onnx_graph_destroy(cm_onnx_graph *graph);                       /* NULL is allowed */
cm_status cm_onnx_graph_finish(const cm_onnx_graph *graph) CM_MUST_USE; /* the first error */
void cm_onnx_graph_fail(cm_onnx_graph *graph, const char *format, ...) CM_PRINTF(2, 3);

/* What a value is called, its type and shape. */
typedef struct cm_onnx_port {
    const char *name;
    cm_onnx_type type;
    int ndim;
    int64_t dim[CM_ONNX_DIMS];
} cm_onnx_port;

cm_onnx_value cm_onnx_input(cm_onnx_graph *graph, const cm_onnx_port *port);
/* Gives the value, which a node has computed and no other output is, the port's name. */
void cm_onnx_output(cm_onnx_graph *graph, cm_onnx_value value, const cm_onnx_port *port);

/* The array of that name, which is copied from data[product of dim] when it is new. */
cm_onnx_value cm_onnx_array(cm_onnx_graph *graph, const cm_onnx_port *port, const float *data, bool is_trained);
/* The same of 8 bits, which is not trained. */
cm_onnx_value cm_onnx_bytes(cm_onnx_graph *graph, const cm_onnx_port *port, const uint8_t *data);
/* The zero point CM_ONNX_ZERO_POINT for n rows of a quantised array; of n = 0 a scalar. */
cm_onnx_value cm_onnx_zero_points(cm_onnx_graph *graph, int64_t n);
/* An array of one value, "zeros" and "ones" with their number in their name. */
cm_onnx_value cm_onnx_filled(cm_onnx_graph *graph, int n, float value);
cm_onnx_value cm_onnx_scalar(cm_onnx_graph *graph, float value);
cm_onnx_value cm_onnx_ints(cm_onnx_graph *graph, const int64_t *ints, int count);

cm_onnx_value cm_onnx_add(cm_onnx_graph *graph, const char *type, const cm_onnx_value *in, int inputs);
#define CM_ONNX(graph, type, ...)                                                                                      \
    cm_onnx_add(graph, #type, (cm_onnx_value[]){__VA_ARGS__},                                                          \
                sizeof((cm_onnx_value[]){__VA_ARGS__}) / sizeof(cm_onnx_value))

/* The node that has computed a value; NULL: none has. */
const cm_onnx_node *cm_onnx_node_of(const cm_onnx_graph *graph, cm_onnx_value value);
/* Takes out the nodes of which no output depends. */
void cm_onnx_prune(cm_onnx_graph *graph);

/* Attributes of the node that was added last. */
void cm_onnx_set_int(cm_onnx_graph *graph, const char *name, int64_t value);
void cm_onnx_set_ints(cm_onnx_graph *graph, const char *name, const int64_t *ints, int count);
void cm_onnx_set_float(cm_onnx_graph *graph, const char *name, float value);
/* How Python writes it, where the row of its operator does not say so. */
void cm_onnx_set_python(cm_onnx_graph *graph, const char *python);

#ifdef __cplusplus
}
#endif
#endif
