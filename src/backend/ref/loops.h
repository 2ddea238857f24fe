/* What the loops of ref share: addressing, storing, sums in double. */
#ifndef CM_BACKEND_REF_LOOPS_H
#define CM_BACKEND_REF_LOOPS_H

#include <math.h>

#include "backend/formulas.h"
#include "backend/int8.h"

enum { REF_BLOCK = 256 }; /* columns that are summed at a time, in double, on the stack */

static inline int ref_min(int a, int b) { return a < b ? a : b; }

/* Leading index r. */
static inline float *ref_row(const cm_tensor *t, int r) { return (float *)t->data + (size_t)r * (size_t)t->stride; }
static inline int ref_int(const cm_tensor *t, int i) { return ((const int32_t *)t->data)[i]; }
static inline float ref_at(const cm_tensor *t, int i) { return ((const float *)t->data)[i]; }

/* The tensor as a matrix of vectors along its last axis: how many, and one of them. */
static inline int ref_vectors(const cm_tensor *t) { return (int)(cm_tensor_count(t) / (size_t)cm_tensor_last(t)); }
static inline float *ref_vector(const cm_tensor *t, int r) {
    size_t step = t->ndim == 2 ? (size_t)t->stride : (size_t)cm_tensor_last(t);
    return (float *)t->data + (size_t)r * step;
}

static inline void ref_put(float *out, double value, bool add) { *out = (float)(add ? (double)*out + value : value); }

/* Stores `n` sums. */
static inline void ref_put_all(float *out, const double *sums, int n, bool add) {
    for (int i = 0; i < n; i++) ref_put(out + i, sums[i], add);
}

/* An input of a matrix product in `type`. */
static inline double ref_input(float x, cm_dtype type) { return (double)cm_rounded(x, type); }

/* Where the type is known to the compiler, loops over numbers of 16 bits become vectors as those of float32 do. */
#define REF_IN_TYPE(type, loop, ...)                                                                                   \
    ((type) == CM_F16    ? loop(__VA_ARGS__, CM_F16)                                                                   \
     : (type) == CM_BF16 ? loop(__VA_ARGS__, CM_BF16)                                                                  \
                         : loop(__VA_ARGS__, CM_F32))

static inline double ref_dot_in(const float *a, const float *b, int n, cm_dtype type) {
    double sum[8] = {0}, rest = 0.0;
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) sum[j] += ref_input(a[i + j], type) * ref_input(b[i + j], type);
    for (; i < n; i++) rest += ref_input(a[i], type) * ref_input(b[i], type);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

static inline void ref_add_scaled_in(double *sums, double factor, const float *x, int n, cm_dtype type) {
    for (int i = 0; i < n; i++) sums[i] += factor * ref_input(x[i], type);
}

/* Sum of a[i] b[i]. */
static inline double ref_dot(const float *a, const float *b, int n, cm_dtype type) {
    return REF_IN_TYPE(type, ref_dot_in, a, b, n);
}

/* The same of the numbers that stand for a and b in 8 bits, exact. */
static inline double ref_dot_int8(const float *a, float inverse_a, const float *b, float inverse_b, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += cm_int8_of(a[i], inverse_a) * cm_int8_of(b[i], inverse_b);
    return sum;
}

/* sums[i] += factor x[i] */
static inline void ref_add_scaled(double *sums, double factor, const float *x, int n, cm_dtype type) {
    REF_IN_TYPE(type, ref_add_scaled_in, sums, factor, x, n);
}

/* out[columns] (+)= the sum over the vectors of t. */
static inline void ref_sum_vectors(const cm_tensor *t, float *out, bool add) {
    int columns = cm_tensor_last(t), rows = ref_vectors(t);
    for (int first = 0; first < columns; first += REF_BLOCK) {
        double sums[REF_BLOCK] = {0};
        int n = ref_min(REF_BLOCK, columns - first);
        for (int r = 0; r < rows; r++) ref_add_scaled(sums, 1.0, ref_vector(t, r) + first, n, CM_F32);
        ref_put_all(out + first, sums, n, add);
    }
}

/* CM_ERR_INPUT unless 0 <= index[i] < limit for all n. */
cm_status ref_check_range(const cm_call *call, const char *name, const cm_tensor *index, int limit);

#endif
