#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/rng.h"
#include "run/ranks.h"
#include "run/run_internal.h"

/* ---- small facts ---- */

static const cm_configuration *options(const cm_run *run) { return &run->session->configuration; }
static cm_trainer *trainer_of(const cm_run *run) { return cm_run_learner_trainer(run->learner); }

double cm_run_seconds(const cm_run *run) { return run->state.seconds + cm_clock_seconds() - run->began; }

/* How much of the run is done, 0 .. 1, by what is counted; schedules depend on it, so time does not count. */
static double share_done(const cm_run *run) {
    const cm_run_options *o = &options(run)->run;
    const cm_actor_counts counts = run->counts;
    double share = 0.0;
    if (o->env_steps > 0) share = fmax(share, (double)counts.env_steps / (double)o->env_steps);
    if (o->updates > 0) share = fmax(share, (double)cm_trainer_updates(trainer_of(run)) / (double)o->updates);
    if (o->num_episodes > 0) share = fmax(share, (double)counts.episodes / (double)o->num_episodes);
    return fmin(share, 1.0);
}

/* No more acting: the limits on steps and episodes are met. */
static bool acting_done(const cm_run *run) {
    const cm_run_options *o = &options(run)->run;
    const cm_actor_counts counts = run->counts;
    return (o->env_steps > 0 && counts.env_steps >= o->env_steps) ||
           (o->num_episodes > 0 && counts.episodes >= o->num_episodes);
}

static bool run_done(const cm_run *run, cm_run_end *end) {
    const cm_run_options *o = &options(run)->run;
    *end = CM_RUN_GOAL;
    if (o->stop_at_goal && run->state.goal_reached) return true;
    *end = CM_RUN_LIMIT;
    if (o->updates > 0 && cm_trainer_updates(trainer_of(run)) >= o->updates) return true;
    if (run->time_over) return true;
    return acting_done(run) && run->state.fresh_steps == 0;
}

/* ---- one iteration ---- */

/* Reads no counters of learning: that may be going on. */
static cm_status act(cm_run *run, double share) {
    run->row.temperature = cm_agent_temperature(&options(run)->agent, share);
    return cm_actor_run(run->actor, run->row.temperature, cm_agent_random_moves(&options(run)->agent, share));
}

/* What has been acted counts from now on, and can be learnt from. */
static cm_status commit(cm_run *run) {
    int64_t before = run->counts.env_steps;
    CM_TRY(cm_replay_commit(cm_run_learner_replay(run->learner)));
    CM_TRY(cm_run_count(run));
    run->state.fresh_steps += run->counts.env_steps - before;
    return CM_OK;
}

/* Updates for what has been acted since the last time. Reads no counters of acting while that may be going on. */
static cm_status learn(cm_run *run, int64_t due, double share) {
    cm_learning learnt;
    CM_TRY(cm_run_learner_run(run->learner, due, share, run->dump, &learnt));
    cm_metrics *row = &run->row;
    row->total_loss = learnt.total_loss, row->value_loss = learnt.value_loss, row->policy_loss = learnt.policy_loss;
    row->reward_loss = learnt.reward_loss, row->consistency_loss = learnt.consistency_loss;
    row->afterstate_loss = learnt.afterstate_loss, row->code_loss = learnt.code_loss;
    row->commitment_loss = learnt.commitment_loss;
    row->entropy = learnt.entropy, row->gradient_norm = learnt.gradient_norm;
    row->learning_rate = learnt.learning_rate, row->clipped_targets = learnt.clipped;
    row->loss_scale = learnt.loss_scale, row->skipped_steps = learnt.skipped_steps;
    return CM_OK;
}

static cm_status take_due(cm_run *run, int64_t *due) {
    const cm_run_options *o = &options(run)->run;
    int64_t episodes = run->counts.episodes, made = cm_trainer_updates(trainer_of(run));
    CM_TRY(cm_run_learner_due(run->learner, run->state.fresh_steps, run->state.learnt_episodes, episodes, due));
    run->state.fresh_steps = 0;
    run->state.learnt_episodes = episodes;
    if (o->updates > 0 && *due > o->updates - made) *due = o->updates - made;
    return CM_OK;
}

static cm_status hand_over_weights(cm_run *run) {
    cm_weights which = options(run)->trainer.ema_acts ? CM_WEIGHTS_EMA : CM_WEIGHTS_ONLINE;
    CM_TRY(cm_trainer_fetch(trainer_of(run), CM_TRAINER_WEIGHTS));
    return cm_agent_set_weights(run->actor_agent, cm_trainer_parameters(trainer_of(run), which),
                                cm_trainer_state(trainer_of(run), which));
}

