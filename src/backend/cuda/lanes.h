/* How kernels of this folder are written: once, as functions that compile as C17 and in a .cu file.
 *
 * A kernel is a function
 *
 *     CM_KERNEL void cm_softmax_rows(const cm_softmax_args *a, int64_t item, const cm_lanes *lanes)
 *
 * that does the work of one of `count` lanes for one item: an element, a row, a column. Items are independent and may
 * run in any order. The lanes of an item run at the same time; each takes every count-th element from its own index on,
 * and they meet in the functions below, which all lanes must call in the same order. So the sums of a kernel have a
 * fixed order, given by the number of lanes. On a GPU a lane is a thread: cm_lanes_for's counts are 1, 8 or 32 threads
 * of a warp, or a block of 256 (kernel.cuh). On a CPU whoever includes kernels defines the three functions: the tests
 * run lanes in turns, and one lane alone needs no partner (tests/support/lanes.c).
 *
 * Numbers are float32; sums over lanes are made in double. */
#ifndef CM_BACKEND_CUDA_LANES_H
#define CM_BACKEND_CUDA_LANES_H

#include <float.h>
#include <math.h>

#include "backend/formulas.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CUDACC__
#define CM_KERNEL static __device__ inline
#else
#define CM_KERNEL static inline
#endif

enum { CM_WARP = 32, CM_BLOCK = 256 };

typedef struct cm_lanes {
    int index, count; /* of this lane: index in [0, count) */
    void *meeting;    /* of whoever runs them */
} cm_lanes;

/* Lanes for rows of n elements: 1, 8, CM_WARP or CM_BLOCK. */
static inline int cm_lanes_for(int64_t n) { return n <= 4 ? 1 : n <= 16 ? 8 : n <= 2048 ? CM_WARP : CM_BLOCK; }

/* Every element of a run that is this lane's. */
#define CM_EACH(i, lanes, n) for (int i = (lanes)->index; i < (n); i += (lanes)->count)

/* A value with the place where it was found. */
typedef struct cm_found {
    float value;
    int at;
} cm_found;

/* The better of two for the smallest value: ties go to the first place. A NaN is never better. */
static CM_HD inline cm_found cm_found_least(cm_found a, cm_found b) {
    return b.value < a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

/* What every lane gets: the sum of all values (a tree: lanes 16, 8, 4, 2, 1 apart, then warps in order), the largest,
 * the smallest with its first place. */
#ifdef __CUDACC__
static __device__ double cm_lanes_sum(const cm_lanes *lanes, double value);
static __device__ float cm_lanes_max(const cm_lanes *lanes, float value);
static __device__ cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found);
#else
double cm_lanes_sum(const cm_lanes *lanes, double value);
float cm_lanes_max(const cm_lanes *lanes, float value);
cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found);
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

/* ---- hosts: tensors of a call as rows -------------------------------------------------------------------------------
 */

/* Along the leading index. */
static inline cm_rows cm_rows_of(const cm_tensor *t) {
    cm_rows rows = {(float *)t->data, t->stride};
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
