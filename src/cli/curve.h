/* Numbers of metrics.jsonl as curves: of a run, and the mean of several runs. */
#ifndef CM_CLI_CURVE_H
#define CM_CLI_CURVE_H

#include "run/metrics.h"

typedef struct cm_curve {
    double *x, *y;      /* [n] x ascending, all finite; one block with the others, owned */
    double *low, *high; /* [n] of the runs at x; of one run y itself */
    int *runs_at;       /* [n] of how many runs y is the mean */
    int n, runs;
} cm_curve;

/* The numbers `y` of a run over its numbers `x`, without the iterations that lack one; *out is freed with
 * cm_curve_free. Errors: CM_ERR_IO if metrics.jsonl cannot be read, CM_ERR_MEMORY. */
cm_status cm_curve_read(const char *run, const cm_metrics_field *x, const cm_metrics_field *y,
                        cm_curve *out) CM_MUST_USE;

/* The mean of curves [count] at every x of one of them. Between its points a curve is a line; before the first and
 * after the last it is not counted, so that a run which ended early leaves the mean to the others (runs_at). */
cm_status cm_curve_mean(const cm_curve *curves, int count, cm_curve *out) CM_MUST_USE;

/* The point of a curve at x; -1 if it has none there. */
int cm_curve_find(const cm_curve *curve, double x);

void cm_curve_free(cm_curve *curve);
#endif
