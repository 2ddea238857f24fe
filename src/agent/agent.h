/* An agent: a copy of a network's weights and the way it searches with them.
 *
 * The weights are the agent's own, so a trainer may change its parameters in place while the agent acts with the
 * version that it was given last (cm_agent_set_weights). acting.h plays many environments with it into a replay,
 * evaluate.h plays greedily, cm_agent_decide and cm_agent_select_action decide for one position.
 */
#ifndef CM_AGENT_AGENT_H
#define CM_AGENT_AGENT_H

#include "agent/options.h"
#include "agent/planner.h"
#include "core/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_agent_config {
    const cm_network *network; /* borrowed, like all pointers here; outlives the agent */
    const cm_env *rules;       /* the model of its searches; NULL: the network's dynamics is */
    const char *task;          /* what messages call the environment; NULL: that */
    cm_backend *backend;
    cm_pool *pool;               /* for packing weights; NULL: the calling thread */
    cm_dtype compute;            /* of matrix products: CM_F32, CM_BF16 or CM_F16 */
    cm_search_params acting;     /* with noise */
    cm_search_params evaluation; /* greedy */
    float discount;              /* gamma, or -gamma where two players alternate */
    int draws;                   /* K: searches choose among drawn actions (planner.h); 0: among all */
    uint64_t seed;
} cm_agent_config;

typedef struct cm_agent cm_agent;

/* Weights start at 0; the caller owns the agent. Errors: CM_ERR_MEMORY, CM_ERR_INPUT. */
cm_status cm_agent_create(const cm_agent_config *config, cm_agent **out) CM_MUST_USE;
void cm_agent_destroy(cm_agent *agent); /* after all that was made of it; NULL is allowed */

const cm_agent_config *cm_agent_get_config(const cm_agent *agent);

/* Copies the blocks of the network's parameter table: parameters[table.parameters], state[table.states]. Not while the
 * agent is in use. */
cm_status cm_agent_set_weights(cm_agent *agent, const float *parameters, const float *state) CM_MUST_USE;
cm_status cm_agent_get_weights(const cm_agent *agent, float *parameters, float *state) CM_MUST_USE; /* as they are */
/* The same from buffers of the backend's device, at least as large, within which they are copied. */
cm_status cm_agent_copy_weights(cm_agent *agent, const cm_buffer *parameters, const cm_buffer *state) CM_MUST_USE;

/* The network on the agent's weights for inference of `rows` rows by a stream of its backend. */
cm_network_use cm_agent_network_use(cm_agent *agent, cm_stream *stream, int rows);

/* A planner of `rows` rows on the agent's weights; the caller owns it. */
cm_status cm_agent_planner(cm_agent *agent, int rows, bool training, cm_planner **out) CM_MUST_USE;

/* Rows of a greedy planner for `wanted` positions: at most 64, and fewer where searches are so long that the trees and
 * states of one planner would pass 256 MiB; at least 1. */
int cm_agent_planner_rows(const cm_agent *agent, int wanted);

/* Chooses an action for one observation [O], every action being legal. policy [P] receives what the search says (visit
 * fractions, or the improved policy of gumbel_muzero; sums to 1; per number: its marginals), NULL if it is not wanted.
 * training: with noise and drawn from the visits, another draw at every call; else the most visited, the same at every
 * call. The first call of each kind takes the memory for it. One thread at a time. Errors: CM_ERR_INPUT if the agent
 * searches on rules, which needs a state. */
cm_status cm_agent_select_action(cm_agent *agent, const float *observation, bool training, int32_t *action,
                                 float *policy) CM_MUST_USE;

/* What an agent makes of one position. */
typedef struct cm_decision {
    int32_t action;
    float value;   /* that the search gives the position, from the view of the player to move */
    float *policy; /* [P] as above; of the caller, NULL: not wanted                   */
} cm_decision;

/* The same for a state of an environment that has not ended, among its legal actions. */
cm_status cm_agent_decide(cm_agent *agent, const cm_env *env, const void *state, bool training,
                          cm_decision *out) CM_MUST_USE;

/* Whether the trees of its planners lie on the backend's device: cm_planner_is_on_device. */
bool cm_agent_is_on_device(const cm_agent *agent, bool training);

/* Rows of one shard of `count` environments or roots: 64 from 128 on, else 32 (never more than there are); all of them
 * where the searches are made on a device, of which acting makes two halves (acting.h). */
int cm_agent_shard_rows(int count, bool on_device);

/* Temperature of acting when `share` (0 .. 1) of the run is done. */
double cm_agent_temperature(const cm_agent_options *options, double share);

/* Probability that a random move begins when `share` (0 .. 1) of the run is done. */
double cm_agent_random_moves(const cm_agent_options *options, double share);

#ifdef __cplusplus
}
#endif
#endif
