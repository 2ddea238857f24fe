#include "sweep/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "run/checkpoint.h"
#include "run/directory.h"
#include "run/resolve.h"
#include "run/run.h"
#include "run/session.h"

/* ---- the configuration ---- */

enum { OWN = 5, NUMBER = 24, GIVEN = CM_SWEEP_KEYS + OWN + 1 };

/* Finishes it without warnings, which would be those of base.json once for every trial. */
static cm_status finish(cm_config *config, cm_configuration *configuration) {
    cm_log_set_level(CM_ERROR);
    const cm_status status = cm_configuration_finish(config, configuration);
    cm_log_set_level((cm_log_level)configuration->run.log_level);
    return status;
}

static cm_status resolve(const char *folder, const cm_given *given, int count, cm_configuration *configuration,
                         cm_config **config) {
    char base[PATH_MAX];
    CM_TRY(cm_path_join(base, sizeof base, folder, "base.json"));
    const cm_sources sources = {.named = base, .named_by = "--resume", .given = given, .given_count = count};
    CM_TRY(cm_run_resolve(&sources, configuration, config));
    const cm_status status = finish(*config, configuration);
    if (status == CM_OK) return CM_OK;
    cm_config_destroy(*config);
    *config = NULL;
    return status;
}

cm_status cm_sweep_configure(const char *folder, const cm_sweep_plan *plan, int trial, bool sweeps,
                             cm_configuration *configuration, cm_config **config) {
    char values[CM_SWEEP_KEYS][CM_SWEEP_TEXT], value[CM_SWEEP_TEXT], interval[NUMBER];
    const cm_given own[OWN] = {{"evaluation_interval", interval, "sweep"},
                               {"stop_at_goal", "false", "sweep"},
                               {"evaluation_gifs", "0", "sweep"},
                               {"keep_checkpoints", "1", "sweep"},
                               {"log_level", "error", "sweep"}};
    cm_given given[GIVEN];
    int count = 0;
    snprintf(interval, sizeof interval, "%lld", (long long)plan->interval);
    for (; count < plan->space.count; count++) {
        cm_sweep_space_draw(&plan->space, plan->seed, trial, count, value);
        cm_sweep_value_bare(value, values[count]);
        given[count] = (cm_given){plan->space.row[count].key, values[count], "sweep"};
    }
    for (int i = 0; sweeps && i < OWN; i++) given[count++] = own[i];
    return resolve(folder, given, count, configuration, config);
}

cm_status cm_sweep_check_base(const char *folder) {
    cm_configuration configuration;
    cm_config *config;
    cm_session *session;
    CM_TRY(resolve(folder, NULL, 0, &configuration, &config));
    cm_config_destroy(config);
    CM_TRY(cm_session_open(&configuration, NULL, &session));
    cm_session_close(session);
    return CM_OK;
}

/* ---- the result ---- */

static cm_status result_path(const char *folder, int rung, int trial, int64_t seed, char out[PATH_MAX]) {
    char suffix[NUMBER];
    snprintf(suffix, sizeof suffix, ".rung-%d.json", rung);
    return cm_sweep_run_path(folder, trial, seed, suffix, out);
}

static cm_status write_result(const cm_sweep_task *task, const cm_sweep_result *result) {
    char path[PATH_MAX];
    cm_json_writer *json;
    CM_TRY(result_path(task->folder, task->rung, task->trial, task->seed, path));
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_double(json, "score", result->score);
    cm_json_put_int(json, "env_steps", result->env_steps);
    cm_json_put_double(json, "seconds", result->seconds);
    if (result->error[0]) cm_json_put_string(json, "error", result->error);
    cm_json_end_object(json);
    const cm_status status = cm_json_writer_save(json, path);
    cm_json_writer_destroy(json);
    return status;
}

cm_status cm_sweep_score_read(const cm_json *object, double *out) {
    static const char key[] = "score";
    const cm_json *score = cm_json_get(object, key);
    *out = (double)NAN;
    return score && cm_json_type(score) == CM_JSON_NULL ? CM_OK : cm_json_need_number(object, key, out);
}

static cm_status parse_result(const cm_json *root, cm_sweep_result *out) {
    const char *error = cm_json_string(cm_json_get(root, "error"));
    *out = (cm_sweep_result){.env_steps = 0};
    CM_TRY(cm_sweep_score_read(root, &out->score));
    CM_TRY(cm_json_need_int(root, "env_steps", 0, CM_JSON_MOST, &out->env_steps));
    CM_TRY(cm_json_need_number(root, "seconds", &out->seconds));
    if (error) snprintf(out->error, sizeof out->error, "%s", error);
    return CM_OK;
}

cm_status cm_sweep_result_read(const char *folder, int rung, int trial, int64_t seed, bool *found,
                               cm_sweep_result *out) {
    char path[PATH_MAX];
    cm_json_doc *doc;
    CM_TRY(result_path(folder, rung, trial, seed, path));
    *found = cm_file_exists(path);
    if (!*found) return CM_OK;
    cm_status status = cm_json_read(path, &doc);
    if (status == CM_OK) {
        status = parse_result(cm_json_root(doc), out);
        if (status != CM_OK) status = cm_fail_in(status, "%s", path);
        cm_json_free(doc);
    }
    if (status != CM_ERR_INPUT) return status;
    return cm_fail(status, "%s; the file is damaged: remove it, and cumind sweep --resume %s makes it again",
                   cm_error_message(), folder);
}

