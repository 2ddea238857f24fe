/* Values with intervals, a row each, best first: in the terminal as text, and as an SVG picture. */
#ifndef CM_CLI_INTERVAL_PLOT_H
#define CM_CLI_INTERVAL_PLOT_H

#include "core/status.h"

typedef struct cm_interval_row {
    const char *label;
    double value, half; /* finite; the interval is value -+ half */
} cm_interval_row;

typedef struct cm_interval_plot {
    const char *title, *x_label;
    const cm_interval_row *rows; /* [count] */
    int count;                   /* >= 1    */
} cm_interval_plot;

/* The most columns that a label takes; longer ones keep their end. */
enum { CM_INTERVAL_LABEL = 24 };

/* A picture of at most `columns` characters (>= 30) width, count + 2 lines, in *out (freed by the caller with free()).
 * Errors: CM_ERR_MEMORY. */
cm_status cm_interval_plot_text(const cm_interval_plot *plot, int columns, bool utf8, char **out) CM_MUST_USE;

/* An SVG picture, 720 units wide, in *svg (freed by the caller with free()). Errors: CM_ERR_MEMORY. */
cm_status cm_interval_plot_svg(const cm_interval_plot *plot, char **svg) CM_MUST_USE;

/* It in files as SVG and as PNG; NULL: no such file. Errors: those of cli/picture.h. */
cm_status cm_interval_plot_write(const cm_interval_plot *plot, const char *svg_path, const char *png_path) CM_MUST_USE;
#endif
