#include "cli/plot_layout.h"

#include <math.h>
#include <string.h>

#include "cli/svg.h"

enum {
    GAP = 10,           /* between neighbours */
    TITLE = 26,         /* height */
    LETTERS = 18,       /* height of a line of letters */
    SINGLE = 420,       /* height of a picture with one pair of axes */
    ROW = 230,          /* and of a row where there are more */
    MOST_IN_COLUMN = 3, /* panels */
    MOST_INSIDE = 8,    /* rows of a legend in front of the data */
    X_MARGIN = 3,       /* percent of the range on each side */
    Y_MARGIN = 5
};

/* ---- ranges ---- */

static cm_status find_ranges(const cm_figure *figure, cm_plot_range *x, cm_plot_range *y) {
    *x = cm_plot_range_none();
    for (int p = 0; p < figure->count; p++) {
        y[p] = cm_plot_range_none();
        cm_plot_widen(&figure->plots[p], x, &y[p]);
        if (cm_plot_range_is_empty(y[p])) y[p] = (cm_plot_range){0.0, 1.0};
    }
    return cm_plot_check(figure->title, *x);
}

double cm_panel_x(const cm_panel *panel, double x) {
    return panel->frame.left + cm_axis_share(&panel->x, x) * (panel->frame.right - panel->frame.left);
}

double cm_panel_y(const cm_panel *panel, double y) {
    return panel->frame.bottom - cm_axis_share(&panel->y, y) * (panel->frame.bottom - panel->frame.top);
}

/* ---- axes ---- */

static double widest_label(const cm_axis *axis) {
    char label[CM_AXIS_LABEL];
    double widest = 0.0;
    for (int i = 0; i < axis->ticks; i++) {
        cm_axis_label(axis, i, label);
        widest = fmax(widest, cm_svg_text_width(label));
    }
    return widest;
}

/* As many ticks as have space for their labels next to each other. */
static void make_x(cm_plot_range r, double width, cm_axis *out) {
    const int space = (int)(width / 60.0);
    for (int most = space < 2 ? 2 : space > 10 ? 10 : space; most >= 1; most--) {
        cm_axis_make(r.low, r.high, X_MARGIN / 100.0, most, out);
        const double between = out->step / (out->high - out->low) * width;
        if (out->ticks == 1 || between >= widest_label(out) + GAP) return;
    }
}

static void make_y(cm_plot_range r, double height, cm_axis *out) {
    const int most = (int)(height / 26.0);
    cm_axis_make(r.low, r.high, Y_MARGIN / 100.0, most < 3 ? 3 : most > 9 ? 9 : most, out);
}

/* ---- legends ---- */

bool cm_plot_has_fewer(const cm_plot *plot) {
    for (int s = 0; s < plot->count; s++) {
        const cm_plot_series *series = &plot->series[s];
        for (int i = 0; series->runs_at && i < series->n; i++)
            if (series->runs_at[i] < series->runs) return true;
    }
    return false;
}

/* None where the axis says the same; nor where the first panel has the same one. */
static int count_rows(const cm_figure *figure, int panel) {
    const cm_plot *plot = &figure->plots[panel], *first = &figure->plots[0];
    bool is_same = panel > 0 && plot->count == first->count;
    if (plot->count == 1 && strcmp(plot->series[0].label, plot->y_label) == 0) return 0;
    for (int s = 0; is_same && s < plot->count; s++)
        is_same = plot->series[s].colour == first->series[s].colour &&
                  strcmp(plot->series[s].label, first->series[s].label) == 0;
    return is_same ? 0 : plot->count + cm_plot_has_fewer(plot);
}

static double legend_width(const cm_plot *plot) {
    double widest = cm_plot_has_fewer(plot) ? cm_svg_text_width(CM_PLOT_FEWER) : 0.0;
    for (int s = 0; s < plot->count; s++) widest = fmax(widest, cm_svg_text_width(plot->series[s].label));
    return CM_LEGEND_MARK + widest + 6.0;
}

