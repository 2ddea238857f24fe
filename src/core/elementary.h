/* Elementary functions on the ranges that sampling needs, of sums, products and rounded bits alone: no branch, no
 * table, no call. A loop over them becomes vectors, and without contraction every machine gives the same bits.
 *
 * _d is float64, _f is float32; largest errors on the whole range are tested in tests/core/test_elementary.c. Sources
 * of the coefficients: float64 sine, cosine and arc tangent of fdlibm (Sun Microsystems 1993, k_sin.c, k_cos.c,
 * s_atan.c), float32 of Cephes (Moshier 1992, sinf.c, atanf.c, expf.c). */
#ifndef CM_CORE_ELEMENTARY_H
#define CM_CORE_ELEMENTARY_H

#include "core/bits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sin(x) and cos(x), |x| <= pi/4 ---- */

static CM_HD inline double cm_short_sin_d(double x) {
    const double z = x * x;
    double p = 1.58969099521155010221e-10;
    p = p * z - 2.50507602534068634195e-08;
    p = p * z + 2.75573137070700676789e-06;
    p = p * z - 1.98412698298579493134e-04;
    p = p * z + 8.33333333332248946124e-03;
    p = p * z - 1.66666666666666324348e-01;
    return x + x * z * p;
}

static CM_HD inline double cm_short_cos_d(double x) {
    const double z = x * x;
    double p = -1.13596475577881948265e-11;
    p = p * z + 2.08757232129817482790e-09;
    p = p * z - 2.75573143513906633035e-07;
    p = p * z + 2.48015872894767294178e-05;
    p = p * z - 1.38888888888741095749e-03;
    p = p * z + 4.16666666666666019037e-02;
    return 1.0 - (0.5 * z - z * z * p);
}

static CM_HD inline float cm_short_sin_f(float x) {
    const float z = x * x;
    return x + x * z * ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f);
}

static CM_HD inline float cm_short_cos_f(float x) {
    const float z = x * x, p = (2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f;
    return 1.0f - (0.5f * z - z * z * p);
}

/* ---- atan(x), |x| <= tan(pi/8) ---- */

static CM_HD inline double cm_short_atan_d(double x) {
    const double z = x * x;
    double p = 1.62858201153657823623e-02;
    p = p * z - 3.65315727442169155270e-02;
    p = p * z + 4.97687799461593236017e-02;
    p = p * z - 5.83357013379057348645e-02;
    p = p * z + 6.66107313738753120669e-02;
    p = p * z - 7.69187620504482999495e-02;
    p = p * z + 9.09088713343650656196e-02;
    p = p * z - 1.11111104054623557880e-01;
    p = p * z + 1.42857142725034663711e-01;
    p = p * z - 1.99999999998764832476e-01;
    p = p * z + 3.33333333333329318027e-01;
    return x - x * z * p;
}

static CM_HD inline float cm_short_atan_f(float x) {
    const float z = x * x;
    float p = 8.05374449538e-2f;
    p = p * z - 1.38776856032e-1f;
    p = p * z + 1.99777106478e-1f;
    p = p * z - 3.33329491539e-1f;
    return x + x * z * p;
}

/* ---- e^x, x <= 1; below -700 (float32: -87) as there ---- */

/* Taylor's series to x^11 on |x| <= log(2)/2, in parts that do not wait for each other (Estrin); adding 1.5 * 2^52
 * rounds, and leaves the whole number in the last bits. */
static CM_HD inline double cm_short_exp_d(double x) {
    x = x < -700.0 ? -700.0 : x;
    const double shifted = x * 1.44269504088896338700 + 0x1.8p52, n = shifted - 0x1.8p52;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    const double r2 = r * r, r4 = r2 * r2;
    const double high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0));
    const double middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    const double p = (1.0 + r) + (r2 * (0.5 + r * (1.0 / 6.0)) + r4 * (middle + r4 * high));
    return p * cm_double_of_bits((cm_double_to_bits(shifted) + 1023) << 52);
}

static CM_HD inline float cm_short_exp_f(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float shifted = x * 1.44269504088896341f + 0x1.8p23f, n = shifted - 0x1.8p23f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return p * cm_float_of_bits((cm_float_to_bits(shifted) + 127) << 23);
}

#ifdef __cplusplus
}
#endif
#endif
