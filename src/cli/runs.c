/* A table of the runs below folders. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/view.h"
#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/text.h"
#include "env/env.h"
#include "env/trust.h"
#include "run/directory.h"
#include "run/recipe.h"
#include "run/summary.h"

/* Columns of the table, a path after them. */
enum { ENVIRONMENT, SEED, BEGUN, TOOK, STEPS, UPDATES, RETURN, FINAL, GOAL, STATE, COLUMNS };
enum { CELL = 64, INDENT = 4 }; /* INDENT: of a path that has a line of its own */

static const struct {
    const char *head;
    bool is_text; /* begins where its column does; a number ends there */
} columns[COLUMNS] = {{"environment", true}, {"seed", false},   {"begun", true},  {"took", false}, {"steps", false},
                      {"updates", false},    {"return", false}, {"final", false}, {"goal", false}, {"state", true}};

/* What goes first where a line has no space for all; the first few of them rather than give a path a line of its own.
 */
static const int dispensable[] = {UPDATES, SEED, RETURN, TOOK, BEGUN, GOAL, STEPS};
enum { DISPENSABLE = sizeof dispensable / sizeof *dispensable, EASILY = 3 };

typedef struct listing {
    char **runs; /* [count of space], owned, as each of them */
    char (*cells)[COLUMNS][CELL];
    int count, capacity;
    int longest;         /* bytes of the longest path as it is printed */
    int width[COLUMNS];  /* of its longest cell; 0: the column is left out */
    bool has_path_below; /* a path is on a line below its run's numbers */
} listing;

static void put_count(cm_json_writer *json, const char *key, int64_t count) {
    if (count < 0) {
        cm_json_put_null(json, key);
    } else {
        cm_json_put_int(json, key, count);
    }
}

static void put_json(cm_json_writer *json, const char *run, const cm_run_summary *l) {
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "run", run);
    cm_json_put_string(json, "environment", l->environment);
    if (l->seed >= 0) cm_json_put_int(json, "seed", l->seed);
    put_count(json, "updates", l->updates);
    put_count(json, "env_steps", l->env_steps);
    cm_json_put_int(json, "checkpoint", l->checkpoint);
    cm_json_put_double(json, "mean_return", l->last_return);
    cm_json_put_double(json, "final_return", l->final);
    cm_json_put_double(json, "goal", l->goal);
    cm_json_put_double(json, "seconds", l->seconds);
    if (*l->begun) cm_json_put_string(json, "begun", l->begun);
    cm_json_put_string(json, "state", l->state);
    cm_json_end_object(json);
}

static void format_known(int64_t count, char out[16]) { cm_format_count(count < 0 ? (double)NAN : (double)count, out); }

static void fill_cells(const cm_run_summary *l, char cells[COLUMNS][CELL]) {
    cm_printable(l->environment, cells[ENVIRONMENT], CELL);
    snprintf(cells[SEED], CELL, l->seed < 0 ? "-" : "%lld", (long long)l->seed);
    snprintf(cells[BEGUN], CELL, "%s", *l->begun ? l->begun : "-");
    snprintf(cells[TOOK], CELL, "-");
    if (isfinite(l->seconds)) cm_clock_format_duration(l->seconds, cells[TOOK]);
    format_known(l->env_steps, cells[STEPS]);
    format_known(l->updates, cells[UPDATES]);
    cm_format_count(l->last_return, cells[RETURN]);
    cm_format_count(l->final, cells[FINAL]);
    cm_format_count(l->goal, cells[GOAL]);
    snprintf(cells[STATE], CELL, "%s", l->state);
    for (char *c = cells[ENVIRONMENT]; *c; c++)
        if (*c == ' ') *c = '_'; /* whoever cuts lines at blanks finds columns */
}

static int width_of(const listing *list) {
    int width = -1;
    for (int c = 0; c < COLUMNS; c++) width += list->width[c] > 0 ? list->width[c] + 1 : 0;
    return width;
}

