/* Exhaustive play: a player that never varies against every reply sequence, from both sides.
 *
 * Each line begins at the start position and ends with the game; at the player's turns it follows the player's one
 * move, at the other's it branches into every legal one. So a player that loses no line cannot be beaten. Lines are
 * played breadth first, many positions per turn of the player. */
#ifndef CM_ARENA_EXHAUSTIVE_H
#define CM_ARENA_EXHAUSTIVE_H

#include "arena/games.h"
#include "arena/player.h"
#include "arena/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_EXHAUSTIVE_MOST_LINES = 10000 }; /* unfinished at once; TicTacToe has at most 945 from one side */

/* The shape that the player has to be made for. */
cm_match_shape cm_exhaustive_shape(void);

/* Plays all lines with `player` (whose answers depend on the position alone), first those in which it moves first.
 * `tally` counts the lines that have ended and the player's moves; NULL: not counted. `stop` asked: ends
 * before the player's next turn or within this one, with CM_ERR_INTERRUPTED, and *out has the lines that have ended;
 * NULL: no. *out: a line per game, moves kept; free with cm_games_free. Errors: CM_ERR_INPUT if the game is too large
 * (names the bound) or has not two players; CM_ERR_MEMORY; those of the player. */
cm_status cm_exhaustive_play(const cm_env *env, cm_player *player, cm_tally *tally, const cm_stop *stop,
                             cm_games *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
