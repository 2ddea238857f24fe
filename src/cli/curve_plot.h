/* Curves over a common axis: in the terminal as text, and as an SVG picture. */
#ifndef CM_CLI_CURVE_PLOT_H
#define CM_CLI_CURVE_PLOT_H

#include "core/status.h"

typedef struct cm_plot_series {
    const char *label;
    const double *x, *y;      /* [n], x ascending, all finite */
    int n;                    /* 0: only its label is shown */
    bool dots;                /* points of their own, else a line */
    const double *low, *high; /* [n] a band around the line; NULL: none */
} cm_plot_series;

enum { CM_PLOT_SERIES = 8 }; /* as many as can be told apart */

typedef struct cm_plot {
    const char *title, *x_label, *y_label;
    const cm_plot_series *series; /* [count] */
    int count;                    /* 1 .. CM_PLOT_SERIES */
} cm_plot;

/* What a terminal shows. */
typedef struct cm_plot_style {
    int columns, rows; /* of the picture, axes included: at least 20 and 5; the legend takes the lines that it needs */
    bool utf8, colour;
} cm_plot_style;

/* A picture in characters in *out (freed by the caller with free()). Errors: CM_ERR_INPUT if no series has a point. */
cm_status cm_plot_text(const cm_plot *plot, const cm_plot_style *style, char **out) CM_MUST_USE;

/* An SVG file of 720 x 420 units. */
cm_status cm_plot_svg(const cm_plot *plot, const char *path) CM_MUST_USE;
#endif
