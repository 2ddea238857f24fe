/* What the pictures and option checks of the control tasks share. */
#ifndef CM_ENV_CONTROL_H
#define CM_ENV_CONTROL_H

#include "env/board.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills in low and high where they are NaN. Errors: CM_ERR_INPUT if low > high. */
cm_status cm_control_bounds(cm_env_params *params, double low, double high) CM_MUST_USE;

/* A small grid of characters. */
typedef struct cm_canvas {
    int rows, columns; /* at most 16 x 40 */
    char cell[16][40];
} cm_canvas;

void cm_canvas_clear(cm_canvas *canvas, int rows, int columns);
void cm_canvas_put(cm_canvas *canvas, double row, double column, char c); /* rounded; outside or NaN: nothing */

/* Writes the grid and below it one line (printf) as text. */
void cm_canvas_text(const cm_canvas *canvas, char *text, size_t size, const char *format, ...) CM_PRINTF(4, 5);

#ifdef __cplusplus
}
#endif
#endif
