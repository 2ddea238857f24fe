#include "env/control.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cm_status cm_control_bounds(cm_env_params *params, double low, double high) {
    if (isnan(params->low)) params->low = low;
    if (isnan(params->high)) params->high = high;
    if (params->low <= params->high) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "reset_low (%g) must not exceed reset_high (%g)", params->low, params->high);
}

void cm_canvas_clear(cm_canvas *canvas, int rows, int columns) {
    canvas->rows = rows, canvas->columns = columns;
    memset(canvas->cell, ' ', sizeof canvas->cell);
}

void cm_canvas_put(cm_canvas *canvas, double row, double column, char c) {
    double r = floor(row + 0.5), k = floor(column + 0.5);
    if (r >= 0.0 && r < canvas->rows && k >= 0.0 && k < canvas->columns) canvas->cell[(int)r][(int)k] = c;
}

void cm_canvas_text(const cm_canvas *canvas, char *text, size_t size, const char *format, ...) {
    size_t used = 0;
    for (int r = 0; r < canvas->rows; r++) {
        int width = canvas->columns;
        while (width > 0 && canvas->cell[r][width - 1] == ' ') width--;
        if (used + (size_t)width + 2 > size) break;
        memcpy(text + used, canvas->cell[r], (size_t)width);
        used += (size_t)width;
        text[used++] = '\n';
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    size_t end = strlen(text);
    if (end + 1 < size) memcpy(text + end, "\n", 2);
}
