#include "sweep/importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

/* Columns of n numbers, one for each trial. */
typedef struct columns {
    int n;
    double *place, *x, *u, *v; /* of the trial; value, and its rank and the square of that, as they are regressed on */
    const cm_sweep_line **line;
} columns;

static double dot(const double *a, const double *b, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void centre(double *x, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i];
    for (int i = 0; i < n; i++) x[i] -= sum / n;
}

/* The mean of the places that equal values share. */
static void rank(const double *x, int n, double *out) {
    for (int i = 0; i < n; i++) {
        int below = 0, equal = 0;
        for (int k = 0; k < n; k++) below += x[k] < x[i], equal += x[k] <= x[i] && x[k] >= x[i];
        out[i] = below + 0.5 * (equal - 1);
    }
}

/* Trials of one rung and score are equal; failed ones are. */
static bool is_equal(const cm_sweep_line *a, const cm_sweep_line *b) {
    if (a->rung != b->rung || isnan(a->score) != isnan(b->score)) return false;
    return isnan(a->score) || (a->score <= b->score && a->score >= b->score);
}

static void place_trials(columns *c) {
    for (int i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && is_equal(c->line[i], c->line[end]);) end++;
        for (int k = i; k < end; k++) c->place[k] = 0.5 * (i + end - 1);
    }
    centre(c->place, c->n);
}

static double adjust(double share, int n, int freedom) {
    if (n - freedom - 1 < 1) return (double)NAN;
    return fmax(0.0, 1.0 - (1.0 - share) * (n - 1) / (n - freedom - 1));
}

static double explained(double along, double size) { return size > 1e-12 ? along * along / size : 0.0; }

/* The parabola: over the ranks, and over what of their squares is no multiple of them. */
static double by_range(columns *c) {
    rank(c->x, c->n, c->u);
    centre(c->u, c->n);
    for (int i = 0; i < c->n; i++) c->v[i] = c->u[i] * c->u[i];
    centre(c->v, c->n);
    const double size = dot(c->u, c->u, c->n), factor = size > 0.0 ? dot(c->u, c->v, c->n) / size : 0.0;
    for (int i = 0; i < c->n; i++) c->v[i] -= factor * c->u[i];
    const double all =
        explained(dot(c->place, c->u, c->n), size) + explained(dot(c->place, c->v, c->n), dot(c->v, c->v, c->n));
    return adjust(all / dot(c->place, c->place, c->n), c->n, 2);
}

/* x: the number of the value in its list. */
static double by_list(const columns *c, int values) {
    double between = 0.0;
    int there = 0;
    for (int g = 0; g < values; g++) {
        double sum = 0.0;
        int count = 0;
        for (int i = 0; i < c->n; i++)
            if ((int)c->x[i] == g) sum += c->place[i], count++;
        if (count > 0) between += sum * sum / count, there++;
    }
    return adjust(between / dot(c->place, c->place, c->n), c->n, there - 1);
}

static double value_of(const cm_sweep_plan *plan, int key, int trial) {
    const cm_sweep_key *k = &plan->space.row[key];
    char value[CM_SWEEP_TEXT];
    cm_sweep_space_draw(&plan->space, plan->seed, trial, key, value);
    if (k->kind != CM_SWEEP_LIST) return strtod(value, NULL);
    for (int i = 0; i < k->count; i++)
        if (strcmp(value, k->value[i]) == 0) return i;
    return 0.0;
}

cm_status cm_sweep_importance(const cm_sweep_plan *plan, const cm_sweep_ledger *ledger, double share[CM_SWEEP_KEYS]) {
    const cm_sweep_line *line[CM_SWEEP_TRIALS];
    columns c = {.line = line, .n = cm_sweep_ledger_rank(plan, ledger, line)};
    CM_TRY(cm_alloc(&c.place, (size_t)c.n * 4 + 1, sizeof *c.place, "ranks of trials"));
    c.x = c.place + c.n, c.u = c.x + c.n, c.v = c.u + c.n;
    place_trials(&c);
    for (int k = 0; k < plan->space.count; k++) {
        for (int i = 0; i < c.n; i++) c.x[i] = value_of(plan, k, line[i]->trial);
        const bool is_list = plan->space.row[k].kind == CM_SWEEP_LIST, is_flat = dot(c.place, c.place, c.n) <= 0.0;
        share[k] = is_flat ? (double)NAN : is_list ? by_list(&c, plan->space.row[k].count) : by_range(&c);
    }
    free(c.place);
    return CM_OK;
}
