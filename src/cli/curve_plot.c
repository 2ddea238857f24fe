#include "cli/curve_plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/printable.h"
#include "core/text.h"
#include "run/progress.h"

enum { GUTTER = 8 }; /* columns left of the y axis */

typedef struct range {
    double low, high;
} range;

static void widen(range *r, double v) {
    r->low = fmin(r->low, v);
    r->high = fmax(r->high, v);
}

static bool is_label_of(double a, double b) {
    char first[16], second[16];
    cm_format_count(a, first);
    cm_format_count(b, second);
    return strcmp(first, second) == 0;
}

/* Wide enough for the ends and the middle to have labels of their own: a twentieth of the value is, on either side. */
static void spread(range *r) {
    const double middle = (r->low + r->high) / 2.0, half = fmax(fabs(middle) / 20.0, 0.05);
    if (is_label_of(r->low, middle) || is_label_of(middle, r->high)) r->low = middle - half, r->high = middle + half;
}

static cm_status find_ranges(const cm_plot *plot, range *x, range *y) {
    *x = *y = (range){INFINITY, -INFINITY};
    for (int s = 0; s < plot->count; s++) {
        const cm_plot_series *series = &plot->series[s];
        for (int i = 0; i < series->n; i++) {
            if (!isfinite(series->y[i])) continue;
            widen(x, series->x[i]);
            widen(y, series->low ? series->low[i] : series->y[i]);
            widen(y, series->low ? series->high[i] : series->y[i]);
        }
    }
    if (!(x->low <= x->high)) return cm_fail(CM_ERR_INPUT, "%s: there is nothing to plot yet", plot->title);
    if (is_label_of(x->low, x->high) && x->high > 0.0) x->low = 0.0; /* hardly more than one point */
    if (x->low == x->high) x->high = x->low + 1.0;
    if (y->low == y->high) y->low -= 0.5, y->high += 0.5;
    spread(y);
    return CM_OK;
}

/* ---- text ---- */

enum { BAND = 32 }; /* a cell holds 0: blank, 1 + series: its line or point, BAND + series: its band */

typedef struct canvas {
    int columns, rows;
    unsigned char *cell; /* [rows, columns], owned */
    range x, y;
} canvas;

static int column_of(const canvas *c, double x) {
    return (int)lround((x - c->x.low) / (c->x.high - c->x.low) * (c->columns - 1));
}
static int row_of(const canvas *c, double y) {
    return (int)lround((c->y.high - y) / (c->y.high - c->y.low) * (c->rows - 1));
}
static unsigned char *cell_of(const canvas *c, int row, int column) { return &c->cell[row * c->columns + column]; }

/* The value of y [n] at x between points i - 1 and i. */
static double between(const cm_plot_series *s, const double *y, int i, double x) {
    const double width = s->x[i] - s->x[i - 1];
    return width > 0.0 ? y[i - 1] + (y[i] - y[i - 1]) * (x - s->x[i - 1]) / width : y[i];
}

static void put_band(canvas *c, const cm_plot_series *s, int index) {
    for (int i = 1; i < s->n; i++) {
        for (int column = column_of(c, s->x[i - 1]); column <= column_of(c, s->x[i]); column++) {
            double x = c->x.low + (c->x.high - c->x.low) * column / (c->columns - 1);
            x = fmin(fmax(x, s->x[i - 1]), s->x[i]);
            const int last = row_of(c, between(s, s->low, i, x));
            for (int row = row_of(c, between(s, s->high, i, x)); row <= last; row++) {
                unsigned char *cell = cell_of(c, row, column);
                if (!*cell) *cell = (unsigned char)(BAND + index);
            }
        }
    }
}

/* A line is drawn in as many steps as there are cells on the way, so that steep ones have no gaps. */
static void put_series(canvas *c, const cm_plot_series *s, int index) {
    const int steps = c->columns + c->rows;
    for (int i = 0; i < s->n; i++) {
        const unsigned char mark = (unsigned char)(1 + index);
        if (!isfinite(s->y[i])) continue;
        *cell_of(c, row_of(c, s->y[i]), column_of(c, s->x[i])) = mark;
        for (int k = 1; i > 0 && !s->dots && isfinite(s->y[i - 1]) && k < steps; k++) {
            const double t = (double)k / steps;
            *cell_of(c, row_of(c, s->y[i - 1] + t * (s->y[i] - s->y[i - 1])),
                     column_of(c, s->x[i - 1] + t * (s->x[i] - s->x[i - 1]))) = mark;
        }
    }
}

enum { MARKS = 8 }; /* the series after them are letters */

