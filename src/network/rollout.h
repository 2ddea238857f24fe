/* A recorded pass over several steps of a model, from observations and actions: what a network makes of positions, for
 * measuring it. Of every layer the largest number that it reads is found, which is the range of its products in 8 bits
 * (cm_param.range; calibration by the largest magnitude, as in Jacob et al. 2018, section 3.1). */
#ifndef CM_NETWORK_ROLLOUT_H
#define CM_NETWORK_ROLLOUT_H

#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ROLLOUT_STEPS = 8 /* at most */ };
typedef struct cm_rollout cm_rollout;

/* `steps` >= 0 after the root; those of a network without dynamics are 0. Layers are in 8 bits where the network has
 * ranges now. use->draws is not read. The caller owns it. Errors: CM_ERR_MEMORY; those of preparing its calls. */
cm_status cm_rollout_create(const cm_network_use *use, int steps, cm_rollout **out) CM_MUST_USE;
void cm_rollout_destroy(cm_rollout *rollout); /* NULL is allowed */

/* Inputs, owned by it. */
float *cm_rollout_observations(cm_rollout *rollout);       /* [rows, O] */
int32_t *cm_rollout_actions(cm_rollout *rollout, int k);   /* [rows] of step k >= 0 */
float *cm_rollout_codes(cm_rollout *rollout, int k);       /* [rows, C] one-hot, with chance; else NULL */
int cm_rollout_steps(const cm_rollout *rollout);           /* that there are */
cm_status cm_rollout_run(cm_rollout *rollout) CM_MUST_USE; /* allocates nothing */

/* Outputs of the last run, at the root (k = 0) and after step k - 1. */
const float *cm_rollout_policy(const cm_rollout *rollout, int k); /* [rows, P] logits      */
const float *cm_rollout_value(const cm_rollout *rollout, int k);  /* [rows] on the raw scale */

/* Runs it, and raises ranges[count of the network's table] to what each dense layer and convolution reads, which is
 * found on the device; of other rows they stay as they are. Of tapes in float32. */
cm_status cm_rollout_measure(cm_rollout *rollout, float *ranges) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
