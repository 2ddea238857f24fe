/* Plain Monte Carlo tree search as an opponent: UCT on the true rules with uniformly random rollouts, no network.
 *
 * A rollout descends by UCB1 while every legal action of the node has been tried: to the child with the highest mean +
 * c sqrt(ln N / n), c = sqrt(2). Results are in [0, 1]: win 1, draw 1/2, loss 0 for the player to choose. It then
 * expands one untried action, drawn uniformly, plays uniform moves to the end of the game, and adds the result to the
 * nodes on its path. The action with most rollouts is played; among equals the one with the better mean, then the
 * lowest number. Every move starts from an empty tree. Source: Auer, Cesa-Bianchi, Fischer 2002; Kocsis, Szepesvari
 * 2006.
 */
#ifndef CM_ARENA_UCT_H
#define CM_ARENA_UCT_H

#include "arena/player.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_UCT_MOST_ROLLOUTS = 10000000 };

/* A player with `rollouts` (1 .. CM_UCT_MOST_ROLLOUTS) per move; a tree per worker. Errors: CM_ERR_INPUT if the game
 * is not one of two players, or for a number out of range. */
cm_status cm_player_uct(const cm_env *env, const cm_match_shape *shape, int rollouts, cm_player **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
