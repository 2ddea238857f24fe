/* Exact play for games that can be solved: the oracle for what was learnt, and a perfect opponent.
 *
 * A solver owns its memory (tables, a transposition table), which fills as it is used, so later questions are faster.
 * It is not thread-safe; make one per thread. Answers are exact and do not depend on earlier questions.
 */
#ifndef CM_ENV_SOLVER_H
#define CM_ENV_SOLVER_H

#include "core/arena.h"
#include "core/stop.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_solver cm_solver;

enum { CM_SOLVER_ILLEGAL = -2 }; /* the value of an action that may not be played */

/* What a row of the registry offers; NULL in cm_env_def where there is no solver. */
typedef struct cm_solver_def {
    const char *about;                         /* one line: method and cost                                 */
    bool (*fits)(const cm_env_params *params); /* whether games of these options can be solved; NULL: all   */
    size_t bytes;                              /* zeroed memory that it works well with                     */
    size_t least_bytes;                        /* it can do with so little; 0: it takes `bytes`, always     */
    bool is_slow;                              /* positions early in a game take minutes                    */
    void (*prepare)(const cm_env_params *params, const cm_arena *memory); /* once; NULL: nothing to do */
    /* value[A] of a position that has not ended. One that is slow ends soon after `stop` was asked, with values that
     * are worth nothing and all that it remembers still true. */
    void (*solve)(const cm_env_params *params, const cm_arena *memory, const void *rules, const cm_stop *stop,
                  int8_t *value);
    /* plies[A] as cm_solver_plies; NULL: only values are known */
    void (*plies)(const cm_env_params *params, const cm_arena *memory, const void *rules, uint8_t *plies);
} cm_solver_def;

extern const cm_solver_def cm_solver_tictactoe, cm_solver_connect4, cm_solver_hex;

/* CM_OK if there is an exact solver of the game in its size, else CM_ERR_INPUT, which names the games that have one. */
cm_status cm_solver_check(const cm_env *env) CM_MUST_USE;

/* Errors: those of cm_solver_check; CM_ERR_MEMORY. The caller owns the solver. */
cm_status cm_solver_create(const cm_env *env, cm_solver **out) CM_MUST_USE;

/* The same with a table of `bytes`, rounded down to a power of two; smaller is slower and answers the same. What has no
 * table to choose takes what it needs. Errors also: CM_ERR_INPUT if it cannot do with so little. */
cm_status cm_solver_create_sized(const cm_env *env, size_t bytes, cm_solver **out) CM_MUST_USE;
void cm_solver_destroy(cm_solver *solver); /* NULL is allowed */

/* value[A]: the result for the player to move if he plays the action and both sides play perfectly afterwards: 1 win, 0
 * draw, -1 loss, CM_SOLVER_ILLEGAL. The largest is the value of the position. Errors: CM_ERR_STATE after the end;
 * CM_ERR_INTERRUPTED within a second after `stop` was asked (NULL: never asked); the solver may be asked again. */
cm_status cm_solver_solve(cm_solver *solver, const void *state, const cm_stop *stop, int8_t *value) CM_MUST_USE;

/* plies[A]: moves until the end of the game if the action is played, itself included; the winner hurries and the
 * loser resists; 0 for actions that may not be played. Errors: CM_ERR_STATE after the end; CM_ERR_ABSENT where the
 * solver knows values alone, as those of Connect4 and Hex do. */
cm_status cm_solver_plies(cm_solver *solver, const void *state, uint8_t *plies) CM_MUST_USE;

/* Of the values [A] of a position: its own, which is the best of them; and whether a move may lose something, that is
 * whether two legal actions differ. */
int cm_solver_best(const int8_t *value, int actions);
bool cm_solver_is_choice(const int8_t *value, int actions);

#ifdef __cplusplus
}
#endif
#endif
