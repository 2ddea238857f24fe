/* Counter-based random numbers: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
 *
 * A key is derived from (seed, purpose, instance); a stream is a key and a counter that starts at a step. Nothing is
 * global, so a number depends only on what it is for, never on threads, ranks or the order of calls. The functions are
 * CM_HD: the CPU and the GPU draw the same numbers.
 */
#ifndef CM_CORE_RNG_H
#define CM_CORE_RNG_H

#include <float.h>
#include <math.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a stream of random numbers is for. The order is part of every run's result: add at the end only. */
typedef enum cm_purpose {
    CM_RNG_PARAMETERS, /* initial weights; instance = parameter index            */
    CM_RNG_RESET,      /* environment resets; instance = environment             */
    CM_RNG_STEP,       /* chance inside an environment; instance = environment   */
    CM_RNG_NOISE,      /* root noise (Dirichlet, Gumbel); instance = environment */
    CM_RNG_ACTION,     /* action sampling; instance = environment                */
    CM_RNG_SAMPLE,     /* replay sampling; instance = rank-independent row       */
    CM_RNG_AUGMENT,    /* symmetries; instance = batch row                       */
    CM_RNG_ABSORB,     /* actions past the end of an episode                     */
    CM_RNG_EVALUATE,   /* evaluation                                             */
    CM_RNG_EXPLORE,    /* uniform moves in place of the search's                 */
    CM_RNG_TEST,       /* tests and benchmarks                                   */
    CM_RNG_REANALYSE,  /* root noise of searches made again; instance = batch row */
    CM_RNG_PICTURE,    /* shifts and intensities of pictures; instance = batch row */
    CM_RNG_ANGLE,      /* von Mises draws of library users; instance = stream      */
    CM_RNG_SWEEP       /* values of a sweep's trials; instance = trial             */
} cm_purpose;

typedef struct cm_key {
    uint32_t word[2];
} cm_key;

typedef struct cm_rng {
    cm_key key;
    uint64_t step;      /* upper half of the counter                     */
    uint64_t block;     /* lower half: index of the next block of words  */
    uint32_t buffer[4]; /* words of the last block                       */
    int left;           /* words of `buffer` not yet used, taken from the end */
} cm_rng;

/* Of Philox 4x32-10: factors, and what the key grows by in a round. */
#define CM_PHILOX_0      0xD2511F53u
#define CM_PHILOX_1      0xCD9E8D57u
#define CM_PHILOX_KEY_0  0x9E3779B9u
#define CM_PHILOX_KEY_1  0xBB67AE85u
#define CM_PHILOX_ROUNDS 10

/* One block: out[4] = philox(counter[4], key). Known-answer vectors: tests/core. */
static CM_HD inline void cm_philox(const uint32_t counter[4], cm_key key, uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < CM_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)CM_PHILOX_0 * c0, p1 = (uint64_t)CM_PHILOX_1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0, c1 = (uint32_t)p1, c2 = n2, c3 = (uint32_t)p0;
        k0 += CM_PHILOX_KEY_0, k1 += CM_PHILOX_KEY_1;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* A new key from `key` and 64 bits of data; different data give independent keys. */
static CM_HD inline cm_key cm_key_fold_in(cm_key key, uint64_t data) {
    uint32_t counter[4] = {(uint32_t)data, (uint32_t)(data >> 32), 0x666f6c64u /* "fold" */, 0}, out[4];
    cm_philox(counter, key, out);
    cm_key next = {{out[0], out[1]}};
    return next;
}

/* The key of a run's stream. */
static CM_HD inline cm_key cm_key_make(uint64_t seed, cm_purpose purpose, uint64_t instance) {
    cm_key key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    return cm_key_fold_in(cm_key_fold_in(key, (uint64_t)purpose), instance);
}

/* A stream of numbers for one step; streams of different steps never overlap. */
static CM_HD inline cm_rng cm_rng_init(cm_key key, uint64_t step) {
    cm_rng rng;
    rng.key = key, rng.step = step, rng.block = 0, rng.left = 0;
    rng.buffer[0] = rng.buffer[1] = rng.buffer[2] = rng.buffer[3] = 0;
    return rng;
}

static CM_HD inline uint32_t cm_rng_bits(cm_rng *rng) {
    if (rng->left == 0) {
        uint32_t counter[4] = {(uint32_t)rng->block, (uint32_t)(rng->block >> 32), (uint32_t)rng->step,
                               (uint32_t)(rng->step >> 32)};
        cm_philox(counter, rng->key, rng->buffer);
        rng->block++;
        rng->left = 4;
    }
    return rng->buffer[--rng->left];
}

