/* A report as JSON. */
#include <math.h>

#include "cli/output.h"
#include "cli/report.h"

static void put_published_scores(cm_json_writer *json, const cm_suite *suite, int g) {
    cm_json_begin_object(json, "published");
    for (int c = 0; c < suite->published_count; c++)
        cm_json_put_double(json, suite->published[c].name, suite->published[c].score[g]);
    cm_json_end_object(json);
}

static void put_game(cm_json_writer *json, const cm_report *report, int g) {
    const cm_report_game *game = &report->game[g];
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "game", report->suite->games[g]);
    cm_json_put_int(json, "runs", game->runs);
    if (game->runs > 0) {
        cm_json_put_int(json, "episodes", game->episodes);
        cm_json_begin_array(json, "env_steps");
        cm_json_put_int(json, NULL, game->least_steps);
        cm_json_put_int(json, NULL, game->most_steps);
        cm_json_end_array(json);
        cm_json_put_double(json, "mean", game->mean);
        cm_json_put_double(json, "std", game->std);
        cm_json_put_double(json, "normalised", game->normalised);
    }
    put_published_scores(json, report->suite, g);
    cm_json_end_object(json);
}

static void put_run(cm_json_writer *json, const cm_report *report, const cm_report_run *run) {
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "run", run->path);
    cm_json_put_string(json, "game", report->suite->games[run->game]);
    cm_json_put_int(json, "seed", run->seed);
    cm_json_put_int(json, "env_steps", run->env_steps);
    cm_json_put_int(json, "episodes", run->episodes);
    cm_json_put_double(json, "mean", run->mean);
    cm_json_put_double(json, "std", run->std);
    cm_json_put_double(json, "normalised", run->normalised);
    cm_json_end_object(json);
}

static void put_aggregates(cm_json_writer *json, const cm_report *report) {
    static const char *const keys[CM_AGGREGATES] = {"mean", "median", "iqm", "optimality_gap"};
    cm_json_begin_object(json, "aggregate");
    for (int a = 0; a < CM_AGGREGATES; a++) {
        const cm_estimate *e = &report->aggregate[a];
        if (a == CM_AGGREGATE_GAP && !report->suite->has_gap) continue;
        cm_json_begin_object(json, keys[a]);
        cm_json_put_double(json, "value", e->value);
        if (isfinite(e->low)) cm_cli_put_interval(json, e->low, e->high);
        cm_json_end_object(json);
    }
    cm_json_end_object(json);
}

static void put_published(cm_json_writer *json, const cm_report *report, int c) {
    const cm_report_column column = cm_report_published(report, c);
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "name", report->suite->published[c].name);
    cm_json_put_string(json, "source", report->suite->published[c].source);
    cm_json_put_double(json, "mean", column.mean);
    cm_json_put_double(json, "median", column.median);
    cm_json_put_double(json, "iqm", column.iqm);
    cm_json_end_object(json);
}

static void put_report(cm_json_writer *json, const cm_report *report) {
    cm_json_put_string(json, "suite", report->suite->name);
    cm_json_put_string(json, "measure", report->suite->measure);
    cm_json_put_int(json, "games_with_runs", report->game_count);
    put_aggregates(json, report);
    cm_json_put_int(json, "resamples", report->resamples);
    cm_json_put_int(json, "seed", report->seed);
    cm_json_begin_array(json, "games");
    for (int g = 0; g < report->suite->game_count; g++) put_game(json, report, g);
    cm_json_end_array(json);
    cm_json_begin_array(json, "runs");
    for (int i = 0; i < report->run_count; i++) put_run(json, report, &report->runs[i]);
    cm_json_end_array(json);
    cm_json_begin_array(json, "published");
    for (int c = 0; c < report->suite->published_count; c++) put_published(json, report, c);
    cm_json_end_array(json);
    cm_json_begin_array(json, "notes");
    for (int i = 0; i < report->note_count; i++) cm_json_put_string(json, NULL, report->notes[i]);
    cm_json_end_array(json);
}

cm_status cm_report_print_json(const cm_report *report) {
    cm_json_writer *json = NULL;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_object(json, NULL);
    put_report(json, report);
    cm_json_end_object(json);
    return cm_cli_print(json, CM_OK);
}
