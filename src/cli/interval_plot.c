#include "cli/interval_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/axis.h"
#include "cli/picture.h"
#include "cli/plot_range.h"
#include "cli/svg.h"
#include "core/printable.h"
#include "run/progress.h"

enum { LEAST_WIDTH = 16 }; /* least columns after the labels, with the gap */

/* From the lowest end of an interval to the highest. */
static cm_plot_range range_of(const cm_interval_plot *plot) {
    cm_plot_range r = cm_plot_range_none();
    for (int i = 0; i < plot->count; i++) {
        cm_plot_range_widen(&r, plot->rows[i].value - plot->rows[i].half);
        cm_plot_range_widen(&r, plot->rows[i].value + plot->rows[i].half);
    }
    if (!(r.high > r.low)) r.low -= 1.0, r.high += 1.0;
    return r;
}

/* Columns of the longest label, `most` if they are more. */
static int label_width(const cm_interval_plot *plot, int most) {
    int widest = 0;
    for (int i = 0; i < plot->count; i++) {
        int width = (int)strlen(cm_format_end(plot->rows[i].label, most));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* ---- text ---- */

static int column_of(cm_plot_range r, int columns, double value) {
    return (int)lround((value - r.low) / (r.high - r.low) * (columns - 1));
}

static void print_row(const cm_interval_row *row, cm_plot_range r, int columns, bool utf8, FILE *out) {
    int from = column_of(r, columns, row->value - row->half), to = column_of(r, columns, row->value + row->half);
    int at = column_of(r, columns, row->value);
    for (int c = 0; c <= to; c++) {
        if (c == at) {
            fputs(utf8 ? "\u25cf" : "o", out);
        } else if (c < from) {
            fputc(' ', out);
        } else {
            fputs(utf8 ? "\u2500" : "-", out);
        }
    }
    fputc('\n', out);
}

/* The ends of the axis below the rows, and its label between them where there is space. */
static void print_axis(const cm_interval_plot *plot, cm_plot_range r, int indent, int columns, FILE *out) {
    char low[24], high[24];
    int used = snprintf(low, sizeof low, "%.0f", r.low) + snprintf(high, sizeof high, "%.0f", r.high);
    int space = columns - used, label = (int)strlen(plot->x_label);
    if (label + 2 > space) label = 0;
    int before = (space - label) / 2;
    fprintf(out, "%*s%s%*s%.*s%*s%s\n", indent, "", low, before, "", label, plot->x_label, space - label - before, "",
            high);
}

cm_status cm_interval_plot_text(const cm_interval_plot *plot, int columns, bool utf8, char **out) {
    const cm_plot_range r = range_of(plot);
    const int most = columns - LEAST_WIDTH < CM_INTERVAL_LABEL ? columns - LEAST_WIDTH : CM_INTERVAL_LABEL;
    const int width = label_width(plot, most), space = columns - width - 2;
    size_t size = 0;
    *out = NULL;
    FILE *stream = open_memstream(out, &size);
    if (!stream) return cm_fail(CM_ERR_MEMORY, "no memory for a plot");
    fprintf(stream, "%s\n", CM_PRINTABLE(plot->title));
    for (int i = 0; i < plot->count; i++) {
        fprintf(stream, "%-*s  ", width, cm_format_end(CM_PRINTABLE(plot->rows[i].label), most));
        print_row(&plot->rows[i], r, space, utf8, stream);
    }
    print_axis(plot, r, width + 2, space, stream);
    if (fclose(stream) != 0) free(*out), *out = NULL;
    return *out ? CM_OK : cm_fail(CM_ERR_MEMORY, "no memory for a plot");
}

/* ---- SVG ---- */

enum { WIDTH = 720, RIGHT = 30, TOP = 48, ROW = 26, BOTTOM = 52, GAP = 12, MOST_LABEL = 240 /* units */ };

typedef struct frame {
    double left;
    cm_axis x;
} frame;

static double at_x(const frame *f, double value) {
    return f->left + cm_axis_share(&f->x, value) * (WIDTH - f->left - RIGHT);
}

static frame frame_of(const cm_interval_plot *plot) {
    const cm_plot_range r = range_of(plot);
    frame f = {.left = 0.0};
    for (int i = 0; i < plot->count; i++) f.left = fmax(f.left, cm_svg_text_width(plot->rows[i].label));
    f.left = fmin(f.left, MOST_LABEL) + 2 * GAP;
    cm_axis_make(r.low, r.high, 0.03, 8, &f.x);
    return f;
}

static void svg_row(const cm_interval_plot *plot, int i, const frame *f, cm_svg *svg) {
    const cm_interval_row *row = &plot->rows[i];
    const double y = TOP + ROW * (i + 0.5);
    char label[256];
    cm_svg_text_fit(row->label, MOST_LABEL, label, sizeof label);
    cm_svg_text(svg, f->left - GAP, y + 4, "end", label);
    fprintf(svg->out, "<path class=\"line l0\" d=\"M%.1f,%.1fH%.1f\"/>\n", at_x(f, row->value - row->half), y,
            at_x(f, row->value + row->half));
    fprintf(svg->out, "<circle class=\"f0\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", at_x(f, row->value), y);
}

static void svg_axis(const cm_interval_plot *plot, const frame *f, double bottom, cm_svg *svg) {
    char label[CM_AXIS_LABEL];
    for (int i = 0; i < f->x.ticks; i++) {
        const double x = at_x(f, cm_axis_tick(&f->x, i));
        cm_axis_label(&f->x, i, label);
        cm_svg_grid(svg, x, TOP, x, bottom);
        cm_svg_text(svg, x, bottom + 18, "middle", label);
    }
    cm_svg_text(svg, (f->left + WIDTH - RIGHT) / 2.0, bottom + 38, "middle", plot->x_label);
    if (*f->x.note) cm_svg_text(svg, WIDTH - RIGHT, bottom + 38, "end", f->x.note);
}

cm_status cm_interval_plot_svg(const cm_interval_plot *plot, char **out) {
    const frame f = frame_of(plot);
    const double bottom = TOP + ROW * plot->count;
    cm_svg svg;
    CM_TRY(cm_svg_begin(&svg, WIDTH, bottom + BOTTOM, CM_THEME_AUTO));
    cm_svg_text(&svg, WIDTH / 2.0, 24, "middle", plot->title);
    svg_axis(plot, &f, bottom, &svg);
    for (int i = 0; i < plot->count; i++) svg_row(plot, i, &f, &svg);
    return cm_svg_end(&svg, out);
}

cm_status cm_interval_plot_write(const cm_interval_plot *plot, const char *svg_path, const char *png_path) {
    char *svg = NULL;
    if (!svg_path && !png_path) return CM_OK;
    CM_TRY(cm_interval_plot_svg(plot, &svg));
    cm_status status = svg_path ? cm_picture_write_svg(svg, svg_path) : CM_OK;
    if (status == CM_OK && png_path) status = cm_picture_write_png(svg, png_path);
    free(svg);
    return status;
}
