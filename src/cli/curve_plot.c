#include "cli/curve_plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/axis.h"
#include "core/arena.h"
#include "core/printable.h"
#include "core/text.h"

enum { GUTTER = 8 }; /* least columns left of the picture; those of the legend */

void cm_plot_widen(const cm_plot *plot, cm_plot_range *x, cm_plot_range *y) {
    for (int s = 0; s < plot->count; s++) {
        const cm_plot_series *series = &plot->series[s];
        for (int i = 0; i < series->n; i++) {
            if (!isfinite(series->y[i])) continue;
            cm_plot_range_widen(x, series->x[i]);
            cm_plot_range_widen(y, series->low ? series->low[i] : series->y[i]);
            cm_plot_range_widen(y, series->low ? series->high[i] : series->y[i]);
        }
    }
}

cm_status cm_plot_check(const char *title, cm_plot_range x) {
    return cm_plot_range_is_empty(x) ? cm_fail(CM_ERR_INPUT, "%s: there is nothing to plot yet", title) : CM_OK;
}

/* ---- text ---- */

enum { BAND = 32 }; /* a cell holds 0: blank, 1 + series: its line or point, BAND + series: its band */

typedef struct canvas {
    int columns, rows;
    int gutter;          /* columns left of them */
    unsigned char *cell; /* [rows, columns], owned */
    cm_axis x, y;
} canvas;

static int column_of(const canvas *c, double x) { return (int)lround(cm_axis_share(&c->x, x) * (c->columns - 1)); }
static int row_of(const canvas *c, double y) { return (int)lround((1.0 - cm_axis_share(&c->y, y)) * (c->rows - 1)); }
static unsigned char *cell_of(const canvas *c, int row, int column) { return &c->cell[row * c->columns + column]; }

