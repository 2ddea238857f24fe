#include "cli/curve.h"

#include <math.h>
#include <stdlib.h>

#include "cli/plot_range.h"
#include "core/arena.h"
#include "core/file.h"

/* Space for n points. */
static cm_status make(cm_curve *curve, int n) {
    *curve = (cm_curve){.runs = 1};
    CM_TRY(cm_alloc(&curve->x, (size_t)n + 1, 4 * sizeof(double) + sizeof(int), "a curve"));
    curve->y = curve->x + n;
    curve->low = curve->y + n;
    curve->high = curve->low + n;
    curve->runs_at = (int *)(curve->high + n);
    return CM_OK;
}

void cm_curve_free(cm_curve *curve) {
    free(curve->x);
    *curve = (cm_curve){.n = 0};
}

static void add(cm_curve *curve, double x, double y) {
    const int i = curve->n++;
    curve->x[i] = x;
    curve->y[i] = curve->low[i] = curve->high[i] = y;
    curve->runs_at[i] = 1;
}

cm_status cm_curve_read(const char *run, const cm_metrics_field *x, const cm_metrics_field *y, cm_curve *out) {
    char path[4096];
    cm_metrics *rows = NULL;
    int n = 0;
    *out = (cm_curve){.n = 0};
    CM_TRY(cm_path_join(path, sizeof path, run, "metrics.jsonl"));
    CM_TRY(cm_metrics_read(path, &rows, &n));
    cm_status status = make(out, n);
    for (int i = 0; i < n && status == CM_OK; i++) {
        const double at = cm_metrics_number(&rows[i], x), value = cm_metrics_number(&rows[i], y);
        if (isfinite(at) && isfinite(value)) add(out, at, value);
    }
    free(rows);
    return status;
}

/* ---- the mean ---- */

/* The first point at x or after it; n: none. */
static int first_from(const cm_curve *curve, double x) {
    int low = 0, high = curve->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (curve->x[middle] < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int cm_curve_find(const cm_curve *curve, double x) {
    const int i = first_from(curve, x);
    return i < curve->n && curve->x[i] == x ? i : -1;
}

/* NAN before the first point and after the last. */
static double value_at(const cm_curve *curve, double x) {
    const int i = first_from(curve, x);
    if (i == curve->n) return NAN;
    if (curve->x[i] == x) return curve->y[i];
    if (i == 0) return NAN;
    const double share = (x - curve->x[i - 1]) / (curve->x[i] - curve->x[i - 1]);
    return cm_plot_between(curve->y[i - 1], curve->y[i], share);
}

static void add_mean(cm_curve *out, const cm_curve *curves, int count, double x) {
    double sum = 0.0, parts = 0.0 /* of a sum that is too large */, low = INFINITY, high = -INFINITY;
    int there = 0;
    for (int c = 0; c < count; c++) {
        const double y = value_at(&curves[c], x);
        if (isnan(y)) continue;
        sum += y, parts += y / count, there++;
        low = fmin(low, y), high = fmax(high, y);
    }
    const double mean = isfinite(sum) ? sum / there : parts / ((double)there / count);
    add(out, x, fmin(fmax(mean, low), high));
    out->low[out->n - 1] = low;
    out->high[out->n - 1] = high;
    out->runs_at[out->n - 1] = there;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cm_status cm_curve_mean(const cm_curve *curves, int count, cm_curve *out) {
    int points = 0;
    double *x = NULL;
    *out = (cm_curve){.n = 0};
    for (int c = 0; c < count; c++) points += curves[c].n;
    CM_TRY(cm_alloc(&x, (size_t)points + 1, sizeof *x, "a curve"));
    cm_status status = make(out, points);
    for (int c = 0, i = 0; c < count; c++) {
        for (int k = 0; k < curves[c].n; k++) x[i++] = curves[c].x[k];
    }
    qsort(x, (size_t)points, sizeof *x, compare);
    for (int i = 0; i < points && status == CM_OK; i++) {
        if (i == 0 || x[i] != x[i - 1]) add_mean(out, curves, count, x[i]);
    }
    out->runs = count;
    free(x);
    return status;
}
