/* What the runners of reference cases share. */
#include "cases/backend_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

/* ---- tensors of a case ---- */

static cm_status keep(cm_case_run *run, void *buffer) {
    if (run->buffers == CM_CASE_BUFFERS) {
        free(buffer);
        return cm_fail(CM_ERR_INPUT, "the case has more than %d arrays", CM_CASE_BUFFERS);
    }
    run->buffer[run->buffers++] = buffer;
    return CM_OK;
}

/* A tensor over data that is kept; consumes the data. */
static cm_status make_tensor(cm_case_run *run, const char *name, cm_case_array *array, cm_tensor *out) {
    int dim[CM_MAX_DIMS];
    bool fits = array->rank >= 1 && array->rank <= CM_MAX_DIMS;
    for (int i = 0; fits && i < array->rank; i++) {
        fits = array->shape[i] >= 1 && array->shape[i] <= INT_MAX && array->count <= INT_MAX;
        dim[i] = (int)array->shape[i];
    }
    if (!fits) {
        cm_case_array_free(array);
        return cm_fail(CM_ERR_INPUT, "%s: must have 1 to %d dimensions of at least 1", name, CM_MAX_DIMS);
    }
    *out = cm_tensor_make(array->data, CM_F32, array->rank, dim);
    return keep(run, array->data);
}

cm_status cm_case_array_tensor(cm_case_run *run, const cm_json *node, const char *name, cm_tensor *out) {
    cm_case_array array;
    CM_TRY(cm_case_array_parse(node, name, &array));
    return make_tensor(run, name, &array, out);
}

cm_status cm_case_input(cm_case_run *run, const char *name, cm_tensor *out) {
    cm_case_array array;
    CM_TRY(cm_case_array_read(run->inputs, name, &array));
    return make_tensor(run, name, &array, out);
}

cm_status cm_case_optional(cm_case_run *run, const char *name, cm_tensor *out) {
    *out = (cm_tensor){0};
    return cm_json_get(run->inputs, name) ? cm_case_input(run, name, out) : CM_OK;
}

cm_status cm_case_integers(cm_case_run *run, const char *name, cm_tensor *out) {
    cm_tensor values;
    CM_TRY(cm_case_input(run, name, &values));
    int n = (int)cm_tensor_count(&values);
    int32_t *integers;
    CM_TRY(cm_alloc(&integers, (size_t)n, sizeof *integers, name));
    CM_TRY(keep(run, integers));
    *out = cm_tensor_1d(integers, CM_I32, n);
    return cm_json_ints(cm_json_get(cm_json_get(run->inputs, name), "data"), name, (size_t)n, 0, INT_MAX, integers);
}

cm_status cm_case_output(cm_case_run *run, int ndim, const int *dim, cm_tensor *out) {
    cm_tensor t = cm_tensor_make(NULL, CM_F32, ndim, dim);
    CM_TRY(cm_alloc(&t.data, cm_tensor_count(&t), sizeof(float), "result"));
    *out = t;
    return keep(run, t.data);
}

cm_status cm_case_like(cm_case_run *run, const cm_tensor *shape, cm_tensor *out) {
    return cm_case_output(run, shape->ndim, shape->dim, out);
}

/* ---- options ---- */

cm_status cm_case_choice(const cm_json *object, const char *key, const char *const *words, int *out) {
    const char *value;
    CM_TRY(cm_json_need_string(object, key, &value));
    char known[128] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(value, words[i]) == 0) {
            *out = i;
            return CM_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i]);
    }
    return cm_fail(CM_ERR_INPUT, "%s: \"%s\" is unknown; known: %s", key, value, known);
}

cm_status cm_case_constant(const cm_json *object, const char *key, int must) {
    int64_t value;
    return cm_json_need_int(object, key, must, must, &value);
}

cm_status cm_case_flag(const cm_json *object, const char *key, bool *out) {
    const cm_json *node;
    CM_TRY(cm_json_need(object, key, CM_JSON_BOOL, &node));
    *out = cm_json_is_true(node);
    return CM_OK;
}

/* ---- running ---- */

static cm_status run_call(cm_stream *stream, cm_call *call) {
    for (int i = 0; i < cm_op_tensor_count(call->op); i++) {
        char name[CM_OP_NAME_BYTES];
        const cm_tensor *t = &call->t[i];
        if (t->data && strcmp(cm_op_tensor_name(call->op, i, name), "weight") == 0)
            CM_TRY(cm_backend_repack(stream->backend, t->data, cm_tensor_bytes(t), NULL));
    }
    return cm_call_eager(stream, call);
}

/* Where a tensor's memory is that of an earlier one, it is that on the device, too; else -1. */
static int same_memory(const cm_call *call, int i) {
    for (int j = 0; j < i; j++)
        if (call->t[j].data == call->t[i].data && cm_tensor_bytes(&call->t[j]) == cm_tensor_bytes(&call->t[i]))
            return j;
    return -1;
}

/* The call on copies of its tensors, which are read back row by row: what lies between the rows belongs to others. */
static cm_status run_there(cm_stream *stream, const cm_call *call, cm_buffer block[CM_CALL_TENSORS]) {
    cm_call there = *call;
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        if (!call->t[i].data) continue;
        const size_t bytes = cm_tensor_bytes(&call->t[i]);
        int same = same_memory(call, i);
        if (same < 0) {
            CM_TRY(cm_buffer_create(&block[i], stream->backend->device, bytes, "a tensor of a case"));
            CM_TRY(cm_buffer_write(&block[i], 0, call->t[i].data, bytes));
        }
        there.t[i].data = block[same < 0 ? i : same].base;
    }
    CM_TRY(run_call(stream, &there));
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        const cm_tensor *t = &call->t[i];
        const size_t stride = (size_t)t->stride * cm_dtype_size(t->dtype);
        const size_t row = (size_t)cm_tensor_row_size(t) * cm_dtype_size(t->dtype);
        for (int r = 0; block[i].base && r < t->dim[0]; r++)
            CM_TRY(cm_buffer_read(&block[i], (size_t)r * stride, (char *)t->data + (size_t)r * stride, row));
    }
    return CM_OK;
}

cm_status cm_case_call(cm_case_run *run, cm_call *call) {
    cm_buffer block[CM_CALL_TENSORS] = {0};
    if (run->stream->backend->device->is_host) return run_call(run->stream, call);
    cm_status status = run_there(run->stream, call, block);
    for (int i = 0; i < CM_CALL_TENSORS; i++) cm_buffer_destroy(&block[i]);
    return status;
}

/* CM_ERR_INPUT unless the expected array has the shape of the result. */
static cm_status check_expected_shape(const cm_case_run *run, const cm_tensor *t, const char *name) {
    const cm_json *shape = cm_json_get(cm_json_get(run->report->expected, name), "shape");
    int32_t dim[CM_MAX_DIMS];
    CM_TRY(cm_json_ints(shape, name, (size_t)t->ndim, 1, INT_MAX, dim));
    for (int i = 0; i < t->ndim; i++)
        if (dim[i] != t->dim[i])
            return cm_fail(CM_ERR_INPUT, "expected/%s: dimension %d is %d, that of the result %d", name, i, dim[i],
                           t->dim[i]);
    return CM_OK;
}

cm_status cm_case_compare(cm_case_run *run, const cm_tensor *t, const char *name) {
    CM_TRY(check_expected_shape(run, t, name));
    return cm_case_check(run->report, t->data, cm_tensor_count(t), "%s", name);
}
