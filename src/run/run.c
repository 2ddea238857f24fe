#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/busy.h"
#include "core/clock.h"
#include "core/crash.h"
#include "core/log.h"
#include "core/trace.h"
#include "run/lost.h"
#include "run/ranks.h"
#include "run/run_internal.h"

/* ---- how far it is ---- */

/* The share of a run that learns on after its acting, of which `share` is done: by the updates of both. */
static double with_extra_updates(const cm_run *run, double share) {
    const cm_configuration *c = cm_run_options_of(run);
    const double last = (double)c->run.extra_updates, whole = fmax((double)cm_run_learner_plan(c), last);
    const double made = fmin((double)run->state.extra_updates, last);
    return (fmin(share, 1.0) * (whole - last) + made) / whole;
}

/* How much of the run is done, 0 .. 1, by what is counted. */
static double share_counted(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const cm_actor_counts counts = run->counts;
    double share = 0.0;
    if (o->env_steps > 0) share = fmax(share, (double)counts.env_steps / (double)o->env_steps);
    if (o->num_episodes > 0) share = fmax(share, (double)counts.episodes / (double)o->num_episodes);
    if (o->extra_updates > 0) share = with_extra_updates(run, share);
    if (o->updates > 0) share = fmax(share, (double)cm_trainer_updates(cm_run_trainer(run)) / (double)o->updates);
    return fmin(share, 1.0);
}

/* The same; schedules depend on it, so time counts only where nothing else ends the run. */
static double share_done(const cm_run *run) {
    return cm_run_learner_is_timed(cm_run_options_of(run)) ? run->time_share : share_counted(run);
}

/* No more acting: the limits on steps and episodes are met. */
static bool acting_done(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    const cm_actor_counts counts = run->counts;
    return (o->env_steps > 0 && counts.env_steps >= o->env_steps) ||
           (o->num_episodes > 0 && counts.episodes >= o->num_episodes);
}

/* All that was acted has been learnt from: only the extra updates are left. */
static bool acts_no_more(const cm_run *run) {
    return cm_run_collects(run) && acting_done(run) && run->state.fresh_steps == 0;
}

static bool is_at_goal(const cm_run *run) {
    return cm_run_options_of(run)->run.stop_at_goal && run->state.goal_reached;
}

static bool run_done(const cm_run *run) {
    const cm_run_options *o = &cm_run_options_of(run)->run;
    if (run->time_over) return true; /* within an iteration, too: it can be gone on with */
    if (run->state.is_within) return false;
    if (is_at_goal(run)) return true;
    if (o->updates > 0 && cm_trainer_updates(cm_run_trainer(run)) >= o->updates) return true;
    return acting_done(run) && run->state.fresh_steps == 0 && run->state.extra_updates >= o->extra_updates;
}

/* ---- one iteration ---- */

/* Reads no counters of learning: that may be going on. */
static cm_status act(cm_run *run, double share) {
    cm_run_keep_actor(run); /* what an environment that fails leaves */
    run->row.temperature = cm_agent_temperature(&cm_run_options_of(run)->agent, share);
    const double start = cm_clock_seconds();
    const cm_status status =
        cm_actor_run(run->actor, run->row.temperature, cm_agent_random_moves(&cm_run_options_of(run)->agent, share));
    run->tasks.acting = cm_clock_seconds() - start;
    if (status == CM_OK) run->pace.acting += run->tasks.acting;
    return status;
}

static cm_status act_now(void *context) {
    const cm_run *run = context;
    const int64_t share = cm_session_share(run->session, cm_run_options_of(run)->env.num_envs);
    cm_busy_of(CM_BUSY_STEPS, share * cm_run_options_of(run)->agent.steps_per_iteration);
    return act(context, share_done(run));
}

