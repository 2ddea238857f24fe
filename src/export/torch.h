/* Graphs of ONNX as a module of Python: a class Network for PyTorch with a method for each graph, behind the functions
 * of torch_head.py. An operator is a row of torch.def. */
#ifndef CM_EXPORT_TORCH_H
#define CM_EXPORT_TORCH_H

#include "export/onnx_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The module's text into *out, NUL-terminated, which the caller frees. Errors: those of the graphs; CM_ERR_INPUT for an
 * operator without a row; CM_ERR_MEMORY. */
cm_status cm_torch_write(cm_onnx_graph *const *graphs, int count, char **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
