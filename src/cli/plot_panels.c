#include "cli/plot_panels.h"

#include <math.h>
#include <string.h>

enum { MOST_RATIO = 4, MOST_SPANS = 8 };

static double size_of(cm_plot_range r) { return fmax(fabs(r.low), fabs(r.high)); }

/* A constant is seen on any axes. */
static bool is_seen(cm_plot_range r, cm_plot_range all) {
    return r.high == r.low || (all.high - all.low) <= MOST_SPANS * (r.high - r.low);
}

static bool is_of_one_size(cm_plot_range a, cm_plot_range b) {
    const double x = size_of(a), y = size_of(b);
    return x <= MOST_RATIO * y && y <= MOST_RATIO * x && is_seen(a, cm_plot_range_both(a, b)) &&
           is_seen(b, cm_plot_range_both(a, b));
}

static cm_plot_range range_of(const cm_curve *c) {
    cm_plot_range r = cm_plot_range_none();
    for (int i = 0; i < c->n; i++) r = cm_plot_range_both(r, (cm_plot_range){c->low[i], c->high[i]});
    return r;
}

/* ---- which number goes where ---- */

/* A number with all its curves. */
typedef struct number {
    const char *name;
    cm_plot_range range;
    int panel;
} number;

static int find_numbers(const cm_curves *curves, number *numbers) {
    int count = 0;
    for (int c = 0; c < curves->count; c++) {
        int n = 0;
        while (n < count && strcmp(numbers[n].name, curves->number[c]) != 0) n++;
        if (n == count) numbers[count++] = (number){curves->number[c], cm_plot_range_none(), -1};
        numbers[n].range = cm_plot_range_both(numbers[n].range, range_of(&curves->curve[c]));
    }
    return count;
}

/* Whether number n may join those of a panel. */
static bool fits(const number *numbers, int n, int panel) {
    for (int other = 0; other < n; other++)
        if (numbers[other].panel == panel && !is_of_one_size(numbers[n].range, numbers[other].range)) return false;
    return true;
}

/* Each joins the first that it fits, or begins one. Returns the number of panels. */
static int choose_panels(number *numbers, int count) {
    int panels = 0;
    for (int n = 0; n < count; n++) {
        int panel = 0;
        while (panel < panels && !fits(numbers, n, panel)) panel++;
        numbers[n].panel = panel;
        if (panel == panels) panels++;
    }
    return panels;
}

static int count_in(const number *numbers, int count, int panel) {
    int there = 0;
    for (int n = 0; n < count; n++) there += numbers[n].panel == panel;
    return there;
}

/* ---- the plots ---- */

static cm_plot_series series_of(const cm_curves *curves, int i, bool is_alone) {
    const cm_curve *c = &curves->curve[i];
    const bool is_mean = c->runs > 1;
    return (cm_plot_series){.label = is_alone && *curves->folder[i] ? curves->folder[i] : curves->label[i],
                            .x = c->x,
                            .y = c->y,
                            .n = c->n,
                            .dots = curves->dots[i],
                            .low = is_mean ? c->low : NULL,
                            .high = is_mean ? c->high : NULL,
                            .runs_at = is_mean ? c->runs_at : NULL,
                            .runs = c->runs};
}

/* The curves of the numbers of one panel, from series[used] on. Returns how many are used then. */
static int fill_plot(const cm_curves *curves, const number *numbers, int count, int panel, int used, cm_panels *out) {
    const bool is_alone = count > 1 && count_in(numbers, count, panel) == 1;
    cm_plot *plot = &out->plots[panel];
    *plot = (cm_plot){curves->title, curves->x_label, curves->y_label, &out->series[used], 0};
    for (int n = 0; n < count; n++) {
        if (numbers[n].panel != panel) continue;
        if (is_alone) plot->y_label = numbers[n].name;
        for (int c = 0; c < curves->count; c++) {
            if (strcmp(curves->number[c], numbers[n].name) != 0) continue;
            out->series[used] = series_of(curves, c, is_alone);
            out->series[used++].colour = plot->count++;
        }
    }
    return used;
}

void cm_panels_make(const cm_curves *curves, cm_panels *out) {
    number numbers[CM_PLOT_SERIES];
    const int count = find_numbers(curves, numbers);
    int used = 0;
    for (int n = 0; n < count; n++) numbers[n].panel = 0;
    out->count = curves->is_one ? 1 : choose_panels(numbers, count);
    for (int p = 0; p < out->count; p++) used = fill_plot(curves, numbers, count, p, used, out);
}
