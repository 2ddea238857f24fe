/* The curves that cumind plot shows: which runs and numbers its arguments name. */
#ifndef CM_CLI_CURVES_H
#define CM_CLI_CURVES_H

#include "cli/command.h"
#include "cli/curve.h"
#include "cli/curve_plot.h"

enum { CM_CURVES_LABEL = 128 };

/* The numbers of metrics that --over may name, with `between` between them. */
#define CM_CURVES_OVER(between) "env_steps" between "updates" between "episodes" between "iteration" between "seconds"

typedef struct cm_curves {
    cm_curve curve[CM_PLOT_SERIES]; /* owned */
    char label[CM_PLOT_SERIES][CM_CURVES_LABEL];
    char folder[CM_PLOT_SERIES][CM_CURVES_LABEL]; /* the label without the number; "": of one folder */
    const char *number[CM_PLOT_SERIES];           /* that it shows, of cm_metrics_fields */
    bool dots[CM_PLOT_SERIES];                    /* points of their own rather than a line */
    bool is_one; /* the numbers belong together, as returns do: on one pair of axes whatever their sizes */
    int count;
    const char *title, *x_label, *y_label; /* borrowed from the arguments */
} cm_curves;

/* Reads what DIR..., --run, --metric and --over name; freed with cm_curves_free, also after an error. Errors:
 * CM_ERR_INPUT if a folder holds no run, there is no such number, a run lacks it, or there are too many curves. */
cm_status cm_curves_collect(cm_arguments *arguments, cm_curves *out) CM_MUST_USE;

void cm_curves_free(cm_curves *curves);
#endif
