/* When a run saves, and what it says of it. On the way a checkpoint is begun and the run goes on while a thread
 * finishes it (run/checkpoint.h); the last one of a run, those of several ranks, and one after a failure are waited
 * for. */
#include <math.h>
#include <stdio.h>

#include "core/busy.h"
#include "core/clock.h"
#include "core/crash.h"
#include "core/log.h"
#include "run/run_internal.h"

/* Nothing is written next to a folder that was moved or removed meanwhile. */
cm_status cm_run_keep_folder(const cm_run *run) {
    return cm_run_leads(run) ? cm_run_directory_keeps(&run->directory) : CM_OK;
}

cm_status cm_run_advise_of_disk(const cm_run *run, cm_status status) {
    char message[1024];
    if (status != CM_ERR_IO || run->is_passing) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    CM_TRY(cm_run_keep_folder(run));
    const bool has_one = cm_checkpoint_find(run->store, CM_CHECKPOINT_LATEST) >= 0;
    return cm_fail(status, "%s; when that is mended %s with --resume %s%s", message, has_one ? "go on" : "begin again",
                   run->directory.path, has_one ? "; earlier checkpoints are intact" : ", which has no checkpoint yet");
}

void cm_run_say_of_crashes(const cm_run *run) {
    char advice[PATH_MAX + 128] = "";
    const int64_t update = cm_checkpoint_find(run->store, CM_CHECKPOINT_LATEST);
    if (update >= 0 && !run->is_passing)
        snprintf(advice, sizeof advice, "update %lld is saved: go on from it with --resume %s", (long long)update,
                 run->directory.path);
    cm_crash_advise(advice);
}

/* After a line that checkpoints are left out, one tells of the first that is not. */
static void report_space(cm_run *run) {
    if (run->is_put_off && cm_run_leads(run))
        cm_log(CM_INFO, "%s: update %lld found space and is saved", run->directory.path,
               (long long)run->state.saved_updates);
    run->is_put_off = false;
}

static void note_saved(cm_run *run) {
    run->state.saved_episodes = run->counts.episodes;
    run->state.saved_updates = cm_trainer_updates(cm_run_trainer(run));
}

/* What follows a checkpoint that is complete. */
static cm_status follow_save(cm_run *run) {
    run->pace.saving = fmax(run->pace.saving, cm_checkpoint_seconds(run->store));
    report_space(run);
    cm_run_say_of_crashes(run);
    return cm_run_advise_of_disk(run, cm_run_point_best(run, run->state.saved_updates));
}

/* What the run would have saved is left out: the best weights are not those that no file has any more. */
static void leave_out(cm_run *run) {
    run->state.best_return = run->best_kept;
    run->best_due = false;
    run->is_put_off = true;
    if (cm_run_leads(run))
        cm_log(CM_WARNING, "%s; this checkpoint is left out, the run goes on, and the next one is tried again",
               cm_error_message());
}

/* The error of a checkpoint that a thread was to finish: a disk that refuses it does not end the run. */
static cm_status fail_save(cm_run *run, cm_status status) {
    char message[1024];
    if (status != CM_ERR_IO) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    CM_TRY(cm_run_keep_folder(run));
    (void)cm_fail(status, "%s", message);
    leave_out(run);
    return CM_OK;
}

cm_status cm_run_finish_save(cm_run *run) {
    if (!run->is_saving) return CM_OK;
    cm_run_spend(run, CM_TIME_OTHER);
    cm_busy_with("saving", CM_BUSY_AWAITED);
    run->is_saving = false;
    run->best_due = run->is_saving_best;
    const cm_status status = cm_checkpoint_wait(run->store);
    cm_run_spend(run, CM_TIME_SAVING);
    cm_busy_with("ending", CM_BUSY_ASKED);
    return status == CM_OK ? follow_save(run) : fail_save(run, status);
}

cm_status cm_run_look_at_save(cm_run *run) {
    return cm_checkpoint_is_ready(run->store) ? cm_run_finish_save(run) : CM_OK;
}

cm_status cm_run_save_now(cm_run *run) {
    CM_TRY(cm_run_finish_save(run));
    cm_run_spend(run, CM_TIME_OTHER);
    cm_busy_with("saving", CM_BUSY_AWAITED);
    CM_TRY(cm_run_keep_folder(run));
    note_saved(run);
    CM_TRY(cm_run_advise_of_disk(run, cm_run_save(run)));
    cm_run_spend(run, CM_TIME_SAVING);
    cm_busy_with("ending", CM_BUSY_ASKED);
    return follow_save(run);
}

/* The part of a save that the run waits for. */
static cm_status begin_save(cm_run *run) {
    cm_run_spend(run, CM_TIME_OTHER);
    cm_busy_with("saving", CM_BUSY_AWAITED);
    CM_TRY(cm_run_keep_folder(run));
    note_saved(run);
    CM_TRY(cm_run_advise_of_disk(run, cm_run_begin_save(run)));
    cm_run_spend(run, CM_TIME_SAVING);
    cm_busy_with("ending", CM_BUSY_ASKED);
    run->is_saving = true;
    run->is_saving_best = run->best_due;
    run->best_due = false;
    return CM_OK;
}

static bool is_due(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const cm_run_state *s = &run->state;
    int64_t episodes = run->counts.episodes, updates = cm_trainer_updates(cm_run_trainer(run));
    return run->best_due ||
           (o->checkpoint_interval > 0 &&
            episodes / o->checkpoint_interval > s->saved_episodes / o->checkpoint_interval) ||
           (o->checkpoint_updates > 0 && updates / o->checkpoint_updates > s->saved_updates / o->checkpoint_updates);
}

/* Of several ranks each may fail in a way of its own, and all have to know of it before they go on. A failure may be
 * that of an old file, which is found and written again only by a save that copies while the memory waits for it. */
static bool is_to_be_awaited(const cm_run *run) { return run->session->comm->size > 1 || run->is_put_off; }

/* On the way a disk without space does not end the run; at its end nothing but the write says that there is none. */
cm_status cm_run_save_due(cm_run *run) {
    if (!is_due(run)) return CM_OK;
    CM_TRY(cm_run_finish_save(run));
    const cm_status status = cm_run_check_space(run);
    if (status == CM_OK) return is_to_be_awaited(run) ? cm_run_save_now(run) : begin_save(run);
    if (status != CM_ERR_IO) return status;
    CM_TRY(cm_run_keep_folder(run));
    note_saved(run);
    leave_out(run);
    return CM_OK;
}
