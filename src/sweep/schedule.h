/* Which trial is trained to which rung, and when: successive halving as a function of the plan and of the scores in the
 * ledger's lines, in their order, and of nothing else.
 *
 * Asynchronous (ASHA, Li et al. 2020, arXiv 1810.05934, algorithm 2): a worker that is free takes the best trial that
 * is among the first third of the results of its rung and has not gone on, in the highest rung that has one; if there
 * is none, a trial that has not begun. When all trials have begun and none is trained, as many go on as a complete rung
 * would send (cm_sweep_plan_width), so failed trials leave no rung empty.
 *
 * The plan's workers are virtual: one takes exactly as long as its trial makes environment steps, and the line of a
 * trial stands where its virtual worker ends. So the order of lines, and who goes on, depend on no machine's speed, and
 * neither on how many work. Those who train take what is open: as many places as there are virtual workers.
 *
 * Synchronous (Jamieson and Talwalkar 2016; plan->workers 0): as many workers as trials, and none goes on before its
 * rung is complete.
 *
 * Equal scores: the lower number first, which is the trial that was begun earlier. */
#ifndef CM_SWEEP_SCHEDULE_H
#define CM_SWEEP_SCHEDULE_H

#include "sweep/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_sweep_place {
    int rung, trial;
    int64_t end; /* virtual time, in environment steps of one worker */
} cm_sweep_place;

typedef struct cm_sweep_schedule cm_sweep_schedule;

/* With no result. The plan must outlive it. Errors: CM_ERR_MEMORY. */
cm_status cm_sweep_schedule_create(const cm_sweep_plan *plan, cm_sweep_schedule **out) CM_MUST_USE;
void cm_sweep_schedule_destroy(cm_sweep_schedule *schedule); /* NULL is allowed */

/* What may be trained now, in the order in which it was begun; *count of them. Theirs until the next result. */
const cm_sweep_place *cm_sweep_schedule_open(const cm_sweep_schedule *schedule, int *count);

/* The one of them whose line comes next; NULL: none is open, all is done. */
const cm_sweep_place *cm_sweep_schedule_next(const cm_sweep_schedule *schedule);

/* Its score (NAN: failed). Opens what follows. */
void cm_sweep_schedule_take(cm_sweep_schedule *schedule, double score);

/* Trials of a rung that have a result; with `open` also those that are trained to it. */
int cm_sweep_schedule_count(const cm_sweep_schedule *schedule, int rung, bool open);

#ifdef __cplusplus
}
#endif
#endif
