/* Collecting: which runs a report is of, and what they come to. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report_recipes.h"
#include "core/arena.h"
#include "run/directory.h"
#include "run/recipe.h"

enum { LINE = 2048 };

/* ---- one run ---- */

typedef struct collection {
    cm_report *report;
    cm_report_recipes recipes;
    int seen;     /* runs that were found */
    int capacity; /* of report->runs */
} collection;

static cm_status read_evaluation(const cm_json *root, cm_report_run *run) {
    int64_t episodes;
    CM_TRY(cm_json_check(root, CM_JSON_OBJECT));
    if (!cm_json_get(root, "mean"))
        return cm_fail(CM_ERR_INPUT,
                       "has no final evaluation: final_evaluation_episodes was 0, or the time was over before "
                       "an episode of it had ended");
    CM_TRY(cm_json_need_number(root, "mean", &run->mean));
    CM_TRY(cm_json_need_int(root, "episodes", 1, INT32_MAX, &episodes));
    CM_TRY(cm_json_need_int(root, "env_steps", 0, CM_JSON_MOST, &run->env_steps));
    run->episodes = (int)episodes;
    run->std = cm_json_number(cm_json_get(root, "std"), NAN);
    return CM_OK;
}

/* The file in the folder of a run. */
static cm_status read_result(const char *path, cm_report_run *run) {
    static const char file[] = "result.json";
    cm_json_doc *doc = NULL;
    cm_dir dir;
    CM_TRY(cm_dir_open(&dir, path));
    cm_status status = CM_OK;
    if (cm_dir_look(&dir, file) == CM_DIR_NONE) {
        status = cm_fail(CM_ERR_INPUT, "%s: has no %s: it has not finished (cumind train --resume goes on with it)",
                         path, file);
    } else {
        status = cm_json_read_in(&dir, file, CM_JSON_SMALL, &doc);
    }
    if (doc) {
        status = read_evaluation(cm_json_root(doc), run);
        if (status != CM_OK) status = cm_fail_in(status, "%s/%s", path, file);
    }
    cm_json_free(doc);
    cm_dir_close(&dir);
    return status;
}

