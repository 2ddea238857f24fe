/* Files of solved positions: the exact value of every legal move, to score players with (arena/solved_positions.h).
 *
 * JSON lines. The first is {"game": NAME, "positions": N, "random": TEXT, "games": TEXT}: the origin of the positions
 * of each source. N lines follow, {"moves": [...], "source": "random" or "games", "values": [...]}: the actions from
 * the start, and per action the value of cm_solver_solve, null for one that may not be played.
 */
#ifndef CM_ENV_SOLVED_H
#define CM_ENV_SOLVED_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_solved_source {
    CM_SOLVED_RANDOM, /* games of uniformly random moves */
    CM_SOLVED_GAMES   /* games of players that try to win */
} cm_solved_source;

enum { CM_SOLVED_SOURCES = 2, CM_SOLVED_ABOUT = 200, CM_SOLVED_MOST = 1000000 };

/* N positions of one game, A actions, P its most plies. Owns its arrays. */
typedef struct cm_solved {
    int count, capacity;                            /* N, and how many there is space for                */
    int actions, stride;                            /* A, P                                             */
    int16_t *moves;                                 /* [N, P] from the start                            */
    int32_t *ply;                                   /* [N] how many of them                             */
    uint8_t *source;                                /* [N] cm_solved_source                             */
    int8_t *values;                                 /* [N, A] 1, 0, -1 or CM_SOLVER_ILLEGAL             */
    char about[CM_SOLVED_SOURCES][CM_SOLVED_ABOUT]; /* how the positions of a source came about, a line */
} cm_solved;

extern const char *const cm_solved_source_names[CM_SOLVED_SOURCES];

/* Space for `capacity` (1 .. CM_SOLVED_MOST) positions of a game whose length is bounded. Errors: CM_ERR_INPUT,
 * CM_ERR_MEMORY; *out is then empty. */
cm_status cm_solved_create(const cm_env *env, int capacity, cm_solved *out) CM_MUST_USE;
void cm_solved_free(cm_solved *solved);

static inline const int8_t *cm_solved_values(const cm_solved *solved, int i) {
    return solved->values + (size_t)i * (size_t)solved->actions;
}

/* Plays position i on `state`, from a reset. Errors: those of cm_env_step, for moves that were never checked. */
cm_status cm_solved_play(const cm_solved *solved, const cm_env *env, int i, void *state) CM_MUST_USE;

/* Errors: CM_ERR_IO; CM_ERR_INPUT "PATH:LINE: what" if the game is another than `env`, a move is illegal, a game is
 * over, values do not fit the legal actions, or the number of positions is wrong. Whether values are right is not
 * checked. The caller frees *out. */
cm_status cm_solved_read(const char *path, const cm_env *env, cm_solved *out) CM_MUST_USE;
cm_status cm_solved_save(const cm_solved *solved, const cm_env *env, const char *path) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
