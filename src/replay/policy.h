/* Policies as a replay keeps them. A dense policy is P numbers. A sparse one (cm_replay_config.entries = N) is the N
 * numbers of its actions in ascending order, followed by their N weights; an unused entry has weight 0. */
#ifndef CM_REPLAY_POLICY_H
#define CM_REPLAY_POLICY_H

#include "replay/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The form of the policies. */
cm_policy_form cm_replay_form(const cm_replay_config *config);

/* Floats of a row. */
size_t cm_policy_columns(const cm_replay_config *config);

/* Into the row of `slot`: the policy of counts[P], as of cm_policy_normalise. Errors: those of it; CM_ERR_INPUT for
 * more entries than the replay keeps. */
cm_status cm_policy_store(cm_replay *replay, int32_t slot, const float *counts) CM_MUST_USE;

/* The row of `slot`, which may be any bytes, as policy[P]. */
void cm_policy_load(const cm_replay *replay, int32_t slot, float *policy);

/* CM_ERR_INPUT if the row of `slot` is no policy: numbers that do not ascend or exceed the actions, or a sum of other
 * than 1. */
cm_status cm_policy_check(const cm_replay *replay, int32_t slot) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
