/* The softmax of one run of logits, in double; losses stand on it. */
#ifndef CM_BACKEND_REF_SOFTMAX_H
#define CM_BACKEND_REF_SOFTMAX_H

#include "backend/ref/loops.h"

typedef struct ref_softmax {
    double max, sum, log_sum; /* sum of exp(x - max) */
} ref_softmax;

/* Of x[n], over the entries whose legal[i] is not 0 (legal may be NULL). A NaN makes everything NaN. */
ref_softmax ref_softmax_of(const float *x, const float *legal, int n);

/* Of one entry that is legal. */
static inline double ref_softmax_log(const ref_softmax *s, double x) { return x - s->max - s->log_sum; }
static inline double ref_softmax_probability(const ref_softmax *s, double x) { return exp(x - s->max) / s->sum; }

#endif