/* After acting: where an environment has failed, or was broken off, on any rank, all go back to before it. */
static cm_status check_acted(cm_run *run, cm_status status) {
    cm_replay *replay = cm_run_learner_replay(run->learner);
    bool is_broken = status == CM_ERR_INTERRUPTED, failed = status != CM_OK && cm_actor_env_failed(run->actor);
    if (status != CM_OK && !failed && !is_broken) return status;
    CM_TRY(cm_ranks_any(run->session->comm, &failed));
    CM_TRY(cm_ranks_any(run->session->comm, &is_broken));
    if (!failed && !is_broken) return CM_OK;
    run->env_failed = failed, run->is_undone = true;
    cm_replay_undo_append(replay);
    return cm_ranks_agree(run->session->comm, status);
}

/* An evaluation by an environment that fails is pending, like one that is broken off. The ranks have one status. */
static cm_status check_played(cm_run *run, cm_status status) {
    run->env_failed = status == CM_ERR_INPUT || status == CM_ERR_IO || status == CM_ERR_NOT_FINITE;
    return status;
}

/* What has been acted counts from now on, and can be learnt from. */
static cm_status commit(cm_run *run) {
    const cm_actor_counts before = run->counts;
    CM_TRY(cm_replay_commit(cm_run_learner_replay(run->learner)));
    CM_TRY(cm_run_count(run));
    run->state.fresh_steps += run->counts.env_steps - before.env_steps;
    return run->counts.episodes > before.episodes ? cm_run_write_episodes(run) : CM_OK;
}

/* The updates that are left of the round. Reads no counters of acting while that may be going on. */
static cm_status learn(cm_run *run) {
    cm_learning learnt;
    CM_TRY(cm_run_learner_run(run->learner, &run->round, run->dump, &learnt));
    cm_metrics *row = &run->row;
    row->total_loss = learnt.total_loss, row->entropy = learnt.entropy;
    memcpy(row->loss, learnt.loss, sizeof row->loss);
    row->gradient_norm = learnt.gradient_norm;
    row->learning_rate = learnt.learning_rate, row->clipped_targets = learnt.clipped;
    row->clipped_rewards = learnt.clipped_rewards;
    run->value_reach = learnt.value_reach, run->reward_reach = learnt.reward_reach;
    row->policy_drift = learnt.policy_drift;
    row->loss_scale = learnt.loss_scale, row->skipped_steps = learnt.skipped_steps;
    return CM_OK;
}

/* Of those due no more than the run may make. */
static void keep_limit(const cm_run *run, int64_t *due) {
    const int64_t most = cm_run_options_of(run)->run.updates, made = cm_trainer_updates(cm_run_trainer(run));
    if (most > 0 && *due > most - made) *due = most - made;
}

/* Those for what has been acted; extra ones are counted from there on, as a run may be made longer. */
static cm_status count_acted(cm_run *run, int64_t *due) {
    const int64_t episodes = run->counts.episodes;
    CM_TRY(cm_run_learner_due(run->learner, run->state.fresh_steps, run->state.learnt_episodes, episodes, due));
    run->state.fresh_steps = 0;
    run->state.learnt_episodes = episodes;
    run->state.extra_updates = 0;
    return CM_OK;
}

static cm_status count_extra(cm_run *run, int64_t *due) {
    const int64_t all = cm_run_options_of(run)->run.extra_updates;
    CM_TRY(cm_run_learner_extra(run->learner, all - run->state.extra_updates, due));
    keep_limit(run, due);
    run->state.extra_updates = *due > 0 ? run->state.extra_updates + *due : all; /* nothing to learn from: no more */
    return CM_OK;
}

static cm_status count_due(cm_run *run, int64_t *due) {
    *due = cm_run_learner_round(cm_run_options_of(run));
    if (cm_run_collects(run)) CM_TRY(acts_no_more(run) ? count_extra(run, due) : count_acted(run, due));
    keep_limit(run, due);
    return CM_OK;
}

/* Updates for what has been acted since the last time: from here on until its end an iteration can be broken off. */
static cm_status begin_round(cm_run *run) {
    int64_t due;
    CM_TRY(count_due(run, &due));
    run->round =
        (cm_learning_round){.due = due, .first = cm_trainer_updates(cm_run_trainer(run)), .share = share_done(run)};
    run->state.is_within = true;
    return CM_OK;
}

