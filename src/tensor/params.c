#include "tensor/params.h"

#include <stdlib.h>
#include <string.h>

cm_status cm_param_table_add(cm_param_table *table, const cm_param *param, int *index) {
    if (strnlen(param->name, sizeof param->name) == sizeof param->name) {
        return cm_fail(CM_ERR_INPUT, "parameter name \"%.40s...\" is longer than %d characters", param->name,
                       CM_PARAM_NAME - 1);
    }
    if (cm_param_table_find(table, param->name)) {
        return cm_fail(CM_ERR_INPUT, "parameter \"%s\" is defined twice", param->name);
    }
    if (table->count == table->capacity) {
        int capacity = table->capacity ? 2 * table->capacity : 32;
        cm_param *grown = realloc(table->param, (size_t)capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for a table of %d parameters", capacity);
        table->param = grown;
        table->capacity = capacity;
    }
    cm_param *row = &table->param[table->count];
    *row = *param;
    row->count = 1;
    for (int i = 0; i < row->ndim; i++) row->count *= (size_t)row->dim[i];
    for (int i = row->ndim; i < CM_MAX_DIMS; i++) row->dim[i] = 1;
    row->fan_in = row->dim[1] * row->dim[2] * row->dim[3];
    size_t *end = row->state ? &table->states : &table->parameters;
    row->offset = row->joined ? *end : (*end + CM_PARAM_ALIGN - 1) / CM_PARAM_ALIGN * CM_PARAM_ALIGN;
    *end = row->offset + row->count;
    if (!row->state) table->trained += row->count;
    if (index) *index = table->count;
    table->count++;
    return CM_OK;
}

void cm_param_table_destroy(cm_param_table *table) {
    free(table->param);
    memset(table, 0, sizeof *table);
}

const cm_param *cm_param_table_find(const cm_param_table *table, const char *name) {
    for (int i = 0; i < table->count; i++) {
        if (strcmp(table->param[i].name, name) == 0) return &table->param[i];
    }
    return NULL;
}

cm_tensor cm_param_tensor(const cm_param *param, float *block) {
    return cm_tensor_make(block ? block + param->offset : NULL, CM_F32, param->ndim, param->dim);
}
