/* Exact values for many workers at once: a solver (env/solver.h) per worker, and a memo of values that they share. So
 * the first positions of a game, the most expensive ones, are solved once for all games. */
#ifndef CM_ARENA_EXACT_H
#define CM_ARENA_EXACT_H

#include "env/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_EXACT_WORKERS = 1024 }; /* as many as a pool has workers at most */

typedef struct cm_exact cm_exact;

/* Opens the first solver; those of other workers are opened when they are asked. `env` is borrowed, the caller owns
 * *out. Errors: CM_ERR_INPUT names the games that have a solver; CM_ERR_MEMORY. */
cm_status cm_exact_create(const cm_env *env, cm_exact **out) CM_MUST_USE;
void cm_exact_destroy(cm_exact *exact);                    /* NULL is allowed */
size_t cm_exact_bytes(const cm_exact *exact, int workers); /* that it takes once so many have been asked */

/* The exact values of the actions of a position that has not ended. */
typedef struct cm_exact_values {
    int8_t value[CM_ENV_MAX_SEARCHED]; /* [A] 1, 0, -1 or CM_SOLVER_ILLEGAL, as cm_solver_solve says */
    int best;                          /* the largest, the value of the position                     */
    int legal, keeping;                /* legal actions, and those among them of value `best`        */
} cm_exact_values;

/* A worker in [0, CM_EXACT_WORKERS) is used by one thread at a time, workers run concurrently; answers depend on
 * neither. Errors: CM_ERR_STATE after the end, CM_ERR_MEMORY; CM_ERR_INTERRUPTED within a second after `stop` was asked
 * (NULL: never asked). */
cm_status cm_exact_solve(cm_exact *exact, int worker, const void *state, const cm_stop *stop,
                         cm_exact_values *out) CM_MUST_USE;

/* plies[A] until the end of the game, as cm_solver_plies says. */
cm_status cm_exact_plies(cm_exact *exact, int worker, const void *state, uint8_t *plies) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
