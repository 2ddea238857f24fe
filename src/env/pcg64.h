/* NumPy's PCG64 seeded by SeedSequence, so that a reset with a seed starts where Gymnasium's starts.
 *
 * cm_pcg64_seed(&g, s) and then cm_pcg64_uniform give the numbers of numpy.random.default_rng(s).uniform, bit for bit.
 * Only raw words and uniform doubles are NumPy's; bounded integers are this project's own. Source: O'Neill 2014 (PCG
 * XSL-RR 128/64), NumPy's bit_generator.pyx; docs/spec/environments.md 1. */
#ifndef CM_ENV_PCG64_H
#define CM_ENV_PCG64_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_pcg64 {
    uint64_t state_high, state_low; /* 128-bit state                 */
    uint64_t inc_high, inc_low;     /* 128-bit odd increment         */
} cm_pcg64;

/* High 64 bits of a 64 x 64 product. */
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 cm_uint128;
static CM_HD inline uint64_t cm_mul_high(uint64_t a, uint64_t b) { return (uint64_t)((cm_uint128)a * b >> 64); }
#else
static CM_HD inline uint64_t cm_mul_high(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t mid = a1 * b0 + (a0 * b0 >> 32), low = a0 * b1 + (uint32_t)mid;
    return a1 * b1 + (mid >> 32) + (low >> 32);
}
#endif

static CM_HD inline void cm_pcg64_step(cm_pcg64 *g) {
    const uint64_t mh = 2549297995355413924u, ml = 4865540595714422341u;
    uint64_t high = cm_mul_high(g->state_low, ml) + g->state_high * ml + g->state_low * mh;
    uint64_t low = g->state_low * ml;
    g->state_low = low + g->inc_low;
    g->state_high = high + g->inc_high + (g->state_low < low);
}

static CM_HD inline uint64_t cm_pcg64_next(cm_pcg64 *g) {
    cm_pcg64_step(g);
    uint64_t x = g->state_high ^ g->state_low;
    unsigned turn = (unsigned)(g->state_high >> 58);
    return x >> turn | x << ((64u - turn) & 63u);
}

/* out[8]: SeedSequence(seed).generate_state(8), seed as one or two 32-bit words. */
static CM_HD inline void cm_seed_sequence(uint64_t seed, uint32_t out[8]) {
    uint32_t pool[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0}, constant = 0x43b0d7e5u;
    for (int i = 0; i < 4; i++) {
        pool[i] ^= constant, constant *= 0x931e8875u, pool[i] *= constant, pool[i] ^= pool[i] >> 16;
    }
    for (int s = 0; s < 4; s++) {
        for (int d = 0; d < 4; d++) {
            if (s == d) continue;
            uint32_t v = pool[s];
            v ^= constant, constant *= 0x931e8875u, v *= constant, v ^= v >> 16;
            uint32_t r = 0xca01f9ddu * pool[d] - 0x4973f715u * v;
            pool[d] = r ^ r >> 16;
        }
    }
    constant = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++) {
        uint32_t v = pool[i & 3];
        v ^= constant, constant *= 0x58f38dedu, v *= constant;
        out[i] = v ^ v >> 16;
    }
}

/* The generator that four 64-bit words of a SeedSequence start. */
static CM_HD inline void cm_pcg64_start(cm_pcg64 *g, const uint64_t w[4]) {
    g->inc_high = w[2] << 1 | w[3] >> 63, g->inc_low = w[3] << 1 | 1u;
    g->state_high = g->inc_high, g->state_low = g->inc_low; /* state 0, one step */
    g->state_low += w[1];
    g->state_high += w[0] + (g->state_low < w[1]);
    cm_pcg64_step(g);
}

static CM_HD inline void cm_pcg64_seed(cm_pcg64 *g, uint64_t seed) {
    uint32_t word[8];
    uint64_t w[4];
    cm_seed_sequence(seed, word);
    for (int j = 0; j < 4; j++) w[j] = word[2 * j] | (uint64_t)word[2 * j + 1] << 32;
    cm_pcg64_start(g, w);
}

/* Uniform in [0, 1): 53 bits. */
static CM_HD inline double cm_pcg64_double(cm_pcg64 *g) { return (double)(cm_pcg64_next(g) >> 11) * 0x1p-53; }

/* Uniform in [low, high). */
static CM_HD inline double cm_pcg64_uniform(cm_pcg64 *g, double low, double high) {
    return low + (high - low) * cm_pcg64_double(g);
}

/* Uniform integer in [0, n), 1 <= n < 2^31; the bias is below n / 2^64. */
static CM_HD inline int cm_pcg64_below(cm_pcg64 *g, int n) { return (int)cm_mul_high(cm_pcg64_next(g), (uint64_t)n); }

#ifdef __cplusplus
}
#endif
#endif
