/* Collects positions of games into a file of solved positions (env/solved.h). */
#ifndef CM_ARENA_COLLECT_H
#define CM_ARENA_COLLECT_H

#include "arena/games.h"
#include "env/solved.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_collect_config {
    const cm_env *env; /* borrowed */
    cm_solved_source source;
    int first_ply, last_ply; /* from 0, both included         */
    int per_ply;             /* positions of each             */
    uint64_t seed;           /* of the order of the games     */
} cm_collect_config;

/* Adds `per_ply` positions of every ply to `solved`, whose space suffices. All are choices (cm_solver_is_choice), none
 * is equal to another one of `solved`, turned or mirrored, and each game gives as few as will do. Errors: CM_ERR_INPUT
 * names the ply that the games have too few of; CM_ERR_INPUT if nothing solves the game; CM_ERR_MEMORY. */
cm_status cm_collect(const cm_collect_config *config, const cm_games *games, cm_solved *solved) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
