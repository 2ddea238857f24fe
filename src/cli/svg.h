/* Pieces that every SVG picture of ours has: paper, texts, lines, and colours for light and dark surroundings. */
#ifndef CM_CLI_SVG_H
#define CM_CLI_SVG_H

#include <stdio.h>

#include "core/status.h"

/* AUTO is light, and dark where the reader's surroundings are (prefers-color-scheme). */
typedef enum cm_theme { CM_THEME_AUTO, CM_THEME_LIGHT, CM_THEME_DARK } cm_theme;
#define CM_THEME_WORDS "auto|light|dark"

enum {
    CM_SVG_COLOURS = 10, /* classes l0 .. l9 of lines, f0 .. f9 of areas */
    CM_SVG_FONT = 12     /* units of all texts                           */
};

/* A picture being written. */
typedef struct cm_svg {
    FILE *out;  /* where further elements go */
    char *text; /* owned */
    size_t size;
} cm_svg;

/* Begins a picture of width x height units. Errors: CM_ERR_MEMORY. */
cm_status cm_svg_begin(cm_svg *svg, double width, double height, cm_theme theme) CM_MUST_USE;

/* Ends it; *text is freed by the caller with free(). Errors: CM_ERR_MEMORY. */
cm_status cm_svg_end(cm_svg *svg, char **text) CM_MUST_USE;

/* Writes what can be printed of a text; characters that XML and HTML reserve are replaced. */
void cm_svg_escape(FILE *out, const char *text);

/* A text at (x, y); anchor: start, middle or end. Characters that XML reserves are replaced. */
void cm_svg_text(cm_svg *svg, double x, double y, const char *anchor, const char *text);
/* The same, read upwards. */
void cm_svg_text_up(cm_svg *svg, double x, double y, const char *anchor, const char *text);

/* What a group is called, which readers show under the pointer. */
void cm_svg_title(cm_svg *svg, const char *text);

/* Units that a text takes in the widest of the usual fonts. */
double cm_svg_text_width(const char *text);

/* As much of the end of a text as is no wider than `width`, after "\u2026" where it is not all. */
void cm_svg_text_fit(const char *text, double width, char *out, size_t size);

/* A thin line behind the data. */
void cm_svg_grid(cm_svg *svg, double x1, double y1, double x2, double y2);
#endif
