/* Where a run stands, in state.json of its checkpoints: a row per number, by which it is written, read and bounded. */
#ifndef CM_RUN_COUNTERS_H
#define CM_RUN_COUNTERS_H

#include "run/learner.h"
#include "run/metrics.h"
#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_run_state {
    int64_t iteration;
    int64_t fresh_steps;                   /* acted but not yet learnt from (overlap) */
    int64_t extra_updates;                 /* after the last step: of the rounds begun, at most what is asked for */
    int64_t learnt_episodes;               /* finished episodes that learning has counted */
    int64_t evaluations;                   /* made so far */
    int64_t next_evaluation;               /* env steps at which the next one is due */
    int64_t evaluated_updates;             /* at the last one, 0: none */
    int64_t evaluated_iteration;           /* after which the last one was made, -1: none */
    int64_t saved_episodes, saved_updates; /* at the last checkpoint */
    bool goal_reached;                     /* and confirmed */
    double best_return;                    /* highest mean of an evaluation, -HUGE_VAL: none */
    double credit;                         /* of the learner: the part of an update that is due, 0 .. 1 */
    double seconds;                        /* of earlier sessions */
    double time[CM_TIMES];                 /* seconds since the last row of metrics, as they are known */
    int64_t metrics_bytes;
    bool warned, warned_rewards; /* of clipped targets and rewards */
    bool is_pending; /* the last iteration lacks its evaluation, which was interrupted, and its row of metrics */
    bool is_within;  /* the next iteration was broken off within its round of learning */
} cm_run_state;

typedef struct cm_run_counters {
    int64_t ranks;                        /* that have written the checkpoint */
    int64_t updates, env_steps, episodes; /* episodes: finished ones */
    bool is_best;                         /* the checkpoint is the best evaluated one */
    cm_run_state state;
    cm_loss_scaling scaling; /* scale 0: none */
    cm_metrics row;          /* of the iteration, if state.is_pending */
    cm_learning_round round; /* if state.is_within */
    double temperature;      /* of its acting; read, -1: there is none */
} cm_run_counters;

void cm_run_counters_put(const cm_run_counters *counters, cm_json_writer *json);

/* Reads them; older checkpoints lack some. Errors: CM_ERR_INPUT names the key that is missing, of another type, out of
 * its range, or larger than one that it cannot exceed. */
cm_status cm_run_counters_read(const cm_json *root, cm_run_counters *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
