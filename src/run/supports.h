/* How wide the supports of value and reward heads have to be for a task. */
#ifndef CM_RUN_SUPPORTS_H
#define CM_RUN_SUPPORTS_H

#include "env/env.h"
#include "network/options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_SUPPORT_LARGEST 1e6 /* bound of a support, as of value_support_max */

/* The bound of a support -bound .. bound that holds numbers up to `reach` >= 0: h(reach), or reach without the
 * transform, rounded up to a whole number of three digits. It may be above CM_SUPPORT_LARGEST. */
double cm_support_bound(double reach, bool transform);

/* Its atoms: one apart as far as 601 go (MuZero's number), else 601. */
int cm_support_atoms(double bound);

/* What a reward of 1 at every step of an episode is worth at its start; HUGE_VAL where that grows for ever. */
double cm_support_steps(const cm_env_spec *spec, double discount);

/* Widens the supports that fit the task (fits_value_support, fits_reward_support) as far as what random steps have seen
 * of its rewards asks for, where `unroll` steps are unrolled in training. A flag stays where its support was widened.
 */
void cm_supports_fit(const cm_env_spec *spec, const cm_env_tried *seen, double discount, int unroll,
                     cm_network_options *options);

#ifdef __cplusplus
}
#endif
#endif
