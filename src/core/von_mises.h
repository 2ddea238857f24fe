/* Angles of the von Mises distribution (spec learning 11.3): density exp(kappa cos(theta - mu)) / (2 pi I0(kappa)).
 *
 * theta and mu are in radians, kappa >= 0 is the concentration: 0 is uniform, large is a normal of variance 1 / kappa.
 * _d is float64, _f float32. Angles come in [-pi, pi); the largest float32 below pi is the end there.
 *
 * Source: Best and Fisher 1979, "Efficient simulation of the von Mises distribution": rejection from the wrapped
 * Cauchy. They take the arc cosine of a number near 1, which keeps half of the digits at best where kappa is large, and
 * need another formula where it is small. Here the wrapped Cauchy is theta = 2 atan(scale tan(phi)) with phi uniform in
 * (-pi/2, pi/2): with r = 1 + sqrt(1 + 4 kappa^2) and s = r / (2 kappa) of the paper,
 *
 *     low = kappa (s - 1) = (1 + 1 / (sqrt(1 + 4 kappa^2) + 2 kappa)) / 2, in [1/2, 1]
 *     high = kappa (s + 1) = low + 2 kappa
 *     scale = sqrt(low / high)
 *     y = kappa (s - cos(theta)) = low high / (low + 2 kappa cos(phi)^2), accepted with probability y exp(1 - y)
 *
 * in which nothing cancels for any kappa from 0 on. A draw is accepted with probability 1 at kappa 0, 0.87 at 1, 0.66
 * at 50 and above. Random numbers have 52 bits (float32: 32, of the acceptance 48), results are as exact as the
 * arithmetic.
 *
 * The formulas are CM_HD and without contraction, so that a draw has the same bits one by one, in a batch, by any
 * number of threads and by any instruction set. */
#ifndef CM_CORE_VON_MISES_H
#define CM_CORE_VON_MISES_H

#include <math.h>

#include "core/elementary.h"
#include "core/pool.h"
#include "core/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_PI_D           3.14159265358979311600 /* the largest numbers of their types below pi */
#define CM_PI_F           0x1.921fb4p+1f
#define CM_VON_MISES_MOST 1e30 /* kappa; verified against scipy up to 1e6 (scripts/peers/von_mises.py) */

/* What depends on kappa alone. */
typedef struct cm_von_mises_d {
    double low, high, scale;
} cm_von_mises_d;
typedef struct cm_von_mises_f {
    float low, high, scale;
} cm_von_mises_f;

/* ---- random bits as numbers: uniform in [-1, 1) or [-1, 1], and in (0, 1] ---- */

static CM_HD inline double cm_von_mises_bits(uint32_t high, uint32_t low, uint64_t exponent) {
    return cm_double_of_bits(((uint64_t)high << 32 | low) >> 12 | exponent << 52);
}
static CM_HD inline double cm_von_mises_signed_d(uint32_t high, uint32_t low) {
    return cm_von_mises_bits(high, low, 0x400) - 3.0;
}
static CM_HD inline double cm_von_mises_unit_d(uint32_t high, uint32_t low) {
    return (cm_von_mises_bits(high, low, 0x3ff) - 1.0) + 0x1p-53;
}
static CM_HD inline float cm_von_mises_signed_f(uint32_t high, uint32_t low) {
    (void)low;
    return (float)(int32_t)high * 0x1p-31f;
}
static CM_HD inline float cm_von_mises_unit_f(uint32_t high, uint32_t low) {
    return (float)(int32_t)(high >> 8) * 0x1p-24f + ((float)(int32_t)(low >> 8) + 0.5f) * 0x1p-48f;
}

/* ---- one draw: cm_von_mises_draw_d and _f of a stream ---- */

#define CM_REAL       double
#define CM_NAME(name) name##_d
#define CM_MATH(name) name
#define CM_PICK(d, f) d
#include "core/von_mises.inc"
#undef CM_REAL
#undef CM_NAME
#undef CM_MATH
#undef CM_PICK

#define CM_REAL       float
#define CM_NAME(name) name##_f
#define CM_MATH(name) name##f
#define CM_PICK(d, f) f
#include "core/von_mises.inc"
#undef CM_REAL
#undef CM_NAME
#undef CM_MATH
#undef CM_PICK

/* ---- batches ---- */

/* Draws first .. first+count-1 of a key. Draw i is the first one of the stream cm_rng_init(key, i), so it depends on
 * the key and on i alone. Arrays are the caller's. */
typedef struct cm_von_mises_draws_d {
    cm_key key;
    uint64_t first;
    size_t count;
    const double *mu, *kappa; /* [count], or [1] where `one` says so; mu finite, kappa in [0, CM_VON_MISES_MOST] */
    bool one_mu, one_kappa;
    double *out; /* [count]; may be mu or kappa where that has `count` of them */
} cm_von_mises_draws_d;
typedef struct cm_von_mises_draws_f {
    cm_key key;
    uint64_t first;
    size_t count;
    const float *mu, *kappa;
    bool one_mu, one_kappa;
    float *out;
} cm_von_mises_draws_f;

/* Draws a batch on the threads of `pool`; NULL: on this one. Allocates nothing. Errors: CM_ERR_INPUT names the first mu
 * or kappa that is out of its range, before anything is written. */
cm_status cm_von_mises_batch_d(cm_pool *pool, const cm_von_mises_draws_d *draws) CM_MUST_USE;
cm_status cm_von_mises_batch_f(cm_pool *pool, const cm_von_mises_draws_f *draws) CM_MUST_USE;

/* ---- what the distribution is; kappa in [0, CM_VON_MISES_MOST], to about 1e-14 ---- */

double cm_von_mises_log_density(double theta, double mu, double kappa); /* natural logarithm, per radian */
double cm_von_mises_entropy(double kappa);                              /* in nats                       */
double cm_von_mises_mean_cosine(double kappa);  /* A = I1 / I0 = E cos(theta - mu), in [0, 1)                    */
double cm_von_mises_mean_versine(double kappa); /* 1 - A, in (0, 1], without the digits that a difference loses  */

#ifdef __cplusplus
}
#endif
#endif
