/* What the wall time of a run goes to. One thread, that of the loop, goes from one to the next, so that they add
 * up to the time that has passed. */
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "run/run_internal.h"

double cm_run_spend(cm_run *run, cm_time_part part) {
    const double now = cm_clock_seconds(), seconds = now - run->spent;
    run->state.time[part] += seconds;
    run->spent = now;
    return seconds;
}

/* Of `seconds` of learning that were counted, as many as updates waited for searches; `share`: how much of it was. */
static void part_searches(cm_run *run, double seconds, double share) {
    const double searched = fmin(seconds, share * cm_run_learner_searched(run->learner));
    run->state.time[CM_TIME_LEARNING] -= searched;
    run->state.time[CM_TIME_REANALYSIS] += searched;
}

double cm_run_spend_learning(cm_run *run) {
    const double seconds = cm_run_spend(run, CM_TIME_LEARNING);
    part_searches(run, seconds, 1.0);
    return seconds;
}

void cm_run_spend_both(cm_run *run) {
    const cm_run_overlap *tasks = &run->tasks;
    const double both = fmin(tasks->acting, tasks->learning), acting = tasks->acting - both / 2.0;
    const double learning = cm_run_spend(run, CM_TIME_LEARNING) - acting;
    run->state.time[CM_TIME_LEARNING] -= acting;
    run->state.time[CM_TIME_ACTING] += acting;
    part_searches(run, learning, tasks->learning > 0.0 ? fmin(1.0, learning / tasks->learning) : 1.0);
}

void cm_run_tell_time(cm_run *run) {
    cm_run_spend(run, CM_TIME_OTHER);
    memcpy(run->row.time, run->state.time, sizeof run->row.time);
    memset(run->state.time, 0, sizeof run->state.time);
}

void cm_run_time_as(const cm_run *run, cm_time_part part, double time[CM_TIMES]) {
    memcpy(time, run->state.time, sizeof run->state.time);
    time[part] += cm_clock_seconds() - run->spent;
}
