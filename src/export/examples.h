/* Random inputs of a network's functions, and what the reference implementation makes of them: what another program's
 * results can be compared with. As arrays "FUNCTION.PORT" [rows, ...] of float32, in which whole numbers are exact. */
#ifndef CM_EXPORT_EXAMPLES_H
#define CM_EXPORT_EXAMPLES_H

#include "export/functions.h"
#include "run/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_EXPORT_EXAMPLES_MOST = 2 * (int)CM_FUNCTION_COUNT * (int)CM_ONNX_PORTS };

typedef struct cm_export_examples {
    cm_array array[CM_EXPORT_EXAMPLES_MOST]; /* numbers are owned */
    char name[CM_EXPORT_EXAMPLES_MOST][CM_ARRAY_NAME];
    int count;
} cm_export_examples;

/* A network with weights, and how its functions are to be. All borrowed. */
typedef struct cm_export_network {
    const cm_network *network;
    cm_export_weights weights;
    cm_function_options options;
} cm_export_network;

/* Of all functions that the network has. The same for the same network, weights, options and number of rows. Errors:
 * CM_ERR_MEMORY. Free them also after one. */
cm_status cm_export_examples_make(cm_export_examples *examples, const cm_export_network *network, int rows) CM_MUST_USE;
void cm_export_examples_free(cm_export_examples *examples);

/* The numbers of an array, or NULL. */
const float *cm_export_examples_find(const cm_export_examples *examples, const char *function, const char *port);

#ifdef __cplusplus
}
#endif
#endif
