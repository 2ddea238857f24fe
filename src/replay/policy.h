/* Policies as a replay keeps them: P numbers, or, where few entries are not 0 (cm_replay_config.entries = N), these
 * alone: N numbers of actions in ascending order, and after them their N weights; entries that are none have weight 0.
 */
#ifndef CM_REPLAY_POLICY_H
#define CM_REPLAY_POLICY_H

#include "replay/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

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
