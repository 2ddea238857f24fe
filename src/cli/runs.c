/* A table of the runs below folders. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/view.h"
#include "core/file.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/text.h"
#include "env/env.h"
#include "env/trust.h"
#include "run/checkpoint.h"
#include "run/directory.h"
#include "run/metrics.h"
#include "run/weights.h"

typedef struct listing {
    char **runs; /* [count of space], owned, as each of them */
    int count, space;
    int longest;    /* bytes of the longest path as it is printed */
    int columns;    /* that a line may have */
    bool is_narrow; /* a path is on a line below its run's numbers */
} listing;

/* Columns of an environment's name; in front of a path; of the numbers with the seed, and with the updates too. */
enum { NAME = 20, TABLE = 72, WITH_SEED = 63, WITH_UPDATES = 71 };

/* The texts of a line. */
typedef struct cells {
    char environment[64], seed[24], steps[16], updates[16], last[16], final[16];
    const char *state;
} cells;

/* What one line tells. */
typedef struct line {
    char environment[64];
    double last_return, final;
    int64_t seed, updates, env_steps; /* -1: not known */
    int64_t checkpoint;
    const char *state;
} line;

/* A file of a run. What of it cannot be read is as good as not there, and said with `advice` behind it. */
typedef struct document {
    char path[4096];
    const char *advice;
    cm_json_doc *doc;
    const cm_json *root; /* an object; NULL: none */
} document;

/* What is wrong with `value`. */
static void warn(const document *d, const cm_json *value) {
    cm_log(CM_WARNING, "%s:%d: %s; %s", d->path, cm_json_line(value), cm_error_message(), d->advice);
}

