/* Where the parts of a picture of curves are: axes below or next to each other, their labels, and legends where no data
 * are. All in units of the picture, y downwards. */
#ifndef CM_CLI_PLOT_LAYOUT_H
#define CM_CLI_PLOT_LAYOUT_H

#include "cli/axis.h"
#include "cli/curve_plot.h"

enum { CM_PLOT_WIDTH = 720, CM_LEGEND_ROW = 18, CM_LEGEND_MARK = 30 /* left of a label */ };

typedef struct cm_box {
    double left, top, right, bottom;
} cm_box;

/* Axes that one after another share a picture. */
typedef struct cm_figure {
    const char *title;
    const cm_plot *plots; /* [count], each on axes of its own; x is the same range for all */
    int count;            /* 1 .. CM_PLOT_PANELS */
} cm_figure;

typedef struct cm_panel {
    cm_box area;  /* with all its labels */
    cm_box frame; /* of the data */
    cm_axis x, y;
    cm_box legend; /* left == right: there is none */
    int rows;      /* of the legend */
} cm_panel;

typedef struct cm_layout {
    double width, height;
    int columns; /* panels of a row */
    cm_panel panel[CM_PLOT_PANELS];
} cm_layout;

/* Errors: CM_ERR_INPUT if no series has a point. */
cm_status cm_layout_make(const cm_figure *figure, cm_layout *out) CM_MUST_USE;

/* Where a point of a panel's data is. */
double cm_panel_x(const cm_panel *panel, double x);
double cm_panel_y(const cm_panel *panel, double y);

/* Whether some points of a plot are the mean of fewer runs than others of the same series. */
bool cm_plot_has_fewer(const cm_plot *plot);
#endif
