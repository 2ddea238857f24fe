/* What a long run takes its time for, and the key that changes it most. */
#ifndef CM_RUN_PACE_H
#define CM_RUN_PACE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_pace {
    double learning, seconds; /* of the iterations of this process: of their learning, and in all */
    bool is_said;
} cm_pace;

/* Advice as one line for a run of `whole` seconds, what is estimated to be left included, whose steps are each learnt
 * from `replay_ratio` times; once, when iterations of a minute are known. "": nothing to say (yet): the run ends within
 * half an hour, less than nine tenths of the time are learning, or replay_ratio (0: does not decide) is below 4. */
void cm_pace_advise(cm_pace *pace, double whole, double replay_ratio, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
