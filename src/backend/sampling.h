/* Actions drawn at a node of a search (Sampled MuZero; spec learning 11): what sample_actions and sampled_action
 * compute, on every backend. Numbers are float32 in a fixed order, so who has the same arguments draws the same. */
#ifndef CM_BACKEND_SAMPLING_H
#define CM_BACKEND_SAMPLING_H

#include <string.h>

#include "core/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SAMPLING_SEED = 2 }; /* numbers of a seed: whole ones below 2^24, so float32 has all of them */

static CM_HD inline cm_key cm_sampling_key(const float *seed) {
    cm_key key;
    memcpy(key.word, seed, sizeof key.word);
    return key;
}

static CM_HD inline void cm_sampling_seed(cm_key key, float *seed) {
    for (int i = 0; i < CM_SAMPLING_SEED; i++) seed[i] = (float)(key.word[i] >> 8);
}

/* The seed of the node that choice number `choice` leads to. */
static CM_HD inline void cm_sampling_below(const float *seed, int choice, float *below) {
    cm_sampling_seed(cm_key_fold_in(cm_sampling_key(seed), (uint64_t)choice), below);
}

/* list[draws] and logits[draws] of a node: the actions that were drawn in ascending order with the logarithms of their
 * shares of the draws, behind them zeros and -FLT_MAX.
 *
 * The sum of p[actions] is cut into as many equal parts as there are draws, and each part gives the action at a uniform
 * place in it (stratified sampling): an action is drawn draws * p times in the mean, as by independent draws, but
 * always within two of that. Where no p is above 0 action 0 is drawn; where the sum is not finite the logits are not
 * numbers. */
static CM_HD inline void cm_sampling_draw(const float *p, int actions, const float *seed, int draws, float *list,
                                          float *logits) {
    cm_rng rng = cm_rng_init(cm_sampling_key(seed), 0);
    float sum = 0.0f, below = 0.0f;
    int last = 0, drawn = 0, entries = 0;
    for (int a = 0; a < actions; a++) {
        sum += p[a];
        if (p[a] > 0.0f) last = a;
    }
    const float part = sum / (float)draws;
    float next = cm_rng_uniform(&rng) * part;
    for (int a = 0; a <= last; a++) {
        const int before = drawn;
        below += p[a];
        while (drawn < draws && (next < below || a == last)) {
            drawn++;
            next = ((float)drawn + cm_rng_uniform(&rng)) * part;
        }
        if (drawn == before) continue;
        list[entries] = (float)a;
        logits[entries++] = logf((float)(drawn - before) / (float)draws);
    }
    for (int i = entries; i < draws; i++) list[i] = 0.0f, logits[i] = -FLT_MAX;
    for (int i = 0; i < draws && !(sum <= FLT_MAX); i++) logits[i] = NAN;
}

#ifdef __cplusplus
}
#endif
#endif
