/* The arithmetic of prioritised replay (Schaul et al. 2016; docs/spec/learning.md 5.2), on plain numbers.
 *
 * P(i) = p_i^alpha / sum p^alpha with 0^0 = 1; weight = (N P)^-beta, divided by the largest of its batch.
 */
#ifndef CM_REPLAY_PRIORITY_H
#define CM_REPLAY_PRIORITY_H

#include <math.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* |prediction - target| + epsilon: the priority of a position, on the raw scale of values. */
static inline float cm_priority_error(double prediction, double target, double epsilon) {
    return (float)(fabs(prediction - target) + epsilon);
}

/* p^alpha, p >= 0 finite. */
static inline double cm_priority_mass(float priority, double alpha) {
    return alpha == 0.0 ? 1.0 : alpha == 1.0 ? (double)priority : pow((double)priority, alpha);
}

/* The largest finite entry of priority[n]; 1 if there is none. It stands in for entries that are not finite. */
float cm_priority_largest(const float *priority, size_t n);

/* mass[n] = p^alpha, entries that are not finite replaced by the largest one that is; returns their sum. If all are 0,
 * every mass is 1: drawing becomes uniform. */
double cm_priority_masses(const float *priority, size_t n, double alpha, double *mass);

/* weight[n] from probability[n] of the rows of a batch drawn from `positions` positions; the largest becomes 1, and
 * what is below `least` (0 .. 1) then becomes that (EfficientZero V2). */
void cm_priority_weights(size_t n, const double *probability, double positions, double beta, double least,
                         float *weight);

#ifdef __cplusplus
}
#endif
#endif
