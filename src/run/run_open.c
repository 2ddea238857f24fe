/* The life of a run: what it opens, loads and closes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/busy.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "run/episode_files.h"
#include "run/ranks.h"
#include "run/run_internal.h"

static const char log_name[] = "log.txt", metrics_name[] = "metrics.jsonl";

static bool wants_overlap(const cm_session *s) {
    int choice = s->configuration.run.overlap;
    if (!s->configuration.agent.collect) return false;
    if (choice == CM_OVERLAP_AUTO) return strcmp(s->backend->kind->name, "cuda") == 0;
    return choice == CM_OVERLAP_ON;
}

/* Acting and learning have the session's pool in turn, or share its threads. */
static cm_status open_pools(cm_run *run) {
    int threads = cm_pool_size(run->session->pool), half = threads > 1 ? threads / 2 : 1;
    run->overlap = wants_overlap(run->session);
    if (!run->overlap) return CM_OK;
    CM_TRY(cm_pool_create(2, &run->overlap_pool));
    CM_TRY(cm_pool_create(half, &run->acting_pool));
    return cm_pool_create(threads > 1 ? threads - half : 1, &run->learning_pool);
}

static cm_status open_acting(cm_run *run) {
    const cm_actor_config config = cm_run_actor_config(run, cm_run_learner_replay(run->learner));
    return cm_run_collects(run) ? cm_actor_create(&config, &run->actor) : CM_OK;
}

/* The file of the memory, if it lies in one. */
static cm_status open_memory_file(cm_run *run) {
    const char *named = cm_run_options_of(run)->replay.memory_path;
    cm_replay *replay = cm_run_learner_replay(run->learner);
    return cm_replay_open_file(replay, named[0] ? named : run->directory.path);
}

static cm_status config_text(const cm_config *config, cm_json_writer **json, const char **text) {
    CM_TRY(cm_json_writer_create(2, json));
    CM_TRY(cm_config_write(config, *json));
    *text = cm_json_writer_text(*json, NULL);
    return *text ? CM_OK : CM_ERR_MEMORY;
}

static cm_status begin_directory(cm_run *run, const cm_run_request *request) {
    cm_json_writer *json = NULL;
    const char *text = NULL;
    cm_status status = config_text(request->config, &json, &text);
    if (status == CM_OK) status = cm_run_directory_begin(&run->directory, text);
    cm_json_writer_destroy(json);
    return status;
}

/* What takes the memory of the host, and whether there is that much. */
static cm_status open_parts(cm_run *run) {
    cm_pool *learning = run->overlap ? run->learning_pool : run->session->pool;
    CM_TRY(cm_run_learner_create(run->session, learning, run->actor_agent, &run->halt, &run->learner));
    CM_TRY(open_memory_file(run));
    CM_TRY(cm_memory_advise(open_acting(run), "lower num_envs, num_simulations or the sizes of the network"));
    CM_TRY(cm_memory_advise(cm_run_open_evaluation(run), "lower evaluation_simulations, num_simulations, "
                                                         "evaluation_episodes or final_evaluation_episodes"));
    return cm_run_check_memory(run);
}

static void close_parts(cm_run *run) {
    cm_run_close_evaluation(run);
    cm_actor_destroy(run->actor);
    cm_run_learner_destroy(run->learner);
    run->actor = NULL;
    run->learner = NULL;
}

/* Ranks open their parts together, each once. */
static cm_status open_fitting(cm_run *run) {
    const bool is_alone = run->session->comm->size == 1 && run->session->backend->device->is_host;
    cm_status status = open_parts(run);
    while (status == CM_ERR_MEMORY && is_alone && cm_run_shrink(run)) {
        close_parts(run);
        status = open_parts(run);
    }
    return status;
}

static cm_status open_engine(cm_run *run, const cm_run_request *request) {
    run->space = cm_memory_ask();
    if (request->space > 0 && request->space < run->space.bytes) run->space.bytes = request->space;
    CM_TRY(cm_run_check_least_memory(run));
    CM_TRY(cm_patient_create(&run->patient));
    CM_TRY(open_pools(run));
    cm_busy_with("measuring what fits", CM_BUSY_VAIN);
    CM_TRY(cm_run_plan_device(run));
    CM_TRY(cm_run_open_actor_agent(run));
    cm_busy_with("beginning", CM_BUSY_VAIN);
    CM_TRY(open_fitting(run));
    if (cm_run_adopt_shrunk(run, request) && run->is_new) CM_TRY(begin_directory(run, request));
    if (cm_run_has_start(request)) CM_TRY(cm_run_start_from(run, request));
    return cm_run_make_parts(run);
}

