/* A worker of a sweep: it takes one piece of work after another until none is left. Any number of them, in processes of
 * their own and on machines that share the folder, work on one sweep; they know of each other by claims and results
 * alone. What they do is the schedule's, so which trials go on depends on no one's speed. */
#ifndef CM_SWEEP_WORKER_H
#define CM_SWEEP_WORKER_H

#include "sweep/ledger.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far the sweep is, for its users. */
typedef struct cm_sweep_progress {
    int runs, runs_done;            /* pieces of all rungs that are known of; whoever goes on early makes them more */
    int64_t steps_left, steps_made; /* environment steps of pieces that are not done; that this worker has made */
    double best;                    /* score of the best trial so far; NAN: none */
    int best_trial;
} cm_sweep_progress;

typedef struct cm_sweep_worker {
    const char *folder;
    const cm_sweep_plan *plan;
    const char *program;
    uint64_t space;      /* bytes of memory for a run; 0: all that there are */
    const cm_stop *user; /* asked: a run that goes on is saved, and the worker ends */
    cm_stop *stop;       /* of the piece that goes on: whoever asks `user` asks this one as well */

    void (*on_step)(void *context, const cm_sweep_progress *progress, const cm_sweep_task *task, const cm_metrics *row);
    void (*on_line)(void *context, const cm_sweep_progress *progress, const cm_sweep_line *line);
    void *context; /* of both; either is told in this thread and may be NULL */
} cm_sweep_worker;

/* Works until the ledger is whole. Errors: CM_ERR_INTERRUPTED if the user has asked to stop; CM_ERR_STATE if all trials
 * of a rung have failed; those of cm_sweep_check_base and cm_sweep_task_run. */
cm_status cm_sweep_work(const cm_sweep_worker *worker) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