static const char *mark_text(int series, bool dots, bool utf8) {
    static const char *const unicode[2][MARKS] = {
        {"\u2022", "\u25aa", "\u25b4", "\u25c6", "\u25e6", "\u25ab", "\u25b5", "\u25c7"},
        {"\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25cb", "\u25a1", "\u25b3", "\u25c7"}};
    static const char *const plain[2][MARKS] = {{".", ",", "'", "~", ";", "^", "*", "="},
                                                {"o", "x", "+", "#", "@", "%", "&", "$"}};
    static const char *const letters[CM_PLOT_SERIES - MARKS] = {"a", "b", "c", "d", "e", "f",
                                                                "g", "h", "i", "j", "k", "l"};
    if (series >= MARKS) return letters[series - MARKS];
    return utf8 ? unicode[dots][series] : plain[dots][series];
}

/* A mark in the colour of its series. */
static void put_mark(const char *mark, int series, const cm_plot_style *style, FILE *out) {
    static const char *const colours[MARKS] = {"34", "31", "32", "33", "35", "36", "91", "90"};
    if (style->colour) fprintf(out, "\033[%sm%s\033[0m", colours[series % MARKS], mark);
    if (!style->colour) fputs(mark, out);
}

static void print_cell(const cm_plot *plot, int cell, const cm_plot_style *style, FILE *out) {
    if (cell == 0) {
        fputc(' ', out);
    } else if (cell >= BAND) {
        put_mark(style->utf8 ? "\u2591" : ":", cell - BAND, style, out);
    } else {
        put_mark(mark_text(cell - 1, plot->series[cell - 1].dots, style->utf8), cell - 1, style, out);
    }
}

/* The label of the x axis and the marks with their meaning, on as many lines as they need. */
static void print_legend(const cm_plot *plot, const cm_plot_style *style, FILE *out) {
    const int columns = style->columns;
    int at = GUTTER + cm_text_line_width(plot->x_label);
    fprintf(out, "%*s%s", GUTTER, "", plot->x_label);
    for (int s = 0; s < plot->count; s++) {
        const char *name = CM_PRINTABLE(plot->series[s].label);
        int width = 2 + cm_text_line_width(name), gap = 3;
        if (at + gap + width > columns) {
            fputc('\n', out);
            at = 0, gap = GUTTER + width <= columns ? GUTTER : 0;
        }
        fprintf(out, "%*s", gap, "");
        put_mark(mark_text(s, plot->series[s].dots, style->utf8), s, style, out);
        fprintf(out, " %s", name);
        at += gap + width;
    }
    fputc('\n', out);
}

static void print_row(const cm_plot *plot, const canvas *c, int row, const cm_plot_style *style, FILE *out) {
    const bool is_tick = row == 0 || row == c->rows - 1 || row == c->rows / 2;
    int last = c->columns;
    char label[16];
    cm_format_count(c->y.high - (c->y.high - c->y.low) * row / (c->rows - 1), label);
    fprintf(out, "%*s %s", GUTTER - 2, is_tick ? label : "", style->utf8 ? (is_tick ? "\u2524" : "\u2502") : "|");
    while (last > 0 && !*cell_of(c, row, last - 1)) last--;
    for (int i = 0; i < last; i++) print_cell(plot, *cell_of(c, row, i), style, out);
    fputc('\n', out);
}

static void print_x_axis(const canvas *c, bool utf8, FILE *out) {
    char low[16], high[16];
    fprintf(out, "%*s %s", GUTTER - 2, "", utf8 ? "\u2514" : "+");
    for (int i = 0; i < c->columns; i++) fputs(utf8 ? "\u2500" : "-", out);
    cm_format_count(c->x.low, low);
    cm_format_count(c->x.high, high);
    fprintf(out, "\n%*s%s%*s\n", GUTTER, "", low, c->columns - (int)strlen(low), high);
}

cm_status cm_plot_text(const cm_plot *plot, const cm_plot_style *style, char **out) {
    canvas c = {.columns = style->columns - GUTTER, .rows = style->rows - 4};
    *out = NULL;
    if (style->columns < 20 || style->rows < 5) return cm_fail(CM_ERR_INPUT, "a plot needs 20 columns and 5 rows");
    if (c.rows < 2) c.rows = 2;
    CM_TRY(find_ranges(plot, &c.x, &c.y));
    CM_TRY(cm_alloc(&c.cell, (size_t)c.rows * (size_t)c.columns, 1, "a plot"));
    for (int s = 0; s < plot->count; s++) put_series(&c, &plot->series[s], s);
    for (int s = 0; s < plot->count; s++) {
        if (plot->series[s].low) put_band(&c, &plot->series[s], s);
    }
    size_t size = 0;
    FILE *stream = open_memstream(out, &size);
    if (stream) {
        fprintf(stream, "%s\n", CM_PRINTABLE(plot->title));
        for (int row = 0; row < c.rows; row++) print_row(plot, &c, row, style, stream);
        print_x_axis(&c, style->utf8, stream);
        print_legend(plot, style, stream);
        if (fclose(stream) != 0) free(*out), *out = NULL;
    }
    free(c.cell);
    return *out ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a plot");
}
