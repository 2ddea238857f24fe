/* The results of some first steps of random play. They show later whether rules, rewards or observations have changed.
 */
#ifndef CM_ENV_PROBE_H
#define CM_ENV_PROBE_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ENV_PROBE_STEPS = 48 };

typedef struct cm_env_probe {
    int steps; /* taken; entries of the arrays */
    float reward[CM_ENV_PROBE_STEPS];
    float observation[CM_ENV_PROBE_STEPS]; /* mean of its numbers, after the step */
    float ended[CM_ENV_PROBE_STEPS];       /* 1: by the step; the next one is the first of another episode */
} cm_env_probe;

/* Plays with seeds that are always the same, for half a second at most: a slow environment gives fewer steps. Errors:
 * CM_ERR_MEMORY, those of cm_env_step. */
cm_status cm_env_probe_measure(const cm_env *env, cm_env_probe *out) CM_MUST_USE;

/* How two probes of one environment differ in the first step, of those that both have, in which they do: one line,
 * "step 3 of random play has reward 1, was 0.5". "": they do not, but for what compilers and processors make of the
 * last digits. */
void cm_env_probe_compare(const cm_env_probe *now, const cm_env_probe *before, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
