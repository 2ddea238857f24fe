/* The random numbers of JAX (Threefry 2x32, the layout that is not partitionable), for one purpose: the pseudo-random
 * model behind the published trees of mctx (mctx_tree.h). cumind's own numbers are core/rng.h. Source:
 * docs/spec/search.md 11. */
#ifndef CM_MCTS_THREEFRY_H
#define CM_MCTS_THREEFRY_H

#include <math.h>
#include <string.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_threefry_key {
    uint32_t word[2];
} cm_threefry_key;

/* 20 rounds of Threefry 2x32 on the counter (x0, x1). */
static inline cm_threefry_key cm_threefry(cm_threefry_key key, uint32_t x0, uint32_t x1) {
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t schedule[3] = {key.word[0], key.word[1], key.word[0] ^ key.word[1] ^ 0x1BD11BDAu};
    x0 += schedule[0];
    x1 += schedule[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int round = 0; round < 4; round++) {
            int r = rotations[group % 2][round];
            x0 += x1;
            x1 = (x1 << r) | (x1 >> (32 - r));
            x1 ^= x0;
        }
        x0 += schedule[(group + 1) % 3];
        x1 += schedule[(group + 2) % 3] + group + 1;
    }
    cm_threefry_key out = {{x0, x1}};
    return out;
}

/* Word i of the stream of n words that belongs to the counters 0 .. n-1. */
static inline uint32_t cm_threefry_word(cm_threefry_key key, uint32_t n, uint32_t i) {
    uint32_t half = (n + 1) / 2, pair = i < half ? i : i - half;
    uint32_t second = pair + half < n ? pair + half : 0; /* an odd n is padded with the counter 0 */
    return cm_threefry(key, pair, second).word[i < half ? 0 : 1];
}

/* Key i of split(key, n). */
static inline cm_threefry_key cm_threefry_split(cm_threefry_key key, uint32_t n, uint32_t i) {
    cm_threefry_key out = {{cm_threefry_word(key, 2 * n, 2 * i), cm_threefry_word(key, 2 * n, 2 * i + 1)}};
    return out;
}

static inline cm_threefry_key cm_threefry_fold_in(cm_threefry_key key, uint32_t data) {
    return cm_threefry(key, 0, data);
}

/* Number i of uniform(key, n) in [low, high). */
static inline float cm_threefry_uniform(cm_threefry_key key, uint32_t n, uint32_t i, float low, float high) {
    uint32_t bits = cm_threefry_word(key, n, i) >> 9 | 0x3F800000u;
    float unit;
    memcpy(&unit, &bits, sizeof unit);
    float x = (unit - 1.0f) * (high - low) + low;
    return x > low ? x : low;
}

/* Inverse error function in single precision (Giles 2010). */
static inline float cm_threefry_erfinv(float x) {
    static const float near[9] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                  -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
    static const float far[9] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                                 -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
    float w = -logf((1.0f - x) * (1.0f + x));
    const float *c = w < 5.0f ? near : far;
    w = w < 5.0f ? w - 2.5f : sqrtf(w) - 3.0f;
    float p = c[0];
    for (int i = 1; i < 9; i++) p = p * w + c[i];
    return p * x;
}

/* Number i of normal(key, n). */
static inline float cm_threefry_normal(cm_threefry_key key, uint32_t n, uint32_t i) {
    return 1.41421356f * cm_threefry_erfinv(cm_threefry_uniform(key, n, i, -0.99999994f, 1.0f));
}

#ifdef __cplusplus
}
#endif
#endif
