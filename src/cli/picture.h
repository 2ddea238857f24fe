/* Files of a picture whose SVG text is there. */
#ifndef CM_CLI_PICTURE_H
#define CM_CLI_PICTURE_H

#include "core/status.h"

/* The text itself. Errors: CM_ERR_IO. */
cm_status cm_picture_write_svg(const char *svg, const char *path) CM_MUST_USE;

/* A PNG of two pixels per unit, by the program rsvg-convert of librsvg. Errors: CM_ERR_ABSENT if there is none,
 * CM_ERR_IO, CM_ERR_MEMORY. */
cm_status cm_picture_write_png(const char *svg, const char *path) CM_MUST_USE;

/* One HTML file, which asks for no other, whose picture of cm_plot_svg zooms. Errors: CM_ERR_IO, CM_ERR_MEMORY. */
cm_status cm_picture_write_page(const char *svg, const char *path) CM_MUST_USE;
#endif