static cm_status iterate_in_turn(cm_run *run) {
    int64_t due;
    CM_TRY(act(run, share_done(run)));
    CM_TRY(commit(run));
    CM_TRY(take_due(run, &due));
    CM_TRY(learn(run, due, share_done(run)));
    CM_TRY(cm_replay_commit(cm_run_learner_replay(run->learner)));
    return hand_over_weights(run);
}

typedef struct duo {
    cm_run *run;
    int64_t due;
    double share;
    bool act;
} duo;

static cm_status run_half(void *context, int task, int worker) {
    (void)worker;
    duo *d = context;
    if (task == 0) return learn(d->run, d->due, d->share);
    return d->act ? act(d->run, d->share) : CM_OK;
}

/* Learns from what was acted last while the next steps are acted with the parameters from before. */
static cm_status iterate_overlapped(cm_run *run) {
    if (run->state.fresh_steps == 0) {
        CM_TRY(act(run, share_done(run)));
        CM_TRY(commit(run));
    }
    duo halves = {.run = run, .act = !acting_done(run)};
    CM_TRY(take_due(run, &halves.due));
    halves.share = share_done(run);
    CM_TRY(cm_pool_run(run->duo_pool, 2, run_half, &halves));
    CM_TRY(commit(run));
    return hand_over_weights(run);
}

/* ---- what follows an iteration ---- */

static void measure(cm_run *run, const cm_actor_counts *before, int64_t updates_before, double seconds) {
    const cm_actor_counts counts = run->counts;
    cm_metrics *row = &run->row;
    cm_replay_counts replay;
    cm_replay_count(cm_run_learner_replay(run->learner), &replay);
    row->iteration = run->state.iteration;
    row->env_steps = counts.env_steps;
    row->episodes = counts.episodes;
    row->updates = cm_trainer_updates(trainer_of(run));
    row->seconds = cm_run_seconds(run);
    row->env_steps_per_second = (double)(counts.env_steps - before->env_steps) / seconds;
    row->simulations_per_second = (double)(counts.simulations - before->simulations) / seconds;
    row->updates_per_second = (double)(row->updates - updates_before) / seconds;
    row->mean_return = counts.mean_return;
    row->mean_length = counts.mean_length;
    row->replay_fill = (double)replay.rows / (double)replay.ring_rows;
}

static void warn_of_clipping(cm_run *run) {
    if (run->state.warned || !(run->row.clipped_targets > 0.01)) return;
    run->state.warned = true;
    cm_log(CM_WARNING,
           "%.1f %% of the value targets lie outside the support: widen it, for example with --set "
           "value_support_max=%g --set value_support_min=%g",
           100.0 * run->row.clipped_targets, 2.0 * options(run)->network.value_support_max,
           2.0 * options(run)->network.value_support_min);
}

static bool checkpoint_due(const cm_run *run) {
    const cm_run_options *o = &options(run)->run;
    const cm_run_state *s = &run->state;
    int64_t episodes = run->counts.episodes, updates = cm_trainer_updates(trainer_of(run));
    return run->best_due ||
           (o->checkpoint_interval > 0 &&
            episodes / o->checkpoint_interval > s->saved_episodes / o->checkpoint_interval) ||
           (o->checkpoint_updates > 0 && updates / o->checkpoint_updates > s->saved_updates / o->checkpoint_updates);
}

static cm_status save(cm_run *run) {
    const bool is_best = run->best_due;
    run->state.saved_episodes = run->counts.episodes;
    run->state.saved_updates = cm_trainer_updates(trainer_of(run));
    run->best_due = false;
    CM_TRY(cm_run_save(run));
    if (!is_best || !cm_run_leads(run)) return CM_OK;
    return cm_checkpoint_point_best(run->store, run->state.saved_updates);
}

/* The evaluation, if it is due, and all that waits for it: metrics, progress, a checkpoint. Errors: CM_ERR_INTERRUPTED
 * if it was asked to stop; then all of it is pending. */
static cm_status follow_up(cm_run *run) {
    run->state.is_pending = cm_run_evaluation_due(run);
    if (run->state.is_pending) CM_TRY(cm_run_evaluate(run));
    run->state.is_pending = false;
    bool is_written = run->state.iteration % options(run)->run.metrics_interval == 0 || isfinite(run->row.eval_return);
    if (is_written && cm_run_leads(run)) {
        CM_TRY(cm_metrics_write(&run->metrics, &run->row));
    }
    double limit = options(run)->run.time_limit, late = limit > 0.0 ? (cm_clock_seconds() - run->began) / limit : 0.0;
    cm_progress_show(run->progress, &run->row, fmax(share_done(run), late));
    return checkpoint_due(run) ? save(run) : CM_OK;
}

