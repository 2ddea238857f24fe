/* The settings of a sweep, and its folder:
 *
 *     sweep.json                       the settings (cm_sweep_plan)
 *     base.json                        the configuration that all trials have in common
 *     ledger.jsonl                     what trials have reached (sweep/ledger.h)
 *     best.json                        the configuration of the best trial so far, for cumind train --config
 *     trials/007/seed-42/              a run, by the seed of its own
 *     trials/007/seed-42.lock          held (flock) by the process that trains it
 *     trials/007/seed-42.rung-0.json   what it has reached there (sweep/task.h)
 *
 * Successive halving, in which the better third of the trials goes on at every rung (sweep/schedule.h): rung r of R
 * ends after 3^(r + 1 - R) of the environment steps of a whole run. A trial pauses there and goes on later from its
 * checkpoint, to the bits of an unbroken run: schedules are those of the whole length from the beginning. */
#ifndef CM_SWEEP_PLAN_H
#define CM_SWEEP_PLAN_H

#include <linux/limits.h>

#include "sweep/space.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SWEEP_RUNGS = 8, CM_SWEEP_TRIALS = 9999, CM_SWEEP_SEEDS = 64, CM_SWEEP_ETA = 3 };

typedef struct cm_sweep_plan {
    cm_sweep_space space;
    int trials, seeds, rungs;      /* at least 1 each; runs of a trial, which differ in their seeds */
    int workers;                   /* that the order of trials is for (sweep/schedule.h); 0: rungs are synchronous */
    int64_t seed;                  /* of the draws, and of the first run of a trial; that of the next one is + 1 */
    int64_t steps[CM_SWEEP_RUNGS]; /* environment steps at which rung r ends, strictly increasing */
    int64_t interval;              /* environment steps between evaluations: steps[0 .. rungs - 2] are multiples */
} cm_sweep_plan;

/* Fills in steps and interval for runs of so many environment steps that were to be evaluated every `every` (0: not at
 * all). Errors: CM_ERR_INPUT for more rungs than trials or steps allow. */
cm_status cm_sweep_plan_divide(cm_sweep_plan *plan, int64_t env_steps, int64_t every) CM_MUST_USE;

/* As many as halving makes of so many trials, but no more than three: then rung 0 is a ninth of the whole length. */
int cm_sweep_plan_usual_rungs(int trials);

/* Trials that rung r has at least, unless more than the others have failed; if it is synchronous no others. */
int cm_sweep_plan_width(const cm_sweep_plan *plan, int rung);

/* Errors: CM_ERR_INPUT "FOLDER: holds no sweep ...", also for a file that is damaged. */
cm_status cm_sweep_plan_save(const cm_sweep_plan *plan, const char *folder) CM_MUST_USE;
cm_status cm_sweep_plan_load(const char *folder, cm_sweep_plan *out) CM_MUST_USE;

/* The folder of a run; with `suffix` (".lock") a file next to it. Errors: CM_ERR_INPUT for a path that is too long. */
cm_status cm_sweep_run_path(const char *folder, int trial, int64_t seed, const char *suffix,
                            char out[PATH_MAX]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