/* Whether the line from p to q meets a box. */
static bool meets(cm_box b, const double p[2], const double q[2]) {
    double from = 0.0, to = 1.0;
    const double low[2] = {b.left, b.top}, high[2] = {b.right, b.bottom};
    for (int d = 0; d < 2; d++) {
        const double way = q[d] - p[d];
        if (way == 0.0) {
            if (p[d] < low[d] || p[d] > high[d]) return false;
            continue;
        }
        const double a = (low[d] - p[d]) / way, z = (high[d] - p[d]) / way;
        from = fmax(from, fmin(a, z)), to = fmin(to, fmax(a, z));
    }
    return from <= to;
}

/* Of a band, as if its steps were flat. */
static bool covers_band(const cm_panel *panel, const cm_plot_series *s, int i, cm_box b) {
    const int before = i > 0 ? i - 1 : i;
    if (!s->low || cm_panel_x(panel, s->x[i]) < b.left || cm_panel_x(panel, s->x[before]) > b.right) return false;
    const double top = cm_panel_y(panel, fmax(s->high[i], s->high[before]));
    return top <= b.bottom && cm_panel_y(panel, fmin(s->low[i], s->low[before])) >= b.top;
}

static bool covers_series(const cm_panel *panel, const cm_plot_series *s, cm_box b) {
    for (int i = 0; i < s->n; i++) {
        const double q[2] = {cm_panel_x(panel, s->x[i]), cm_panel_y(panel, s->y[i])};
        if (!isfinite(q[1])) continue;
        const bool joined = i > 0 && !s->dots && isfinite(s->y[i - 1]);
        const double p[2] = {joined ? cm_panel_x(panel, s->x[i - 1]) : q[0],
                             joined ? cm_panel_y(panel, s->y[i - 1]) : q[1]};
        if (meets(b, p, q) || covers_band(panel, s, i, b)) return true;
    }
    return false;
}

static bool covers_data(const cm_panel *panel, const cm_plot *plot, cm_box b) {
    const cm_box wider = {b.left - 5.0, b.top - 5.0, b.right + 5.0, b.bottom + 5.0};
    for (int s = 0; s < plot->count; s++)
        if (covers_series(panel, &plot->series[s], wider)) return true;
    return false;
}

/* A corner, or the middle of a side, where the legend lies on no data; false: there is none. */
static bool place_inside(const cm_plot *plot, double width, double height, cm_panel *panel) {
    static const unsigned char places[][2] = {{2, 0}, {0, 0}, {0, 2}, {2, 2}, {2, 1}, {0, 1}, {1, 2}, {1, 0}, {1, 1}};
    const cm_box f = panel->frame;
    const double x = f.right - f.left - width - 2 * GAP, y = f.bottom - f.top - height - 2 * GAP;
    if (panel->rows > MOST_INSIDE || x < 0.0 || y < 0.0) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const double left = f.left + GAP + x * places[i][0] / 2.0, top = f.top + GAP + y * places[i][1] / 2.0;
        panel->legend = (cm_box){left, top, left + width, top + height};
        if (!covers_data(panel, plot, panel->legend)) return true;
    }
    return false;
}

/* ---- panels ---- */

/* What panels below each other have in common, so that their frames are. */
typedef struct sides {
    double left, right; /* from the area to the frame */
} sides;

static void set_frame(const cm_plot *plot, cm_plot_range y, bool is_last, const sides *least, cm_panel *panel) {
    const cm_box a = panel->area;
    panel->frame.top = a.top + LETTERS;
    panel->frame.bottom = a.bottom - LETTERS - (is_last ? LETTERS + 4 : 0);
    make_y(y, panel->frame.bottom - panel->frame.top, &panel->y);
    const double left = (*plot->y_label ? LETTERS + 4 : 4) + widest_label(&panel->y) + GAP;
    panel->frame.left = a.left + fmax(left, least->left);
    panel->frame.right = a.right - fmax(2 * GAP + 2, least->right);
}

