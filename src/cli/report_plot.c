/* A report as a picture: aggregates with their intervals, below them a row per game with its runs, all over one axis of
 * normalised scores, next to published ones. The axis is sign(x) log(1 + |x|): scores of games lie between 0 and 20. */
#include <math.h>
#include <stdio.h>

#include "cli/report.h"
#include "cli/svg.h"

enum {
    WIDTH = 720,
    RIGHT = 24,
    TITLE = 26,  /* of the baseline of the title */
    LEGEND = 48, /* of the first row of the legend */
    LEGEND_ROW = 18,
    LEGEND_MARK = 16, /* left of a label */
    LEGEND_GAP = 18,  /* right of it */
    TOP_LABELS = 30,  /* between legend and frame: what 0 and 1 are */
    ROW = 19,
    BETWEEN = 14, /* between aggregates and games */
    BOTTOM = 46,
    GAP = 10, /* right of labels */
    HALF = 6  /* of a published mark */
};

typedef struct chart {
    const cm_report *report;
    double low, high;                 /* ends of the axis, as `place` has them */
    double left, top, middle, bottom; /* of the frame; rows of games begin at `middle` */
    cm_svg svg;
} chart;

static double place(double score) { return copysign(log1p(fabs(score)), score); }

static double x_of(const chart *c, double score) {
    return c->left + (place(score) - c->low) / (c->high - c->low) * (WIDTH - RIGHT - c->left);
}

/* Colours of methods, those that are least alike first; these runs have 0. */
static int colour_of(int column) {
    static const int order[CM_SVG_COLOURS - 1] = {1, 2, 6, 4, 5, 7, 8, 3, 9};
    return order[(column - CM_SUITE_METHODS) % (CM_SVG_COLOURS - 1)];
}

/* ---- what there is to show ---- */

static double published_aggregate(const chart *c, int column, int a) {
    const cm_report_column published = cm_report_published(c->report, column);
    return a == CM_AGGREGATE_MEAN ? published.mean : a == CM_AGGREGATE_MEDIAN ? published.median : published.iqm;
}

static double published_score(const chart *c, int column, int game) {
    const cm_suite *suite = c->report->suite;
    return cm_suite_normalise(suite, game, suite->published[column].score[game]);
}

static int aggregates_of(const chart *c) { return c->report->suite->has_gap ? CM_AGGREGATES : CM_AGGREGATE_GAP; }

static void widen(chart *c, double score) {
    if (!isfinite(score)) return;
    c->low = fmin(c->low, place(score));
    c->high = fmax(c->high, place(score));
}

static void fit_axis(chart *c) {
    const cm_report *report = c->report;
    c->low = place(0.0), c->high = place(1.0);
    for (int i = 0; i < report->run_count; i++) widen(c, report->runs[i].normalised);
    for (int a = 0; a < aggregates_of(c); a++) widen(c, report->aggregate[a].low), widen(c, report->aggregate[a].high);
    for (int m = CM_SUITE_METHODS; m < report->suite->published_count; m++)
        for (int g = 0; g < report->suite->game_count; g++)
            if (report->game[g].runs > 0) widen(c, published_score(c, m, g));
    const double margin = 0.03 * (c->high - c->low);
    c->low -= margin, c->high += margin;
}

/* ---- marks ---- */

static void put_published(chart *c, int column, double score, double y) {
    if (!isfinite(score)) return;
    fprintf(c->svg.out, "<path class=\"line l%d\" d=\"M%.1f,%.1fv%d\"/>\n", colour_of(column), x_of(c, score), y - HALF,
            2 * HALF);
}

static void put_dot(chart *c, double score, double y, double radius, double opacity) {
    fprintf(c->svg.out, "<circle class=\"f0\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill-opacity=\"%.1f\"/>\n",
            x_of(c, score), y, radius, opacity);
}

static void put_aggregate(chart *c, int a, double y) {
    static const char *const names[CM_AGGREGATES] = {"mean", "median", "IQM", "gap (less is better)"};
    const cm_estimate *e = &c->report->aggregate[a];
    cm_svg_text(&c->svg, c->left - GAP, y + 4, "end", names[a]);
    for (int m = CM_SUITE_METHODS; a != CM_AGGREGATE_GAP && m < c->report->suite->published_count; m++)
        put_published(c, m, published_aggregate(c, m, a), y);
    if (isfinite(e->low))
        fprintf(c->svg.out, "<path class=\"line l0\" d=\"M%.1f,%.1fH%.1f\"/>\n", x_of(c, e->low), y, x_of(c, e->high));
    put_dot(c, e->value, y, 4.0, 1.0);
}

