/* A graph as an ONNX file: a ModelProto of opset CM_ONNX_OPSET, weights inside. Source: onnx/onnx.proto, whose numbers
 * of fields stand in onnx_file.c. */
#ifndef CM_EXPORT_ONNX_FILE_H
#define CM_EXPORT_ONNX_FILE_H

#include "core/json.h"
#include "core/protobuf.h"
#include "export/onnx_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file says of itself. */
typedef struct cm_onnx_about {
    const char *version;  /* of cumind */
    const cm_json *facts; /* an object: its members become metadata, those that are no strings as JSON */
} cm_onnx_about;

/* The file's bytes in place of what *out holds. Errors: those of the graph; CM_ERR_INPUT for more than the 2 GB that
 * such a file may have; CM_ERR_MEMORY. */
cm_status cm_onnx_write(const cm_onnx_graph *graph, const cm_onnx_about *about, cm_proto *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
