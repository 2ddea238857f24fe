/* A survey of random play in an environment: rewards, ends, chance. */
#ifndef CM_ENV_SURVEY_H
#define CM_ENV_SURVEY_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ENV_SURVEY_STEPS = 1024, CM_ENV_SURVEY_MOST = 8192, CM_ENV_SURVEY_KINDS = 8 };

typedef struct cm_env_survey {
    int steps;                      /* that were played, at most CM_ENV_SURVEY_MOST; fewer of a slow environment  */
    int ends, cuts;                 /* episodes that came to an end, and that their time limit cut off            */
    int paid, paid_within;          /* steps with a reward other than 0, and those of them that ended no episode  */
    double reward_low, reward_high; /* least and largest reward of a step; 0 and 0 before the first               */
    int kinds;                      /* different rewards, at most CM_ENV_SURVEY_KINDS                             */
    double kind[CM_ENV_SURVEY_KINDS];
    bool has_chance; /* equal observations and actions were followed by others                     */
    bool is_worn;    /* in Python: a reset leaves something of the last episode                            */
    bool is_onehot;  /* every observation was one 1 among zeros, as of a Discrete space            */
} cm_env_survey;

/* In Python equal seeds and actions are tried first: where episodes are equal only if each has an object of its own,
 * they get one. Then plays CM_ENV_SURVEY_STEPS random steps, of seeds of its own, for about so many seconds at
 * most; where none of them was rewarded it goes on to the first that is, CM_ENV_SURVEY_MOST at most in that time.
 * Chance is looked for in the former alone. Observations are taken as whole states where they are one-hot; else chance
 * is what differs after equal observations and actions since the reset. `seen` is filled as far as the play came.
 * Errors: CM_ERR_MEMORY, and those of cm_env_step. */
cm_status cm_env_survey_measure(const cm_env *env, double seconds, cm_env_survey *seen) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
