/* Finished games of Go as SGF (env/sgf.h). */
#ifndef CM_ARENA_GAMES_SGF_H
#define CM_ARENA_GAMES_SGF_H

#include "arena/games.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a path ends with .sgf. */
bool cm_games_is_sgf(const char *path);

/* Writes the games as a collection; players are called `ours` and `theirs`. The file appears as a whole. Errors:
 * CM_ERR_INPUT if `env` is not Go; CM_ERR_IO; CM_ERR_STATE if moves are not kept; CM_ERR_MEMORY. */
cm_status cm_games_save_sgf(const cm_games *games, const cm_env *env, const char *ours, const char *theirs,
                            const char *path) CM_MUST_USE;

/* The result of a list of actions of Go from its start, as SGF has it: a lead by area, whether the game has ended or
 * not. `state` is a block that is written. Errors: those of cm_env_step. */
cm_status cm_games_sgf_result(const cm_env *env, const int32_t *moves, int count, void *state,
                              char out[16]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
