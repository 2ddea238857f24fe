/* Exact play as an opponent, for the games that env/solver.h solves. */
#ifndef CM_AGENT_PERFECT_H
#define CM_AGENT_PERFECT_H

#include "agent/player.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A player that never gives away value: it draws uniformly among the actions whose exact value is the position's. One
 * solver per lane. Errors: CM_ERR_ABSENT names the games that have a solver; CM_ERR_MEMORY. */
cm_status cm_player_perfect(const cm_env *env, const cm_match_shape *shape, cm_player **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
