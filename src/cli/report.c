/* cumind report: the runs of a suite as one table, next to published scores. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/picture.h"
#include "cli/report.h"
#include "core/printable.h"

typedef cm_status (*picture_writer)(const char *svg, const char *path);

/* What writes a file of that name; NULL: no --plot. */
static cm_status choose_writer(const char *path, picture_writer *out) {
    static const struct {
        const char *end;
        picture_writer write;
    } kinds[] = {{".svg", cm_picture_write_svg}, {".png", cm_picture_write_png}};
    const char *end = path ? strrchr(path, '.') : NULL;
    *out = NULL;
    if (!path) return CM_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (end && strcmp(end, kinds[i].end) == 0) *out = kinds[i].write;
    return *out ? CM_OK : cm_fail(CM_ERR_INPUT, "--plot %s: must end with .svg or .png", path);
}

static cm_status draw(const cm_report *report, cm_theme theme, const char *path, picture_writer write) {
    char *svg = NULL;
    CM_TRY(cm_report_svg(report, theme, &svg));
    const cm_status status = write(svg, path);
    free(svg);
    CM_TRY(status);
    cm_cli_say("report: drawn to %s", CM_PRINTABLE(path));
    return CM_OK;
}

static cm_status print(const cm_arguments *arguments, const cm_report *report) {
    if (cm_argument_is_set(arguments, "--json")) return cm_report_print_json(report);
    cm_report_print(report);
    return CM_OK;
}

static cm_status run_report(cm_arguments *arguments) {
    const char *path = cm_argument(arguments, "--plot");
    int64_t resamples = 50000, seed = 0;
    int theme = CM_THEME_AUTO;
    const cm_suite *suite;
    picture_writer write;
    cm_report report;
    if (arguments->positional_count == 0)
        return cm_fail(CM_ERR_INPUT, "report: needs a suite and the folders of runs, as in cumind report %s runs/*",
                       cm_suites[0]->name);
    CM_TRY(cm_suite_find(arguments->positional[0], &suite));
    if (arguments->positional_count == 1)
        return cm_fail(CM_ERR_INPUT, "report: needs the folders of runs, as in cumind report %s runs/*", suite->name);
    CM_TRY(cm_argument_int(arguments, "--resamples", 0, 10000000, &resamples));
    CM_TRY(cm_argument_int(arguments, "--seed", 0, (int64_t)1 << 53, &seed));
    CM_TRY(cm_argument_choice(arguments, "--theme", CM_THEME_WORDS, &theme));
    CM_TRY(choose_writer(path, &write));
    cm_status status = cm_report_collect(suite, arguments->positional + 1, arguments->positional_count - 1,
                                         (int)resamples, seed, &report);
    if (status == CM_OK) status = print(arguments, &report);
    if (status == CM_OK && path) status = draw(&report, (cm_theme)theme, path, write);
    cm_report_free(&report);
    return status;
}

static void list_suites(cm_text *text) {
    cm_text_add(text, "\n\nSuites: ");
    for (int i = 0; cm_suites[i]; i++)
        cm_text_add(text, "%s%s, %s", i > 0 ? "; " : "", cm_suites[i]->name, cm_suites[i]->about);
    cm_text_add(text, ".");
}

static const cm_flag flags[] = {
    CM_FLAG_JSON,
    {"--plot", "FILE", "Draw it, too: FILE.svg, or FILE.png by rsvg-convert (Debian: librsvg2-bin)."},
    {"--theme", "NAME",
     "Colours of the picture: auto, which follows the reader's, light or dark; of PNG auto is light."},
    {"--resamples", "N", "Resamples that intervals are drawn from, 50k; 0: no intervals."},
    {"--seed", "N", "The seed of the resamples, 0; the same one gives the same intervals."},
    CM_FLAGS_END,
};

const cm_command cm_command_report = {
    .name = "report",
    .about = "report the scores of a suite of games next to published ones",
    .positional = "SUITE RUN...",
    .details =
        "Of every game the runs in and below the folders, the episodes of their final evaluations, their mean and its "
        "normalised score; of all games the mean, the median, the interquartile mean and, where the field reports it, "
        "the optimality gap, with 95 % intervals of a bootstrap over runs, stratified over games. The report is "
        "Markdown. What is left out, missing, or of another recipe has a line each. It reads files alone; no "
        "environment is opened.",
    .list = list_suites,
    .flags = flags,
    .examples = "  cumind report minatar checkpoints\n"
                "  cumind report atari100k runs --plot scores.svg > scores.md\n",
    .run = run_report,
};