/* Whether the folder is that of a run that is there, by whatever path. */
static bool is_known(const cm_report *report, const char *path) {
    struct stat one, other;
    if (stat(path, &one) != 0) return false;
    for (int i = 0; i < report->run_count; i++)
        if (stat(report->runs[i].path, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino)
            return true;
    return false;
}

static cm_status add_run(collection *c, const cm_report_run *run, const char *path) {
    cm_report *report = c->report;
    if (report->run_count == c->capacity) {
        const int capacity = 2 * c->capacity + 8;
        cm_report_run *runs = realloc(report->runs, (size_t)capacity * sizeof *runs);
        if (!runs) return cm_fail(CM_ERR_MEMORY, "no memory for %d runs", capacity);
        report->runs = runs, c->capacity = capacity;
    }
    cm_report_run *added = &report->runs[report->run_count];
    *added = *run;
    added->path = strdup(path);
    if (!added->path) return cm_fail(CM_ERR_MEMORY, "no memory for the name of a run");
    report->run_count++;
    added->normalised = cm_suite_normalise(report->suite, run->game, run->mean);
    return CM_OK;
}

/* What has to be there for a run to count; else the error says why it does not. */
static cm_status read_run(const cm_suite *suite, const char *path, cm_report_run *run, cm_report_recipe **recipe) {
    *run = (cm_report_run){.std = NAN};
    CM_TRY(cm_report_recipe_read(path, recipe));
    const char *env_name = (*recipe)->values.env.env_name;
    run->seed = (*recipe)->values.run.seed;
    run->game = cm_suite_game(suite, env_name);
    if (run->game < 0) return cm_fail(CM_ERR_INPUT, "%s: %s is no game of %s", path, env_name, suite->name);
    return read_result(path, run);
}

static cm_status visit_run(void *context, const char *path) {
    collection *c = context;
    cm_report_recipe *recipe = NULL;
    cm_report_run run;
    c->seen++;
    if (is_known(c->report, path)) return CM_OK;
    cm_status status = read_run(c->report->suite, path, &run, &recipe);
    if (status != CM_OK) {
        cm_report_recipe_free(recipe);
        if (status == CM_ERR_MEMORY) return status;
        char why[LINE];
        snprintf(why, sizeof why, "%s", cm_error_message());
        return cm_report_warn(c->report, "left out: %s", why);
    }
    CM_TRY(cm_report_recipes_add(&c->recipes, c->report, run.game, recipe));
    return add_run(c, &run, path);
}

/* ---- all of them ---- */

static int compare_runs(const void *a, const void *b) {
    const cm_report_run *x = a, *y = b;
    return x->game != y->game ? x->game - y->game : strcmp(x->path, y->path);
}

/* Mean and standard deviation over the runs of a game, and its sums. */
static void sum_up(const cm_report *report, cm_report_game *game) {
    const cm_report_run *runs = &report->runs[game->first];
    double squares = 0.0;
    game->least_steps = INT64_MAX;
    for (int i = 0; i < game->runs; i++) {
        game->mean += runs[i].mean / game->runs;
        game->episodes += runs[i].episodes;
        game->least_steps = runs[i].env_steps < game->least_steps ? runs[i].env_steps : game->least_steps;
        game->most_steps = runs[i].env_steps > game->most_steps ? runs[i].env_steps : game->most_steps;
    }
    for (int i = 0; i < game->runs; i++) squares += (runs[i].mean - game->mean) * (runs[i].mean - game->mean);
    game->std = game->runs > 1 ? sqrt(squares / (game->runs - 1)) : (double)NAN;
    game->normalised = cm_suite_normalise(report->suite, runs[0].game, game->mean);
}

static void group_runs(cm_report *report) {
    qsort(report->runs, (size_t)report->run_count, sizeof *report->runs, compare_runs);
    for (int i = 0; i < report->run_count; i++) {
        cm_report_game *game = &report->game[report->runs[i].game];
        if (game->runs++ == 0) game->first = i;
    }
    for (int g = 0; g < report->suite->game_count; g++) {
        if (report->game[g].runs == 0) continue;
        sum_up(report, &report->game[g]);
        report->game_count++;
    }
}

static cm_status estimate(cm_report *report) {
    double *score;
    int runs[CM_SUITE_GAMES], games = 0;
    CM_TRY(cm_alloc(&score, (size_t)report->run_count, sizeof *score, "scores"));
    for (int i = 0; i < report->run_count; i++) score[i] = report->runs[i].normalised;
    for (int g = 0; g < report->suite->game_count; g++)
        if (report->game[g].runs > 0) runs[games++] = report->game[g].runs;
    const cm_scores scores = {score, runs, games};
    const cm_status status = cm_scores_estimate(&scores, report->resamples, (uint64_t)report->seed, report->aggregate);
    free(score);
    return status;
}

/* ---- what a reader must know ---- */

static cm_status note_missing(cm_report *report) {
    char list[LINE] = "";
    const cm_suite *suite = report->suite;
    if (report->game_count == suite->game_count) return CM_OK;
    for (int g = 0; g < suite->game_count; g++) {
        const size_t used = strlen(list);
        if (report->game[g].runs == 0)
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", suite->games[g]);
    }
    return cm_report_warn(report,
                          "%d of %d games have no run: %s; all aggregates, published ones too, are of the other %d",
                          suite->game_count - report->game_count, suite->game_count, list, report->game_count);
}

static cm_status note_counts(cm_report *report) {
    int least = INT_MAX, most = 0, single = 0;
    for (int g = 0; g < report->suite->game_count; g++) {
        const int runs = report->game[g].runs;
        if (runs == 0) continue;
        least = runs < least ? runs : least;
        most = runs > most ? runs : most;
        single += runs == 1;
    }
    if (most == 1) return cm_report_note(report, "every game has one run, so that there are no intervals");
    if (least < most)
        CM_TRY(cm_report_warn(
            report, "games have %d to %d runs: in mean, median and gap each game counts alike, in the IQM each run",
            least, most));
    if (single == 0) return CM_OK;
    return cm_report_warn(
        report, "games with one run: %d, which a resample does not vary; the intervals are too narrow", single);
}

static cm_status collect(collection *c, const char *const *folders, int count) {
    for (int i = 0; i < count; i++) {
        const int before = c->seen;
        CM_TRY(cm_recipe_advise_run(folders[i]));
        CM_TRY(cm_run_directory_visit(folders[i], visit_run, c));
        if (c->seen == before) return cm_fail(CM_ERR_INPUT, "report: %s is no run and holds none", folders[i]);
    }
    if (c->report->run_count == 0)
        return cm_fail(CM_ERR_INPUT, "report: of %d runs none has a final evaluation of a game of %s", c->seen,
                       c->report->suite->name);
    group_runs(c->report);
    CM_TRY(estimate(c->report));
    CM_TRY(note_missing(c->report));
    CM_TRY(note_counts(c->report));
    return cm_report_recipes_compare(&c->recipes, c->report);
}

cm_status cm_report_collect(const cm_suite *suite, const char *const *folders, int folder_count, int resamples,
                            int64_t seed, cm_report *out) {
    *out = (cm_report){.suite = suite, .resamples = resamples, .seed = seed};
    collection c = {.report = out};
    const cm_status status = collect(&c, folders, folder_count);
    cm_report_recipes_free(&c.recipes);
    return status;
}

void cm_report_free(cm_report *report) {
    for (int i = 0; i < report->run_count; i++) free(report->runs[i].path);
    for (int i = 0; i < report->note_count; i++) free(report->notes[i]);
    free(report->runs);
    free(report->notes);
}

/* ---- published columns ---- */

cm_report_column cm_report_published(const cm_report *report, int column) {
    const cm_published *published = &report->suite->published[column];
    double score[CM_SUITE_GAMES], sum = 0.0;
    int count = 0;
    for (int g = 0; g < report->suite->game_count; g++) {
        if (report->game[g].runs == 0) continue;
        score[count] = cm_suite_normalise(report->suite, g, published->score[g]);
        if (isnan(score[count])) return (cm_report_column){NAN, NAN, NAN};
        sum += score[count++];
    }
    const bool has_all = count == report->suite->game_count;
    return (cm_report_column){sum / count, cm_scores_median(score, count), has_all ? published->iqm : (double)NAN};
}
