/* A report as Markdown. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/report.h"
#include "core/printable.h"
#include "run/progress.h"

enum { CELL = 48 };

static void put_cell(const char *text) { printf(" %s |", text); }

static void put_rule(int columns) {
    printf("\n|---|");
    for (int i = 1; i < columns; i++) printf("---:|");
    printf("\n");
}

/* As tables of scores write them: a number as it is published, a mean with a digit more than tells runs apart. */
static void put_score(double score) {
    char text[CELL] = "-";
    if (isfinite(score)) snprintf(text, sizeof text, "%.10g", score);
    put_cell(text);
}

static void put_mean(const cm_report_game *game) {
    char text[CELL];
    const int digits = fabs(game->mean) < 100.0 ? 2 : 1;
    int used = snprintf(text, sizeof text, "%.*f", digits, game->mean);
    if (game->runs > 1) snprintf(text + used, sizeof text - (size_t)used, " ± %.*f", digits, game->std);
    put_cell(text);
}

static void put_steps(const cm_report_game *game) {
    char least[16], most[16], text[CELL];
    cm_format_count((double)game->least_steps, least);
    cm_format_count((double)game->most_steps, most);
    snprintf(text, sizeof text, game->least_steps < game->most_steps ? "%s to %s" : "%s", least, most);
    put_cell(text);
}

static void put_game(const cm_report *report, int g) {
    const cm_report_game *game = &report->game[g];
    const cm_suite *suite = report->suite;
    printf("| %s |", suite->games[g]);
    if (game->runs == 0) {
        printf(" 0 | - | - | - | - |");
    } else {
        printf(" %d |", game->runs);
        put_steps(game);
        printf(" %" PRId64 " |", game->episodes);
        put_mean(game);
        printf(" %.3f |", game->normalised);
    }
    for (int c = 0; c < suite->published_count; c++) put_score(suite->published[c].score[g]);
    printf("\n");
}

static void print_games(const cm_report *report) {
    const cm_suite *suite = report->suite;
    printf("| game | runs | steps | episodes | mean ± std over runs | %s |", suite->measure);
    for (int c = 0; c < suite->published_count; c++) put_cell(suite->published[c].name);
    put_rule(6 + suite->published_count);
    for (int g = 0; g < suite->game_count; g++) put_game(report, g);
}

/* ---- aggregates ---- */

static void put_estimate(const cm_estimate *e) {
    char text[CELL];
    int used = snprintf(text, sizeof text, "%.3f", e->value);
    if (isfinite(e->low)) snprintf(text + used, sizeof text - (size_t)used, " [%.3f, %.3f]", e->low, e->high);
    put_cell(text);
}

static double column_value(cm_report_column column, cm_aggregate a) {
    switch (a) {
    case CM_AGGREGATE_MEAN: return column.mean;
    case CM_AGGREGATE_MEDIAN: return column.median;
    case CM_AGGREGATE_IQM: return column.iqm;
    default: return NAN; /* a gap needs the single runs */
    }
}

static void print_aggregates(const cm_report *report) {
    const cm_suite *suite = report->suite;
    static const char *const names[CM_AGGREGATES] = {"mean", "median", "IQM", "optimality gap (less is better)"};
    printf("| %s | these runs |", suite->measure);
    for (int c = CM_SUITE_METHODS; c < suite->published_count; c++) put_cell(suite->published[c].name);
    put_rule(suite->published_count);
    for (int a = 0; a < CM_AGGREGATES; a++) {
        if (a == CM_AGGREGATE_GAP && !suite->has_gap) continue;
        printf("| %s |", names[a]);
        put_estimate(&report->aggregate[a]);
        for (int c = CM_SUITE_METHODS; c < suite->published_count; c++) {
            const double value = column_value(cm_report_published(report, c), (cm_aggregate)a);
            if (isfinite(value)) printf(" %.3f |", value);
            if (!isfinite(value)) put_cell("-");
        }
        printf("\n");
    }
}

static void print_method(const cm_report *report) {
    const cm_suite *suite = report->suite;
    printf("\nScores are means of each run's final evaluation. A %s is 0 for %s and 1 for %s. ", suite->measure,
           suite->published[CM_SUITE_ZERO].name, suite->published[CM_SUITE_ONE].name);
    printf("Mean and median are of the games' means, the IQM is the mean of the middle half of all runs.");
    if (isfinite(report->aggregate[CM_AGGREGATE_MEAN].low))
        printf(" Intervals hold 95 %% of %d resamples of every game's runs (seed %" PRId64 ").", report->resamples,
               report->seed);
    printf("\n");
}

void cm_report_print(const cm_report *report) {
    const cm_suite *suite = report->suite;
    printf("# %s: %s\n\n", suite->name, suite->about);
    printf("%d runs of %d of %d games.\n\n", report->run_count, report->game_count, suite->game_count);
    print_aggregates(report);
    print_method(report);
    printf("\n");
    print_games(report);
    if (report->note_count > 0) printf("\nNotes:\n\n");
    for (int i = 0; i < report->note_count; i++) printf("- %s\n", CM_PRINTABLE(report->notes[i]));
    printf("\nSources:\n\n");
    for (int c = 0; c < suite->published_count; c++)
        printf("- %s: %s\n", suite->published[c].name, suite->published[c].source);
}
