#include "core/von_mises.h"

#include <limits.h>

#include "core/cpu.h"
#include "core/von_mises_internal.h"

/* ---- batches ---- */

#if defined(__x86_64__)
static const cm_von_mises_loops *const best_first[] = {&cm_von_mises_avx512, &cm_von_mises_avx2, &cm_von_mises_base};
static int first_usable(void) { return (int)cm_cpu_simd(); }
#else
static const cm_von_mises_loops *const best_first[] = {&cm_von_mises_base};
static int first_usable(void) { return 0; }
#endif

const cm_von_mises_loops *const *cm_von_mises_usable(int *count) {
    const int first = first_usable();
    *count = (int)(sizeof best_first / sizeof *best_first) - first;
    return best_first + first;
}

enum { TASK = 16 * CM_VON_MISES_BLOCK }; /* draws that a thread takes at once */

static int block_of(size_t begin, size_t end) {
    return end - begin < CM_VON_MISES_BLOCK ? (int)(end - begin) : CM_VON_MISES_BLOCK;
}

static cm_status refuse(const char *name, size_t i, double value, const char *wanted) {
    return cm_fail(CM_ERR_INPUT, "von Mises: %s[%zu] is %g; %s is wanted", name, i, value, wanted);
}

#define CM_REAL       double
#define CM_NAME(name) name##_d
#define CM_PICK(d, f) d
#include "core/von_mises_batch.inc"
#undef CM_REAL
#undef CM_NAME
#undef CM_PICK

#define CM_REAL       float
#define CM_NAME(name) name##_f
#define CM_PICK(d, f) f
#include "core/von_mises_batch.inc"

/* ---- what the distribution is ---- */

/* Of the modified Bessel functions I0 and I1 of kappa. */
typedef struct bessel {
    double log_scaled;        /* log(I0 exp(-kappa)) */
    double ratio, short_of_1; /* A = I1 / I0, 1 - A */
} bessel;

enum { MOST_TERMS = 64 };

/* Power series (Abramowitz and Stegun 9.6.12): all terms are positive. */
static bessel power_series(double kappa) {
    const double t = 0.25 * kappa * kappa;
    double term = 1.0, above_1 = 0.0, sum1 = 1.0;
    for (int k = 1; k < MOST_TERMS; k++) {
        term *= t / ((double)k * k);
        above_1 += term;
        sum1 += term / (k + 1.0);
    }
    const double ratio = 0.5 * kappa * sum1 / (1.0 + above_1);
    return (bessel){.log_scaled = log1p(above_1) - kappa, .ratio = ratio, .short_of_1 = 1.0 - ratio};
}

/* Asymptotic series (9.7.1) until its terms no longer count; for kappa >= 20 they fall below 1e-17. */
static bessel asymptotic_series(double kappa) {
    double term0 = 1.0, term1 = 1.0, sum0 = 1.0, difference = 0.0;
    for (int k = 1; k < MOST_TERMS && term0 > 1e-18; k++) {
        const double odd = 2.0 * k - 1.0, below = 8.0 * kappa * k;
        term0 *= odd * odd / below;
        term1 *= (odd * odd - 4.0) / below;
        sum0 += term0;
        difference += term0 - term1;
    }
    const double missing = difference / sum0;
    return (bessel){
        .log_scaled = log(sum0) - 0.5 * log(2.0 * CM_PI_D * kappa), .ratio = 1.0 - missing, .short_of_1 = missing};
}

static bessel bessel_of(double kappa) { return kappa < 20.0 ? power_series(kappa) : asymptotic_series(kappa); }

static const double log_turn = 1.83787706640934548356; /* log(2 pi) */

double cm_von_mises_log_density(double theta, double mu, double kappa) {
    const double s = sin(0.5 * (theta - mu));
    return -log_turn - bessel_of(kappa).log_scaled - 2.0 * kappa * s * s;
}

double cm_von_mises_entropy(double kappa) {
    const bessel b = bessel_of(kappa);
    return log_turn + b.log_scaled + kappa * b.short_of_1;
}

double cm_von_mises_mean_cosine(double kappa) { return bessel_of(kappa).ratio; }

double cm_von_mises_mean_versine(double kappa) { return bessel_of(kappa).short_of_1; }
