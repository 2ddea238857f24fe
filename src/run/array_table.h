/* A network's arrays as named tables for files: parameters, running statistics, moments. */
#ifndef CM_RUN_ARRAY_TABLE_H
#define CM_RUN_ARRAY_TABLE_H

#include "network/network.h"
#include "run/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_array_table {
    cm_array *arrays; /* [count], owned */
    int count;
    char (*names)[CM_ARRAY_NAME]; /* [count], owned */
} cm_array_table;

/* Rows for the network's parameters at `parameters`, then for its running statistics at `state` (NULL: none), each name
 * after `prefix`. More calls append. A zeroed struct is an empty table. */
cm_status cm_array_table_add(cm_array_table *table, const cm_network *network, const char *prefix, float *parameters,
                             float *state) CM_MUST_USE;
/* The same of all arrays, without data: they are only compared. */
cm_status cm_array_table_add_shapes(cm_array_table *table, const cm_network *network) CM_MUST_USE;
/* One more row, whose name is copied. */
cm_status cm_array_table_append(cm_array_table *table, const cm_array *array) CM_MUST_USE;
void cm_array_table_free(cm_array_table *table); /* leaves it empty */

/* Fills the arrays from a file of a checkpoint. Errors: those of cm_safetensors_load; CM_ERR_INPUT for a variance or a
 * second moment below 0, of which the root is taken. */
cm_status cm_array_table_load(const cm_array_table *table, cm_checkpoint_reader *reader, const char *name) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
