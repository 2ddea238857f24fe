#include "cli/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rng.h"

/* A run in the order of scores. */
typedef struct place {
    double score;
    int run;
} place;

typedef struct work {
    const cm_scores *scores;
    int n;         /* runs of all games */
    place *sorted; /* [n] */
    int *rank;     /* [n] of each run in `sorted` */
    int *count;    /* [n] how often a resample has the run of that rank */
    double *mean;  /* [games] */
    double *drawn; /* [CM_AGGREGATES, resamples] */
} work;

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cm_scores_median(double *value, int n) {
    qsort(value, (size_t)n, sizeof *value, compare);
    return n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2.0;
}

static void free_work(work *w) {
    free(w->sorted);
    free(w->rank);
    free(w->count);
    free(w->mean);
    free(w->drawn);
}

static cm_status make_work(const cm_scores *scores, int resamples, work *w) {
    static const char what[] = "the scores of a report";
    *w = (work){.scores = scores};
    for (int g = 0; g < scores->games; g++) w->n += scores->runs[g];
    CM_TRY(cm_alloc(&w->sorted, (size_t)w->n, sizeof *w->sorted, what));
    CM_TRY(cm_alloc(&w->rank, (size_t)w->n, sizeof *w->rank, what));
    CM_TRY(cm_alloc(&w->count, (size_t)w->n, sizeof *w->count, what));
    CM_TRY(cm_alloc(&w->mean, (size_t)scores->games, sizeof *w->mean, what));
    CM_TRY(cm_alloc(&w->drawn, (size_t)resamples * CM_AGGREGATES + 1, sizeof *w->drawn, what));
    for (int i = 0; i < w->n; i++) w->sorted[i] = (place){scores->score[i], i};
    qsort(w->sorted, (size_t)w->n, sizeof *w->sorted, compare); /* a place begins with its score */
    for (int i = 0; i < w->n; i++) w->rank[w->sorted[i].run] = i;
    return CM_OK;
}

/* ---- one set of runs ---- */

/* Of the runs that `count` has. */
static double interquartile_mean(const work *w) {
    const int cut = w->n / 4;
    double sum = 0.0;
    for (int i = 0, before = 0; i < w->n; before += w->count[i], i++) {
        const int from = before > cut ? before : cut, end = before + w->count[i], last = w->n - cut;
        const int kept = (end < last ? end : last) - from;
        if (kept > 0) sum += kept * w->sorted[i].score;
    }
    return sum / (w->n - 2 * cut);
}

/* `pick` says which of the runs [first, first + runs) is number i of a game. */
static void aggregate(work *w, int (*pick)(cm_rng *rng, int runs, int i), cm_rng *rng, double out[CM_AGGREGATES]) {
    const cm_scores *s = w->scores;
    double mean = 0.0, reached = 0.0;
    memset(w->count, 0, (size_t)w->n * sizeof *w->count);
    for (int g = 0, first = 0; g < s->games; first += s->runs[g], g++) {
        double sum = 0.0, most_one = 0.0;
        for (int i = 0; i < s->runs[g]; i++) {
            const int run = first + pick(rng, s->runs[g], i);
            w->count[w->rank[run]]++;
            sum += s->score[run];
            most_one += fmin(s->score[run], 1.0);
        }
        w->mean[g] = sum / s->runs[g];
        mean += w->mean[g] / s->games;
        reached += most_one / s->runs[g] / s->games;
    }
    out[CM_AGGREGATE_MEAN] = mean;
    out[CM_AGGREGATE_MEDIAN] = cm_scores_median(w->mean, s->games);
    out[CM_AGGREGATE_IQM] = interquartile_mean(w);
    out[CM_AGGREGATE_GAP] = 1.0 - reached;
}

static int pick_each(cm_rng *rng, int runs, int i) {
    (void)rng, (void)runs;
    return i;
}

static int pick_any(cm_rng *rng, int runs, int i) {
    (void)i;
    return (int)cm_rng_below(rng, (uint32_t)runs);
}

/* ---- intervals ---- */

/* Of sorted numbers, between two of them on a straight line. */
static double percentile(const double *sorted, int n, double share) {
    const double at = share * (n - 1);
    const int below = (int)at;
    const double above = below + 1 < n ? sorted[below + 1] : sorted[below];
    return sorted[below] + (at - below) * (above - sorted[below]);
}

static void resample(work *w, int resamples, uint64_t seed, cm_estimate out[CM_AGGREGATES]) {
    const cm_key key = cm_key_make(seed, CM_RNG_EVALUATE, 0);
    double one[CM_AGGREGATES];
    for (int r = 0; r < resamples; r++) {
        cm_rng rng = cm_rng_init(key, (uint64_t)r);
        aggregate(w, pick_any, &rng, one);
        for (int a = 0; a < CM_AGGREGATES; a++) w->drawn[(size_t)a * (size_t)resamples + (size_t)r] = one[a];
    }
    for (int a = 0; a < CM_AGGREGATES; a++) {
        double *drawn = w->drawn + (size_t)a * (size_t)resamples;
        qsort(drawn, (size_t)resamples, sizeof *drawn, compare);
        out[a].low = percentile(drawn, resamples, 0.025);
        out[a].high = percentile(drawn, resamples, 0.975);
    }
}

cm_status cm_scores_estimate(const cm_scores *scores, int resamples, uint64_t seed, cm_estimate out[CM_AGGREGATES]) {
    double all[CM_AGGREGATES];
    work w;
    cm_status status = make_work(scores, resamples, &w);
    if (status == CM_OK) {
        aggregate(&w, pick_each, NULL, all);
        for (int a = 0; a < CM_AGGREGATES; a++) out[a] = (cm_estimate){all[a], NAN, NAN};
        if (resamples > 0 && w.n > scores->games) resample(&w, resamples, seed, out);
    }
    free_work(&w);
    return status;
}
