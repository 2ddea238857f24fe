#include "cli/curve_plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/svg.h"
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

enum { BAND = 16 }; /* a cell holds 0: blank, 1 + series: its line or point, BAND + series: its band */

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
        *cell_of(c, row_of(c, s->y[i]), column_of(c, s->x[i])) = mark;
        for (int k = 1; i > 0 && !s->dots && k < steps; k++) {
            const double t = (double)k / steps;
            *cell_of(c, row_of(c, s->y[i - 1] + t * (s->y[i] - s->y[i - 1])),
                     column_of(c, s->x[i - 1] + t * (s->x[i] - s->x[i - 1]))) = mark;
        }
    }
}

static const char *mark_text(int series, bool dots, bool utf8) {
    static const char *const unicode[2][CM_PLOT_SERIES] = {
        {"\u2022", "\u25aa", "\u25b4", "\u25c6", "\u25e6", "\u25ab", "\u25b5", "\u25c7"},
        {"\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25cb", "\u25a1", "\u25b3", "\u25c7"}};
    static const char *const plain[2][CM_PLOT_SERIES] = {{".", ",", "'", "~", ";", "^", "*", "="},
                                                         {"o", "x", "+", "#", "@", "%", "&", "$"}};
    return utf8 ? unicode[dots][series] : plain[dots][series];
}

/* A mark in the colour of its series. */
static void put_mark(const char *mark, int series, const cm_plot_style *style, FILE *out) {
    static const char *const colours[CM_PLOT_SERIES] = {"34", "31", "32", "33", "35", "36", "91", "90"};
    if (style->colour) fprintf(out, "\033[%sm%s\033[0m", colours[series], mark);
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

/* ---- SVG ---- */

enum { WIDTH = 720, HEIGHT = 420, LEFT = 64, RIGHT = 20, TOP = 40, BOTTOM = 56, TICKS = 5 };

typedef struct frame {
    range x, y;
} frame;

static double at_x(const frame *f, double x) {
    return LEFT + (x - f->x.low) / (f->x.high - f->x.low) * (WIDTH - LEFT - RIGHT);
}
static double at_y(const frame *f, double y) {
    return TOP + (f->y.high - y) / (f->y.high - f->y.low) * (HEIGHT - TOP - BOTTOM);
}

static void svg_axes(const cm_plot *plot, const frame *f, cm_svg *svg) {
    const double dx = cm_svg_tick(f->x.low, f->x.high, TICKS), dy = cm_svg_tick(f->y.low, f->y.high, TICKS);
    char label[16];
    for (double k = ceil(f->y.low / dy); k * dy <= f->y.high; k++) {
        cm_svg_grid(svg, LEFT, at_y(f, k * dy), WIDTH - RIGHT, at_y(f, k * dy));
        cm_format_count(k * dy + 0.0, label); /* 0, not -0 */
        cm_svg_text(svg, LEFT - 8, at_y(f, k * dy) + 4, "end", label);
    }
    for (double k = ceil(f->x.low / dx); k * dx <= f->x.high; k++) {
        cm_format_count(k * dx + 0.0, label);
        cm_svg_text(svg, at_x(f, k * dx), HEIGHT - BOTTOM + 18, "middle", label);
    }
    cm_svg_text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 18, "middle", plot->x_label);
    cm_svg_text(svg, LEFT - 8, TOP - 14, "start", plot->y_label);
    cm_svg_text(svg, WIDTH / 2.0, 20, "middle", plot->title);
}

static const char *const colours[CM_PLOT_SERIES] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
                                                    "#8250df", "#0a7ea4", "#bc4c00", "#57606a"};

static void svg_band(const cm_plot_series *s, const frame *f, int index, cm_svg *svg) {
    fprintf(svg->out, "<polygon fill=\"%s\" fill-opacity=\"0.15\" points=\"", colours[index]);
    for (int i = 0; i < s->n; i++) fprintf(svg->out, "%.1f,%.1f ", at_x(f, s->x[i]), at_y(f, s->high[i]));
    for (int i = s->n - 1; i >= 0; i--) fprintf(svg->out, "%.1f,%.1f ", at_x(f, s->x[i]), at_y(f, s->low[i]));
    fputs("\"/>\n", svg->out);
}

static void svg_series(const cm_plot_series *s, const frame *f, int index, cm_svg *svg) {
    const char *colour = colours[index];
    const bool dots = s->dots || s->n == 1; /* a line through one point is not seen */
    if (!dots) fprintf(svg->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" points=\"", colour);
    for (int i = 0; i < s->n; i++) {
        const double x = at_x(f, s->x[i]), y = at_y(f, s->y[i]);
        if (dots) {
            fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x, y, colour);
        } else {
            fprintf(svg->out, "%.1f,%.1f ", x, y);
        }
    }
    if (!dots) fputs("\"/>\n", svg->out);
}

/* In front of all lines, on a ground of its own. */
static void svg_legend(const cm_plot_series *s, int index, cm_svg *svg) {
    const char *colour = colours[index];
    const double at = LEFT + 12, line = TOP + 8 + 18 * index;
    const int width = 24 + 7 * cm_text_line_width(s->label);
    fprintf(svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"18\" fill=\"#fff\" fill-opacity=\"0.8\"/>\n",
            at - 4, line - 7, width);
    fprintf(svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"4\" fill=\"%s\"/>\n", at, line, colour);
    cm_svg_text(svg, at + 18, line + 6, "start", s->label);
}

cm_status cm_plot_svg(const cm_plot *plot, const char *path) {
    frame f;
    cm_svg svg;
    CM_TRY(find_ranges(plot, &f.x, &f.y));
    CM_TRY(cm_svg_begin(&svg, WIDTH, HEIGHT));
    svg_axes(plot, &f, &svg);
    for (int s = 0; s < plot->count; s++) {
        if (plot->series[s].low) svg_band(&plot->series[s], &f, s, &svg);
    }
    for (int s = 0; s < plot->count; s++) svg_series(&plot->series[s], &f, s, &svg);
    for (int s = 0; s < plot->count; s++) svg_legend(&plot->series[s], s, &svg);
    return cm_svg_end(&svg, path);
}
