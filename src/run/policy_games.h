/* Positions of games that a network plays by its policy alone, each with the actions that follow it: what a network is
 * measured on (run/quantise.h). */
#ifndef CM_RUN_POLICY_GAMES_H
#define CM_RUN_POLICY_GAMES_H

#include "env/env.h"
#include "network/rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Batches of `rows` positions. A position whose game ends before the last of its actions has actions at random after
 * it, and so have codes of chance. */
typedef struct cm_policy_games {
    int rows, batches;
    int observation, steps, codes; /* floats of an observation; actions of a position; C, or 0 */
    float *observations;           /* [batches, rows, O]; owned, like all below */
    int32_t *actions;              /* [batches, steps, rows] */
    int32_t *code;                 /* [batches, steps, rows] */
} cm_policy_games;

/* Plays until there are about `positions` >= 1 of them, and fewer where they would take over 64 MiB: by the softmax of
 * the policy and one move in ten at random, from `seed` on. Errors: those of the environment and of `use`;
 * CM_ERR_MEMORY. cm_policy_games_free also after one. */
cm_status cm_policy_games_play(const cm_network_use *use, const cm_env *env, int positions, uint64_t seed,
                               cm_policy_games *out) CM_MUST_USE;
void cm_policy_games_free(cm_policy_games *games);

/* Gives a rollout of as many rows the positions of a batch. */
void cm_policy_games_fill(const cm_policy_games *games, int batch, cm_rollout *rollout);

#ifdef __cplusplus
}
#endif
#endif
