/* Sine and cosine that a compiler can put into vector lanes, and that give the same bits in a lane, in a scalar loop
 * and on a device. At most 1 ulp from libm for |x| <= 0.8, 2 for |x| <= 1e5 (tests/env). Polynomials and the three-part
 * pi/2: fdlibm (Sun 1993). */
#ifndef CM_ENV_MATHS_H
#define CM_ENV_MATHS_H

#include <string.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_PI 3.14159265358979323846

typedef struct cm_sincos_pair {
    double sin, cos;
} cm_sincos_pair;

/* |r| <= pi/4. */
static CM_HD inline double cm_sin_kernel(double r) {
    double z = r * r, w = z * z;
    double p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
               z * w * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
    return r + z * r * (-1.66666666666666324348e-01 + z * p);
}

/* |r| <= pi/4. */
static CM_HD inline double cm_cos_kernel(double r) {
    double z = r * r, w = z * z;
    double p =
        z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +
        w * w * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
    double half = 0.5 * z, top = 1.0 - half;
    return top + (((1.0 - top) - half) + z * p);
}

/* x rounded to an integer, |x| < 2^51. */
static CM_HD inline double cm_round(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

/* The choice of kernel and sign is made on bits: a compiler finds nothing to branch on. */
static CM_HD inline cm_sincos_pair cm_sincos(double x) {
    const double magic = 0x1.8p52; /* adding it rounds to an integer that stands in the low bits */
    double shifted = x * 6.36619772367581382433e-01 + magic, n = shifted - magic;
    double r = ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
    double s = cm_sin_kernel(r), c = cm_cos_kernel(r);
    uint64_t quadrant, s_bits, c_bits;
    memcpy(&quadrant, &shifted, sizeof quadrant);
    memcpy(&s_bits, &s, sizeof s_bits);
    memcpy(&c_bits, &c, sizeof c_bits);
    uint64_t swap = (s_bits ^ c_bits) & (0 - (quadrant & 1));
    uint64_t sine = s_bits ^ swap ^ (quadrant & 2) << 62, cosine = c_bits ^ swap ^ ((quadrant + 1) & 2) << 62;
    cm_sincos_pair out;
    memcpy(&out.sin, &sine, sizeof out.sin);
    memcpy(&out.cos, &cosine, sizeof out.cos);
    return out;
}

/* In two choices, not a nested one: compilers then find no branch in it. NaN stays NaN. */
static CM_HD inline double cm_clamp(double x, double low, double high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

#ifdef __cplusplus
}
#endif
#endif
