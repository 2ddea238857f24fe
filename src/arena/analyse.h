/* Analysis: the agent's answers for positions, by greedy searches of many positions at once, as in evaluation.
 *
 * The caller puts positions into the analyser's states, runs it, and reads an answer per position. An answer depends on
 * its position alone: not on the other positions, on threads, or on the size of the analyser.
 */
#ifndef CM_ARENA_ANALYSE_H
#define CM_ARENA_ANALYSE_H

#include "agent/agent.h"
#include "agent/variation.h"
#include "arena/time_limit.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_NO_ACTION = -1 };

/* Of one position; values are seen by the player to move. After the end of a game all arrays are 0. Arrays are [A],
 * owned by the analyser and valid until its next run. */
typedef struct cm_analysis {
    int to_play;           /* 0 or 1 */
    const uint8_t *legal;  /* 1 where the action may be played */
    int drawn;             /* how many actions the search drew to choose from; 0: it chose from all that are legal */
    const float *prior;    /* the network's policy over the legal actions, without noise; sums to 1. Where actions are
                              drawn: their shares of the draws, 0 for those that were not */
    const int32_t *visits; /* simulations through each action; sum to N, or to less where time was limited */
    const float *q;        /* reward + discount * value of each action, 0 where not visited */
    float value;           /* mean of the returns of the search; 0 after the end, when none is to come */
    int32_t action;        /* what the agent plays, without noise; CM_NO_ACTION after the end, and if it is not known */
} cm_analysis;

/* Whether the search could choose the action. */
static inline bool cm_analysis_has(const cm_analysis *analysis, int action) {
    return analysis->legal[action] && (analysis->drawn == 0 || analysis->prior[action] > 0.0f);
}

typedef struct cm_analyser cm_analyser;

/* For positions of `env`, with the simulations of evaluation: `positions` at a time, or as many as 64 per thread if
 * that is less, and fewer still where searches are so long that one planner would pass 256 MiB. Takes all
 * memory. Agent, environment and pool are borrowed; the caller owns it. */
cm_status cm_analyser_create(cm_agent *agent, const cm_env *env, cm_pool *pool, int positions,
                             cm_analyser **out) CM_MUST_USE;
void cm_analyser_destroy(cm_analyser *analyser); /* NULL is allowed */

int cm_analyser_capacity(const cm_analyser *analyser); /* positions of one run, at least 1 */

/* State block of position i in [0, capacity), [spec.state_size], to be filled by the caller; run leaves it alone. */
void *cm_analyser_state(cm_analyser *analyser, int i);

/* From now on, until the next call: once `stop` (borrowed; NULL, as at first: never) is asked a run ends soon. */
void cm_analyser_heed(cm_analyser *analyser, const cm_stop *stop);

/* From now on, until the next call: a run takes so many seconds at most (arena/time_limit.h), and what is there then is
 * its answer; 0, as at first: it has its N simulations. */
void cm_analyser_limit(cm_analyser *analyser, double seconds);

/* From now on, until the next call: so many simulations, 1 .. N, where no time is limited; 0, as at first: N. */
void cm_analyser_simulations(cm_analyser *analyser, int simulations);

/* Analyses positions 0 .. count-1. Errors: those of the search. CM_ERR_INTERRUPTED: it was asked to end, and what is
 * there of each position is of fewer than N simulations, or of none, as after the end of a game. */
cm_status cm_analyser_run(cm_analyser *analyser, int count) CM_MUST_USE;

/* The answer for position i of the last run. */
cm_analysis cm_analyser_get(const cm_analyser *analyser, int i);

/* The line of play that the last run thinks best for position i after `action` (agent/variation.h): move[most], most >=
 * 1, and *count moves, 0 where the action has no visits. Where actions are drawn it is the action alone. Errors: those
 * of cm_planner_trees. */
cm_status cm_analyser_line(cm_analyser *analyser, int i, int32_t action, int most, cm_variation_move *move,
                           int *count) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
