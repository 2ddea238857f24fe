/* Scores a player on a file of solved positions (env/solved.h): which of its moves keep the exact value? */
#ifndef CM_ARENA_SOLVED_POSITIONS_H
#define CM_ARENA_SOLVED_POSITIONS_H

#include "arena/move_scores.h"
#include "arena/player.h"
#include "env/solved.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One move per position. */
typedef struct cm_solved_score {
    cm_move_scores scores;
    cm_value_keeping source[CM_SOLVED_SOURCES];
} cm_solved_score;

/* Asks `player`, made for `shape`, for its move in every position (one or more). A player that draws numbers draws
 * those of seed 0 and the position's place in the file, so the pool does not change the result. `tally` (NULL: not) is
 * added to on the way. `stop` (NULL: never) asked: ends with CM_ERR_INTERRUPTED, and *out is of the positions that were
 * answered. Errors: CM_ERR_MEMORY; those of the player. */
cm_status cm_solved_positions_test(const cm_solved *solved, const cm_env *env, cm_player *player,
                                   const cm_match_shape *shape, cm_pool *pool, cm_tally *tally, const cm_stop *stop,
                                   cm_solved_score *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