/* A name that is free may be another process's by the time that its folder is to be made: then there is a next one. */
static cm_status make_named_directory(cm_run *run, const char *root) {
    enum { TRIES = 100 };
    char name[PATH_MAX];
    cm_status status = CM_OK;
    for (int i = 0; i < TRIES; i++) {
        CM_TRY(cm_run_directory_name(root, run->session->env.spec.name, name, sizeof name));
        status = cm_run_directory_create(&run->directory, name);
        if (status == CM_OK || !cm_file_exists(name)) return status;
    }
    return status;
}

static cm_status make_directory(cm_run *run, const cm_run_request *request) {
    if (request->directory) return cm_run_directory_create(&run->directory, request->directory);
    return make_named_directory(run, request->configuration->run.checkpoint_root_dir);
}

static bool is_segment(const char *name) {
    uint64_t first;
    return cm_segment_file_rank(name, &first) >= 0;
}

/* Where what is damaged is to be dropped: the newest checkpoint that lacks nothing but episodes; `latest` is there. */
static cm_status find_sound(const cm_run *run, int64_t latest, int64_t *out) {
    char message[1024];
    *out = latest;
    if (cm_checkpoint_verify(run->store, latest, is_segment) == CM_OK) return CM_OK;
    snprintf(message, sizeof message, "%s", cm_error_message());
    *out = cm_checkpoint_newest_intact(run->store, is_segment);
    if (*out < 0)
        return cm_fail(CM_ERR_IO, "%s; no checkpoint of this run has all that a run cannot do without", message);
    cm_log(CM_WARNING, "%s; the run goes back to checkpoint %lld", message, (long long)*out);
    return CM_OK;
}

/* A checkpoint with others after it, which go with their lines of metrics as the run comes to them again. */
static cm_status check_later(const cm_run *run, const cm_run_request *request) {
    const int64_t latest = cm_checkpoint_find(run->store, CM_CHECKPOINT_LATEST),
                  from = cm_checkpoint_find(run->store, request->checkpoint);
    int64_t newest = -1;
    (void)cm_checkpoint_list(run->store, &newest, 1);
    if (request->overwrite || from < 0 || from == latest || from >= newest) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s: has checkpoints up to %lld; to go on from %lld gives up those behind it, and their lines of "
                   "metrics: add --overwrite, or go on in a copy of the folder",
                   run->directory.path, (long long)newest, (long long)from);
}

/* run->from <- the checkpoint to go on from, if there is one: a run that was killed before its first begins again. */
static cm_status choose_checkpoint(cm_run *run, const cm_run_request *request) {
    if (run->from != CM_CHECKPOINT_LATEST) CM_TRY(check_later(run, request));
    if (run->from >= 0) return CM_OK;
    const int64_t latest = cm_checkpoint_find(run->store, CM_CHECKPOINT_LATEST);
    if (latest < 0 || run->from == CM_CHECKPOINT_LATEST) run->from = latest;
    if (run->from != latest || latest < 0 || !request->drop_damaged) return CM_OK;
    return find_sound(run, latest, &run->from);
}

static cm_status find_checkpoint(cm_run *run, const cm_run_request *request) {
    cm_comm *comm = run->session->comm;
    run->from = request->checkpoint;
    CM_TRY(cm_ranks_agree(comm, cm_run_leads(run) ? choose_checkpoint(run, request) : CM_OK));
    return comm->broadcast(comm, &run->from, sizeof run->from, 0);
}

/* Names the flag where a file of the checkpoint is what is wrong, and not the folder or the disk. */
static cm_status advise(const cm_run *run, cm_status status) {
    char message[1024];
    if (status != CM_ERR_IO || run->drop_damaged) return status;
    snprintf(message, sizeof message, "%s", cm_error_message());
    if (cm_checkpoint_verify(run->store, run->from, NULL) == CM_OK) return cm_fail(status, "%s", message);
    return cm_fail(status, "%s; --drop-damaged goes on without what is damaged", message);
}

