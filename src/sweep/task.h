/* A piece of a sweep's work: one run of one trial, from where it is to the end of a rung. What it has reached is a file
 * next to the run, which is there whole or not at all; who finds none does the piece, again or for the first time, to
 * the same result. */
#ifndef CM_SWEEP_TASK_H
#define CM_SWEEP_TASK_H

#include "core/stop.h"
#include "run/configuration.h"
#include "run/metrics.h"
#include "sweep/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SWEEP_ERROR = 256 };

/* What a run has reached at a rung: the mean return of the first evaluation at or after its end; at the last rung that
 * of the report (result.json), of the best weights that were evaluated on the way. */
typedef struct cm_sweep_result {
    double score; /* NAN: the run has failed */
    int64_t env_steps;
    double seconds;             /* that the run has taken until then, all its sessions together */
    char error[CM_SWEEP_ERROR]; /* why it has failed; "" */
} cm_sweep_result;

typedef struct cm_sweep_task {
    const char *folder; /* of the sweep */
    const cm_sweep_plan *plan;
    int rung, trial;
    int64_t seed;        /* of the run */
    const char *program; /* how the user calls it */
    uint64_t space;      /* bytes of memory that the run may plan for; 0: all that there are */
    cm_stop *stop;       /* asked by the user; and by the task itself where the rung ends, so it serves one */
    void (*tell)(void *context, const struct cm_sweep_task *task, const cm_metrics *row); /* of an iteration */
    void *context;
} cm_sweep_task;

/* Trains, with the claim on the run held, and writes the result. A configuration that is refused and numbers that are
 * not finite are results, too: the run has failed. Errors: CM_ERR_INTERRUPTED if the user has asked to stop, the run is
 * saved; all else that can go wrong with a run, such as a full disk, and then there is no result. */
cm_status cm_sweep_task_run(const cm_sweep_task *task) CM_MUST_USE;

/* *found: the result is there. Errors: CM_ERR_IO, CM_ERR_INPUT for a damaged file, with what to do about it. */
cm_status cm_sweep_result_read(const char *folder, int rung, int trial, int64_t seed, bool *found,
                               cm_sweep_result *out) CM_MUST_USE;

/* Member "score" of a result or a line of the ledger, null: NAN. Errors: CM_ERR_INPUT for what is neither. */
cm_status cm_sweep_score_read(const cm_json *object, double *out) CM_MUST_USE;

/* The configuration of a trial: base.json with its values; `sweeps` also with what all runs of a sweep have: their
 * evaluations where rungs end, and no end at the goal. Finished. The caller destroys *config. Errors: CM_ERR_INPUT. */
cm_status cm_sweep_configure(const char *folder, const cm_sweep_plan *plan, int trial, bool sweeps,
                             cm_configuration *configuration, cm_config **config) CM_MUST_USE;

/* Whether base.json can be trained here: what is wrong with all trials on this machine, such as an environment that is
 * not installed or not trusted, is no result of theirs. Errors: those of cm_session_open. */
cm_status cm_sweep_check_base(const char *folder) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