/* Uniform in [0, 1): 24 bits, multiples of 2^-24. */
static CM_HD inline float cm_rng_uniform(cm_rng *rng) { return (float)(cm_rng_bits(rng) >> 8) * 0x1p-24f; }

/* Uniform in [0, 1): 53 bits. */
static CM_HD inline double cm_rng_uniform_double(cm_rng *rng) {
    uint64_t high = cm_rng_bits(rng) >> 5, low = cm_rng_bits(rng) >> 6;
    return (double)(high * 67108864u + low) * 0x1p-53;
}

/* Uniform integer in [0, n), n >= 1; without bias (Lemire 2019). */
static CM_HD inline uint32_t cm_rng_below(cm_rng *rng, uint32_t n) {
    uint64_t product = (uint64_t)cm_rng_bits(rng) * n;
    if ((uint32_t)product < n) {
        uint32_t threshold = (0u - n) % n;
        while ((uint32_t)product < threshold) product = (uint64_t)cm_rng_bits(rng) * n;
    }
    return (uint32_t)(product >> 32);
}

/* Index drawn uniformly among those of mask[n] that are not 0; 0 if all are. */
static CM_HD inline int cm_rng_pick(cm_rng *rng, const uint8_t *mask, int n) {
    uint32_t open = 0;
    for (int i = 0; i < n; i++) open += mask[i] != 0;
    if (open == 0) return 0;
    uint32_t wanted = cm_rng_below(rng, open);
    for (int i = 0; i < n; i++) {
        if (mask[i] && wanted-- == 0) return i;
    }
    return 0;
}

/* Standard normal (Box-Muller, one of the pair). */
static CM_HD inline float cm_rng_normal(cm_rng *rng) {
    float u = 1.0f - cm_rng_uniform(rng), v = cm_rng_uniform(rng); /* u in (0, 1] */
    return sqrtf(-2.0f * logf(u)) * cosf(6.28318530717958648f * v);
}

/* Standard Gumbel: -ln(-ln(u)), u in (0, 1) (docs/spec/search.md 8.3). */
static CM_HD inline float cm_rng_gumbel(cm_rng *rng) {
    float u = ((float)(cm_rng_bits(rng) >> 9) + 0.5f) * 0x1p-23f;
    return -logf(-logf(u));
}

/* Gamma(shape, 1), shape > 0 (Marsaglia and Tsang 2000; below 1 with the boost u^(1/shape)). */
static CM_HD inline double cm_rng_gamma(cm_rng *rng, double shape) {
    double boost = 1.0;
    if (shape < 1.0) {
        boost = pow(1.0 - cm_rng_uniform_double(rng), 1.0 / shape);
        shape += 1.0;
    }
    double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        double x = (double)cm_rng_normal(rng), v = 1.0 + c * x;
        if (v <= 0.0) continue;
        v = v * v * v;
        double u = 1.0 - cm_rng_uniform_double(rng);
        if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) return boost * d * v;
    }
}

/* out[n] ~ Dirichlet(alpha, ..., alpha), alpha > 0; sums to 1. If every gamma underflows, one entry drawn uniformly
 * is 1. */
static CM_HD inline void cm_rng_dirichlet(cm_rng *rng, double alpha, int n, float *out) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        double g = cm_rng_gamma(rng, alpha);
        out[i] = (float)g;
        sum += (double)out[i];
    }
    if (sum > 0.0) {
        for (int i = 0; i < n; i++) out[i] = (float)((double)out[i] / sum);
    } else {
        int hot = (int)cm_rng_below(rng, (uint32_t)n);
        for (int i = 0; i < n; i++) out[i] = i == hot ? 1.0f : 0.0f;
    }
}

/* Index in [0, n) with probability weight[i] / sum; weights >= 0, not all 0. Never an index of weight 0. */
static CM_HD inline int cm_rng_categorical(cm_rng *rng, const float *weight, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += (double)weight[i];
    double u = cm_rng_uniform_double(rng) * sum, below = 0.0;
    int last = 0;
    for (int i = 0; i < n; i++) {
        if (!(weight[i] > 0.0f)) continue;
        last = i;
        below += (double)weight[i];
        if (u < below) return i;
    }
    return last;
}

#ifdef __cplusplus
}
#endif
#endif
