/* Pieces that every SVG picture of ours has. */
#ifndef CM_CLI_SVG_H
#define CM_CLI_SVG_H

#include <stdio.h>

#include "core/status.h"

/* A picture being written. */
typedef struct cm_svg {
    FILE *out;  /* where further elements go */
    char *text; /* owned */
    size_t size;
} cm_svg;

/* Begins a white picture of width x height units. Errors: CM_ERR_MEMORY. */
cm_status cm_svg_begin(cm_svg *svg, int width, int height) CM_MUST_USE;

/* Ends it and writes the file, atomically. Errors: CM_ERR_IO, CM_ERR_MEMORY. */
cm_status cm_svg_end(cm_svg *svg, const char *path) CM_MUST_USE;

/* A text at (x, y); anchor: start, middle or end. Characters that XML reserves are replaced. */
void cm_svg_text(cm_svg *svg, double x, double y, const char *anchor, const char *text);

/* A round number, 1, 2 or 5 times a power of ten, that divides low..high into at most `parts`. low < high. */
double cm_svg_tick(double low, double high, int parts);

/* A thin line behind the data. */
void cm_svg_grid(cm_svg *svg, double x1, double y1, double x2, double y2);
#endif
