#include "cli/plot_svg.h"

#include <math.h>
#include <stdlib.h>

#include "core/arena.h"

enum { PARTS = 4 /* of a unit, within which points of a line are not told apart */, MANY = 100 /* dots */ };

/* ---- which points are drawn ---- */

static bool is_full(const cm_plot_series *s, int i) { return !s->runs_at || s->runs_at[i] == s->runs; }

/* Whether a line begins, ends or changes at point i. */
static bool is_edge(const cm_plot_series *s, int i) {
    if (i == 0 || i == s->n - 1 || !isfinite(s->y[i])) return true;
    if (!isfinite(s->y[i - 1]) || !isfinite(s->y[i + 1])) return true;
    return is_full(s, i) != is_full(s, i - 1) || is_full(s, i) != is_full(s, i + 1);
}

/* Points that lie in one column of the picture. */
typedef struct column {
    double at;
    int first, low, high, last; /* -1: it is empty */
} column;

static void flush(column *c, int *index, int *count) {
    if (c->first < 0) return;
    const int between[2] = {c->low < c->high ? c->low : c->high, c->low < c->high ? c->high : c->low};
    index[(*count)++] = c->first;
    for (int k = 0; k < 2; k++)
        if (between[k] > index[*count - 1]) index[(*count)++] = between[k];
    if (c->last > index[*count - 1]) index[(*count)++] = c->last;
    c->first = -1;
}

static void add(const cm_plot_series *s, int i, double at, column *c) {
    if (c->first < 0) *c = (column){at, i, i, i, i};
    if (s->y[i] < s->y[c->low]) c->low = i;
    if (s->y[i] > s->y[c->high]) c->high = i;
    c->last = i;
}

/* The points that a reader can tell from their neighbours: of each column the first, the last, and the ends; index[n]
 * in ascending order. Returns their number. */
static int choose_points(const cm_panel *panel, const cm_plot_series *s, int *index) {
    column c = {.first = -1};
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        const double at = floor(cm_panel_x(panel, s->x[i]) * PARTS);
        const bool edge = is_edge(s, i);
        if (c.first >= 0 && (at != c.at || edge)) flush(&c, index, &count);
        if (edge) {
            index[count++] = i;
        } else {
            add(s, i, at, &c);
        }
    }
    flush(&c, index, &count);
    return count;
}

/* ---- a series ---- */

/* A series as it is drawn: its points of index[count]. */
typedef struct drawing {
    const cm_panel *panel;
    const cm_plot_series *series;
    const int *index;
    int count;
    cm_svg *svg;
} drawing;

static double x_of(const drawing *d, int i) { return cm_panel_x(d->panel, d->series->x[i]) - d->panel->frame.left; }
static double y_of(const drawing *d, double y) { return cm_panel_y(d->panel, y) - d->panel->frame.top; }

static void put_point(const drawing *d, char command, int i, double y) {
    fprintf(d->svg->out, "%c%.2f,%.2f", command, x_of(d, i), y_of(d, y));
}

static bool is_there(const drawing *d, int k) { return k >= 0 && k < d->count && isfinite(d->series->y[d->index[k]]); }

/* Whether the line from the point before k to k is a mean of all runs. */
static bool is_thick(const drawing *d, int k) {
    return is_full(d->series, d->index[k - 1]) && is_full(d->series, d->index[k]);
}

/* The lines between neighbours that are thick, or those that are not. */
static void put_line(const drawing *d, bool thick) {
    const int colour = d->series->colour;
    bool begun = false, joined = false;
    for (int k = 1; k < d->count; k++) {
        const bool wanted = is_there(d, k - 1) && is_there(d, k) && is_thick(d, k) == thick;
        if (wanted && !begun)
            fprintf(d->svg->out, "<path class=\"line%s l%d\"%s d=\"", thick ? "" : " thin", colour % CM_SVG_COLOURS,
                    colour >= CM_SVG_COLOURS ? " stroke-dasharray=\"6 3\"" : "");
        if (wanted && !joined) put_point(d, 'M', d->index[k - 1], d->series->y[d->index[k - 1]]);
        if (wanted) put_point(d, 'L', d->index[k], d->series->y[d->index[k]]);
        begun |= wanted, joined = wanted;
    }
    if (begun) fputs("\"/>\n", d->svg->out);
}

