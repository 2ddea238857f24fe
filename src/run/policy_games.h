/* Positions of games that a network plays by its policy alone (run/positions.h). */
#ifndef CM_RUN_POLICY_GAMES_H
#define CM_RUN_POLICY_GAMES_H

#include "env/env.h"
#include "run/positions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plays until there are about `positions` >= 1 of them, by the softmax of the policy and one move in ten at random,
 * from `seed` on. Errors: those of the environment and of `use`; CM_ERR_MEMORY. cm_positions_free also after one. */
cm_status cm_policy_games_play(const cm_network_use *use, const cm_env *env, int positions, uint64_t seed,
                               cm_positions *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
