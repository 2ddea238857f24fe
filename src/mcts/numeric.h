/* Sums, exponentials, logarithms and softmax whose bits do not depend on the instruction set: plain float32 operations
 * in an order that is fixed and that vectors of 4, 8 or 16 lanes can follow. */
#ifndef CM_MCTS_NUMERIC_H
#define CM_MCTS_NUMERIC_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_LANES = 16 }; /* partial sums of cm_sum */

/* e^x for x <= 88, within 2 ulp; exactly 0 below ln FLT_MIN (so also for -FLT_MAX and -inf), exactly
 * 1 at 0. Range reduction and polynomial of the Cephes library. */
static CM_HD inline float cm_exp(float x) {
    const float least = -87.33654f; /* ln FLT_MIN */
    float clamped = x < least ? least : x;
    float shifted = clamped * 1.44269504088896341f + 12582912.0f; /* 1.5 * 2^23: the integer part is in the low bits */
    float n = shifted - 12582912.0f;
    float r = clamped - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    float y = 1.9875691500e-4f;
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = (y * (r * r) + r) + 1.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (int32_t)(((uint32_t)bits - 0x4B400000u + 127u) << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < least ? 0.0f : y * power;
}

/* ln x for x >= FLT_MIN, within 2 ulp or 1e-7; inf and NaN as they are. Range reduction and polynomial of the Cephes
 * library. */
static CM_HD inline float cm_ln(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int power = (int)(bits >> 23) - 126;
    bits = (bits & 0x007fffffu) | 0x3f000000u;
    float half;
    memcpy(&half, &bits, sizeof half); /* x = half 2^power, half from 1/2 to 1 */
    const bool is_low = half < 0.707106781186547524f;
    const float r = (is_low ? half + half : half) - 1.0f, n = (float)(power - is_low);
    float y = 7.0376836292e-2f;
    y = y * r - 1.1514610310e-1f;
    y = y * r + 1.1676998740e-1f;
    y = y * r - 1.2420140846e-1f;
    y = y * r + 1.4249322787e-1f;
    y = y * r - 1.6668057665e-1f;
    y = y * r + 2.0000714765e-1f;
    y = y * r - 2.4999993993e-1f;
    y = y * r + 3.3333331174e-1f;
    float square = r * r;
    y = y * r * square + n * -2.12194440e-4f;
    y = y - 0.5f * square;
    y = (r + y) + n * 0.693359375f;
    return x <= FLT_MAX ? y : x;
}

/* Sum of x[n]: element i goes to partial sum i mod 16; partial sums are added in halves. */
static CM_HD inline float cm_sum(const float *x, int n) {
    float lane[CM_LANES] = {0};
    for (int first = 0; first < n; first += CM_LANES) {
        for (int i = 0; i < CM_LANES; i++) { /* a count that compilers know: partial sums stay in registers */
            if (first + i < n) lane[i] += x[first + i];
        }
    }
    for (int half = CM_LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    }
    return lane[0];
}

static CM_HD inline float cm_max(float a, float b) { return b > a ? b : a; }
static CM_HD inline float cm_min(float a, float b) { return b < a ? b : a; }

/* Largest of x[n], n >= 1. */
static CM_HD inline float cm_max_of(const float *x, int n) {
    float most = x[0];
    for (int i = 1; i < n; i++) most = cm_max(most, x[i]);
    return most;
}

/* Index of the largest of x[n], the lowest of equals; 0 if nothing is above -inf (docs/spec/search.md 7.1). */
static CM_HD inline int cm_argmax(const float *x, int n) {
    float most = -INFINITY;
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] > most) most = x[i], at = i;
    }
    return at;
}

/* p[n] = softmax(logits[n]); p may be logits. Returns the sum before division: below 1 (or NaN) only if a logit is not
 * a number or +inf. Logits of -FLT_MAX next to larger ones get exactly 0. */
static CM_HD inline float cm_softmax(float *p, const float *logits, int n) {
    float most = cm_max_of(logits, n);
    for (int i = 0; i < n; i++) p[i] = cm_exp(logits[i] - most);
    float sum = cm_sum(p, n), factor = 1.0f / sum;
    for (int i = 0; i < n; i++) p[i] = p[i] * factor;
    return sum;
}

#ifdef __cplusplus
}
#endif
#endif
