#include "cli/curves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "core/nearest.h"
#include "run/directory.h"
#include "run/recipe.h"

enum { MOST_NAME = 40 }; /* bytes of a folder's name in a label */

/* ---- the runs of a folder ---- */

typedef struct reader {
    const cm_metrics_field *x, *y;
    cm_curve *curves; /* [capacity], owned */
    int count, capacity;
} reader;

static cm_status read_run(void *context, const char *path) {
    reader *r = context;
    if (r->count == r->capacity) {
        const int capacity = 2 * r->capacity + 8;
        cm_curve *curves = realloc(r->curves, (size_t)capacity * sizeof *curves);
        if (!curves) return cm_fail(CM_ERR_MEMORY, "plot: no memory for %d curves", capacity);
        r->curves = curves, r->capacity = capacity;
    }
    CM_TRY(cm_curve_read(path, r->x, r->y, &r->curves[r->count]));
    r->count++;
    return CM_OK;
}

/* The curve of a run, or the mean of the runs below a folder. */
static cm_status read_folder(const char *path, const cm_metrics_field *x, const cm_metrics_field *y, cm_curve *out) {
    reader r = {.x = x, .y = y};
    CM_TRY(cm_recipe_advise_run(path));
    cm_status status = cm_run_directory_visit(path, read_run, &r);
    if (status == CM_OK && r.count == 0) status = cm_fail(CM_ERR_INPUT, "plot: %s is no run and holds none", path);
    if (status == CM_OK && r.count == 1) {
        *out = r.curves[0];
        r.count = 0;
    } else if (status == CM_OK) {
        status = cm_curve_mean(r.curves, r.count, out);
    }
    for (int i = 0; i < r.count; i++) cm_curve_free(&r.curves[i]);
    free(r.curves);
    return status;
}

/* ---- what is asked for ---- */

/* What the arguments name. */
typedef struct request {
    const char *const *folders; /* [folder_count] */
    int folder_count;
    const char *over;                                    /* the name of x */
    const cm_metrics_field *x, *metrics[CM_PLOT_SERIES]; /* [metric_count]; 0: the returns */
    int metric_count;
} request;

static const char *metric_name(const void *rows, int i) { return ((const cm_metrics_field *)rows)[i].name; }

static cm_status unknown_metric(const char *name) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    const int nearest = cm_nearest_name(name, fields, count, metric_name);
    if (nearest < 0) {
        return cm_fail(CM_ERR_INPUT, "plot: --metric: metrics.jsonl has no number %.40s; cumind help plot lists all",
                       name);
    }
    return cm_fail(CM_ERR_INPUT,
                   "plot: --metric: metrics.jsonl has no number %.40s; did you mean %s? (cumind help plot lists all)",
                   name, fields[nearest].name);
}

static cm_status read_metrics(const cm_arguments *arguments, request *out) {
    const char *name;
    for (int i = 0; (name = cm_argument_at(arguments, "--metric", i)) != NULL; i++) {
        if (i == CM_PLOT_SERIES) return cm_fail(CM_ERR_INPUT, "plot: at most %d numbers at a time", CM_PLOT_SERIES);
        const cm_metrics_field *metric = cm_metrics_find(name);
        if (!metric) return unknown_metric(name);
        out->metrics[out->metric_count++] = metric;
    }
    return CM_OK;
}

static void set_over(request *asked, const char *name) {
    asked->over = name;
    asked->x = cm_metrics_find(name);
}

static cm_status read_request(cm_arguments *arguments, request *out) {
    const char *over = cm_argument(arguments, "--over");
    int choice;
    *out = (request){.folders = arguments->positional, .folder_count = arguments->positional_count};
    CM_TRY(cm_argument_choice(arguments, "--over", CM_CURVES_OVER("|"), &choice));
    set_over(out, over ? over : "env_steps");
    CM_TRY(read_metrics(arguments, out));
    if (out->folder_count > 0 && cm_argument_is_set(arguments, "--run")) {
        return cm_fail(CM_ERR_INPUT, "plot: %s and --run both name a run; leave one out", out->folders[0]);
    }
    if (out->folder_count > 0) return CM_OK;
    CM_TRY(cm_cli_need_run(arguments, &arguments->positional[0]));
    out->folder_count = 1;
    return CM_OK;
}

/* ---- the list ---- */

/* "FOLDER NUMBER, 3 runs" as far as it tells the curve from the others. */
static void name_curve(const request *asked, const char *folder, const cm_metrics_field *y, cm_curves *out) {
    const int runs = out->curve[out->count].runs;
    const bool says_folder = asked->folder_count > 1, says_number = !says_folder || asked->metric_count > 1;
    char suffix[32] = "";
    if (runs > 1) snprintf(suffix, sizeof suffix, ", %d runs", runs);
    out->number[out->count] = y->name;
    snprintf(out->folder[out->count], CM_CURVES_LABEL, "%s%s", says_folder ? cm_format_end(folder, MOST_NAME) : "",
             says_folder ? suffix : "");
    snprintf(out->label[out->count], CM_CURVES_LABEL, "%s%s%s%s", says_folder ? cm_format_end(folder, MOST_NAME) : "",
             says_folder && says_number ? " " : "", says_number ? y->name : "", suffix);
}