/* Points that stand alone, or all of them: lines without a length, whose round ends are dots however far a page zooms.
 */
static void put_dots(const drawing *d, bool all) {
    bool begun = false;
    for (int k = 0; k < d->count; k++) {
        if (!is_there(d, k) || (!all && (is_there(d, k - 1) || is_there(d, k + 1)))) continue;
        if (!begun)
            fprintf(d->svg->out, "<path class=\"dots%s l%d\" d=\"", d->count > MANY ? " small" : "",
                    d->series->colour % CM_SVG_COLOURS);
        put_point(d, 'M', d->index[k], d->series->y[d->index[k]]);
        fputs("h0", d->svg->out);
        begun = true;
    }
    if (begun) fputs("\"/>\n", d->svg->out);
}

static void put_band(const drawing *d) {
    const cm_plot_series *s = d->series;
    fprintf(d->svg->out, "<path class=\"band f%d\" d=\"", s->colour % CM_SVG_COLOURS);
    for (int k = 0; k < d->count; k++) put_point(d, k ? 'L' : 'M', d->index[k], s->high[d->index[k]]);
    for (int k = d->count - 1; k >= 0; k--) put_point(d, 'L', d->index[k], s->low[d->index[k]]);
    fputs("Z\"/>\n", d->svg->out);
}

static void put_series(const drawing *d) {
    fputs("<g class=\"series\">\n", d->svg->out);
    cm_svg_title(d->svg, d->series->label);
    if (!d->series->dots) {
        put_line(d, false);
        put_line(d, true);
    }
    put_dots(d, d->series->dots);
    fputs("</g>\n", d->svg->out);
}

/* Bands lie behind all lines. */
static cm_status put_data(const cm_plot *plot, const cm_panel *panel, cm_svg *svg) {
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < plot->count; s++) {
            const cm_plot_series *series = &plot->series[s];
            int *index = NULL;
            if (series->n == 0 || (pass == 0 && !series->low)) continue;
            CM_TRY(cm_alloc(&index, (size_t)series->n, sizeof *index, "a plot"));
            const drawing d = {panel, series, index, choose_points(panel, series, index), svg};
            if (pass == 0) {
                put_band(&d);
            } else {
                put_series(&d);
            }
            free(index);
        }
    return CM_OK;
}

/* ---- axes ---- */

static void put_ticks(const cm_panel *panel, cm_svg *svg) {
    const cm_box f = panel->frame;
    char label[CM_AXIS_LABEL];
    fputs("<g class=\"ticks\">\n", svg->out);
    for (int i = 0; i < panel->y.ticks; i++) {
        const double y = cm_panel_y(panel, cm_axis_tick(&panel->y, i));
        cm_svg_grid(svg, f.left, y, f.right, y);
        cm_axis_label(&panel->y, i, label);
        cm_svg_text(svg, f.left - 7.0, y + 4.0, "end", label);
    }
    for (int i = 0; i < panel->x.ticks; i++) {
        const double x = cm_panel_x(panel, cm_axis_tick(&panel->x, i));
        cm_svg_grid(svg, x, f.top, x, f.bottom);
        cm_axis_label(&panel->x, i, label);
        cm_svg_text(svg, x, f.bottom + 16.0, "middle", label);
    }
    if (*panel->y.note) cm_svg_text(svg, f.left, f.top - 5.0, "start", panel->y.note);
    if (*panel->x.note) cm_svg_text(svg, f.right, f.bottom + 32.0, "end", panel->x.note);
    fputs("</g>\n", svg->out);
}

static void put_names(const cm_plot *plot, const cm_panel *panel, bool is_last, cm_svg *svg) {
    const cm_box f = panel->frame;
    char name[256];
    cm_svg_text_fit(plot->y_label, f.bottom - f.top, name, sizeof name);
    if (*name) cm_svg_text_up(svg, panel->area.left + 16.0, (f.top + f.bottom) / 2.0, "middle", name);
    if (is_last) cm_svg_text(svg, (f.left + f.right) / 2.0, f.bottom + 34.0, "middle", plot->x_label);
}