static cm_status end_round(cm_run *run) {
    run->state.is_within = false;
    CM_TRY(cm_run_hand_over_weights(run));
    return cm_run_measure_acting(run);
}

/* Acting alone. */
static cm_status act_apart(cm_run *run) {
    cm_run_spend(run, CM_TIME_OTHER);
    const cm_status status = cm_run_play(run, "acting", act_now);
    cm_run_spend(run, CM_TIME_ACTING);
    return check_acted(run, status);
}

static cm_status iterate_in_turn(cm_run *run) {
    if (!run->state.is_within) {
        if (cm_run_collects(run) && !acts_no_more(run)) CM_TRY(act_apart(run));
        CM_TRY(commit(run));
        CM_TRY(begin_round(run));
    }
    cm_run_spend(run, CM_TIME_OTHER);
    cm_busy_with("learning", CM_BUSY_ASKED);
    const cm_status status = learn(run);
    const double seconds = cm_run_spend_learning(run);
    CM_TRY(status);
    run->pace.learning += seconds;
    CM_TRY(cm_replay_commit(cm_run_learner_replay(run->learner)));
    return end_round(run);
}

/* Learning that is interrupted is no failure of its task: it is told apart from what becomes of acting. */
static cm_status run_overlap_task(void *context, int task, int worker) {
    (void)worker;
    cm_run *run = context;
    if (task == 1) return run->tasks.acts ? act(run, run->round.share) : CM_OK;
    const double start = cm_clock_seconds();
    run->tasks.learnt = learn(run);
    run->tasks.learning = cm_clock_seconds() - start;
    __atomic_store_n(&run->tasks.has_learnt, 1, __ATOMIC_RELEASE);
    return run->tasks.learnt == CM_ERR_INTERRUPTED ? CM_OK : run->tasks.learnt;
}

static cm_status run_overlap_tasks(void *context) {
    cm_run *run = context;
    CM_TRACE_BEGIN("overlap");
    const cm_status status = cm_pool_run(run->overlap_pool, 2, run_overlap_task, run);
    CM_TRACE_END();
    return status;
}

/* Learns from what was acted last while the next steps are acted with the parameters from before. What was acted counts
 * when all is learnt. */
static cm_status iterate_overlapped(cm_run *run) {
    cm_run_overlap *tasks = &run->tasks;
    if (!run->state.is_within) {
        if (run->state.fresh_steps == 0 && !acts_no_more(run)) {
            CM_TRY(act_apart(run));
            CM_TRY(commit(run));
        }
        CM_TRY(begin_round(run));
    }
    tasks->acts = !acting_done(run);
    tasks->acting = 0.0;
    cm_run_spend(run, CM_TIME_OTHER);
    __atomic_store_n(&tasks->has_learnt, 0, __ATOMIC_RELEASE);
    cm_status status = cm_run_play(run, "acting and learning", run_overlap_tasks);
    if (__atomic_load_n(&tasks->has_learnt, __ATOMIC_ACQUIRE) == 0)
        return cm_fail(CM_ERR_STATE, "learning did not end, and nothing is saved of it");
    if (status == CM_OK) cm_run_spend_both(run);
    if (tasks->learnt != CM_OK && tasks->learnt != CM_ERR_INTERRUPTED) return status;
    if (status == CM_OK && tasks->learnt != CM_OK) status = cm_fail(tasks->learnt, "learning was broken off");
    CM_TRY(tasks->acts ? check_acted(run, status) : status);
    CM_TRY(commit(run));
    return end_round(run);
}

/* ---- what follows an iteration ---- */

/* Where the run stands. */
static void note_counts(cm_run *run) {
    const cm_actor_counts counts = run->counts;
    cm_metrics *row = &run->row;
    cm_replay_counts replay;
    cm_replay_count(cm_run_learner_replay(run->learner), &replay);
    row->iteration = run->state.iteration;
    row->env_steps = counts.env_steps;
    row->episodes = counts.episodes;
    row->updates = cm_trainer_updates(cm_run_trainer(run));
    row->seconds = cm_run_seconds(run);
    row->mean_return = counts.mean_return;
    row->mean_length = counts.mean_length;
    row->replay_fill = (double)replay.rows / (double)replay.ring_rows;
}