/* The value of y [n] at x between points i - 1 and i. */
static double between(const cm_plot_series *s, const double *y, int i, double x) {
    const double width = s->x[i] - s->x[i - 1];
    return width > 0.0 ? cm_plot_between(y[i - 1], y[i], (x - s->x[i - 1]) / width) : y[i];
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
            *cell_of(c, row_of(c, cm_plot_between(s->y[i - 1], s->y[i], t)),
                     column_of(c, cm_plot_between(s->x[i - 1], s->x[i], t))) = mark;
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

/* The label of tick i as a terminal shows it. */
static void tick_text(const cm_axis *axis, int i, bool utf8, char out[CM_AXIS_LABEL]) {
    char label[CM_AXIS_LABEL];
    cm_axis_label(axis, i, label);
    if (utf8) {
        snprintf(out, CM_AXIS_LABEL, "%s", label);
    } else {
        cm_axis_plain(label, out);
    }
}

static int widest_label(const cm_axis *axis) {
    char label[CM_AXIS_LABEL];
    int widest = 0;
    for (int i = 0; i < axis->ticks; i++) {
        tick_text(axis, i, true, label);
        widest = cm_text_line_width(label) > widest ? cm_text_line_width(label) : widest;
    }
    return widest;
}

/* The tick of a row; -1: it has none. */
static int tick_of(const canvas *c, int row) {
    for (int i = 0; i < c->y.ticks; i++)
        if (row_of(c, cm_axis_tick(&c->y, i)) == row) return i;
    return -1;
}

static void print_row(const cm_plot *plot, const canvas *c, int row, const cm_plot_style *style, FILE *out) {
    const int tick = tick_of(c, row);
    int last = c->columns;
    char label[CM_AXIS_LABEL] = "";
    if (tick >= 0) tick_text(&c->y, tick, style->utf8, label);
    fprintf(out, "%*s%s %s", c->gutter - 2 - cm_text_line_width(label), "", label,
            style->utf8 ? (tick >= 0 ? "\u2524" : "\u2502") : "|");
    while (last > 0 && !*cell_of(c, row, last - 1)) last--;
    for (int i = 0; i < last; i++) print_cell(plot, *cell_of(c, row, i), style, out);
    fputc('\n', out);
}

/* Labels that have space, below their ticks; the others are left out. */
static void print_x_labels(const canvas *c, bool utf8, FILE *out) {
    char label[CM_AXIS_LABEL];
    int at = 0;
    fprintf(out, "\n%*s", c->gutter, "");
    for (int i = 0; i < c->x.ticks; i++) {
        tick_text(&c->x, i, utf8, label);
        const int width = cm_text_line_width(label), most = c->columns - width;
        int from = column_of(c, cm_axis_tick(&c->x, i)) - width / 2;
        from = from > most ? most : from < 0 ? 0 : from;
        if (i > 0 && from < at + 2) continue;
        fprintf(out, "%*s%s", from - at, "", label);
        at = from + width;
    }
    fputc('\n', out);
}

static void print_x_axis(const canvas *c, bool utf8, FILE *out) {
    fprintf(out, "%*s %s", c->gutter - 2, "", utf8 ? "\u2514" : "+");
    for (int i = 0, tick = 0; i < c->columns; i++) {
        while (tick < c->x.ticks && column_of(c, cm_axis_tick(&c->x, tick)) < i) tick++;
        const bool is_tick = tick < c->x.ticks && column_of(c, cm_axis_tick(&c->x, tick)) == i;
        fputs(utf8 ? (is_tick ? "\u252c" : "\u2500") : is_tick ? "+" : "-", out);
    }
    print_x_labels(c, utf8, out);
}

/* What the labels of an axis leave out stands behind its name. */
static void print_note(const cm_axis *axis, bool utf8, FILE *out) {
    char note[CM_AXIS_LABEL];
    cm_axis_plain(axis->note, note);
    if (*note) fprintf(out, " %s", utf8 ? axis->note : note);
}

/* The label of the x axis and the marks with their meaning, on as many lines as they need. */
static void print_legend(const cm_plot *plot, const canvas *c, const cm_plot_style *style, FILE *out) {
    const int columns = style->columns;
    int at = GUTTER + cm_text_line_width(plot->x_label) + (*c->x.note ? 1 + cm_text_line_width(c->x.note) : 0);
    fprintf(out, "%*s%s", GUTTER, "", plot->x_label);
    print_note(&c->x, style->utf8, out);
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

/* Ticks of y have a row between them, those of x some ten columns. */
static cm_status make_canvas(const cm_plot *plot, const cm_plot_style *style, canvas *c) {
    cm_plot_range x = cm_plot_range_none(), y = x;
    if (style->columns < 20 || style->rows < 5) return cm_fail(CM_ERR_INPUT, "a plot needs 20 columns and 5 rows");
    cm_plot_widen(plot, &x, &y);
    CM_TRY(cm_plot_check(plot->title, x));
    c->rows = style->rows - 4 < 2 ? 2 : style->rows - 4;
    cm_axis_make(y.low, y.high, 0.0, c->rows / 2 < 2 ? 2 : c->rows / 2, &c->y);
    c->gutter = widest_label(&c->y) + 2 > GUTTER ? widest_label(&c->y) + 2 : GUTTER;
    c->columns = style->columns - c->gutter;
    cm_axis_make(x.low, x.high, 0.0, c->columns / 10 < 2 ? 2 : c->columns / 10, &c->x);
    return cm_alloc(&c->cell, (size_t)c->rows * (size_t)c->columns, 1, "a plot");
}

cm_status cm_plot_text(const cm_plot *plot, const cm_plot_style *style, char **out) {
    canvas c = {.cell = NULL};
    *out = NULL;
    CM_TRY(make_canvas(plot, style, &c));
    for (int s = 0; s < plot->count; s++) put_series(&c, &plot->series[s], s);
    for (int s = 0; s < plot->count; s++) {
        if (plot->series[s].low) put_band(&c, &plot->series[s], s);
    }
    size_t size = 0;
    FILE *stream = open_memstream(out, &size);
    if (stream) {
        fputs(CM_PRINTABLE(plot->title), stream);
        print_note(&c.y, style->utf8, stream);
        fputc('\n', stream);
        for (int row = 0; row < c.rows; row++) print_row(plot, &c, row, style, stream);
        print_x_axis(&c, style->utf8, stream);
        print_legend(plot, &c, style, stream);
        if (fclose(stream) != 0) free(*out), *out = NULL;
    }
    free(c.cell);
    return *out ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a plot");
}