static cm_status iterate(cm_run *run) {
    const cm_actor_counts before = run->counts;
    int64_t updates = cm_trainer_updates(trainer_of(run));
    double start = cm_clock_seconds();
    run->row = cm_metrics_empty();
    CM_TRY(run->overlap ? iterate_overlapped(run) : iterate_in_turn(run));
    run->state.iteration++;
    measure(run, &before, updates, cm_clock_seconds() - start);
    warn_of_clipping(run);
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
        .updates = cm_trainer_updates(trainer_of(run)),
        .episodes = counts.episodes,
        .seconds = cm_run_seconds(run),
    };
    cm_array_table table = {0};
    CM_TRY(cm_trainer_fetch(trainer_of(run), CM_TRAINER_WEIGHTS));
    CM_TRY(cm_array_table_add(&table, run->session->network, "",
                              cm_trainer_parameters(trainer_of(run), CM_WEIGHTS_ONLINE), NULL));
    cm_status status = cm_array_hash(table.arrays, table.count, out->hash);
    cm_array_table_free(&table);
    return status;
}

/* Saves where the run stands: it can be gone on with. */
static cm_status stop_here(cm_run *run, cm_run_result *out) {
    CM_TRY(fill_result(run, CM_RUN_STOPPED, out));
    CM_TRY(save(run));
    CM_TRY(cm_run_say_device_peak(run));
    cm_run_say_end(run, out);
    return CM_OK;
}

/* What a finished run ends with. Errors: CM_ERR_INTERRUPTED if an evaluation was asked to stop. */
static cm_status finish(cm_run *run, cm_run_end end, cm_run_result *out) {
    CM_TRY(cm_run_evaluate_last(run));
    CM_TRY(fill_result(run, end, out));
    CM_TRY(save(run));
    CM_TRY(cm_run_evaluate_final(run, out));
    if (cm_run_leads(run)) CM_TRY(cm_run_write_result(run, out));
    CM_TRY(cm_run_say_device_peak(run));
    cm_run_say_end(run, out);
    return CM_OK;
}

/* Iterations until the run has finished. Errors: CM_ERR_INTERRUPTED if it was asked to stop. */
static cm_status go_on(cm_run *run, cm_run_end *end) {
    bool is_asked;
    if (run->state.is_pending) CM_TRY(follow_up(run));
    CM_TRY(cm_run_ask_time(run, &run->time_over));
    while (!run_done(run, end)) {
        CM_TRY(iterate(run));
        CM_TRY(cm_run_ask_time(run, &run->time_over));
        CM_TRY(cm_run_ask_stop(run, &is_asked));
        if (is_asked && !run_done(run, end)) return cm_fail(CM_ERR_INTERRUPTED, "asked to stop");
    }
    return CM_OK;
}

cm_status cm_run_train(cm_run *run, cm_run_result *out) {
    cm_run_end end;
    if (run->state.iteration > 0 && run_done(run, &end)) {
        bool found = false;
        CM_TRY(cm_run_read_result(run, out, &found));
        if (found) return CM_OK;
    }
    if (cm_run_leads(run)) CM_TRY(cm_run_drop_result(run));
    cm_status status = go_on(run, &end);
    if (status == CM_OK) status = finish(run, end, out);
    return status == CM_ERR_INTERRUPTED ? stop_here(run, out) : status;
}

/* ---- life ---- */

static bool wants_overlap(const cm_session *s) {
    int choice = s->configuration.run.overlap;
    if (choice == CM_OVERLAP_AUTO) return strcmp(s->backend->kind->name, "cuda") == 0;
    return choice == CM_OVERLAP_ON;
}

/* Acting and learning have the session's pool in turn, or share its threads. */
static cm_status open_pools(cm_run *run) {
    int threads = cm_pool_size(run->session->pool), half = threads > 1 ? threads / 2 : 1;
    run->overlap = wants_overlap(run->session);
    if (!run->overlap) return CM_OK;
    CM_TRY(cm_pool_create(2, &run->duo_pool));
    CM_TRY(cm_pool_create(half, &run->acting_pool));
    return cm_pool_create(threads > 1 ? threads - half : 1, &run->learning_pool);
}

