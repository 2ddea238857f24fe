#include "run/summary.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "env/env.h"
#include "run/checkpoint.h"
#include "run/directory.h"
#include "run/weights.h"

/* A file of a run. What of it cannot be read is as good as not there, and said with `advice` after it. */
typedef struct document {
    char path[4096];
    const char *advice;
    bool is_mute;
    cm_json_doc *doc;
    const cm_json *root; /* an object; NULL: none */
} document;

/* What is wrong with `value`. */
static void warn(const document *d, const cm_json *value) {
    if (d->is_mute) return;
    cm_log(CM_WARNING, "%s:%d: %s; %s", d->path, cm_json_line(value), cm_error_message(), d->advice);
}

static void read_document(const cm_dir *dir, const char *name, const char *advice, bool is_mute, document *out) {
    *out = (document){.advice = advice, .is_mute = is_mute};
    if (cm_path_join(out->path, sizeof out->path, dir->path, name) != CM_OK) return;
    if (cm_dir_look(dir, name) == CM_DIR_NONE) return;
    if (cm_json_read_in(dir, name, CM_JSON_SMALL, &out->doc) != CM_OK) {
        if (!is_mute) cm_log(CM_WARNING, "%s; %s", cm_error_message(), advice);
        return;
    }
    const cm_json *root = cm_json_root(out->doc);
    if (cm_json_check(root, CM_JSON_OBJECT) == CM_OK) {
        out->root = root;
    } else {
        warn(out, root);
    }
}

/* Members of an object that may lack them; `fallback` if it does. */
static int64_t integer_of(const document *d, const cm_json *object, const char *key, int64_t fallback) {
    const cm_json *value = cm_json_get(object, key);
    int64_t integer;
    if (!value) return fallback;
    if (cm_json_need_int(object, key, 0, INT64_MAX, &integer) == CM_OK) return integer;
    warn(d, value);
    return fallback;
}

static double number_of(const document *d, const cm_json *object, const char *key) {
    const cm_json *value = cm_json_get(object, key);
    double number;
    if (!value) return NAN;
    if (cm_json_need_number(object, key, &number) == CM_OK) return number;
    warn(d, value);
    return NAN;
}

static const char *string_of(const document *d, const cm_json *object, const char *key) {
    const cm_json *value = cm_json_get(object, key);
    const char *string;
    if (value && cm_json_need_string(object, key, &string) != CM_OK) warn(d, value);
    return cm_json_string(value);
}

/* How far the latest checkpoint is; not known without one. */
static void read_state(const cm_checkpoint_store *store, bool is_mute, cm_run_summary *out) {
    cm_dir checkpoint;
    document state;
    out->updates = out->env_steps = -1;
    if (cm_checkpoint_enter(store, CM_CHECKPOINT_LATEST, &checkpoint) != CM_OK) return;
    read_document(&checkpoint, CM_FILE_STATE, "the steps of this run are not known", is_mute, &state);
    cm_dir_close(&checkpoint);
    out->updates = integer_of(&state, state.root, "updates", -1);
    out->env_steps = integer_of(&state, state.root, "env_steps", -1);
    cm_json_free(state.doc);
}

/* A run in 8 bits has none: how far it was trained its checkpoint says. */
static void read_metrics(const cm_dir *run, const cm_checkpoint_store *store, bool is_mute, cm_run_summary *out) {
    char path[PATH_MAX];
    cm_metrics *rows = NULL;
    int count = 0;
    if (cm_dir_look(run, "metrics.jsonl") == CM_DIR_NONE) {
        if (cm_dir_look(run, "checkpoints") == CM_DIR_FOLDER) read_state(store, is_mute, out);
        return;
    }
    if (cm_path_join(path, sizeof path, run->path, "metrics.jsonl") != CM_OK) return;
    if (cm_metrics_read(path, &rows, &count) != CM_OK) {
        if (!is_mute) cm_log(CM_WARNING, "%s", cm_error_message());
        read_state(store, is_mute, out);
    }
    if (count == 0) return;
    out->updates = rows[count - 1].updates;
    out->env_steps = rows[count - 1].env_steps;
    out->last_return = rows[count - 1].mean_return;
    if (!isfinite(out->seconds)) out->seconds = rows[count - 1].seconds;
    free(rows);
}

