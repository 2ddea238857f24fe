/* Curves as an SVG picture. */
#ifndef CM_CLI_PLOT_SVG_H
#define CM_CLI_PLOT_SVG_H

#include "cli/plot_layout.h"
#include "cli/svg.h"

/* A picture that is CM_PLOT_WIDTH units wide, in *svg (freed by the caller with free()). Of a panel, its element says
 * by data-x and data-y which numbers the frame shows, and the nested element of its data has the frame as its view: a
 * page zooms by changing that (plot_page.js). Errors: CM_ERR_INPUT if no series has a point, CM_ERR_MEMORY. */
cm_status cm_plot_svg(const cm_figure *figure, cm_theme theme, char **svg) CM_MUST_USE;
#endif