static void place_outside(double width, double height, cm_panel *panel) {
    const double right = panel->area.right - GAP / 2.0;
    panel->frame.right = fmin(panel->frame.right, right - width - GAP);
    panel->legend = (cm_box){panel->frame.right + GAP, panel->frame.top, panel->frame.right + GAP + width,
                             panel->frame.top + height};
}

static void make_panel(const cm_figure *figure, int index, cm_plot_range x, cm_plot_range y, bool is_last,
                       const sides *least, cm_panel *panel) {
    const cm_plot *plot = &figure->plots[index];
    const double half = (panel->area.right - panel->area.left) * 0.45;
    panel->rows = count_rows(figure, index);
    const double width = fmin(legend_width(plot), half), height = panel->rows * CM_LEGEND_ROW + 6.0;
    set_frame(plot, y, is_last, least, panel);
    make_x(x, panel->frame.right - panel->frame.left, &panel->x);
    if (panel->rows > 0 && !place_inside(plot, width, height, panel)) place_outside(width, height, panel);
    make_x(x, panel->frame.right - panel->frame.left, &panel->x);
}

/* A row is as high as the longest legend next to its axes. */
static double row_height(const cm_figure *figure) {
    double height = figure->count == 1 ? SINGLE - TITLE - GAP / 2.0 : ROW;
    for (int p = 0; p < figure->count; p++)
        height = fmax(height, count_rows(figure, p) * CM_LEGEND_ROW + 3.0 * LETTERS + 2 * GAP);
    return height;
}

static void make_panels(const cm_figure *figure, cm_plot_range x, const cm_plot_range *y, const sides *least,
                        cm_layout *out) {
    const int columns = out->columns;
    for (int p = 0; p < figure->count; p++)
        make_panel(figure, p, x, y[p], p + columns >= figure->count, &least[p % columns], &out->panel[p]);
}

static void find_sides(const cm_layout *layout, int count, sides *out) {
    for (int p = 0; p < count; p++) {
        const cm_panel *panel = &layout->panel[p];
        sides *s = &out[p % layout->columns];
        s->left = fmax(s->left, panel->frame.left - panel->area.left);
        s->right = fmax(s->right, panel->area.right - panel->frame.right);
    }
}

static void arrange(const cm_figure *figure, cm_plot_range x, const cm_plot_range *y, int columns, cm_layout *out) {
    const int rows = (figure->count + columns - 1) / columns;
    const double height = row_height(figure), width = (double)CM_PLOT_WIDTH / columns;
    sides common[2] = {{0.0, 0.0}, {0.0, 0.0}};
    *out = (cm_layout){.width = CM_PLOT_WIDTH, .height = TITLE + height * rows + GAP / 2.0, .columns = columns};
    for (int p = 0; p < figure->count; p++) {
        const int row = p / columns;
        const double left = p % columns * width, top = TITLE + height * row;
        out->panel[p].area = (cm_box){left, top, left + width, top + height};
    }
    make_panels(figure, x, y, common, out);
    find_sides(out, figure->count, common);
    make_panels(figure, x, y, common, out);
}

static bool has_legend_outside(const cm_layout *layout, int count) {
    for (int p = 0; p < count; p++) {
        const cm_panel *panel = &layout->panel[p];
        if (panel->rows > 0 && panel->legend.left >= panel->frame.right) return true;
    }
    return false;
}

/* Many panels have two columns, unless a legend takes the space of data there. */
cm_status cm_layout_make(const cm_figure *figure, cm_layout *out) {
    cm_plot_range x, y[CM_PLOT_PANELS];
    CM_TRY(find_ranges(figure, &x, y));
    arrange(figure, x, y, figure->count <= MOST_IN_COLUMN ? 1 : 2, out);
    if (out->columns > 1 && has_legend_outside(out, figure->count)) arrange(figure, x, y, 1, out);
    return CM_OK;
}