cm_actor_config cm_run_actor_config(const cm_run *run, cm_replay *replay) {
    const cm_configuration *c = options(run);
    return (cm_actor_config){
        .agent = run->actor_agent,
        .env = &run->session->env,
        .replay = replay,
        .pool = run->overlap ? run->acting_pool : run->session->pool,
        .environments = (int)cm_session_share(run->session, c->env.num_envs),
        .first_environment = (uint64_t)cm_session_first(run->session, c->env.num_envs),
        .steps = c->agent.steps_per_iteration,
        .random_move_steps = c->agent.random_move_steps,
        .temperature_threshold = c->agent.temperature_threshold,
        .reuse_tree = cm_mcts_keeps_trees(&c->mcts),
        .seed = (uint64_t)c->run.seed,
    };
}

static cm_status open_acting(cm_run *run) {
    CM_TRY(cm_session_agent(run->session, &run->actor_agent));
    const cm_actor_config config = cm_run_actor_config(run, cm_run_learner_replay(run->learner));
    return cm_actor_create(&config, &run->actor);
}

static cm_status init_weights(cm_run *run, const char *from) {
    cm_trainer *trainer = trainer_of(run);
    const cm_param_table *table = cm_network_parameters(run->session->network);
    float *parameters = cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE);
    float *state = cm_trainer_state(trainer, CM_WEIGHTS_ONLINE);
    CM_TRY(cm_trainer_fetch(trainer, CM_TRAINER_ALL));
    CM_TRY(cm_run_read_weights(from, CM_CHECKPOINT_LATEST, run->session->network, true, parameters, state, NULL));
    const cm_weights slow[2] = {CM_WEIGHTS_EMA, CM_WEIGHTS_TARGET};
    for (int i = 0; i < 2; i++) {
        float *copy = cm_trainer_parameters(trainer, slow[i]), *copied = cm_trainer_state(trainer, slow[i]);
        if (copy != parameters) memcpy(copy, parameters, table->parameters * sizeof(float));
        if (copied != state && table->states > 0) memcpy(copied, state, table->states * sizeof(float));
    }
    return cm_trainer_changed(trainer);
}

static cm_status open_engine(cm_run *run, const cm_run_request *request) {
    CM_TRY(open_pools(run));
    CM_TRY(cm_run_plan_device(run));
    CM_TRY(cm_run_learner_create(run->session, run->overlap ? run->learning_pool : run->session->pool, &run->learner));
    CM_TRY(cm_memory_advise(open_acting(run), "lower num_envs, num_simulations or the sizes of the network"));
    CM_TRY(cm_memory_advise(cm_run_open_evaluation(run), "lower evaluation_simulations, num_simulations, "
                                                         "evaluation_episodes or final_evaluation_episodes"));
    if (request->init_from && !request->resume) CM_TRY(init_weights(run, request->init_from));
    return cm_run_make_parts(run);
}

static cm_status config_text(const cm_config *config, cm_json_writer **json, const char **text) {
    CM_TRY(cm_json_writer_create(2, json));
    CM_TRY(cm_config_write(config, *json));
    *text = cm_json_writer_text(*json, NULL);
    return *text ? CM_OK : CM_ERR_MEMORY;
}

static cm_status make_directory(cm_run *run, const cm_run_request *request) {
    char name[PATH_MAX];
    const cm_run_options *o = &request->configuration->run;
    if (!request->directory) {
        CM_TRY(cm_run_directory_name(o->checkpoint_root_dir, run->session->env.spec.name, name, sizeof name));
    }
    cm_json_writer *json = NULL;
    const char *text = NULL;
    cm_status status = config_text(request->config, &json, &text);
    if (status == CM_OK) {
        status = cm_run_directory_create(&run->directory, request->directory ? request->directory : name, text);
    }
    cm_json_writer_destroy(json);
    return status;
}

static cm_status open_files(cm_run *run) {
    char path[PATH_MAX];
    char dump[48] = "not-finite.safetensors";
    if (!cm_run_leads(run)) snprintf(dump, sizeof dump, "not-finite-rank-%d.safetensors", run->session->comm->rank);
    CM_TRY(cm_run_directory_file(&run->directory, dump, run->dump, sizeof run->dump));
    CM_TRY(cm_checkpoint_store_create(run->directory.path, options(run)->run.keep_checkpoints, run->session->comm,
                                      &run->store));
    if (!cm_run_leads(run)) return CM_OK;
    CM_TRY(cm_run_directory_file(&run->directory, "log.txt", path, sizeof path));
    return cm_log_open(path);
}

