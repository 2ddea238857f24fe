/* Tensors as the kernels of operations see them: rows of floats (kernels: device/cuda/lanes.h). */
#ifndef CM_BACKEND_CUDA_OPS_ROWS_H
#define CM_BACKEND_CUDA_OPS_ROWS_H

#include "backend/formulas.h"
#include "device/cuda/lanes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of a float tensor as kernels see them: row r begins at data + r * stride. */
typedef struct cm_rows {
    float *data; /* NULL: absent */
    int64_t stride;
} cm_rows;

static CM_HD inline float *cm_row(const cm_rows *rows, int64_t r) { return rows->data + r * rows->stride; }

/* Element `item` of rows of n: consecutive items are consecutive elements. */
typedef struct cm_place {
    int64_t row, column;
} cm_place;

static CM_HD inline cm_place cm_place_of(int64_t item, int64_t n) {
    cm_place at = {0, item};
    if (item < n) return at;
    at.row = (item | n) <= UINT32_MAX ? (int64_t)((uint32_t)item / (uint32_t)n) : item / n;
    at.column = item - at.row * n;
    return at;
}

static CM_HD inline float *cm_at(const cm_rows *rows, cm_place at) { return cm_row(rows, at.row) + at.column; }

/* *out = value, or += value. */
static CM_HD inline void cm_put(float *out, float value, bool add) { *out = add ? *out + value : value; }

/* Rows of 16 bits, as products read them: row r begins at data + r * stride. */
typedef struct cm_half_rows {
    uint16_t *data; /* NULL: absent */
    int64_t stride;
    cm_dtype type;
} cm_half_rows;

/* The copy of an element that was written. */
static CM_HD inline void cm_put_half(const cm_half_rows *rows, int64_t row, int64_t column, float value) {
    if (rows->data) rows->data[row * rows->stride + column] = cm_to_half(value, rows->type);
}

/* What a lane reads or writes at once, 16 bytes at a multiple of 16: four floats, eight numbers of 16 bits. */
enum { CM_FOUR = 4, CM_EIGHT = 8 };
typedef struct cm_four {
    float v[CM_FOUR];
} __attribute__((aligned(16))) cm_four;
typedef struct cm_eight {
    uint16_t v[CM_EIGHT];
} __attribute__((aligned(16))) cm_eight;

/* The same in pairs of neighbours, as products read them: the first one in the low half. */
typedef struct cm_pairs {
    uint32_t pair[CM_EIGHT / 2];
} __attribute__((aligned(16))) cm_pairs;

static CM_HD inline cm_four cm_four_at(const float *x) { return *(const cm_four *)(const void *)x; }

/* The gradient in front of a relu, which reads only its result y, or of nothing. */
static CM_HD inline float cm_before_relu(bool relu, float y, float dy) { return relu && !(y > 0.0f) ? 0.0f : dy; }

/* Eight numbers that begin at a multiple of 16 bytes. */
CM_KERNEL_COPIED void cm_eight_floats(const float *x, float out[CM_EIGHT]) {
    const cm_four low = cm_four_at(x), high = cm_four_at(x + CM_FOUR);
    CM_UNROLL(i, CM_EIGHT) out[i] = i < CM_FOUR ? low.v[i % CM_FOUR] : high.v[i % CM_FOUR];
}
static CM_HD inline cm_eight cm_eight_at(const uint16_t *x) { return *(const cm_eight *)(const void *)x; }
static CM_HD inline cm_pairs cm_pairs_at(const uint16_t *x) { return *(const cm_pairs *)(const void *)x; }

/* ---- hosts: tensors of a call as rows */

/* Do rows consist of fours? */
static inline bool cm_are_fours(const cm_rows *rows) {
    return (uintptr_t)rows->data % sizeof(cm_four) == 0 && rows->stride % CM_FOUR == 0;
}

/* Along the leading index. */
static inline cm_rows cm_rows_of(const cm_tensor *t) {
    cm_rows rows = {(float *)t->data, t->stride};
    return rows;
}
static inline cm_half_rows cm_half_rows_of(const cm_tensor *t) {
    cm_half_rows rows = {(uint16_t *)t->data, t->stride, t->dtype};
    return rows;
}
/* Along the last axis: all other dimensions count as rows. */
static inline cm_rows cm_vectors_of(const cm_tensor *t) {
    cm_rows rows = {(float *)t->data, 0};
    if (t->data) rows.stride = t->ndim == 2 ? t->stride : cm_tensor_last(t); /* an absent one has no shape */
    return rows;
}
static inline int64_t cm_vector_count(const cm_tensor *t) {
    return (int64_t)(cm_tensor_count(t) / (size_t)cm_tensor_last(t));
}

#ifdef __cplusplus
}
#endif
#endif
