/* Learning-rate schedules (spec learning 7). In double; the caller rounds once. */
#ifndef CM_BACKEND_SCHEDULE_H
#define CM_BACKEND_SCHEDULE_H

#include <math.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_schedule_kind {
    CM_RATE_CONSTANT,
    CM_RATE_STEP,
    CM_RATE_EXPONENTIAL,
    CM_RATE_PIECEWISE,
    CM_RATE_COSINE
} cm_schedule_kind;

typedef struct cm_schedule {
    cm_schedule_kind type;
    double learning_rate;
    int64_t warmup_steps;       /* W: lr * step / W for step < W */
    double decay_rate;          /* step, exponential */
    int64_t decay_steps;        /* step, exponential; >= 1 */
    int64_t total_steps;        /* piecewise, cosine: steps after the warm-up; >= 1 */
    double final_learning_rate; /* cosine */
} cm_schedule;

/* The rate of update `step`, counted from 0. */
static CM_HD inline double cm_schedule_rate(const cm_schedule *schedule, int64_t step) {
    double rate = schedule->learning_rate;
    if (step < schedule->warmup_steps) return rate * (double)step / (double)schedule->warmup_steps;
    int64_t s = step - schedule->warmup_steps;
    switch (schedule->type) {
    case CM_RATE_CONSTANT: break;
    case CM_RATE_STEP: return rate * pow(schedule->decay_rate, (double)(s / schedule->decay_steps));
    case CM_RATE_EXPONENTIAL: return rate * pow(schedule->decay_rate, (double)s / (double)schedule->decay_steps);
    case CM_RATE_PIECEWISE:
        return 2 * s < schedule->total_steps ? rate : s < schedule->total_steps ? 0.1 * rate : 0.01 * rate;
    case CM_RATE_COSINE: {
        double end = schedule->final_learning_rate, total = (double)schedule->total_steps;
        double at = (double)s < total ? (double)s / total : 1.0;
        return end + (rate - end) * 0.5 * (1.0 + cos(3.14159265358979323846 * at));
    }
    }
    return rate;
}

#ifdef __cplusplus
}
#endif
#endif