/* Before anything is made for it: the files are of this run, whose sizes may be a stranger's. */
static cm_status look_at_checkpoint(cm_run *run, const cm_run_request *request) {
    CM_TRY(find_checkpoint(run, request));
    return run->from == CM_CHECKPOINT_LATEST ? CM_OK : advise(run, cm_run_look(run, run->from));
}

/* What is there of them can be appended to. */
static cm_status check_files(const cm_dir *dir) {
    static const char *const names[] = {log_name, metrics_name};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int file;
        if (cm_dir_look(dir, names[i]) == CM_DIR_NONE) continue;
        CM_TRY(cm_dir_append(dir, names[i], &file));
        close(file);
    }
    return CM_OK;
}

/* Writes nothing: the run may still be refused. */
static cm_status load_checkpoint(cm_run *run) {
    if (cm_run_leads(run)) CM_TRY(check_files(&run->directory.dir));
    if (cm_run_leads(run) && cm_checkpoint_is_lost(run->store))
        return cm_fail(CM_ERR_IO,
                       "%s: its checkpoints are gone, or it was killed while it began: put them back, or train again "
                       "with --config %s/config.json",
                       run->directory.path, run->directory.path);
    return run->from == CM_CHECKPOINT_LATEST ? CM_OK : advise(run, cm_run_load(run, run->from));
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
    CM_TRY(cm_session_open(&configuration, comm, &run->session));
    cm_run_adopt_fitted(run, request);
    return CM_OK;
}