static void read_document(const cm_dir *dir, const char *name, const char *advice, document *out) {
    *out = (document){.advice = advice};
    if (cm_path_join(out->path, sizeof out->path, dir->path, name) != CM_OK) return;
    if (cm_dir_look(dir, name) == CM_DIR_NONE) return;
    if (cm_json_read_in(dir, name, CM_JSON_SMALL, &out->doc) != CM_OK) {
        cm_log(CM_WARNING, "%s; %s", cm_error_message(), advice);
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
static void read_state(const cm_checkpoint_store *store, line *out) {
    cm_dir checkpoint;
    document state;
    out->updates = out->env_steps = -1;
    if (cm_checkpoint_enter(store, CM_CHECKPOINT_LATEST, &checkpoint) != CM_OK) return;
    read_document(&checkpoint, CM_FILE_STATE, "the steps of this run are not known", &state);
    cm_dir_close(&checkpoint);
    out->updates = integer_of(&state, state.root, "updates", -1);
    out->env_steps = integer_of(&state, state.root, "env_steps", -1);
    cm_json_free(state.doc);
}

static void read_metrics(const cm_dir *run, const cm_checkpoint_store *store, line *out) {
    char path[PATH_MAX];
    cm_metrics *rows = NULL;
    int count = 0;
    if (cm_path_join(path, sizeof path, run->path, "metrics.jsonl") != CM_OK) return;
    if (cm_metrics_read(path, &rows, &count) != CM_OK) {
        cm_log(CM_WARNING, "%s", cm_error_message());
        if (cm_dir_look(run, "metrics.jsonl") != CM_DIR_NONE) read_state(store, out);
    }
    if (count == 0) return;
    out->updates = rows[count - 1].updates;
    out->env_steps = rows[count - 1].env_steps;
    out->last_return = rows[count - 1].mean_return;
    free(rows);
}

/* The name as cumind environments has it, with its size. */
static void set_environment(const char *name, int64_t size, line *out) {
    cm_env_params params = cm_env_params_default();
    params.size = size > INT_MAX ? INT_MAX : (int)size;
    cm_env env;
    bool is_known = name && cm_env_open(&env, name, &params) == CM_OK;
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

static void read_configuration(const cm_dir *run, line *out) {
    document config;
    read_document(run, "config.json", "mend it, or bring back a copy of it", &config);
    const cm_json *root = config.root, *named = find_section(root, "env_name");
    if (root && !named) cm_log(CM_WARNING, "%s: env_name: missing; %s", config.path, config.advice);
    set_environment(string_of(&config, named, "env_name"),
                    integer_of(&config, find_section(root, "board_size"), "board_size", 0), out);
    out->seed = integer_of(&config, find_section(root, "seed"), "seed", -1);
    cm_json_free(config.doc);
}

static void read_result(const cm_dir *run, line *out) {
    document result;
    read_document(run, "result.json", "train --resume with this run makes it anew", &result);
    if (result.root) out->state = "finished";
    out->final = number_of(&result, result.root, "mean");
    cm_json_free(result.doc);
}

static cm_status read_line(const char *run, line *out) {
    *out = (line){
        .environment = "?", .seed = -1, .last_return = NAN, .final = NAN, .checkpoint = -1, .state = "unfinished"};
    cm_checkpoint_store *store = NULL;
    cm_dir dir;
    CM_TRY(cm_dir_open(&dir, run));
    cm_status status = cm_checkpoint_store_create(run, 1, NULL, &store);
    if (status == CM_OK) {
        read_configuration(&dir, out);
        read_result(&dir, out);
        read_metrics(&dir, store, out);
        out->checkpoint = cm_checkpoint_find(store, CM_CHECKPOINT_LATEST);
    }
    if (cm_run_directory_is_training(run)) out->state = "training";
    cm_checkpoint_store_destroy(store);
    cm_dir_close(&dir);
    return status;
}

static void put_count(cm_json_writer *json, const char *key, int64_t count) {
    if (count < 0) {
        cm_json_put_null(json, key);
    } else {
        cm_json_put_int(json, key, count);
    }
}

static void put_json(cm_json_writer *json, const char *run, const line *l) {
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "run", run);
    cm_json_put_string(json, "environment", l->environment);
    if (l->seed >= 0) cm_json_put_int(json, "seed", l->seed);
    put_count(json, "updates", l->updates);
    put_count(json, "env_steps", l->env_steps);
    cm_json_put_int(json, "checkpoint", l->checkpoint);
    cm_json_put_double(json, "mean_return", l->last_return);
    cm_json_put_double(json, "final_return", l->final);
    cm_json_put_string(json, "state", l->state);
    cm_json_end_object(json);
}

/* Too narrow a terminal has no updates, and then no seeds either; a long name of an environment is cut to what is left.
 */
static void print_cells(const listing *list, const cells *c) {
    const int left = list->is_narrow ? 0 : list->columns - TABLE - list->longest;
    printf("%-*.*s", NAME, left < (int)sizeof c->environment - NAME ? NAME + left : (int)sizeof c->environment,
           c->environment);
    if (list->columns >= WITH_SEED) printf(" %6s", c->seed);
    printf(" %7s", c->steps);
    if (list->columns >= WITH_UPDATES) printf(" %7s", c->updates);
    printf(" %7s %7s  %-*s", c->last, c->final, list->is_narrow ? 0 : 10, c->state);
}

static void print_head(const listing *list) {
    const cells head = {"environment", "seed", "steps", "updates", "return", "final", "state"};
    print_cells(list, &head);
    printf("%s\n", list->is_narrow ? "" : " run");
}

static void format_known(int64_t count, char out[16]) { cm_format_count(count < 0 ? (double)NAN : (double)count, out); }

static void print_run(const listing *list, const line *l, const char *run) {
    cells c = {.state = l->state};
    cm_printable(l->environment, c.environment, sizeof c.environment);
    snprintf(c.seed, sizeof c.seed, l->seed < 0 ? "-" : "%lld", (long long)l->seed);
    format_known(l->env_steps, c.steps);
    format_known(l->updates, c.updates);
    cm_format_count(l->last_return, c.last);
    cm_format_count(l->final, c.final);
    print_cells(list, &c);
    printf("%s%s\n", list->is_narrow ? "\n    " : " ", CM_PRINTABLE(run));
}

/* ---- which ones ---- */

static cm_status note_run(void *context, const char *run) {
    listing *list = context;
    if (list->count == list->space) {
        const int space = 2 * list->space + 8;
        char **runs = realloc(list->runs, (size_t)space * sizeof *runs);
        if (!runs) return cm_fail(CM_ERR_MEMORY, "no memory for the names of %d runs", space);
        list->runs = runs, list->space = space;
    }
    const int length = (int)strlen(CM_PRINTABLE(run));
    list->longest = length > list->longest ? length : list->longest;
    list->runs[list->count] = strdup(run);
    return list->runs[list->count++] ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for the name of a run");
}

/* The runs below each of the folders; with `root` (NULL: none) below that. */
static cm_status find_runs(const cm_arguments *arguments, const char *root, listing *list) {
    if (root) return cm_run_directory_visit(root, note_run, list);
    for (int i = 0; i < arguments->positional_count; i++) {
        CM_TRY(cm_run_directory_visit(arguments->positional[i], note_run, list));
    }
    return CM_OK;
}

/* ---- the list ---- */

static cm_status put_runs(const listing *list, cm_json_writer *json) {
    line l;
    for (int i = 0; i < list->count; i++) {
        CM_TRY(read_line(list->runs[i], &l));
        put_json(json, list->runs[i], &l);
    }
    return CM_OK;
}

static cm_status list_json(const listing *list) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_array(json, NULL);
    cm_status status = put_runs(list, json);
    cm_json_end_array(json);
    return cm_cli_print(json, status);
}

static cm_status list_table(const cm_arguments *arguments, const char *root, listing *list) {
    const cm_view view = cm_view_of_stdout(arguments);
    char note[PATH_MAX + 64];
    line l;
    list->columns = view.tty ? view.columns : INT_MAX;
    list->is_narrow = list->columns < TABLE + list->longest;
    print_head(list);
    for (int i = 0; i < list->count; i++) {
        CM_TRY(read_line(list->runs[i], &l));
        print_run(list, &l, list->runs[i]);
    }
    if (root) {
        snprintf(note, sizeof note, "(%s below %s; cumind runs DIR... looks elsewhere)",
                 list->count > 0 ? "all that are" : "none", root);
        cm_text_print(stdout, list->columns, CM_PRINTABLE(note), 0, 1);
    } else if (list->count == 0) {
        printf("(none there)\n");
    }
    return CM_OK;
}

static cm_status list_runs(const cm_arguments *arguments, const char *root) {
    listing list = {.count = 0};
    cm_status status = find_runs(arguments, root, &list);
    if (status == CM_OK && cm_argument_given(arguments, "--json")) {
        status = list_json(&list);
    } else if (status == CM_OK) {
        status = list_table(arguments, root, &list);
    }
    for (int i = 0; i < list.count; i++) free(list.runs[i]);
    free(list.runs);
    return status;
}

static cm_status run_runs(cm_arguments *arguments) {
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_env_trust(CM_ENV_TRUST_NAMED);
    for (int i = 0; i < arguments->positional_count; i++) {
        const char *folder = arguments->positional[i];
        if (cm_file_is_directory(folder)) continue;
        const bool is_hidden = errno == EACCES;
        return cm_fail(CM_ERR_INPUT, "%s: %s", folder,
                       is_hidden                ? "a folder on the way to it cannot be read"
                       : cm_file_exists(folder) ? "is a file; give folders"
                                                : "there is no such folder");
    }
    if (arguments->positional_count > 0) return list_runs(arguments, NULL);
    CM_TRY(cm_cli_configuration(arguments, &configuration, &config));
    cm_status status = list_runs(arguments, configuration.run.checkpoint_root_dir);
    cm_config_destroy(config);
    return status;
}

static const cm_flag flags[] = {CM_FLAGS_CONFIGURATION, CM_FLAG_JSON, CM_FLAGS_END};

const cm_command cm_command_runs = {
    .name = "runs",
    .about = "list the runs below folders",
    .positional = "[DIR...]",
    .details =
        "Without DIR the folder that the configuration calls checkpoint_root_dir. Runs are looked for in the folder "
        "itself and down to three folders below it; a link below it is looked at only where it is one. Their state is "
        "training, where a process is at it, unfinished or "
        "finished.",
    .flags = flags,
    .examples = "  cumind runs\n"
                "  cumind runs checkpoints experiments ./mine\n",
    .run = run_runs,
};
