/* Learning curves: in the terminal as text, and as an SVG picture. */
#ifndef CM_RUN_PLOT_H
#define CM_RUN_PLOT_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_plot_series {
    const char *label;
    const double *x, *y; /* [n], x ascending; points that are not finite are left out */
    int n;
    bool dots; /* points of their own, else a line */
} cm_plot_series;

typedef struct cm_plot {
    const char *title, *x_label, *y_label;
    const cm_plot_series *series; /* [count] */
    int count;                    /* 1 .. 8 */
} cm_plot;

/* A picture of columns x rows characters, axes included (columns >= 20, rows >= 5), in *out (freed by the caller with
 * free()). Errors: CM_ERR_INPUT if no series has a point. */
cm_status cm_plot_text(const cm_plot *plot, int columns, int rows, bool utf8, char **out) CM_MUST_USE;

/* An SVG file of 720 x 420 units. */
cm_status cm_plot_svg(const cm_plot *plot, const char *path) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