/* Of a new run that is ended while it begins. */
static void undo_directory(const void *context) {
    const cm_status status = cm_run_directory_discard(context);
    if (status != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
}

/* The folder, made or opened by rank 0 and known to all. What a run begins with of old ones is in its first checkpoint,
 * which is pointed at from the beginning: if it is killed before that is there, there is nothing to go on from. */
static cm_status open_directory(cm_run *run, const cm_run_request *request) {
    if (cm_run_leads(run) && !request->resume) {
        CM_TRY(make_directory(run, request));
        run->is_new = true;
        cm_busy_undo_by(undo_directory, &run->directory);
    }
    CM_TRY(cm_run_share_directory(run));
    CM_TRY(cm_checkpoint_store_create(run->directory.path, cm_run_options_of(run)->run.keep_checkpoints,
                                      run->session->comm, &run->store));
    if (!run->is_new) return CM_OK;
    if (cm_run_has_start(request)) CM_TRY(cm_checkpoint_point_latest(run->store, 0));
    return begin_directory(run, request);
}

/* Offline the games are those that the run begins with; every rank draws from a share of its own. */
static cm_status check_games(const cm_run *run) {
    cm_comm *comm = run->session->comm;
    cm_replay_counts counts;
    cm_replay_count(cm_run_learner_replay(run->learner), &counts);
    double shares = counts.positions > 0 ? 1.0 : 0.0;
    if (cm_run_collects(run)) return CM_OK;
    CM_TRY(comm->all_reduce_double(comm, &shares, 1));
    if (shares == 0.0)
        return cm_fail(CM_ERR_INPUT,
                       "Self-Play.collect: the run is offline, and there are no games to learn from: begin with "
                       "those of a run, --replay-from DIR");
    if (shares < comm->size)
        return cm_fail(CM_ERR_INPUT, "--num-devices: the games suffice for %.0f of %d ranks", shares, comm->size);
    return CM_OK;
}

static cm_status open_metrics(cm_run *run) {
    const int64_t last = run->state.iteration - (run->state.is_pending ? 1 : 0); /* that has its row */
    if (!cm_run_leads(run)) return CM_OK;
    return cm_metrics_open(&run->metrics, &run->directory.dir, metrics_name, run->state.metrics_bytes, last);
}

/* What dead writers have left may fill the disk: it goes before anything is written. */
static cm_status clean_files(const cm_run *run) {
    CM_TRY(cm_checkpoint_clean(run->store));
    cm_episode_files_clean(&run->directory.dir);
    return CM_OK;
}

/* The run's files become those of one that goes on from what was loaded. */
static cm_status go_on_with_files(cm_run *run, const cm_run_request *request) {
    if (run->from != CM_CHECKPOINT_LATEST) CM_TRY(cm_run_go_on(run));
    return cm_run_leads(run) ? begin_directory(run, request) : CM_OK;
}

/* All that could refuse the run but a disk that fails has let it pass: from now on its files are written. */
static cm_status open_files(cm_run *run, const cm_run_request *request) {
    char dump[48] = "not-finite.safetensors";
    if (!cm_run_leads(run)) snprintf(dump, sizeof dump, "not-finite-rank-%d.safetensors", run->session->comm->rank);
    CM_TRY(cm_path_join(run->dump, sizeof run->dump, run->directory.path, dump));
    if (cm_run_leads(run) && request->resume) CM_TRY(clean_files(run));
    if (cm_run_leads(run)) CM_TRY(cm_log_open(&run->directory.dir, log_name));
    if (request->resume) CM_TRY(go_on_with_files(run, request));
    CM_TRY(open_metrics(run));
    return cm_run_open_records(run, request->resume);
}

static cm_status open_run(cm_run *run, const cm_run_request *request) {
    const bool several = request->comm && request->comm->size > 1;
    if (request->resume && (!several || request->comm->rank == 0))
        CM_TRY(cm_run_directory_open(&run->directory, request->directory));
    if (!request->resume && !several && request->directory && cm_run_directory_check(request->directory) == CM_OK) {
        return make_directory(run, request); /* refused before anything is built */
    }
    CM_TRY(open_session(run, request));
    run->segment_files = (cm_segment_files){.rank = run->session->comm->rank, .ranks = run->session->comm->size};
    if (cm_run_leads(run)) CM_TRY(cm_env_probe_measure(&run->session->env, &run->probe));
    CM_TRY(open_directory(run, request));
    cm_run_say_setup(run);
    if (request->resume) CM_TRY(look_at_checkpoint(run, request));
    CM_TRY(cm_run_advise_of_pictures(run, open_engine(run, request)));
    if (cm_run_leads(run)) cm_log_keep();
    if (request->resume) CM_TRY(load_checkpoint(run));
    CM_TRY(cm_run_count(run));
    if (request->resume) CM_TRY(cm_run_check_counts(run));
    CM_TRY(check_games(run));
    CM_TRY(open_files(run, request));
    if (!run->state.is_within) CM_TRY(cm_run_hand_over_weights(run)); /* else it has those of before */
    if (cm_run_has_start(request)) CM_TRY(cm_run_save(run));
    cm_run_say_start(run, request->resume);
    cm_run_open_gpu(run);
    cm_busy_undo_by(NULL, NULL);
    cm_busy_with("beginning", CM_BUSY_ASKED);
    return CM_OK;
}

/* After an error on the way: a folder that was made for a run that never began goes again. */
static void discard(cm_run *run) {
    char message[1024];
    const bool is_new = run->is_new;
    const cm_run_directory directory = run->directory;
    snprintf(message, sizeof message, "%s", cm_error_message());
    cm_busy_undo_by(NULL, NULL);
    cm_run_close(run);
    if (is_new && cm_run_directory_discard(&directory) != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    (void)cm_fail(CM_ERR_IO, "%s", message);
}

cm_status cm_run_open(const cm_run_request *request, cm_run **out) {
    cm_run *run = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&run, 1, sizeof *run, "a run"));
    run->began = run->spent = request->began > 0.0 ? request->began : cm_clock_seconds();
    cm_busy_with("beginning", CM_BUSY_VAIN);
    run->directory.lock = run->directory.dir.file = run->metrics.lines.file = -1;
    run->board.file.records.file = run->monitor.rows.file = -1;
    run->config = request->config;
    run->progress = request->progress;
    run->follower = request->follower;
    run->is_passing = request->is_passing;
    run->drop_damaged = request->drop_damaged;
    run->program = request->program ? request->program : "cumind";
    run->stop = request->stop;
    run->halt.with = request->stop;
    run->state.best_return = run->best_kept = -HUGE_VAL;
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
    if (!run || cm_run_is_left(run)) return;
    cm_log_close();
    cm_metrics_close(&run->metrics);
    cm_run_close_records(run);
    cm_run_close_gpu(run);
    cm_checkpoint_store_destroy(run->store);
    cm_array_table_free(&run->parameters);
    cm_array_table_free(&run->average);
    cm_array_table_free(&run->target);
    cm_array_table_free(&run->moments);
    free(run->actor_bytes);
    cm_patient_destroy(run->patient);
    close_parts(run);
    cm_run_close_actor_agent(run);
    cm_pool_destroy(run->learning_pool);
    cm_pool_destroy(run->acting_pool);
    cm_pool_destroy(run->overlap_pool);
    cm_session_close(run->session);
    cm_run_directory_close(&run->directory);
    free(run);
}
