/* Learning curves of runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/view.h"
#include "core/arena.h"
#include "core/file.h"
#include "run/directory.h"
#include "run/metrics.h"
#include "run/plot.h"

enum { ROWS = 20, LEAST_TERMINAL = 30, MOST_COLUMNS = 160 }; /* 30: the names of the curves */

typedef struct curves {
    double *steps, *returns, *evaluations; /* [count] */
    int count;
} curves;

static cm_status read_curves(const char *run, curves *out) {
    char path[4096];
    cm_metrics *rows = NULL;
    int n = 0;
    CM_TRY(cm_path_join(path, sizeof path, run, "metrics.jsonl"));
    CM_TRY(cm_metrics_read(path, &rows, &n));
    cm_status status = cm_alloc(&out->steps, 3 * (size_t)n + 1, sizeof(double), "a learning curve");
    if (status == CM_OK) {
        out->returns = out->steps + n;
        out->evaluations = out->returns + n;
        out->count = n;
    }
    for (int i = 0; i < n && status == CM_OK; i++) {
        out->steps[i] = (double)rows[i].env_steps;
        out->returns[i] = rows[i].mean_return;
        out->evaluations[i] = rows[i].eval_return;
    }
    free(rows);
    return status;
}

/* The width of the terminal, as far as a plot gains from it. */
static cm_status choose_columns(const cm_arguments *arguments, int64_t *columns) {
    int there = cm_view_of_stdout(arguments).columns;
    *columns = there < MOST_COLUMNS ? there : MOST_COLUMNS;
    if (!cm_argument_given(arguments, "--columns")) return cm_view_need_columns("plot", LEAST_TERMINAL);
    return cm_argument_int(arguments, "--columns", CM_VIEW_LEAST, 400, columns);
}

static cm_status draw(cm_arguments *arguments, const cm_plot *plot) {
    const char *svg = cm_argument(arguments, "--svg");
    char *text = NULL;
    int64_t columns = 0, rows = ROWS;
    if (svg) {
        CM_TRY(cm_plot_svg(plot, svg));
        printf("written to %s\n", svg);
        return CM_OK;
    }
    CM_TRY(choose_columns(arguments, &columns));
    CM_TRY(cm_argument_int(arguments, "--rows", 6, 200, &rows));
    CM_TRY(cm_plot_text(plot, (int)columns, (int)rows, cm_cli_style(arguments).utf8, &text));
    fputs(text, stdout);
    free(text);
    return CM_OK;
}

static bool any(const double *values, int n) {
    for (int i = 0; i < n; i++) {
        if (isfinite(values[i])) return true;
    }
    return false;
}

static cm_status run_plot(cm_arguments *arguments) {
    const char *run = NULL;
    curves c = {NULL, NULL, NULL, 0};
    CM_TRY(cm_cli_need_run(arguments, &run));
    CM_TRY(read_curves(run, &c));
    const cm_plot_series series[2] = {
        {"self-play, last 32 episodes", c.steps, c.returns, c.count, false},
        {"greedy evaluation", c.steps, c.evaluations, c.count, true},
    };
    cm_plot plot = {run, "env steps", "return", series, any(c.evaluations, c.count) ? 2 : 1};
    cm_status status = draw(arguments, &plot);
    free(c.steps);
    return status;
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    {"--svg", "FILE", "Write a picture instead of drawing in the terminal."},
    {"--columns", "N", "Width in characters; that of the terminal."},
    {"--rows", "N", "Height in lines; 20."},
    CM_FLAGS_END,
};

const cm_command cm_command_plot = {
    .name = "plot",
    .about = "draw the learning curve of a run",
    .positional = "",
    .details = "",
    .flags = flags,
    .examples = "  cumind plot --run checkpoints/CartPole-v1/20251121-073900 --svg curve.svg\n",
    .run = run_plot,
};
