/* Searches over a sample of the actions (Sampled MuZero; spec learning 11). At every state K actions are drawn by the
 * policy, and the search chooses among those that came: its actions are numbers of a state's own list, with the share
 * of the draws as prior (the proposal is the policy itself, so the weights of 11.1 are these shares). A row of the pool
 * has the list after all else, and a seed from which the draws at the states below follow; so what is drawn depends on
 * the root's seed and the choices on the way alone. */
#ifndef CM_NETWORK_SAMPLED_H
#define CM_NETWORK_SAMPLED_H

#include "core/rng.h"
#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Floats of such a list and its seed; 0 for draws = 0: every action is searched. */
int cm_sampled_memory_size(int draws);

/* The seed [2] of a root, of a random key. */
void cm_sampled_seed(cm_key key, float *seed);

/* A pool [slots, width] whose rows end with such a memory; rows [B] int32 of it. */

/* Into the rows `slots` goes what was drawn there. Its logits are the priors of a search. */
void cm_sampled_keep(cm_tape *tape, cm_var pool, cm_var slots, const cm_sample_vars *drawn);
/* What choice [B] at the states of the rows `parents` means. */
cm_sampled_vars cm_sampled_choose(cm_tape *tape, cm_var pool, cm_var parents, cm_var choice, int draws);

#ifdef __cplusplus
}
#endif
#endif