static cm_status add(const request *asked, const char *folder, const cm_metrics_field *y, cm_curves *out) {
    if (out->count == CM_PLOT_SERIES) {
        return cm_fail(CM_ERR_INPUT, "plot: at most %d curves at a time; a folder of several runs is one, their mean",
                       CM_PLOT_SERIES);
    }
    CM_TRY(read_folder(folder, asked->x, y, &out->curve[out->count]));
    name_curve(asked, folder, y, out);
    const bool is_empty = out->curve[out->count++].n == 0;
    return is_empty && asked->metric_count > 0 ? cm_fail(CM_ERR_INPUT, "plot: %s has no %s yet", folder, y->name)
                                               : CM_OK;
}

static void clear(cm_curves *curves) {
    for (int i = 0; i < curves->count; i++) cm_curve_free(&curves->curve[i]);
    memset(curves->dots, 0, sizeof curves->dots);
    curves->count = 0;
}

/* One number of every folder. */
static cm_status add_all(const request *asked, const cm_metrics_field *y, cm_curves *out) {
    for (int f = 0; f < asked->folder_count; f++) CM_TRY(add(asked, asked->folders[f], y, out));
    return CM_OK;
}

/* The same in place of what is there. */
static cm_status put_all(const request *asked, const cm_metrics_field *y, cm_curves *out) {
    clear(out);
    out->y_label = y->name;
    return add_all(asked, y, out);
}

static int count_empty(const cm_curves *curves) {
    int count = 0;
    for (int i = 0; i < curves->count; i++) count += curves->curve[i].n == 0;
    return count;
}

static bool is_blank(const cm_curves *curves) { return count_empty(curves) == curves->count; }

static void drop(cm_curves *curves, int i) {
    cm_curve_free(&curves->curve[i]);
    curves->count--;
    for (; i < curves->count; i++) {
        curves->curve[i] = curves->curve[i + 1];
        curves->dots[i] = curves->dots[i + 1];
        curves->number[i] = curves->number[i + 1];
        memcpy(curves->label[i], curves->label[i + 1], CM_CURVES_LABEL);
        memcpy(curves->folder[i], curves->folder[i + 1], CM_CURVES_LABEL);
    }
}

/* After the returns of self-play of one run those of its evaluations; of the two those that there are. */
static cm_status add_evaluations(const request *asked, const cm_metrics_field *evaluated, cm_curves *out) {
    CM_TRY(add_all(asked, evaluated, out));
    out->dots[1] = true;
    snprintf(out->label[0], CM_CURVES_LABEL, "self-play, last 32 episodes");
    snprintf(out->label[1], CM_CURVES_LABEL, "greedy evaluation");
    out->y_label = "return";
    if (out->curve[1].n == 0) {
        drop(out, 1);
    } else if (out->curve[0].n == 0) {
        drop(out, 0);
    }
    return CM_OK;
}

/* Of one run both returns; of several those of evaluations, if all have some or the runs are offline, else those of
 * self-play. */
static cm_status add_returns(const request *asked, cm_curves *out) {
    const cm_metrics_field *played = cm_metrics_find("mean_return"), *evaluated = cm_metrics_find("eval_return");
    if (asked->folder_count == 1) {
        CM_TRY(add_all(asked, played, out));
        if (out->curve[0].runs == 1) return add_evaluations(asked, evaluated, out);
    }
    CM_TRY(put_all(asked, evaluated, out));
    if (count_empty(out) == 0) return CM_OK;
    CM_TRY(put_all(asked, played, out));
    return is_blank(out) ? put_all(asked, evaluated, out) : CM_OK;
}

static cm_status add_metrics(const request *asked, cm_curves *out) {
    for (int m = 0; m < asked->metric_count; m++) {
        CM_TRY(add_all(asked, asked->metrics[m], out));
        out->y_label = asked->metric_count == 1 ? asked->metrics[m]->name : "";
    }
    return CM_OK;
}

/* Above the picture stands what all curves have in common. */
static void name_picture(const request *asked, cm_curves *out) {
    out->title = asked->folders[0];
    if (asked->folder_count > 1) {
        out->title = asked->metric_count > 1 ? "numbers of runs" : out->y_label;
        out->y_label = "";
    }
}

/* What is asked for, else the returns, else the loss. */
static cm_status add_curves(const request *asked, cm_curves *out) {
    if (asked->metric_count > 0) return add_metrics(asked, out);
    CM_TRY(add_returns(asked, out));
    return is_blank(out) ? put_all(asked, cm_metrics_find("total_loss"), out) : CM_OK;
}

/* Whether a run has made no step at its last point: it learnt from the games of another. */
static bool stands_still(const cm_curves *curves) {
    for (int i = 0; i < curves->count; i++) {
        const cm_curve *c = &curves->curve[i];
        if (c->n > 0 && c->x[c->n - 1] == 0.0) return true;
    }
    return false;
}

cm_status cm_curves_collect(cm_arguments *arguments, cm_curves *out) {
    request asked;
    *out = (cm_curves){.count = 0};
    CM_TRY(read_request(arguments, &asked));
    out->is_one = asked.metric_count == 0;
    CM_TRY(add_curves(&asked, out));
    if (!cm_argument_is_set(arguments, "--over") && stands_still(out)) {
        clear(out);
        set_over(&asked, "updates");
        CM_TRY(add_curves(&asked, out));
    }
    name_picture(&asked, out);
    out->x_label = strcmp(asked.over, "env_steps") == 0 ? "env steps" : asked.over;
    return CM_OK;
}

void cm_curves_free(cm_curves *curves) { clear(curves); }
