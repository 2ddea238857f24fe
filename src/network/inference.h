/* Recorded inference passes for acting and evaluation: a fixed number of rows, parameters that stay where they are, and
 * a pool of hidden states. One object per worker and shard; it is what a search's model is made of.
 *
 * Root: observation -> hidden state into the pool's slots, policy logits, value. Recurrent: hidden states of the
 * parents, actions -> next hidden states into the children's slots, reward, policy logits, value. With chance there is
 * a third pass: afterstate, from states and actions to afterstates, logits of their codes and values; recurrent then
 * goes from afterstates and one-hot codes to states. With draws (sampled.h) actions are numbers of the actions drawn at
 * their state, and policies are the priors of those. Values and rewards are decoded to the raw scale. The caller fills
 * the input arrays, runs, and reads the outputs; all arrays are the host's and owned by the object.
 *
 * Letters: A actions, or with draws K of them; P as in network.h.
 */
#ifndef CM_NETWORK_INFERENCE_H
#define CM_NETWORK_INFERENCE_H

#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_inference cm_inference;

typedef struct cm_inference_arrays {
    /* inputs */
    float *observation;    /* [rows, observation] root                                 */
    int32_t *root_slots;   /* [rows] root: distinct slots that the states are written to */
    float *root_legal;     /* [rows, all actions] root, with draws: 1 where one may be drawn, else 0; NULL without, and
                              where the policy is per number: there all may be */
    float *root_seed;      /* [rows, 2] root, with draws: of cm_sampled_seed; NULL without */
    int32_t *parent_slots; /* [rows] recurrent */
    int32_t *actions;      /* [rows] recurrent; NULL with chance */
    float *codes;          /* [rows, C] recurrent, with chance: one-hot; NULL without */
    int32_t *child_slots;  /* [rows] recurrent: distinct */
    int32_t *after_parent_slots, *after_actions, *after_child_slots; /* [rows] afterstate, else NULL */
    /* outputs of the last run of each kind */
    const float *root_policy; /* [rows, A] logits */
    const float *root_value;  /* [rows]           */
    const float *root_drawn;  /* [rows, K + 2] with draws: the actions drawn at the root, and their seed */
    const float *policy;      /* [rows, A] logits */
    const float *value;       /* [rows]           */
    const float *reward;      /* [rows]           */
    const float *after_codes; /* [rows, C] logits; NULL without chance */
    const float *after_value; /* [rows]           */
} cm_inference_arrays;

/* `slots`: states the pool holds. The caller owns it. Errors: CM_ERR_MEMORY; those of preparing its calls. */
cm_status cm_inference_create(const cm_network_use *use, int slots, cm_inference **out) CM_MUST_USE;
void cm_inference_destroy(cm_inference *inference); /* NULL is allowed */

const cm_inference_arrays *cm_inference_get(const cm_inference *inference);

/* Hidden states [count, S] of the slots 0 .. count-1, to and from the host, for networks and uses whose slots hold
 * nothing else: without value prefix and draws. Both wait for the device. */
cm_status cm_inference_read_states(cm_inference *inference, int count, float *states) CM_MUST_USE;
cm_status cm_inference_write_states(cm_inference *inference, int count, const float *states) CM_MUST_USE;

/* The same arrays where the passes read and write them, which is on the backend's device; for what works there. */
cm_inference_arrays cm_inference_on_device(const cm_inference *inference);
int cm_inference_rows(const cm_inference *inference);
size_t cm_inference_bytes(const cm_inference *inference); /* memory it took */

/* Floating-point operations of one run's matrix products. */
double cm_inference_root_flops(const cm_inference *inference);
double cm_inference_recurrent_flops(const cm_inference *inference);

bool cm_inference_root_is_fused(const cm_inference *inference); /* one launch of the backend's (cm_pass_is_fused) */
cm_status cm_inference_root(cm_inference *inference) CM_MUST_USE;
cm_status cm_inference_recurrent(cm_inference *inference) CM_MUST_USE;
cm_status cm_inference_afterstate(cm_inference *inference) CM_MUST_USE; /* only with chance */

/* The parts of a run for callers that work on the device: the inputs of the root pass go there, and stay as they are
 * until something after it has been read; the passes alone, as part of a work that is recorded (backend.h), on the
 * inputs that are there. */
cm_status cm_inference_write_root(cm_inference *inference) CM_MUST_USE;
cm_status cm_inference_launch_root(cm_inference *inference) CM_MUST_USE;
cm_status cm_inference_fetch_root(cm_inference *inference) CM_MUST_USE; /* its outputs to the host */
cm_status cm_inference_launch_recurrent(cm_inference *inference) CM_MUST_USE;
cm_status cm_inference_launch_afterstate(cm_inference *inference) CM_MUST_USE; /* only with chance */

/* The calls of these two passes, owned by them; afterstate: none without chance. Addresses in them stay. */
cm_call_list cm_inference_recurrent_calls(const cm_inference *inference);
cm_call_list cm_inference_afterstate_calls(const cm_inference *inference);

#ifdef __cplusplus
}
#endif
#endif
