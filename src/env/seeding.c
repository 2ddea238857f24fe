#include "env/seeding.h"

enum {
    LANES = CM_SEED_LANES,
    VECTOR = 16, /* lanes are computed in whole vectors of so many */
    FEW = 5      /* fewer are cheaper one by one */
};

/* Low and high word of the seeds of all lanes. */
static void draw_seeds(const cm_key *key, const uint64_t *episode, int lanes, uint32_t *low, uint32_t *high) {
    for (int i = 0; i < lanes; i++) {
        const uint32_t counter[4] = {0, 0, (uint32_t)episode[i], (uint32_t)(episode[i] >> 32)};
        uint32_t word[4];
        cm_philox(counter, key[i], word);
        high[i] = word[3], low[i] = word[2];
    }
}

/* pool[i] = hashmix(from[i]); returns the next constant. */
static uint32_t hash_lanes(uint32_t constant, const uint32_t *from, int lanes, uint32_t *pool) {
    const uint32_t next = constant * 0x931e8875u;
    for (int i = 0; i < lanes; i++) {
        uint32_t v = (from[i] ^ constant) * next;
        pool[i] = v ^ v >> 16;
    }
    return next;
}

/* SeedSequence of every lane: cm_seed_sequence, lane by lane. */
static void seed_lanes(const uint32_t *low, const uint32_t *high, int lanes, uint32_t word[8][LANES]) {
    static const uint32_t zero[LANES];
    const uint32_t *const entropy[4] = {low, high, zero, zero};
    uint32_t pool[4][LANES], mixed[LANES], constant = 0x43b0d7e5u;
    for (int k = 0; k < 4; k++) constant = hash_lanes(constant, entropy[k], lanes, pool[k]);
    for (int s = 0; s < 4; s++) {
        for (int d = 0; d < 4; d++) {
            if (s == d) continue;
            constant = hash_lanes(constant, pool[s], lanes, mixed);
            for (int i = 0; i < lanes; i++) {
                uint32_t r = 0xca01f9ddu * pool[d][i] - 0x4973f715u * mixed[i];
                pool[d][i] = r ^ r >> 16;
            }
        }
    }
    constant = 0x8b51f9ddu;
    for (int k = 0; k < 8; k++) {
        const uint32_t next = constant * 0x58f38dedu;
        for (int i = 0; i < lanes; i++) {
            uint32_t v = (pool[k & 3][i] ^ constant) * next;
            word[k][i] = v ^ v >> 16;
        }
        constant = next;
    }
}

void cm_episode_generators(const cm_key *key, const uint64_t *episode, int count, cm_pcg64 *out) {
    if (count < FEW) {
        for (int i = 0; i < count; i++) cm_pcg64_seed(&out[i], cm_episode_seed(key[i], episode[i]));
        return;
    }
    uint32_t low[LANES], high[LANES], word[8][LANES];
    const int lanes = (count + VECTOR - 1) / VECTOR * VECTOR;
    draw_seeds(key, episode, lanes, low, high);
    seed_lanes(low, high, lanes, word);
    for (int i = 0; i < count; i++) {
        uint64_t w[4];
        for (int j = 0; j < 4; j++) w[j] = word[2 * j][i] | (uint64_t)word[2 * j + 1][i] << 32;
        cm_pcg64_start(&out[i], w);
    }
}
