/* A run's network as it is exported: its graphs, and what it says of itself. */
#ifndef CM_EXPORT_MODEL_H
#define CM_EXPORT_MODEL_H

#include "core/json.h"
#include "export/examples.h"
#include "run/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where it comes from; all borrowed. */
typedef struct cm_export_origin {
    const char *version; /* of cumind */
    const char *run;     /* the run's name */
    const cm_session *session;
    const cm_run_facts *facts;
    bool is_average; /* the weights are a moving average */
} cm_export_origin;

typedef struct cm_export_model {
    cm_export_network network; /* borrowed */
    cm_export_origin origin;
    cm_onnx_graph *graph[CM_FUNCTION_COUNT]; /* of the functions that it has, in their order; owned */
    int graphs;
    cm_array *arrays; /* [count] in float32 of all graphs together; owned, their numbers are the graphs' */
    int count;
    char hash[CM_HASH_HEX]; /* of the parameters, as `cumind inspect` has it */
    cm_json_doc *facts;     /* config.json; owned */
} cm_export_model;

/* Errors: those of the graphs; CM_ERR_MEMORY. Close it also after one. */
cm_status cm_export_model_open(cm_export_model *model, const cm_export_network *network,
                               const cm_export_origin *origin) CM_MUST_USE;
void cm_export_model_close(cm_export_model *model);

/* The model card, README.md, NUL-terminated, which the caller frees. Errors: CM_ERR_MEMORY. */
cm_status cm_export_card(const cm_export_model *model, char **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
