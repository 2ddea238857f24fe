/* A network in the files of others: ONNX, PyTorch, a folder for a model hub.
 *
 *   functions.h      the functions of a network as recorded tapes
 *   translate.h      a tape as a graph of ONNX; operators.c has a row for each operation
 *   onnx_graph.h     the graph; onnx_file.h writes it, torch.h writes it as Python
 *   examples.h       what the reference implementation computes; check.h compares ONNX Runtime with it
 *   model.h          all graphs of a run's network, its arrays, config.json, the model card
 *   folder.h         folders that are written whole
 */
#ifndef CM_EXPORT_EXPORT_H
#define CM_EXPORT_EXPORT_H

#include "export/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Folders to write; NULL: not wanted. */
typedef struct cm_export_request {
    const char *onnx, *torch, *hub;
    bool policy;    /* policy.onnx, too */
    bool overwrite; /* folders may have files */
    int examples;   /* rows of examples.safetensors in each folder; 0: none */
    bool check;     /* the files of `onnx` are to be checked */
} cm_export_request;

/* Writes them in the order hub, torch, onnx, so that one may lie in another. Errors: CM_ERR_INPUT for a folder that may
 * not be written, before anything is; those of writing. */
cm_status cm_export_write(const cm_export_model *model, const cm_export_request *request) CM_MUST_USE;

/* Compares the files of `onnx` with the reference implementation, as check.h does. */
cm_status cm_export_check_files(const cm_export_model *model, const cm_export_request *request) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