static void measure(cm_run *run, const cm_actor_counts *before, int64_t updates_before, double seconds) {
    const cm_actor_counts counts = run->counts;
    cm_metrics *row = &run->row;
    note_counts(run);
    if (cm_run_collects(run) && run->state.extra_updates == 0) {
        row->env_steps_per_second = (double)(counts.env_steps - before->env_steps) / seconds;
        row->simulations_per_second = (double)(counts.simulations - before->simulations) / seconds;
    }
    row->updates_per_second = (double)(row->updates - updates_before) / seconds;
    run->pace.seconds += seconds;
    run->pace.steps += counts.env_steps - before->env_steps;
}

/* A limit on time alone says nothing of how long the work takes. */
static void advise_of_pace(cm_run *run) {
    const cm_trainer_options *o = &cm_run_options_of(run)->trainer;
    char advice[256];
    const double ratio = o->updates_per_iteration > 0 || !cm_run_collects(run) ? 0.0 : o->replay_ratio;
    cm_pace_advise(&run->pace, cm_run_seconds(run) / share_counted(run), ratio, advice, sizeof advice);
    if (advice[0]) cm_progress_say(run->progress, "pace      %s", advice);
}

/* Until when what comes next may take: evaluations as long as the run has time; acting and learning leave some for what
 * the run ends with. */
static void plan_time(cm_run *run, bool evaluates) {
    const double limit = cm_run_options_of(run)->run.time_limit;
    const int episodes = cm_run_episodes_to_come(run), most_steps = run->session->env.spec.max_plies;
    if (run->pace.evaluated == 0 && isfinite(run->counts.mean_length)) run->pace.length = run->counts.mean_length;
    const double kept = evaluates ? 0.0 : cm_pace_reserve(&run->pace, episodes, most_steps, limit);
    if (limit > 0.0) run->halt.until = run->began + limit - kept;
}

/* By the plan so far. */
static cm_status note_time(cm_run *run) {
    const bool was_over = run->time_over;
    CM_TRY(cm_run_ask_time(run));
    plan_time(run, run->time_over);
    if (!was_over) cm_run_say_time_over(run);
    return CM_OK;
}

/* Before and after all that takes long. */
static cm_status ask_time(cm_run *run) {
    plan_time(run, run->time_over);
    return note_time(run);
}

/* Whether it is the time alone that has broken off what gave `status`: then the run is done. A plan made now may leave
 * more time than the one that did. */
static cm_status excuse(cm_run *run, cm_status status) {
    bool is_asked;
    if (status != CM_ERR_INTERRUPTED) return status;
    CM_TRY(cm_run_ask_stop(run, &is_asked));
    if (is_asked) return cm_fail(CM_ERR_INTERRUPTED, "asked to stop");
    CM_TRY(note_time(run));
    return run->time_over ? CM_OK : cm_fail(CM_ERR_INTERRUPTED, "asked to stop");
}

/* *is_due: the run ends here, and its weights are to be evaluated as those on the way were. */
static cm_status ask_last(cm_run *run, bool *is_due) {
    *is_due = false;
    return run_done(run) ? cm_run_ask_last(run, is_due) : CM_OK;
}

/* A checkpoint that is being finished comes first: if it fails, its weights are not those to be better than. */
static cm_status evaluate(cm_run *run) {
    CM_TRY(cm_run_finish_save(run));
    plan_time(run, true);
    cm_run_spend(run, CM_TIME_OTHER);
    const cm_status status = cm_run_evaluate(run);
    cm_run_spend(run, CM_TIME_EVALUATION);
    CM_TRY(check_played(run, status));
    return ask_time(run);
}

/* A line that cannot be written ends no run that may still be saved. */
static void write_line(cm_run *run) {
    const cm_status status = cm_metrics_write(&run->metrics, &run->row);
    cm_run_note_lost(&run->lines_lost, 1, status, &run->metrics.lines, "lines of metrics");
    cm_run_write_row(run);
}

