/* Generators for many episodes at once: the numbers of cm_rng and cm_pcg64_seed, computed in vector lanes. */
#ifndef CM_ENV_SEEDING_H
#define CM_ENV_SEEDING_H

#include "core/rng.h"
#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SEED_LANES = 64 }; /* most that one call may ask for */

/* The seed of an episode: the first 64 bits of stream `episode` of its instance's key. */
static inline uint64_t cm_episode_seed(cm_key key, uint64_t episode) {
    cm_rng stream = cm_rng_init(key, episode);
    uint64_t high = cm_rng_bits(&stream);
    return high << 32 | cm_rng_bits(&stream);
}

/* out[i] = the generator seeded with cm_episode_seed(key[i], episode[i]) for i < count <= CM_SEED_LANES; key and
 * episode have CM_SEED_LANES entries, of which those from count on may be zero. */
void cm_episode_generators(const cm_key *key, const uint64_t *episode, int count, cm_pcg64 *out);

#ifdef __cplusplus
}
#endif
#endif
