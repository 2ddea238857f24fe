#include "run/plot.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "run/progress.h"
#include "run/svg.h"

enum { GUTTER = 8 }; /* columns left of the y axis */

typedef struct range {
    double low, high;
} range;

static void widen(range *r, double v) {
    r->low = fmin(r->low, v);
    r->high = fmax(r->high, v);
}

static bool usable(const cm_plot_series *s, int i) { return isfinite(s->x[i]) && isfinite(s->y[i]); }

static cm_status find_ranges(const cm_plot *plot, range *x, range *y) {
    *x = *y = (range){INFINITY, -INFINITY};
    for (int s = 0; s < plot->count; s++) {
        for (int i = 0; i < plot->series[s].n; i++) {
            if (!usable(&plot->series[s], i)) continue;
            widen(x, plot->series[s].x[i]);
            widen(y, plot->series[s].y[i]);
        }
    }
    if (!(x->low <= x->high)) return cm_fail(CM_ERR_INPUT, "%s: there is nothing to plot yet", plot->title);
    if (x->low == x->high) x->high = x->low + 1.0;
    if (y->low == y->high) y->low -= 0.5, y->high += 0.5;
    return CM_OK;
}

/* ---- text ---- */

/* A grid of cells, each a mark index: 0 blank, 1 + series. */
typedef struct canvas {
    int columns, rows;
    unsigned char *cell; /* [rows, columns], owned */
    range x, y;
} canvas;

static void put(canvas *c, double x, double y, int mark) {
    int column = (int)lround((x - c->x.low) / (c->x.high - c->x.low) * (c->columns - 1));
    int row = (int)lround((c->y.high - y) / (c->y.high - c->y.low) * (c->rows - 1));
    if (column >= 0 && column < c->columns && row >= 0 && row < c->rows) {
        c->cell[row * c->columns + column] = (unsigned char)mark;
    }
}

static void put_line(canvas *c, const double *from, const double *to, int mark) {
    for (int i = 0; i <= c->columns; i++) {
        double t = (double)i / c->columns;
        put(c, from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1]), mark);
    }
}

static void put_series(canvas *c, const cm_plot_series *s, int mark) {
    double last[2] = {NAN, NAN};
    for (int i = 0; i < s->n; i++) {
        if (!usable(s, i)) continue;
        double point[2] = {s->x[i], s->y[i]};
        if (s->dots || !isfinite(last[0])) {
            put(c, point[0], point[1], mark);
        } else {
            put_line(c, last, point, mark);
        }
        memcpy(last, point, sizeof last);
    }
}

static const char *mark_text(int mark, bool dots, bool utf8) {
    static const char *const unicode[2][4] = {{"\u2022", "\u25aa", "\u25b4", "\u25c6"},
                                              {"\u25cf", "\u25a0", "\u25b2", "\u25c6"}};
    static const char *const plain[2][4] = {{".", ",", "'", "~"}, {"o", "x", "+", "#"}};
    int kind = (mark - 1) % 4;
    return utf8 ? unicode[dots][kind] : plain[dots][kind];
}

/* Characters of a UTF-8 text. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* The label of the x axis and the marks with their meaning, on as many lines as they need. */
static void print_legend(const cm_plot *plot, int columns, bool utf8, FILE *out) {
    int at = GUTTER + width_of(plot->x_label);
    fprintf(out, "%*s%s", GUTTER, "", plot->x_label);
    for (int s = 0; s < plot->count; s++) {
        int width = 2 + width_of(plot->series[s].label), gap = 3;
        if (at + gap + width > columns) {
            fputc('\n', out);
            at = 0, gap = GUTTER + width <= columns ? GUTTER : 0;
        }
        fprintf(out, "%*s%s %s", gap, "", mark_text(s + 1, plot->series[s].dots, utf8), plot->series[s].label);
        at += gap + width;
    }
    fputc('\n', out);
}

