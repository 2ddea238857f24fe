/* Products in 8 bits (attr.compute CM_I8), written once for every backend. Whole numbers -127 .. 127 stand for what x
 * and the weight hold: those of x are steps of attr.range / 127 (one range of all x), those of an output's weights
 * steps of the largest of them / 127. Their products are summed in 32 bits, exactly, and the sum times both steps is
 * the result. (Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
 * Inference", section 2, with zero points of 0.) */
#ifndef CM_BACKEND_INT8_H
#define CM_BACKEND_INT8_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_INT8_MOST = 127,
    CM_INT8_DEPTH = 1 << 17 /* so many products of the largest numbers are below 2^31 */
};
#define CM_INT8_LEAST 1e-36f /* smaller ranges stand for 0 */

/* The step of a range, and its inverse. */
static CM_HD inline float cm_int8_step(float range) {
    return range < CM_INT8_LEAST ? 0.0f : range / (float)CM_INT8_MOST;
}
static CM_HD inline float cm_int8_inverse(float range) {
    return range < CM_INT8_LEAST ? 0.0f : (float)CM_INT8_MOST / range;
}

/* x in steps, between the ends; NaN is the lowest. */
static CM_HD inline float cm_int8_clipped(float x, float inverse) {
    const float y = x * inverse, most = (float)CM_INT8_MOST, low = y > -most ? y : -most;
    return low < most ? low : most;
}

/* The number that stands for x, the nearest, of two the even one. */
static inline int cm_int8_of(float x, float inverse) { return (int)lrintf(cm_int8_clipped(x, inverse)); }

/* The range of n weights: the largest magnitude. */
static inline float cm_int8_range(const float *weight, size_t n) {
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(weight[i]));
    return most;
}

/* ---- fake quantisation, while a network is trained (Jacob et al. 2018, section 3) ---- */

enum { CM_INT8_PARTS = 64 }; /* maxima that fake_quantise writes */

/* Is nothing known of a range yet? Then numbers stay as they are. */
static CM_HD inline bool cm_int8_is_unknown(float range) { return range < CM_INT8_LEAST; }

/* x as products in 8 bits read it: the number that stands for it (cm_int8_of) times the step. What is not finite stays
 * so, that it is seen. */
static CM_HD inline float cm_int8_fake(float x, float range) {
    const float number = rintf(cm_int8_clipped(x, cm_int8_inverse(range)));
    return cm_int8_is_unknown(range) || !isfinite(x) ? x : number * cm_int8_step(range);
}

/* Does the gradient pass straight through? Not where x was clipped. */
static CM_HD inline bool cm_int8_passes(float x, float range) {
    return cm_int8_is_unknown(range) || !(fabsf(x) > range);
}

/* The moving average of a range: it starts at the first maximum. One that is not finite changes nothing. */
static CM_HD inline float cm_int8_moved(float range, float most, float m) {
    if (!isfinite(most)) return range;
    return cm_int8_is_unknown(range) ? most : range + m * (most - range);
}

#ifdef __cplusplus
}
#endif
#endif