/* What an iteration was: `share` of the run is done. */
static void tell(cm_run *run) {
    const double limit = cm_run_options_of(run)->run.time_limit,
                 late = limit > 0.0 ? (cm_clock_seconds() - run->began) / limit : 0.0,
                 share = fmax(share_done(run), late);
    cm_progress_show(run->progress, &run->row, share);
    if (run->follower.tell) run->follower.tell(run->follower.context, &run->row, fmin(share, 1.0));
}

/* The evaluation, if it is due, and all that waits for it: metrics, progress, a checkpoint. Errors: CM_ERR_INTERRUPTED
 * if it was asked to stop; then all of it is pending. */
static cm_status follow_up(cm_run *run) {
    bool is_last, is_due;
    CM_TRY(ask_last(run, &is_last));
    CM_TRY(cm_run_ask_due(run, &is_due));
    run->state.is_pending = is_last || is_due;
    if (run->state.is_pending) CM_TRY(evaluate(run));
    run->state.is_pending = false;
    bool is_written = cm_metrics_is_due(run->state.iteration, cm_run_options_of(run)->run.metrics_interval) ||
                      isfinite(run->row.eval_return);
    CM_TRY(cm_run_keep_folder(run));
    if (is_written) cm_run_tell_time(run);
    if (is_written) CM_TRY(cm_run_tell_gpu(run));
    if (is_written && cm_run_leads(run)) write_line(run);
    CM_TRY(cm_run_write_histograms(run));
    tell(run);
    advise_of_pace(run);
    return cm_run_save_due(run);
}

static cm_status iterate(cm_run *run) {
    const cm_actor_counts before = run->counts;
    int64_t updates = cm_trainer_updates(cm_run_trainer(run));
    double start = cm_clock_seconds();
    if (!run->state.is_within) run->row = cm_metrics_empty();
    CM_TRY(run->overlap ? iterate_overlapped(run) : iterate_in_turn(run));
    run->state.iteration++;
    measure(run, &before, updates, cm_clock_seconds() - start);
    cm_run_warn_of_clipping(run);
    CM_TRY(cm_run_look_at_save(run));
    CM_TRY(ask_time(run));
    return follow_up(run);
}

/* ---- the run ---- */

static cm_status fill_result(cm_run *run, cm_run_end end, cm_run_result *out) {
    const cm_actor_counts counts = run->counts;
    *out = (cm_run_result){
        .end = end,
        .directory = run->directory.path,
        .iterations = run->state.iteration,
        .env_steps = counts.env_steps,
        .updates = cm_trainer_updates(cm_run_trainer(run)),
        .episodes = counts.episodes,
        .seconds = cm_run_seconds(run),
    };
    cm_array_table table = {0};
    CM_TRY(cm_trainer_fetch(cm_run_trainer(run), CM_TRAINER_WEIGHTS));
    CM_TRY(cm_array_table_add(&table, run->session->network, "",
                              cm_trainer_parameters(cm_run_trainer(run), CM_WEIGHTS_ONLINE), NULL));
    cm_status status = cm_array_hash(table.arrays, table.count, out->hash);
    cm_array_table_free(&table);
    return status;
}

/* Saves where the run stands: it can be gone on with. */
static cm_status stop_here(cm_run *run, cm_run_result *out) {
    CM_TRY(fill_result(run, CM_RUN_STOPPED, out));
    CM_TRY(cm_run_save_now(run));
    CM_TRY(cm_run_say_device_peak(run));
    cm_run_say_end(run, out);
    return CM_OK;
}

/* An environment has failed: what was learnt is saved. */
static cm_status keep_work(cm_run *run, cm_status status) {
    char message[640]; /* so that the advice has space */
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (cm_run_save_now(run) != CM_OK) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s", cm_error_message());
        return cm_fail(status, "%s; and nothing was saved: %s", message, reason);
    }
    return cm_fail(status, "%s; update %lld is saved: go on from it with --resume %s", message,
                   (long long)run->state.saved_updates, run->directory.path);
}

