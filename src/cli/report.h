/* What cumind report tells of the runs of a suite, and how it is collected, written and drawn. It reads files of runs:
 * config.json and result.json; nothing of them is executed and no environment is opened. */
#ifndef CM_CLI_REPORT_H
#define CM_CLI_REPORT_H

#include "cli/command.h"
#include "cli/scores.h"
#include "cli/suite.h"
#include "cli/svg.h"

/* A run that has finished, by its final evaluation. */
typedef struct cm_report_run {
    char *path; /* owned */
    int game;   /* of the suite */
    int64_t seed, env_steps;
    int episodes;
    double mean, std; /* of returns; std NAN: not known */
    double normalised;
} cm_report_run;

/* What the runs of a game come to. */
typedef struct cm_report_game {
    int first, runs; /* runs first .. first + runs - 1 are the game's; 0: there are none */
    int64_t episodes, least_steps, most_steps;
    double mean, std; /* over runs, of their means; std of a sample, NAN of one run */
    double normalised;
} cm_report_game;

typedef struct cm_report {
    const cm_suite *suite;
    cm_report_run *runs; /* [run_count] sorted by game, then by path; owned */
    int run_count;
    cm_report_game game[CM_SUITE_GAMES];
    int game_count;                       /* that have a run */
    cm_estimate aggregate[CM_AGGREGATES]; /* of all runs */
    int resamples;                        /* of the intervals */
    int64_t seed;                         /* of the resamples */
    char **notes; /* [note_count] what a reader must know of these runs, a sentence each; owned */
    int note_count;
} cm_report;

/* Keeps a sentence; what is wrong with a run is also warned of. Errors: CM_ERR_MEMORY. */
cm_status cm_report_note(cm_report *report, const char *format, ...) CM_PRINTF(2, 3) CM_MUST_USE;
cm_status cm_report_warn(cm_report *report, const char *format, ...) CM_PRINTF(2, 3) CM_MUST_USE;

/* Reads the runs in and below `folders`, a note for each that is left out, and works out the numbers; freed with
 * cm_report_free, also after an error. Errors: CM_ERR_INPUT if a folder holds no run, or no run counts. */
cm_status cm_report_collect(const cm_suite *suite, const char *const *folders, int folder_count, int resamples,
                            int64_t seed, cm_report *out) CM_MUST_USE;
void cm_report_free(cm_report *report);

/* Mean and median of the normalised scores of a published column over the games that the report has; NAN where the
 * column lacks one of them. Its IQM is the stated one where the report has every game. */
typedef struct cm_report_column {
    double mean, median, iqm;
} cm_report_column;
cm_report_column cm_report_published(const cm_report *report, int column);

/* The report as Markdown, or as JSON, on stdout. Errors: CM_ERR_IO, CM_ERR_MEMORY. */
void cm_report_print(const cm_report *report);
cm_status cm_report_print_json(const cm_report *report) CM_MUST_USE;

/* A picture 720 units wide in *svg (freed by the caller with free()). Errors: CM_ERR_MEMORY. */
cm_status cm_report_svg(const cm_report *report, cm_theme theme, char **svg) CM_MUST_USE;
#endif
