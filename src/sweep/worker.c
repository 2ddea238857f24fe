#include "sweep/worker.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/file.h"
#include "sweep/claim.h"

enum { PAUSE = 200000 }; /* microseconds between looks at what others do */

typedef struct job {
    const cm_sweep_worker *worker;
    cm_sweep_ledger ledger;
    cm_sweep_progress progress;
    int64_t done_before, steps; /* steps of earlier pieces; those of this one so far */
} job;

/* ---- how far it is ---- */

static int64_t length_of(const cm_sweep_plan *plan, int rung) {
    return plan->steps[rung] - (rung > 0 ? plan->steps[rung - 1] : 0);
}

static bool is_done(const job *j, int rung, int trial, int64_t seed) {
    cm_sweep_result result;
    bool found = false;
    return cm_sweep_result_read(j->worker->folder, rung, trial, seed, &found, &result) == CM_OK && found;
}

/* Those that have no line yet may have results. */
static int count_open(const job *j, int rung) {
    const cm_sweep_plan *plan = j->worker->plan;
    int count, done = 0;
    const cm_sweep_place *place = cm_sweep_schedule_open(j->ledger.schedule, &count);
    for (int i = 0; i < count; i++)
        for (int s = 0; place[i].rung == rung && s < plan->seeds; s++)
            done += is_done(j, rung, place[i].trial, plan->seed + s);
    return done;
}

static void count_rung(job *j, int rung) {
    const cm_sweep_plan *plan = j->worker->plan;
    const cm_sweep_schedule *schedule = j->ledger.schedule;
    const int done = cm_sweep_schedule_count(schedule, rung, false) * plan->seeds + count_open(j, rung);
    const bool is_over = cm_sweep_ledger_is_whole(&j->ledger);
    int trials = cm_sweep_schedule_count(schedule, rung, true);
    if (!is_over && trials < cm_sweep_plan_width(plan, rung)) trials = cm_sweep_plan_width(plan, rung);
    j->progress.runs += trials * plan->seeds;
    j->progress.runs_done += done;
    j->progress.steps_left += (trials * plan->seeds - done) * length_of(plan, rung);
}

static void measure(job *j) {
    const cm_sweep_plan *plan = j->worker->plan;
    const cm_sweep_line *order[CM_SWEEP_TRIALS];
    const int ranked = cm_sweep_ledger_rank(plan, &j->ledger, order);
    cm_sweep_progress *p = &j->progress;
    p->best = ranked > 0 ? order[0]->score : (double)NAN;
    p->best_trial = ranked > 0 ? order[0]->trial : -1;
    p->runs = p->runs_done = 0, p->steps_left = 0;
    for (int r = 0; r < plan->rungs; r++) count_rung(j, r);
}

static void tell_step(void *context, const cm_sweep_task *task, const cm_metrics *row) {
    job *j = context;
    const cm_sweep_worker *w = j->worker;
    if (j->steps == 0) j->steps = row->env_steps; /* where the run has gone on from, but for an iteration */
    j->progress.steps_made = j->done_before + row->env_steps - j->steps;
    if (w->on_step) w->on_step(w->context, &j->progress, task, row);
}

/* ---- pieces ---- */

static cm_status do_piece(job *j, const cm_sweep_place *place, int64_t seed) {
    const cm_sweep_worker *w = j->worker;
    const cm_sweep_task task = {.folder = w->folder,
                                .plan = w->plan,
                                .rung = place->rung,
                                .trial = place->trial,
                                .seed = seed,
                                .program = w->program,
                                .space = w->space,
                                .stop = w->stop,
                                .tell = tell_step,
                                .context = j};
    *w->stop = (cm_stop){.asked = 0};
    if (cm_stop_asked(w->user)) return cm_fail(CM_ERR_INTERRUPTED, "asked to stop"); /* before or after that */
    j->done_before = j->progress.steps_made, j->steps = 0;
    const cm_status status = cm_sweep_task_run(&task);
    if (status == CM_OK || status == CM_ERR_INTERRUPTED) return status;
    return cm_fail_in(status, "trial %d, seed %lld", place->trial, (long long)seed);
}

/* *made: it was neither done nor claimed by another. */
static cm_status try_piece(job *j, const cm_sweep_place *place, int64_t seed, bool *made) {
    char lock[PATH_MAX];
    int claim;
    if (is_done(j, place->rung, place->trial, seed)) return CM_OK;
    CM_TRY(cm_sweep_run_path(j->worker->folder, place->trial, seed, ".lock", lock));
    CM_TRY(cm_directory_make_parent(lock));
    CM_TRY(cm_sweep_claim(lock, false, &claim));
    *made = claim >= 0 && !is_done(j, place->rung, place->trial, seed); /* it may have been, meanwhile */
    const cm_status status = *made ? do_piece(j, place, seed) : CM_OK;
    cm_sweep_release(claim);
    return status;
}

static cm_status make_one(job *j, bool *made) {
    const cm_sweep_plan *plan = j->worker->plan;
    int count;
    const cm_sweep_place *place = cm_sweep_schedule_open(j->ledger.schedule, &count);
    *made = false;
    for (int i = 0; i < count && !*made; i++)
        for (int s = 0; s < plan->seeds && !*made; s++) CM_TRY(try_piece(j, &place[i], plan->seed + s, made));
    return CM_OK;
}

/* ---- the work ---- */

/* The ledger as it is. *is_over: it is whole. */
static cm_status look(job *j, bool is_first, bool *is_over) {
    const cm_sweep_worker *w = j->worker;
    int fresh;
    cm_sweep_ledger_free(&j->ledger);
    CM_TRY(cm_sweep_ledger_extend(w->folder, w->plan, is_first, &j->ledger, &fresh));
    *is_over = cm_sweep_ledger_is_whole(&j->ledger);
    measure(j);
    for (int i = fresh; w->on_line && i < j->ledger.count; i++)
        w->on_line(w->context, &j->progress, &j->ledger.line[i]);
    if (!*is_over || !isnan(j->progress.best)) return CM_OK;
    return cm_fail(CM_ERR_STATE, "all trials have failed; trial %d: %s", j->ledger.line[0].trial,
                   j->ledger.line[0].error);
}

static cm_status work(job *j) {
    bool is_over, made;
    for (bool is_first = true;; is_first = false) {
        CM_TRY(look(j, is_first, &is_over));
        if (is_over) return CM_OK;
        if (is_first) CM_TRY(cm_sweep_check_base(j->worker->folder));
        if (cm_stop_asked(j->worker->user)) return cm_fail(CM_ERR_INTERRUPTED, "asked to stop");
        CM_TRY(make_one(j, &made));
        if (!made) usleep(PAUSE); /* the others are at what is open */
    }
}

cm_status cm_sweep_work(const cm_sweep_worker *worker) {
    job *j;
    CM_TRY(cm_alloc(&j, 1, sizeof *j, "a sweep"));
    j->worker = worker;
    const cm_status status = work(j);
    cm_sweep_ledger_free(&j->ledger);
    free(j);
    return status;
}