/* Loads the checkpoint, if there is one: a run that was killed before its first begins anew. */
static cm_status load_checkpoint(cm_run *run, const cm_run_request *request) {
    char path[PATH_MAX];
    int64_t there = -1;
    if (cm_run_leads(run)) {
        CM_TRY(cm_checkpoint_clean(run->store));
        there = cm_checkpoint_find(run->store, CM_CHECKPOINT_LATEST);
    }
    CM_TRY(run->session->comm->broadcast(run->session->comm, &there, sizeof there, 0));
    if (there >= 0 || request->checkpoint >= 0) CM_TRY(cm_run_load(run, request->checkpoint));
    if (!cm_run_leads(run)) return CM_OK;
    CM_TRY(cm_run_directory_file(&run->directory, "config.json", path, sizeof path));
    return cm_config_save(request->config, path);
}

/* Several ranks: each has its share of the threads that the user wants on this machine. */
static cm_status open_session(cm_run *run, const cm_run_request *request) {
    cm_configuration configuration = *request->configuration;
    cm_comm *comm = request->comm;
    if (comm && comm->size > 1) {
        CM_TRY(cm_ranks_check(&configuration, comm->size, request->resume));
        int *threads = &configuration.run.threads;
        *threads = (*threads + comm->local_size - 1) / comm->local_size;
    }
    return cm_session_open(&configuration, comm, &run->session);
}

/* The folder, made or opened by rank 0 and known to all. */
static cm_status open_directory(cm_run *run, const cm_run_request *request) {
    if (cm_run_leads(run) && !request->resume) {
        CM_TRY(make_directory(run, request));
        run->is_new = true;
    }
    return cm_run_share_directory(run);
}

static cm_status open_metrics(cm_run *run) {
    char path[PATH_MAX];
    if (!cm_run_leads(run)) return CM_OK;
    CM_TRY(cm_run_directory_file(&run->directory, "metrics.jsonl", path, sizeof path));
    return cm_metrics_open(&run->metrics, path, run->state.metrics_bytes);
}

static cm_status open_run(cm_run *run, const cm_run_request *request) {
    const bool several = request->comm && request->comm->size > 1;
    if (request->resume && (!several || request->comm->rank == 0))
        CM_TRY(cm_run_directory_open(&run->directory, request->directory));
    if (!request->resume && !several && request->directory && cm_run_directory_check(request->directory) == CM_OK) {
        return make_directory(run, request); /* refused before anything is built */
    }
    CM_TRY(open_session(run, request));
    CM_TRY(open_directory(run, request));
    CM_TRY(open_engine(run, request));
    CM_TRY(open_files(run));
    if (request->resume) CM_TRY(load_checkpoint(run, request));
    CM_TRY(cm_run_count(run));
    CM_TRY(open_metrics(run));
    CM_TRY(hand_over_weights(run));
    cm_run_say_start(run, request->resume);
    return CM_OK;
}

/* After an error on the way: a folder that was made for a run that never began goes again. */
static void discard(cm_run *run) {
    char message[1024], path[PATH_MAX];
    snprintf(message, sizeof message, "%s", cm_error_message());
    snprintf(path, sizeof path, "%s", run->is_new ? run->directory.path : "");
    cm_run_close(run);
    if (path[0] && cm_directory_remove(path) != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    (void)cm_fail(CM_ERR_IO, "%s", message);
}

cm_status cm_run_open(const cm_run_request *request, cm_run **out) {
    cm_run *run = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&run, 1, sizeof *run, "a run"));
    run->began = cm_clock_seconds();
    run->directory.lock = run->metrics.file = -1;
    run->progress = request->progress;
    run->program = request->program ? request->program : "cumind";
    run->stop = request->stop;
    run->state.best_return = -HUGE_VAL;
    run->state.evaluated_iteration = -1;
    cm_status status = open_run(run, request);
    if (status == CM_OK) {
        *out = run;
    } else {
        discard(run);
    }
    return status;
}

void cm_run_close(cm_run *run) {
    if (!run) return;
    cm_log_close();
    cm_metrics_close(&run->metrics);
    cm_checkpoint_store_destroy(run->store);
    cm_array_table_free(&run->parameters);
    cm_array_table_free(&run->average);
    cm_array_table_free(&run->target);
    cm_array_table_free(&run->moments);
    cm_bytes_free(&run->bytes);
    free(run->actor_bytes);
    cm_run_close_evaluation(run);
    cm_actor_destroy(run->actor);
    cm_agent_destroy(run->actor_agent);
    cm_run_learner_destroy(run->learner);
    cm_pool_destroy(run->learning_pool);
    cm_pool_destroy(run->acting_pool);
    cm_pool_destroy(run->duo_pool);
    cm_session_close(run->session);
    cm_run_directory_close(&run->directory);
    free(run);
}
