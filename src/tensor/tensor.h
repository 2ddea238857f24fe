/* What a tensor is: a type, a shape and a borrowed address. No arithmetic lives here.
 *
 * Rows (the leading index) are `stride` elements apart, everything after the leading index is contiguous. So a slice
 * of columns of a matrix is a tensor too (heads that share one merged layer read slices of its output).
 */
#ifndef CM_TENSOR_TENSOR_H
#define CM_TENSOR_TENSOR_H

#include "core/bits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_dtype { CM_F32, CM_BF16, CM_F16, CM_I32, CM_U8, CM_I8 } cm_dtype;

enum { CM_MAX_DIMS = 4, CM_PRODUCT_TYPES = CM_F16 + 1 }; /* the first types are those of matrix products that train */

typedef struct cm_tensor {
    void *data; /* borrowed; NULL for an absent optional argument */
    cm_dtype dtype;
    int ndim;             /* 1 .. CM_MAX_DIMS */
    int dim[CM_MAX_DIMS]; /* each >= 1; unused ones are 1 */
    int stride;           /* elements from one leading index to the next, >= the product of dim[1..] */
} cm_tensor;

size_t cm_dtype_size(cm_dtype dtype);      /* bytes of one element */
const char *cm_dtype_name(cm_dtype dtype); /* "float32", "bfloat16", "float16", "int32", "uint8", "int8" */

/* A contiguous tensor over `data`; dim[ndim]. */
cm_tensor cm_tensor_make(void *data, cm_dtype dtype, int ndim, const int *dim);
static inline cm_tensor cm_tensor_1d(void *data, cm_dtype dtype, int n) { return cm_tensor_make(data, dtype, 1, &n); }
static inline cm_tensor cm_tensor_2d(void *data, cm_dtype dtype, int rows, int columns) {
    int dim[2] = {rows, columns};
    return cm_tensor_make(data, dtype, 2, dim);
}

size_t cm_tensor_count(const cm_tensor *t); /* elements */
int cm_tensor_row_size(const cm_tensor *t); /* product of dim[1..]: elements of one row (1 for a vector) */
int cm_tensor_last(const cm_tensor *t);     /* dim[ndim - 1] */
size_t cm_tensor_bytes(const cm_tensor *t); /* bytes from the first to after the last element, gaps included */
bool cm_tensor_overlaps(const cm_tensor *a, const cm_tensor *b); /* share a byte; false if one is absent */
bool cm_tensor_same_shape(const cm_tensor *a, const cm_tensor *b);
bool cm_tensor_contiguous(const cm_tensor *t);
void cm_tensor_describe(const cm_tensor *t, char out[64]); /* "float32 [64, 128]" */

/* bfloat16 <-> float32, round to nearest even; NaN stays NaN. Every case is worked out before one is chosen: no branch
 * keeps a device from rounding many numbers at a time. Where it has an instruction for it that is taken. */
static CM_HD inline uint16_t cm_bf16_from_float(float x) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    const uint32_t bits = cm_float_to_bits(x), nan = bits >> 16 | 0x40u;
    const uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : nearest);
#endif
}
static CM_HD inline float cm_bf16_to_float(uint16_t h) { return cm_float_of_bits((uint32_t)h << 16); }

/* float16 <-> float32, the same; from 65520 on it is infinity, below 2^-14 a multiple of 2^-24. */
static CM_HD inline uint16_t cm_f16_from_float(float x) {
#ifdef __CUDA_ARCH__
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    const uint32_t bits = cm_float_to_bits(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu), infinite = 0x7c00u;
    const uint32_t nearest = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    /* the sum with 0.5 is rounded to a multiple of 2^-24 */
    const uint32_t least = cm_float_to_bits(cm_float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t finite = magnitude < 0x38800000u ? least : nearest; /* 2^-14 */
    return (uint16_t)(sign | (magnitude > 0x7f800000u ? nan : magnitude >= 0x47800000u ? infinite : finite)); /* 2^16 */
#endif
}
static CM_HD inline float cm_f16_to_float(uint16_t h) {
#ifdef __CUDA_ARCH__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
#else
    const uint32_t exponent = h & 0x7c00u, magnitude = (uint32_t)(h & 0x7fffu) << 13;
    float x = cm_float_of_bits(magnitude + (exponent == 0x7c00u ? 0x70000000u : exponent ? 0x38000000u : 0x38800000u));
    if (exponent == 0) x -= 0x1p-14f;
    return cm_float_of_bits(cm_float_to_bits(x) | (uint32_t)(h & 0x8000u) << 16);
#endif
}

/* The 16-bit type `type`, CM_BF16 or CM_F16 <-> float32. */
static CM_HD inline uint16_t cm_to_half(float x, cm_dtype type) {
    return type == CM_F16 ? cm_f16_from_float(x) : cm_bf16_from_float(x);
}
static CM_HD inline float cm_widen(uint16_t h, cm_dtype type) {
    return type == CM_F16 ? cm_f16_to_float(h) : cm_bf16_to_float(h);
}

/* x as matrix products in `type` read it. */
static CM_HD inline float cm_rounded(float x, cm_dtype type) {
    return type == CM_F32 ? x : cm_widen(cm_to_half(x, type), type);
}

#ifdef __cplusplus
}
#endif
#endif
