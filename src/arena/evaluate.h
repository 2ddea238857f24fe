/* Greedy evaluation over many episodes at once.
 *
 * Episode i starts from cm_env_reset with seed S + i and depends on nothing else. So the list of returns is the same
 * for any number of threads and concurrent episodes. In a game of two players the agent meets an opponent that varies
 * its play (arena/opponent.h). It moves first in even episodes, second in odd ones; returns are from its view. Other
 * pairings: arena/match.h.
 */
#ifndef CM_ARENA_EVALUATE_H
#define CM_ARENA_EVALUATE_H

#include "arena/match.h"
#include "arena/opponent.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_evaluator cm_evaluator;

/* Processes that play one evaluation together: each calls cm_evaluator_run with the same numbers, plays its part of the
 * episodes and knows the results of all. */
typedef struct cm_evaluation_ranks {
    int part, parts; /* number of this process, and how many there are */
    /* all[parts, bytes] <- what each has at mine[bytes], by its number */
    cm_status (*gather)(void *context, const void *mine, size_t bytes, void *all);
    /* `status` of this process; returned on all, with its message, is the first by their numbers that is not CM_OK */
    cm_status (*agree)(void *context, cm_status status);
    void *context; /* borrowed */
} cm_evaluation_ranks;

/* All borrowed, for as long as the evaluator lives; `opponent` for the call alone. */
typedef struct cm_evaluator_config {
    cm_agent *agent; /* NULL: moves are drawn at random */
    const cm_env *env;
    cm_pool *pool;
    int episodes;                /* most of one evaluation                                                            */
    int rows;                    /* most episodes that a worker plays at once, so that some end early; 0: the fastest */
    const cm_opponent *opponent; /* whom the agent meets in a game of two, never a CM_OPPONENT_AGENT; NULL: random    */
    const cm_stop *stop;         /* asked: an evaluation ends early; NULL: never                                      */
    cm_tally *tally;             /* is added to as episodes go on; NULL: not                                     */
    const cm_evaluation_ranks *ranks; /* for the call alone; NULL: this process plays all episodes                    */
    bool keeps_first;                 /* the actions of episode 0                                                     */
} cm_evaluator_config;

/* Takes all memory. The caller owns it. Errors: CM_ERR_INPUT, CM_ERR_MEMORY; those of the opponent's player. */
cm_status cm_evaluator_create(const cm_evaluator_config *config, cm_evaluator **out) CM_MUST_USE;
void cm_evaluator_destroy(cm_evaluator *evaluator); /* NULL is allowed */

/* Plays episodes 0 .. episodes-1 (at most as many as it was made for). An environment without a limit is cut after
 * 100,000 steps. returns[episodes] may be NULL. Errors: those of search and environment, of which ranks all have the
 * same one; CM_ERR_INTERRUPTED once `stop` was asked (of a rank: when the others have played theirs), and then *out and
 * `returns` are of those that count of the episodes that have ended: out->episodes of them, which may be 0. */
cm_status cm_evaluator_run(cm_evaluator *evaluator, int episodes, uint64_t seed, double *returns,
                           cm_evaluation *out) CM_MUST_USE;

/* The actions of episode 0 of the last run, if that was not broken off: *count of them, the evaluator's own. NULL: they
 * are not kept, or another process played them. */
const int32_t *cm_evaluator_first(const cm_evaluator *evaluator, int *count);

size_t cm_evaluator_memory(const cm_evaluator *evaluator); /* NULL: 0 */

#ifdef __cplusplus
}
#endif
#endif
