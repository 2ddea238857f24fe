/* Exact play as an opponent, for the games that env/solver.h solves. */
#ifndef CM_ARENA_PERFECT_H
#define CM_ARENA_PERFECT_H

#include "arena/exact.h"
#include "arena/player.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A player that never gives away value: it draws uniformly among the actions whose exact value is the position's. In a
 * lost position it draws among those that resist longest, where the solver counts plies (TicTacToe); in Connect4 and
 * Hex, whose solvers know values alone, any move is as good then, and a player without a slip wins. A worker takes
 * its solver when it is first asked; `bytes` counts those of all. Errors: CM_ERR_INPUT names the games that have a
 * solver; CM_ERR_MEMORY. */
cm_status cm_player_perfect(const cm_env *env, const cm_match_shape *shape, cm_player **out) CM_MUST_USE;

/* The values behind a player made by cm_player_perfect, owned by it; for others to use between turns. */
cm_exact *cm_player_exact(cm_player *perfect);

#ifdef __cplusplus
}
#endif
#endif