/* Columns as wide as what stands in them, as many as `space` has; what is still too wide loses of the name. */
static void fit_columns(listing *list, int space) {
    int full[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        list->width[c] = (int)strlen(columns[c].head);
        for (int i = 0; i < list->count; i++) {
            const int width = cm_text_line_width(list->cells[i][c]);
            list->width[c] = width > list->width[c] ? width : list->width[c];
        }
    }
    memcpy(full, list->width, sizeof full);
    const int with_path = space - 1 - list->longest;
    for (int i = 0; i < EASILY && width_of(list) > with_path; i++) list->width[dispensable[i]] = 0;
    list->has_path_below = width_of(list) > with_path;
    if (!list->has_path_below) return;
    memcpy(list->width, full, sizeof full);
    for (int i = 0; i < DISPENSABLE && width_of(list) > space; i++) list->width[dispensable[i]] = 0;
    const int left = list->width[ENVIRONMENT] - (width_of(list) - space);
    if (width_of(list) > space) list->width[ENVIRONMENT] = left > 1 ? left : 1;
}

static void print_cell(const listing *list, int column, const char *text) {
    const int width = list->width[column], blanks = width - cm_text_line_width(text);
    if (width == 0) return;
    const bool is_last = column == STATE && list->has_path_below;
    if (!columns[column].is_text) printf("%*s", blanks, "");
    printf("%.*s", blanks < 0 ? width : CELL, text);
    if (columns[column].is_text && !is_last && blanks > 0) printf("%*s", blanks, "");
    if (!is_last) printf(" ");
}

static void print_table(const listing *list) {
    for (int c = 0; c < COLUMNS; c++) print_cell(list, c, columns[c].head);
    printf("%s\n", list->has_path_below ? "" : "run");
    for (int i = 0; i < list->count; i++) {
        for (int c = 0; c < COLUMNS; c++) print_cell(list, c, list->cells[i][c]);
        if (list->has_path_below) printf("\n%*s", INDENT, "");
        printf("%s\n", CM_PRINTABLE(list->runs[i]));
    }
}

/* ---- which ones ---- */

static cm_status note_run(void *context, const char *run) {
    listing *list = context;
    if (list->count == list->capacity) {
        const int capacity = 2 * list->capacity + 8;
        char **runs = realloc(list->runs, (size_t)capacity * sizeof *runs);
        if (!runs) return cm_fail(CM_ERR_MEMORY, "no memory for the names of %d runs", capacity);
        list->runs = runs, list->capacity = capacity;
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
    cm_run_summary l;
    for (int i = 0; i < list->count; i++) {
        CM_TRY(cm_run_summary_read(list->runs[i], true, false, &l));
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
    const int space = view.tty ? view.columns : INT_MAX;
    char note[PATH_MAX + 64];
    cm_run_summary l;
    CM_TRY(cm_alloc(&list->cells, (size_t)list->count + 1, sizeof *list->cells, "the table of runs"));
    for (int i = 0; i < list->count; i++) {
        CM_TRY(cm_run_summary_read(list->runs[i], true, false, &l));
        fill_cells(&l, list->cells[i]);
    }
    fit_columns(list, space);
    print_table(list);
    if (root) {
        snprintf(note, sizeof note, "(%s below %s; cumind runs DIR... looks elsewhere)",
                 list->count > 0 ? "all that are" : "none", root);
        cm_text_print(stdout, space, CM_PRINTABLE(note), 0, 1);
    } else if (list->count == 0) {
        printf("(none there)\n");
    }
    return CM_OK;
}

static cm_status list_runs(const cm_arguments *arguments, const char *root) {
    listing list = {.longest = (int)strlen("run")}; /* the head */
    cm_status status = find_runs(arguments, root, &list);
    if (status == CM_OK && cm_argument_is_set(arguments, "--json")) {
        status = list_json(&list);
    } else if (status == CM_OK) {
        status = list_table(arguments, root, &list);
    }
    for (int i = 0; i < list.count; i++) free(list.runs[i]);
    free(list.cells);
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
        CM_TRY(cm_recipe_advise_run(folder));
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
    .details = "Without DIR the folder that the configuration calls checkpoint_root_dir. Runs are looked for in the "
               "folder itself and down to three folders below it; a link below it is looked at only where it is one. "
               "Of each: when it was begun and how long it took, the last mean return of self-play, that of the final "
               "evaluation, and the goal; its state is training, where a process is at it, unfinished or finished. A "
               "narrow terminal has the first and the last of it; a pipe has all, a word for each column.",
    .flags = flags,
    .examples = "  cumind runs\n"
                "  cumind runs checkpoints experiments ./mine\n",
    .run = run_runs,
};
