/* Curves over a common axis, and their picture in characters; cli/plot_svg.h draws them. */
#ifndef CM_CLI_CURVE_PLOT_H
#define CM_CLI_CURVE_PLOT_H

#include "cli/plot_range.h"
#include "core/status.h"

typedef struct cm_plot_series {
    const char *label;
    const double *x, *y;      /* [n], x ascending, finite; y that is not finite breaks the line */
    int n;                    /* 0: only its label is shown */
    bool dots;                /* points of their own, else a line */
    const double *low, *high; /* [n] a band around the line, finite; NULL: none */
    const int *runs_at;       /* [n] of how many runs a point is the mean; NULL: of all */
    int runs;                 /* of how many at most */
    int colour;               /* 0 .. CM_PLOT_SERIES - 1 */
} cm_plot_series;

enum { CM_PLOT_SERIES = 20, CM_PLOT_PANELS = CM_PLOT_SERIES };

/* What a picture says of a thin line. */
#define CM_PLOT_FEWER "thin: fewer runs"

typedef struct cm_plot {
    const char *title, *x_label, *y_label;
    const cm_plot_series *series; /* [count] */
    int count;                    /* 1 .. CM_PLOT_SERIES */
} cm_plot;

/* Widens x and y by all that a plot shows. */
void cm_plot_widen(const cm_plot *plot, cm_plot_range *x, cm_plot_range *y);
/* Errors: CM_ERR_INPUT if x is empty: no series has a point. */
cm_status cm_plot_check(const char *title, cm_plot_range x) CM_MUST_USE;

/* What a terminal shows. */
typedef struct cm_plot_style {
    int columns, rows; /* of the picture, axes included: at least 20 and 5; the legend takes the lines that it needs */
    bool utf8, colour;
} cm_plot_style;

/* A picture in characters in *out (freed by the caller with free()). Errors: CM_ERR_INPUT if no series has a point. */
cm_status cm_plot_text(const cm_plot *plot, const cm_plot_style *style, char **out) CM_MUST_USE;
#endif