/* ---- legends ---- */

static void put_sample(const cm_plot_series *s, double x, double y, cm_svg *svg) {
    const int colour = s->colour % CM_SVG_COLOURS;
    if (s->dots || s->n == 1) {
        fprintf(svg->out, "<path class=\"dots l%d\" d=\"M%.1f,%.1fh0\"/>\n", colour, x + 10.0, y);
    } else {
        fprintf(svg->out, "<path class=\"line l%d\"%s d=\"M%.1f,%.1fh20\"/>\n", colour,
                s->colour >= CM_SVG_COLOURS ? " stroke-dasharray=\"6 3\"" : "", x, y);
    }
}

static void put_legend(const cm_plot *plot, const cm_panel *panel, cm_svg *svg) {
    const cm_box b = panel->legend;
    char name[256];
    if (panel->rows == 0) return;
    fprintf(svg->out,
            "<g class=\"key\">\n<rect class=\"paper legend\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
            b.left, b.top, b.right - b.left, b.bottom - b.top);
    for (int i = 0; i < panel->rows; i++) {
        const double y = b.top + 3.0 + CM_LEGEND_ROW * (i + 0.5);
        const bool is_fewer = i == plot->count;
        if (is_fewer) fprintf(svg->out, "<path class=\"frame\" d=\"M%.1f,%.1fh20\"/>\n", b.left + 4.0, y);
        if (!is_fewer) put_sample(&plot->series[i], b.left + 4.0, y, svg);
        cm_svg_text_fit(is_fewer ? CM_PLOT_FEWER : plot->series[i].label, b.right - b.left - CM_LEGEND_MARK, name,
                        sizeof name);
        cm_svg_text(svg, b.left + CM_LEGEND_MARK, y + 4.0, "start", name);
    }
    fputs("</g>\n", svg->out);
}

/* ---- the picture ---- */

static cm_status put_panel(const cm_plot *plot, const cm_panel *panel, bool is_last, cm_svg *svg) {
    const cm_box f = panel->frame;
    const double width = f.right - f.left, height = f.bottom - f.top;
    fprintf(svg->out,
            "<g class=\"panel\" data-frame=\"%.2f %.2f %.2f %.2f\" data-x=\"%.17g %.17g\" data-y=\"%.17g %.17g\">\n",
            f.left, f.top, width, height, panel->x.low, panel->x.high, panel->y.low, panel->y.high);
    put_ticks(panel, svg);
    fprintf(svg->out,
            "<svg class=\"data\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" viewBox=\"0 0 %.2f %.2f\" "
            "preserveAspectRatio=\"none\">\n",
            f.left, f.top, width, height, width, height);
    cm_status status = put_data(plot, panel, svg);
    fprintf(svg->out, "</svg>\n<rect class=\"frame\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n", f.left,
            f.top, width, height);
    put_names(plot, panel, is_last, svg);
    put_legend(plot, panel, svg);
    fputs("</g>\n", svg->out);
    return status;
}

static cm_status put_all(const cm_figure *figure, const cm_layout *layout, cm_svg *svg) {
    char title[256];
    cm_svg_text_fit(figure->title, layout->width - 40.0, title, sizeof title);
    cm_svg_text(svg, layout->width / 2.0, 21.0, "middle", title);
    for (int p = 0; p < figure->count; p++)
        CM_TRY(put_panel(&figure->plots[p], &layout->panel[p], p + layout->columns >= figure->count, svg));
    return CM_OK;
}

cm_status cm_plot_svg(const cm_figure *figure, cm_theme theme, char **out) {
    cm_layout layout;
    cm_svg svg;
    *out = NULL;
    CM_TRY(cm_layout_make(figure, &layout));
    CM_TRY(cm_svg_begin(&svg, layout.width, layout.height, theme));
    cm_status status = put_all(figure, &layout, &svg);
    char *text = NULL;
    const cm_status end = cm_svg_end(&svg, &text);
    if (status == CM_OK && end == CM_OK) {
        *out = text;
        return CM_OK;
    }
    free(text);
    return status != CM_OK ? status : end;
}
