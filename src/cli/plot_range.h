/* A range of numbers that grows by those that it is to hold. */
#ifndef CM_CLI_PLOT_RANGE_H
#define CM_CLI_PLOT_RANGE_H

#include <math.h>
#include <stdbool.h>

typedef struct cm_plot_range {
    double low, high; /* low > high: it is empty */
} cm_plot_range;

static inline cm_plot_range cm_plot_range_none(void) {
    const cm_plot_range none = {(double)INFINITY, -(double)INFINITY};
    return none;
}
static inline bool cm_plot_range_is_empty(cm_plot_range r) { return !(r.low <= r.high); }
static inline cm_plot_range cm_plot_range_both(cm_plot_range a, cm_plot_range b) {
    const cm_plot_range both = {fmin(a.low, b.low), fmax(a.high, b.high)};
    return both;
}
/* What is a share of the way from a to b, whose distance may be beyond the largest number. */
static inline double cm_plot_between(double a, double b, double share) {
    const double way = b - a;
    return isfinite(way) ? a + share * way : (1.0 - share) * a + share * b;
}
static inline void cm_plot_range_widen(cm_plot_range *r, double v) {
    r->low = fmin(r->low, v);
    r->high = fmax(r->high, v);
}
#endif
