#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    size_t size;
} dtype_row;

static const dtype_row dtypes[] = {
    [CM_F32] = {"float32", 4}, [CM_BF16] = {"bfloat16", 2}, [CM_F16] = {"float16", 2},
    [CM_I32] = {"int32", 4},   [CM_U8] = {"uint8", 1},      [CM_I8] = {"int8", 1},
};

size_t cm_dtype_size(cm_dtype dtype) { return dtypes[dtype].size; }

const char *cm_dtype_name(cm_dtype dtype) { return dtypes[dtype].name; }

cm_tensor cm_tensor_make(void *data, cm_dtype dtype, int ndim, const int *dim) {
    cm_tensor t = {.data = data, .dtype = dtype, .ndim = ndim, .dim = {1, 1, 1, 1}};
    for (int i = 0; i < ndim; i++) t.dim[i] = dim[i];
    t.stride = cm_tensor_row_size(&t);
    return t;
}

size_t cm_tensor_count(const cm_tensor *t) { return (size_t)t->dim[0] * (size_t)cm_tensor_row_size(t); }

int cm_tensor_row_size(const cm_tensor *t) { return t->dim[1] * t->dim[2] * t->dim[3]; }

int cm_tensor_last(const cm_tensor *t) { return t->dim[t->ndim - 1]; }

size_t cm_tensor_bytes(const cm_tensor *t) {
    return ((size_t)(t->dim[0] - 1) * (size_t)t->stride + (size_t)cm_tensor_row_size(t)) * cm_dtype_size(t->dtype);
}

bool cm_tensor_overlaps(const cm_tensor *a, const cm_tensor *b) {
    const uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b->data;
    if (!a->data || !b->data) return false;
    return first < second + cm_tensor_bytes(b) && second < first + cm_tensor_bytes(a);
}

bool cm_tensor_same_shape(const cm_tensor *a, const cm_tensor *b) {
    return a->ndim == b->ndim && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

bool cm_tensor_contiguous(const cm_tensor *t) { return t->dim[0] == 1 || t->stride == cm_tensor_row_size(t); }

void cm_tensor_describe(const cm_tensor *t, char out[64]) {
    int used = snprintf(out, 64, "%s [", cm_dtype_name(t->dtype));
    for (int i = 0; i < t->ndim && used < 60; i++) {
        used += snprintf(out + used, 64 - (size_t)used, i ? ", %d" : "%d", t->dim[i]);
    }
    if (used < 63) snprintf(out + used, 64 - (size_t)used, "]");
}
