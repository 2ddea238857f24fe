#include "cli/interval_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/svg.h"
#include "core/printable.h"
#include "run/progress.h"

enum { LEAST_WIDTH = 16 }; /* least columns after the labels, with the gap */

typedef struct range {
    double low, high;
} range;

/* From the lowest end of an interval to the highest. */
static range range_of(const cm_interval_plot *plot) {
    range r = {INFINITY, -INFINITY};
    for (int i = 0; i < plot->count; i++) {
        r.low = fmin(r.low, plot->rows[i].value - plot->rows[i].half);
        r.high = fmax(r.high, plot->rows[i].value + plot->rows[i].half);
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

static int column_of(range r, int columns, double value) {
    return (int)lround((value - r.low) / (r.high - r.low) * (columns - 1));
}

static void print_row(const cm_interval_row *row, range r, int columns, bool utf8, FILE *out) {
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
static void print_axis(const cm_interval_plot *plot, range r, int indent, int columns, FILE *out) {
    char low[24], high[24];
    int used = snprintf(low, sizeof low, "%.0f", r.low) + snprintf(high, sizeof high, "%.0f", r.high);
    int space = columns - used, label = (int)strlen(plot->x_label);
    if (label + 2 > space) label = 0;
    int before = (space - label) / 2;
    fprintf(out, "%*s%s%*s%.*s%*s%s\n", indent, "", low, before, "", label, plot->x_label, space - label - before, "",
            high);
}

cm_status cm_interval_plot_text(const cm_interval_plot *plot, int columns, bool utf8, char **out) {
    const range r = range_of(plot);
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

enum { WIDTH = 720, LEFT = 190, RIGHT = 30, TOP = 48, ROW = 26, BOTTOM = 52, TICKS = 6 };

static double at_x(range r, double value) { return LEFT + (value - r.low) / (r.high - r.low) * (WIDTH - LEFT - RIGHT); }

static void svg_row(const cm_interval_plot *plot, int i, range r, cm_svg *svg) {
    const cm_interval_row *row = &plot->rows[i];
    double y = TOP + ROW * (i + 0.5);
    cm_svg_text(svg, LEFT - 12, y + 4, "end", cm_format_end(row->label, CM_INTERVAL_LABEL));
    fprintf(svg->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#1f6feb\" stroke-width=\"2\"/>\n",
            at_x(r, row->value - row->half), y, at_x(r, row->value + row->half), y);
    fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#1f6feb\"/>\n", at_x(r, row->value), y);
}

cm_status cm_interval_plot_svg(const cm_interval_plot *plot, const char *path) {
    const range r = range_of(plot);
    const double tick = cm_svg_tick(r.low, r.high, TICKS), bottom = TOP + ROW * plot->count;
    cm_svg svg;
    CM_TRY(cm_svg_begin(&svg, WIDTH, TOP + ROW * plot->count + BOTTOM));
    cm_svg_text(&svg, WIDTH / 2.0, 24, "middle", plot->title);
    for (int k = (int)ceil(r.low / tick); k * tick <= r.high; k++) {
        char label[24];
        snprintf(label, sizeof label, "%g", k * tick);
        cm_svg_grid(&svg, at_x(r, k * tick), TOP, at_x(r, k * tick), bottom);
        cm_svg_text(&svg, at_x(r, k * tick), bottom + 18, "middle", label);
    }
    cm_svg_text(&svg, (LEFT + WIDTH - RIGHT) / 2.0, bottom + 38, "middle", plot->x_label);
    for (int i = 0; i < plot->count; i++) svg_row(plot, i, r, &svg);
    return cm_svg_end(&svg, path);
}
