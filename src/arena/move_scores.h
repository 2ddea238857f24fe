/* Scores of moves in finished games by exact values: which moves keep the value of the position? */
#ifndef CM_ARENA_MOVE_SCORES_H
#define CM_ARENA_MOVE_SCORES_H

#include "arena/exact.h"
#include "arena/games.h"
#include "arena/tally.h"
#include "core/pool.h"
#include "core/stop.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PHASES = 3 }; /* thirds of the longest possible game: opening, middle, end */

/* Moves of one side. A choice is a position with at least two legal actions of which at least one loses value. */
typedef struct cm_value_keeping {
    int64_t moves, keeping;           /* moves, and those whose exact value is the position's */
    int64_t choices, keeping_choices; /* the same of the choices among them                   */
} cm_value_keeping;

typedef struct cm_move_scores {
    cm_value_keeping all;
    cm_value_keeping phase[CM_PHASES]; /* ply p (from 0) of games of at most P plies is in phase 3 p / P */
} cm_move_scores;

/* The phase of a ply. */
static inline int cm_phase_of(const cm_env *env, int ply) { return CM_PHASES * ply / env->spec.max_plies; }

/* The first ply of a phase; of phase CM_PHASES, one past the last. */
static inline int cm_phase_first_ply(const cm_env *env, int phase) {
    return (phase * env->spec.max_plies + CM_PHASES - 1) / CM_PHASES;
}

/* Counts one move. */
static inline void cm_value_keeping_count(cm_value_keeping *keeping, bool is_choice, bool is_keeping) {
    keeping->moves++;
    keeping->keeping += is_keeping;
    keeping->choices += is_choice;
    keeping->keeping_choices += is_choice && is_keeping;
}

/* Scores our moves in games whose moves were kept; those of openings belong to no side and are left out. The pool
 * shares the games, a worker of `exact` per worker, and does not change the result. `tally` (NULL: not) is added to
 * meanwhile. `stop` (NULL: never) asked: ends with CM_ERR_INTERRUPTED and no scores. Errors: CM_ERR_MEMORY;
 * CM_ERR_INPUT for moves that are not legal in `env`, whose values `exact` gives. */
cm_status cm_games_score_moves(const cm_games *games, const cm_env *env, cm_exact *exact, cm_pool *pool,
                               cm_tally *tally, const cm_stop *stop, cm_move_scores *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