/* What a finished run ends with. Errors: CM_ERR_INTERRUPTED if the report was asked to stop. */
static cm_status finish(cm_run *run, cm_run_result *out) {
    plan_time(run, true);
    CM_TRY(fill_result(run, is_at_goal(run) ? CM_RUN_GOAL : CM_RUN_LIMIT, out));
    CM_TRY(cm_run_save_now(run));
    CM_TRY(check_played(run, cm_run_evaluate_final(run, out)));
    if (cm_run_leads(run)) CM_TRY(cm_run_advise_of_disk(run, cm_run_write_result(run, out)));
    cm_run_end_records(run);
    CM_TRY(cm_run_say_device_peak(run));
    cm_run_say_end(run, out);
    return CM_OK;
}

/* What an earlier process has left undone: a pending evaluation; or the last one, if this process ends the run without
 * an iteration, as its limits are met already: that has a row of its own. */
static cm_status catch_up(cm_run *run) {
    bool is_last;
    CM_TRY(ask_last(run, &is_last));
    if (!run->state.is_pending && !is_last) return CM_OK;
    if (!run->state.is_pending) {
        run->row = cm_metrics_empty();
        note_counts(run);
    }
    return follow_up(run);
}

/* The same of a run that the time has ended within an iteration, whose row waits for the rest of it. */
static cm_status evaluate_last(cm_run *run) {
    const cm_metrics row = run->row;
    const bool has_learnt = cm_trainer_updates(cm_run_trainer(run)) > 0;
    if (!run->time_over || run->state.is_pending || !has_learnt) return CM_OK;
    const cm_status status = excuse(run, catch_up(run));
    if (run->state.is_within) run->row = row, run->state.is_pending = false;
    return status;
}

/* Iterations until the run has finished. Errors: CM_ERR_INTERRUPTED if it was asked to stop. */
static cm_status go_on(cm_run *run) {
    bool is_asked;
    CM_TRY(ask_time(run));
    CM_TRY(excuse(run, catch_up(run)));
    while (!run_done(run)) {
        CM_TRY(excuse(run, iterate(run)));
        CM_TRY(cm_run_ask_stop(run, &is_asked));
        if (is_asked && !run_done(run)) return cm_fail(CM_ERR_INTERRUPTED, "asked to stop");
    }
    return evaluate_last(run);
}

/* Whether the report of a run that is done is there: as rank 0 reads it, which alone has the folder. */
static cm_status find_result(cm_run *run, cm_run_result *out, bool *found) {
    *found = false;
    *out = (cm_run_result){.directory = run->directory.path};
    if (run->state.iteration == 0 || !run_done(run)) return CM_OK;
    if (cm_run_leads(run)) CM_TRY(cm_run_read_result(run, out, found));
    if (*found) {
        cm_progress_say(run->progress, "this run has finished already");
        cm_run_say_end(run, out);
    }
    return cm_ranks_any(run->session->comm, found);
}

/* After an error, too, what was begun to be saved becomes a checkpoint; the first error is the one that is told. */
static cm_status end_saving(cm_run *run, cm_status status) {
    char message[1024];
    snprintf(message, sizeof message, "%s", cm_error_message());
    const cm_status saved = cm_run_finish_save(run);
    if (status == CM_OK) return saved;
    if (saved != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    return cm_fail(status, "%s", message);
}

cm_status cm_run_train(cm_run *run, cm_run_result *out) {
    bool found;
    CM_TRY(find_result(run, out, &found));
    if (found) return CM_OK;
    if (cm_run_leads(run)) CM_TRY(cm_run_drop_result(run));
    cm_run_say_of_crashes(run);
    cm_status status = go_on(run);
    if (status == CM_OK) status = finish(run, out);
    if (status == CM_ERR_INTERRUPTED) status = stop_here(run, out);
    if (status != CM_OK && run->env_failed && !run->is_passing) status = keep_work(run, status);
    status = end_saving(run, status);
    cm_crash_advise("");
    return status;
}
