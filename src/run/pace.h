/* What a run takes its time for: the key that changes it most, and what is to be kept of a limit on it for the
 * evaluations that the run ends with. */
#ifndef CM_RUN_PACE_H
#define CM_RUN_PACE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_pace {
    double learning, seconds; /* of the iterations of this process: of their learning, and in all */
    double acting;            /* seconds of their acting, in which were made */
    int64_t steps;            /* so many, of all ranks */
    double evaluating;        /* seconds of evaluations, in which were made */
    int64_t evaluated;        /* so many steps */
    double length;            /* steps of an episode: of the last evaluation, before any of acting; 0: not known */
    double saving;            /* seconds of the longest checkpoint */
    bool is_said;
} cm_pace;

/* Advice as one line for a run of `whole` seconds, what is estimated to be left included, whose steps are each learnt
 * from `replay_ratio` times; once, when iterations of a minute are known. "": nothing to say (yet): the run ends within
 * half an hour, less than nine tenths of the time are learning, or replay_ratio (0: does not decide) is below 4. */
void cm_pace_advise(cm_pace *pace, double whole, double replay_ratio, char *out, size_t size);

/* Seconds that `episodes` will take at the end of a run, by what steps took in evaluations or, before any, in acting;
 * NAN: not known. most_steps: of an episode, 0: not known. */
double cm_pace_need(const cm_pace *pace, int episodes, int most_steps);
/* Whether evaluations take no more than a quarter of a limited run if `episodes` are evaluated now, `spent` seconds
 * after its start. While no episode has ended its length is taken to be most_steps. */
bool cm_pace_affords(const cm_pace *pace, int episodes, int most_steps, double spent);
/* Seconds of a limit on time that are to be left for them and for a checkpoint: at most a quarter of it; a tenth where
 * it is not known. */
double cm_pace_reserve(const cm_pace *pace, int episodes, int most_steps, double limit);

#ifdef __cplusplus
}
#endif
#endif
