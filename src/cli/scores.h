/* Scores of several runs of each game of a suite, in single numbers with their uncertainty: mean, median, interquartile
 * mean and optimality gap with stratified bootstrap intervals (Agarwal et al. 2021, "Deep Reinforcement Learning at the
 * Edge of the Statistical Precipice"; their package rliable computes the same). */
#ifndef CM_CLI_SCORES_H
#define CM_CLI_SCORES_H

#include "core/status.h"

/* All borrowed. */
typedef struct cm_scores {
    const double *score; /* [sum of runs] normalised, finite: those of game 0, then those of game 1, ... */
    const int *runs;     /* [games], each >= 1 */
    int games;           /* >= 1 */
} cm_scores;

typedef enum cm_aggregate {
    CM_AGGREGATE_MEAN,   /* of the games' means */
    CM_AGGREGATE_MEDIAN, /* of the games' means */
    CM_AGGREGATE_IQM, /* mean of the middle half of all runs; n / 4 of them, rounded down, are left out at each end */
    CM_AGGREGATE_GAP, /* 1 - mean of min(score, 1): of the games' means of it; less is better */
    CM_AGGREGATES
} cm_aggregate;

/* A number and the ends of its interval; NAN where there is none. */
typedef struct cm_estimate {
    double value, low, high;
} cm_estimate;

/* The median of value[n], n >= 1, which is sorted by the call. */
double cm_scores_median(double *value, int n);

/* What the scores come to. A 95 % interval is from the 2.5th to the 97.5th percentile of `resamples` (0: no intervals)
 * draws: in each, as many runs of every game as it has, with replacement. The same seed gives the same interval. There
 * is none where every game has one run. Errors: CM_ERR_MEMORY. */
cm_status cm_scores_estimate(const cm_scores *scores, int resamples, uint64_t seed,
                             cm_estimate out[CM_AGGREGATES]) CM_MUST_USE;
#endif
