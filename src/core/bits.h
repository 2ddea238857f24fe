/* The bits of a float32 or float64, and back. */
#ifndef CM_CORE_BITS_H
#define CM_CORE_BITS_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef union cm_float_bits {
    float value;
    uint32_t bits;
} cm_float_bits;

static CM_HD inline uint32_t cm_float_to_bits(float x) {
    cm_float_bits v;
    v.value = x;
    return v.bits;
}
static CM_HD inline float cm_float_of_bits(uint32_t bits) {
    cm_float_bits v;
    v.bits = bits;
    return v.value;
}

typedef union cm_double_bits {
    double value;
    uint64_t bits;
} cm_double_bits;

static CM_HD inline uint64_t cm_double_to_bits(double x) {
    cm_double_bits v;
    v.value = x;
    return v.bits;
}
static CM_HD inline double cm_double_of_bits(uint64_t bits) {
    cm_double_bits v;
    v.bits = bits;
    return v.value;
}

#ifdef __cplusplus
}
#endif
#endif
