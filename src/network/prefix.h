/* Value prefixes in a search (spec learning 1.3). A row of the pool has, after the state of a node, what the next step
 * from there needs: h [L] and c [L] of the LSTM, the prefix, and the number of steps since the last horizon. All of it
 * is zero at the root and at every horizon; so the reward of an edge is always its prefix less that of its parent's
 * row, and a tree may begin anywhere. */
#ifndef CM_NETWORK_PREFIX_H
#define CM_NETWORK_PREFIX_H

#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A pool [slots, cm_network_state_size + cm_network_memory_size], and rows [B] int32 of it. */

/* Roots at `slots`. */
void cm_prefix_begin(const cm_network *network, cm_tape *tape, cm_var pool, cm_var slots);
/* From `parents` to `children` by no step: an afterstate is as far as the state before. */
void cm_prefix_pass_on(const cm_network *network, cm_tape *tape, cm_var pool, cm_var parents, cm_var children);
/* A step from `parents` to `children`, whose states are `raw`: its rewards [B]. */
cm_var cm_prefix_step(const cm_network *network, cm_tape *tape, cm_var pool, cm_var raw, const cm_var edge[2]);

#ifdef __cplusplus
}
#endif
#endif