/* ---- the run ---- */

/* What is known of a run while it goes on. */
typedef struct work {
    const cm_sweep_task *task;
    cm_sweep_result result;
    bool is_there; /* the end of the rung, with its evaluation */
} work;

static bool is_last(const cm_sweep_task *task) { return task->rung + 1 == task->plan->rungs; }

static bool take_row(work *w, const cm_metrics *row) {
    if (row->env_steps < w->task->plan->steps[w->task->rung] || !isfinite(row->eval_return)) return false;
    w->result = (cm_sweep_result){row->eval_return, row->env_steps, row->seconds, ""};
    return w->is_there = true;
}

/* At the end of a rung the run pauses; at the last one it ends by itself, with its report. */
static void follow(void *context, const cm_metrics *row, double share) {
    work *w = context;
    (void)share;
    if (w->task->tell) w->task->tell(w->task->context, w->task, row);
    if (!w->is_there && take_row(w, row) && !is_last(w->task)) cm_stop_ask(w->task->stop);
}

/* A worker that was killed may have come to the end of the rung, or beyond, and not have said so. */
static cm_status look_back(work *w, const char *run) {
    char path[PATH_MAX];
    cm_metrics *rows = NULL;
    int count = 0;
    CM_TRY(cm_path_join(path, sizeof path, run, "metrics.jsonl"));
    if (!cm_file_exists(path)) return CM_OK;
    CM_TRY(cm_metrics_read(path, &rows, &count));
    for (int i = 0; i < count && !w->is_there; i++) take_row(w, &rows[i]);
    free(rows);
    return CM_OK;
}

static cm_status open_progress(cm_progress **out) {
    const cm_progress_style style = {.file = STDOUT_FILENO, .quiet = true};
    return cm_progress_create(&style, out);
}

static cm_status train(work *w, const cm_run_request *request) {
    const cm_sweep_task *task = w->task;
    cm_run *run = NULL;
    cm_run_result result;
    CM_TRY(cm_run_open(request, &run));
    cm_status status = cm_run_train(run, &result);
    cm_run_close(run);
    CM_TRY(status);
    if (is_last(task) && result.end != CM_RUN_STOPPED) {
        if (!result.evaluated && !w->is_there) CM_TRY(look_back(w, request->directory));
        if (result.evaluated) w->result.score = result.final.mean;
        w->result.env_steps = result.env_steps, w->result.seconds = result.seconds;
        w->is_there = true;
    }
    if (w->is_there && (!is_last(task) || result.end != CM_RUN_STOPPED)) return CM_OK;
    return cm_fail(CM_ERR_INTERRUPTED, "asked to stop");
}

static cm_status train_with_progress(work *w, cm_run_request *request) {
    CM_TRY(open_progress(&request->progress));
    const cm_status status = train(w, request);
    cm_progress_destroy(request->progress);
    return status;
}

/* A run goes on with its own configuration, as it was begun. */
static cm_status configure(const cm_sweep_task *task, const char *run, bool resume, cm_configuration *configuration,
                           cm_config **config) {
    char seed[NUMBER];
    const cm_sources own = {.run = run};
    snprintf(seed, sizeof seed, "%lld", (long long)task->seed);
    if (!resume) CM_TRY(cm_sweep_configure(task->folder, task->plan, task->trial, true, configuration, config));
    if (!resume) return cm_config_assign(*config, "seed", seed, "sweep");
    CM_TRY(cm_run_resolve(&own, configuration, config));
    return finish(*config, configuration);
}

/* A configuration that is refused, and numbers that are not finite, are what the values of the trial lead to. */
static cm_status excuse(work *w, cm_status status, bool is_refused) {
    if (status != CM_ERR_NOT_FINITE && !(status == CM_ERR_INPUT && is_refused)) return status;
    w->result.score = (double)NAN;
    snprintf(w->result.error, sizeof w->result.error, "%.250s", cm_error_message());
    w->is_there = true;
    return CM_OK;
}

static cm_status work_on(work *w, const char *run) {
    const cm_sweep_task *task = w->task;
    const bool resume = cm_run_directory_check(run) == CM_OK;
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_status status = configure(task, run, resume, &configuration, &config);
    cm_run_request request = {.config = config,
                              .configuration = &configuration,
                              .directory = run,
                              .resume = resume,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .space = task->space,
                              .program = task->program,
                              .follower = {follow, w},
                              .stop = task->stop};
    if (status == CM_OK) status = train_with_progress(w, &request);
    if (config) cm_config_destroy(config);
    return excuse(w, status, !resume);
}

cm_status cm_sweep_task_run(const cm_sweep_task *task) {
    char run[PATH_MAX];
    work w = {.task = task};
    CM_TRY(cm_sweep_run_path(task->folder, task->trial, task->seed, "", run));
    if (!is_last(task)) CM_TRY(look_back(&w, run));
    if (!w.is_there) CM_TRY(work_on(&w, run));
    return write_result(task, &w.result);
}