/* The name as cumind environments has it, with its size. */
static void set_environment(const char *name, int64_t size, double goal, cm_run_summary *out) {
    cm_env_params params = cm_env_params_default();
    params.size = size > INT_MAX ? INT_MAX : (int)size;
    cm_env env;
    bool is_known = name && cm_env_open(&env, name, &params) == CM_OK;
    out->goal = isfinite(goal) ? goal : is_known ? env.spec.reward_threshold : (double)NAN;
    const char *file = name ? strrchr(name, '/') : NULL; /* a library, or a file in Python */
    snprintf(out->environment, sizeof out->environment, "%s",
             is_known ? env.spec.name
             : file   ? file + 1
             : name   ? name
                      : "?");
}

/* The section of a configuration that has `key`, or the whole of one without sections; NULL: none. */
static const cm_json *find_section(const cm_json *root, const char *key) {
    const cm_json *section = cm_json_get(root, key) ? root : cm_json_first(root);
    while (section && !cm_json_get(section, key)) section = cm_json_next(section);
    return section;
}

/* NAN: that of the environment. */
static double goal_of(const document *d, const cm_json *evaluation) {
    const cm_json *goal = cm_json_get(evaluation, "goal_return");
    return cm_json_type(goal) != CM_JSON_NULL ? number_of(d, evaluation, "goal_return") : (double)NAN;
}

static void read_configuration(const cm_dir *run, bool is_mute, cm_run_summary *out) {
    document config;
    read_document(run, "config.json", "mend it, or bring back a copy of it", is_mute, &config);
    const cm_json *root = config.root, *named = find_section(root, "env_name");
    if (root && !named && !is_mute) cm_log(CM_WARNING, "%s: env_name: missing; %s", config.path, config.advice);
    set_environment(string_of(&config, named, "env_name"),
                    integer_of(&config, find_section(root, "board_size"), "board_size", 0),
                    goal_of(&config, find_section(root, "goal_return")), out);
    out->seed = integer_of(&config, find_section(root, "seed"), "seed", -1);
    out->most_steps = integer_of(&config, find_section(root, "env_steps"), "env_steps", 0);
    out->most_updates = integer_of(&config, find_section(root, "updates"), "updates", 0);
    cm_json_free(config.doc);
}

static void read_result(const cm_dir *run, bool is_mute, cm_run_summary *out) {
    document result;
    read_document(run, "result.json", "train --resume with this run makes it again", is_mute, &result);
    if (result.root) out->state = "finished";
    out->final = number_of(&result, result.root, "mean");
    out->seconds = number_of(&result, result.root, "seconds");
    cm_json_free(result.doc);
}

/* When it was begun, which the first line of its log tells. */
static void read_begin(const cm_dir *run, cm_run_summary *out) {
    static const char form[] = "####-##-## ##:##";
    char text[sizeof form] = "";
    int file;
    if (cm_dir_open_file(run, "log.txt", O_RDONLY, &file) != CM_OK) return;
    const ssize_t length = read(file, text, sizeof form - 1);
    close(file);
    for (ssize_t i = 0; i < (ssize_t)sizeof form - 1; i++)
        if (i >= length || (form[i] == '#' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])) return;
    text[10] = 'T'; /* one word */
    snprintf(out->begun, sizeof out->begun, "%s", text);
}

cm_status cm_run_summary_read(const char *path, bool rows, bool is_mute, cm_run_summary *out) {
    *out = (cm_run_summary){.environment = "?",
                            .seed = -1,
                            .updates = rows ? 0 : -1,
                            .env_steps = rows ? 0 : -1,
                            .last_return = NAN,
                            .final = NAN,
                            .goal = NAN,
                            .seconds = NAN,
                            .checkpoint = -1,
                            .state = "unfinished"};
    cm_checkpoint_store *store = NULL;
    cm_dir dir;
    CM_TRY(cm_dir_open(&dir, path));
    cm_status status = cm_checkpoint_store_create(path, 1, NULL, &store);
    if (status == CM_OK) {
        read_configuration(&dir, is_mute, out);
        read_result(&dir, is_mute, out);
        if (rows) read_metrics(&dir, store, is_mute, out);
        if (!rows) read_state(store, is_mute, out);
        read_begin(&dir, out);
        out->checkpoint = cm_checkpoint_find(store, CM_CHECKPOINT_LATEST);
    }
    if (cm_run_directory_is_training(path)) out->state = "training";
    cm_checkpoint_store_destroy(store);
    cm_dir_close(&dir);
    return status;
}
