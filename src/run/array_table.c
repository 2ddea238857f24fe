#include "run/array_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cm_status grow(cm_array_table *table, int more) {
    int count = table->count + more;
    cm_array *arrays = realloc(table->arrays, (size_t)(count + 1) * sizeof *arrays);
    if (arrays) table->arrays = arrays;
    void *names = realloc(table->names, (size_t)(count + 1) * sizeof *table->names);
    if (names) table->names = names;
    if (arrays && names) {
        for (int i = 0; i < table->count; i++) arrays[i].name = table->names[i];
        return CM_OK;
    }
    return cm_fail(CM_ERR_MEMORY, "no memory for a table of %d arrays", count);
}

/* Where there is space for it. */
static cm_status put_row(cm_array_table *table, const cm_array *array, const char *prefix) {
    char *name = table->names[table->count];
    int n = snprintf(name, CM_ARRAY_NAME, "%s%s", prefix, array->name);
    if (n < 0 || n >= CM_ARRAY_NAME) return cm_fail(CM_ERR_INPUT, "%s%s: the name is too long", prefix, array->name);
    table->arrays[table->count] = *array;
    table->arrays[table->count++].name = name;
    return CM_OK;
}

static cm_status add_row(cm_array_table *table, const cm_param *param, const char *prefix, float *data) {
    cm_array row = {.name = param->name, .ndim = param->ndim, .data = data};
    for (int d = 0; d < param->ndim; d++) row.dim[d] = param->dim[d];
    return put_row(table, &row, prefix);
}

cm_status cm_array_table_append(cm_array_table *table, const cm_array *array) {
    CM_TRY(grow(table, 1));
    return put_row(table, array, "");
}

cm_status cm_array_table_add(cm_array_table *table, const cm_network *network, const char *prefix, float *parameters,
                             float *state) {
    const cm_param_table *params = cm_network_parameters(network);
    CM_TRY(grow(table, params->count));
    for (int i = 0; i < params->count; i++) {
        float *block = params->param[i].state ? state : parameters;
        if (block) CM_TRY(add_row(table, &params->param[i], prefix, block + params->param[i].offset));
    }
    return CM_OK;
}

cm_status cm_array_table_add_shapes(cm_array_table *table, const cm_network *network) {
    const cm_param_table *params = cm_network_parameters(network);
    CM_TRY(grow(table, params->count));
    for (int i = 0; i < params->count; i++) CM_TRY(add_row(table, &params->param[i], "", NULL));
    return CM_OK;
}

void cm_array_table_free(cm_array_table *table) {
    free(table->arrays);
    free(table->names);
    memset(table, 0, sizeof *table);
}

/* Second moments and variances. */
static bool is_of_squares(const char *name) {
    static const char variance[] = "running_var";
    const size_t length = strlen(name), rest = sizeof variance - 1;
    return strncmp(name, "second/", 7) == 0 || (length >= rest && strcmp(name + length - rest, variance) == 0);
}

static cm_status check_squares(const cm_array *array, const char *file) {
    const size_t count = is_of_squares(array->name) && array->data ? cm_array_count(array) : 0;
    for (size_t i = 0; i < count; i++) {
        if (array->data[i] >= 0.0f) continue;
        return cm_fail(CM_ERR_INPUT,
                       "%s: tensor \"%s\" holds %g (number %zu of %zu), which cannot be below 0: take another "
                       "checkpoint (--checkpoint N)",
                       file, array->name, (double)array->data[i], i + 1, count);
    }
    return CM_OK;
}

cm_status cm_array_table_load(const cm_array_table *table, cm_checkpoint_reader *reader, const char *name) {
    CM_TRY(cm_checkpoint_get_arrays(reader, name, table->arrays, table->count));
    for (int i = 0; i < table->count; i++) CM_TRY(check_squares(&table->arrays[i], name));
    return CM_OK;
}