static void put_game(chart *c, int g, double y) {
    const cm_report *report = c->report;
    const cm_report_game *game = &report->game[g];
    cm_svg_text(&c->svg, c->left - GAP, y + 4, "end", report->suite->games[g]);
    for (int m = CM_SUITE_METHODS; m < report->suite->published_count; m++)
        put_published(c, m, published_score(c, m, g), y);
    for (int i = 0; game->runs > 1 && i < game->runs; i++)
        put_dot(c, report->runs[game->first + i].normalised, y, 2.0, 0.6);
    put_dot(c, game->normalised, y, 4.0, 1.0);
}

/* ---- around them ---- */

/* Marks and names in rows as wide as the picture; returns the lower end. `draw` false: only that. */
static double legend(chart *c, bool draw) {
    const cm_suite *suite = c->report->suite;
    double x = GAP, y = LEGEND;
    for (int m = CM_SUITE_METHODS - 1; m < suite->published_count; m++) {
        const char *name = m < CM_SUITE_METHODS ? "these runs" : suite->published[m].name;
        const double width = LEGEND_MARK + cm_svg_text_width(name) + LEGEND_GAP;
        if (x + width > WIDTH) x = GAP, y += LEGEND_ROW;
        if (draw) cm_svg_text(&c->svg, x + LEGEND_MARK, y, "start", name);
        if (draw && m < CM_SUITE_METHODS)
            fprintf(c->svg.out, "<circle class=\"f0\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x + HALF, y - 4);
        if (draw && m >= CM_SUITE_METHODS)
            fprintf(c->svg.out, "<path class=\"line l%d\" d=\"M%.1f,%.1fv%d\"/>\n", colour_of(m), x + HALF,
                    y - 4 - HALF, 2 * HALF);
        x += width;
    }
    return y;
}

static void put_axis(chart *c) {
    static const double ticks[] = {-10, -5, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000};
    const cm_suite *suite = c->report->suite;
    char label[96];
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        if (place(ticks[i]) < c->low || place(ticks[i]) > c->high) continue;
        const double x = x_of(c, ticks[i]);
        snprintf(label, sizeof label, "%s%g", ticks[i] < 0 ? "\u2212" : "", fabs(ticks[i]));
        cm_svg_grid(&c->svg, x, c->top, x, c->bottom);
        cm_svg_text(&c->svg, x, c->bottom + 16, "middle", label);
    }
    for (int p = CM_SUITE_ZERO; p <= CM_SUITE_ONE; p++) {
        const double x = x_of(c, p);
        fprintf(c->svg.out, "<path class=\"frame\" d=\"M%.1f,%.1fV%.1f\"/>\n", x, c->top, c->bottom);
        cm_svg_text(&c->svg, x, c->top - 6, "middle", suite->published[p].name);
    }
    snprintf(label, sizeof label, "%s, spaced by log(1 + score)", suite->measure);
    cm_svg_text(&c->svg, (c->left + WIDTH - RIGHT) / 2.0, c->bottom + 36, "middle", label);
}

static void fit(chart *c) {
    const cm_report *report = c->report;
    c->left = cm_svg_text_width("gap (less is better)");
    for (int g = 0; g < report->suite->game_count; g++)
        c->left = fmax(c->left, cm_svg_text_width(report->suite->games[g]));
    c->left += 2 * GAP;
    c->top = legend(c, false) + TOP_LABELS;
    c->middle = c->top + ROW * aggregates_of(c) + BETWEEN;
    c->bottom = c->middle + ROW * report->game_count;
    fit_axis(c);
}

cm_status cm_report_svg(const cm_report *report, cm_theme theme, char **svg) {
    chart c = {.report = report};
    char title[128];
    fit(&c);
    CM_TRY(cm_svg_begin(&c.svg, WIDTH, c.bottom + BOTTOM, theme));
    snprintf(title, sizeof title, "%s: %d runs of %d of %d games", report->suite->name, report->run_count,
             report->game_count, report->suite->game_count);
    cm_svg_text(&c.svg, WIDTH / 2.0, TITLE, "middle", title);
    legend(&c, true);
    put_axis(&c);
    for (int a = 0; a < aggregates_of(&c); a++) put_aggregate(&c, a, c.top + ROW * (a + 0.5));
    double y = c.middle + ROW / 2.0;
    for (int g = 0; g < report->suite->game_count; g++) {
        if (report->game[g].runs == 0) continue;
        put_game(&c, g, y);
        y += ROW;
    }
    return cm_svg_end(&c.svg, svg);
}
