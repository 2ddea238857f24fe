#include "arena/elo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { MOST_ITERATIONS = 100 };
#define ELO_PER_NAT (400.0 / 2.30258509299404568402)

typedef struct fit {
    int n;                  /* P                                                          */
    double *points, *games; /* [P, P] with the draws that were added, owned               */
    double *strength;       /* [P] natural units, mean 0                                  */
    double *hessian;        /* [P, P] information + c 11'/P, then its Cholesky factor     */
    double *step;           /* [P]                                                        */
    double *trial;          /* [P]                                                        */
    double c;               /* the curvature given to the mean, which the data leave open */
} fit;

/* ---- do finite ratings exist? ---- */

/* How many players are reached from player 0 along (along: 1) or against (0) the arrows weight[i, j] > 0. */
static int count_reached(int n, const double *weight, bool along) {
    bool seen[CM_ELO_MOST_PLAYERS] = {true};
    int queue[CM_ELO_MOST_PLAYERS] = {0}, count = 1;
    for (int head = 0; head < count; head++) {
        int i = queue[head];
        for (int j = 0; j < n; j++) {
            double w = along ? weight[i * n + j] : weight[j * n + i];
            if (seen[j] || i == j || !(w > 0.0)) continue;
            seen[j] = true;
            queue[count++] = j;
        }
    }
    return count;
}

static void add_draws(fit *f) {
    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            if (i == j || !(f->games[i * f->n + j] > 0.0)) continue;
            f->games[i * f->n + j] += 1.0;
            f->points[i * f->n + j] += 0.5;
        }
    }
}

/* ---- likelihood ---- */

static double log_likelihood(const fit *f, const double *strength) {
    double sum = 0.0;
    for (int i = 0; i < f->n; i++) {
        for (int j = 0; j < f->n; j++) {
            if (i == j || !(f->points[i * f->n + j] > 0.0)) continue;
            double d = strength[j] - strength[i]; /* -ln(1 + e^d) without overflow */
            sum -= f->points[i * f->n + j] * (d > 0.0 ? d + log1p(exp(-d)) : log1p(exp(d)));
        }
    }
    return sum;
}

/* Fills hessian (the information, plus c on the mean) and step (the gradient). */
static void differentiate(fit *f) {
    int n = f->n;
    double trace = 0.0;
    memset(f->hessian, 0, (size_t)n * (size_t)n * sizeof *f->hessian);
    memset(f->step, 0, (size_t)n * sizeof *f->step);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double games = f->games[i * n + j];
            if (i == j || !(games > 0.0)) continue;
            double p = 1.0 / (1.0 + exp(f->strength[j] - f->strength[i])), weight = games * p * (1.0 - p);
            f->step[i] += f->points[i * n + j] - games * p;
            f->hessian[i * n + i] += weight;
            f->hessian[i * n + j] -= weight;
            trace += weight;
        }
    }
    f->c = trace / n;
    for (int i = 0; i < n * n; i++) f->hessian[i] += f->c / n;
}

/* ---- linear algebra: small, dense, positive definite ---- */

static bool factorise(int n, double *a) {
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0.0)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    }
    return true;
}

static void solve(int n, const double *factor, double *x) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= factor[i * n + k] * x[k];
        x[i] /= factor[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= factor[k * n + i] * x[k];
        x[i] /= factor[i * n + i];
    }
}

/* ---- the fit ---- */

/* A step of Newton, halved until the likelihood does not fall; returns its largest part. */
static double improve(fit *f) {
    double before = log_likelihood(f, f->strength), largest = 0.0, share = 1.0;
    for (int halvings = 0; halvings < 60; halvings++, share /= 2.0) {
        for (int i = 0; i < f->n; i++) f->trial[i] = f->strength[i] + share * f->step[i];
        if (log_likelihood(f, f->trial) >= before) break;
    }
    for (int i = 0; i < f->n; i++) largest = fmax(largest, fabs(f->trial[i] - f->strength[i]));
    memcpy(f->strength, f->trial, (size_t)f->n * sizeof *f->strength);
    return largest;
}

static cm_status maximise(fit *f) {
    for (int i = 0; i < MOST_ITERATIONS; i++) {
        differentiate(f);
        if (!factorise(f->n, f->hessian)) break;
        solve(f->n, f->hessian, f->step);
        if (improve(f) < 1e-9) return CM_OK;
    }
    return cm_fail(CM_ERR_NOT_FINITE, "the ratings of %d players could not be fitted", f->n);
}

/* Half widths: the inverse on the ratings of mean 0 is the whole inverse less 11'/(c P). */
static void measure(fit *f, double *interval) {
    for (int i = 0; i < f->n; i++) {
        memset(f->trial, 0, (size_t)f->n * sizeof *f->trial);
        f->trial[i] = 1.0;
        solve(f->n, f->hessian, f->trial);
        double variance = f->trial[i] - 1.0 / (f->c * f->n);
        interval[i] = 1.96 * ELO_PER_NAT * sqrt(fmax(variance, 0.0));
    }
}

static cm_status run_fit(fit *f, double *rating, double *interval, bool *padded) {
    int n = f->n;
    if (count_reached(n, f->games, true) < n) {
        return cm_fail(CM_ERR_INPUT, "ratings: some players have met none of the others");
    }
    *padded = count_reached(n, f->points, true) < n || count_reached(n, f->points, false) < n;
    if (*padded) add_draws(f);
    CM_TRY(maximise(f));
    measure(f, interval);
    double mean = 0.0;
    for (int i = 0; i < n; i++) mean += f->strength[i] / n;
    for (int i = 0; i < n; i++) rating[i] = ELO_PER_NAT * (f->strength[i] - mean);
    return CM_OK;
}

cm_status cm_elo_fit(int players, const double *points, const double *games, double *rating, double *interval,
                     bool *padded) {
    double *block = NULL;
    size_t n = (size_t)players;
    if (players < 2 || players > CM_ELO_MOST_PLAYERS) {
        return cm_fail(CM_ERR_INPUT, "ratings: 2 to %d players, got %d", CM_ELO_MOST_PLAYERS, players);
    }
    CM_TRY(cm_alloc(&block, 3 * n * n + 3 * n, sizeof *block, "ratings"));
    fit f = {.n = players, .points = block, .games = block + n * n, .hessian = block + 2 * n * n};
    f.strength = block + 3 * n * n, f.step = f.strength + n, f.trial = f.step + n;
    memcpy(f.points, points, n * n * sizeof *points);
    memcpy(f.games, games, n * n * sizeof *games);
    cm_status status = run_fit(&f, rating, interval, padded);
    free(block);
    return status;
}
