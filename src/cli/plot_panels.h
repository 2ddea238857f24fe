/* Curves on axes: those whose numbers are of one size share a pair, the others have their own. */
#ifndef CM_CLI_PLOT_PANELS_H
#define CM_CLI_PLOT_PANELS_H

#include "cli/curves.h"

typedef struct cm_panels {
    cm_plot plots[CM_PLOT_PANELS];         /* [count]; what they point to lies in the curves, and below */
    cm_plot_series series[CM_PLOT_SERIES]; /* those of a plot in one piece */
    int count;
} cm_panels;

/* Borrows the curves. Two numbers are of one size where neither is more than four times the other, nor the range of one
 * less than an eighth of both. A folder has one colour on all axes. */
void cm_panels_make(const cm_curves *curves, cm_panels *out);
#endif