static void print_canvas(const cm_plot *plot, const canvas *c, bool utf8, FILE *out) {
    char label[16];
    fprintf(out, "%s\n", plot->title);
    for (int r = 0; r < c->rows; r++) {
        bool tick = r == 0 || r == c->rows - 1 || r == c->rows / 2;
        cm_format_count(c->y.high - (c->y.high - c->y.low) * r / (c->rows - 1), label);
        fprintf(out, "%*s %s", GUTTER - 2, tick ? label : "", utf8 ? (tick ? "\u2524" : "\u2502") : "|");
        int last = c->columns;
        while (last > 0 && !c->cell[r * c->columns + last - 1]) last--;
        for (int i = 0; i < last; i++) {
            int mark = c->cell[r * c->columns + i];
            fputs(mark ? mark_text(mark, plot->series[mark - 1].dots, utf8) : " ", out);
        }
        fputc('\n', out);
    }
    fprintf(out, "%*s %s", GUTTER - 2, "", utf8 ? "\u2514" : "+");
    for (int i = 0; i < c->columns; i++) fputs(utf8 ? "\u2500" : "-", out);
    char low[16], high[16];
    cm_format_count(c->x.low, low);
    cm_format_count(c->x.high, high);
    fprintf(out, "\n%*s%s%*s\n", GUTTER, "", low, c->columns - (int)strlen(low), high);
    print_legend(plot, GUTTER + c->columns, utf8, out);
}

cm_status cm_plot_text(const cm_plot *plot, int columns, int rows, bool utf8, char **out) {
    canvas c = {.columns = columns - GUTTER, .rows = rows - 4};
    *out = NULL;
    if (columns < 20 || rows < 5) return cm_fail(CM_ERR_INPUT, "a plot needs 20 columns and 5 rows");
    if (c.rows < 2) c.rows = 2;
    CM_TRY(find_ranges(plot, &c.x, &c.y));
    CM_TRY(cm_alloc(&c.cell, (size_t)c.rows * (size_t)c.columns, 1, "a plot"));
    for (int s = 0; s < plot->count; s++) put_series(&c, &plot->series[s], s + 1);
    size_t size = 0;
    FILE *stream = open_memstream(out, &size);
    if (stream) {
        print_canvas(plot, &c, utf8, stream);
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
    char label[16];
    for (int i = 0; i <= TICKS; i++) {
        double x = f->x.low + (f->x.high - f->x.low) * i / TICKS, y = f->y.low + (f->y.high - f->y.low) * i / TICKS;
        cm_svg_grid(svg, LEFT, at_y(f, y), WIDTH - RIGHT, at_y(f, y));
        cm_format_count(y, label);
        cm_svg_text(svg, LEFT - 8, at_y(f, y) + 4, "end", label);
        cm_format_count(x, label);
        cm_svg_text(svg, at_x(f, x), HEIGHT - BOTTOM + 18, "middle", label);
    }
    cm_svg_text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 18, "middle", plot->x_label);
    cm_svg_text(svg, LEFT - 8, TOP - 14, "start", plot->y_label);
    cm_svg_text(svg, WIDTH / 2.0, 20, "middle", plot->title);
}

static const char *const colours[8] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
                                       "#8250df", "#0a7ea4", "#bc4c00", "#57606a"};

static void svg_series(const cm_plot_series *s, const frame *f, int index, cm_svg *svg) {
    const char *colour = colours[index % 8];
    if (!s->dots) fprintf(svg->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" points=\"", colour);
    for (int i = 0; i < s->n; i++) {
        if (!usable(s, i)) continue;
        double x = at_x(f, s->x[i]), y = at_y(f, s->y[i]);
        if (s->dots) {
            fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x, y, colour);
        } else {
            fprintf(svg->out, "%.1f,%.1f ", x, y);
        }
    }
    if (!s->dots) fputs("\"/>\n", svg->out);
    double at = LEFT + 12, line = TOP + 8 + 18 * index;
    fprintf(svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"4\" fill=\"%s\"/>\n", at, line, colour);
    cm_svg_text(svg, at + 18, line + 6, "start", s->label);
}

cm_status cm_plot_svg(const cm_plot *plot, const char *path) {
    frame f;
    cm_svg svg;
    CM_TRY(find_ranges(plot, &f.x, &f.y));
    CM_TRY(cm_svg_begin(&svg, WIDTH, HEIGHT));
    svg_axes(plot, &f, &svg);
    for (int s = 0; s < plot->count; s++) svg_series(&plot->series[s], &f, s, &svg);
    return cm_svg_end(&svg, path);
}
