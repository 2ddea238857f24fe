/* The letters of drawings as outlines: DejaVu Sans Mono, whose licence is in font.LICENSE. scripts/font_outlines writes
 * font_outlines.inc from the font's file. */
#ifndef CM_DRAW_FONT_H
#define CM_DRAW_FONT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_FONT_EM = 1000, CM_FONT_FIRST = 32, CM_FONT_GLYPHS = 95 }; /* units of the size; ASCII from the blank on */

/* Closed lines of straight pieces: contour after contour, each the number of its points, then x, y of each, y upwards
 * from the base line; *count numbers in all. A character that is not there is the one of '?'. */
const int16_t *cm_font_outline(unsigned character, int *count);

#ifdef __cplusplus
}
#endif
#endif
