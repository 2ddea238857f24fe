/* A planner searches for R rows at once: one search, one model, one stream.
 *
 * The model is the network's dynamics on hidden states. If the planner is given the rules of a game, the model is
 * these: each node has a copy of the game's state, and the network only predicts (model.h).
 *
 * If the backend has kernels for it, the trees of a learnt model lie on its device, and a run is one captured graph
 * (device_planner.h). Otherwise the host has the trees and calls the network once per simulation. The results are the
 * same but for the last digits of floats.
 *
 * One thread uses a planner at a time; several planners may search concurrently with the same weights. The result of a
 * row depends on its own inputs alone, not on the division of rows over planners. A pass has a fixed number of rows;
 * rows outside the request compute on leftovers in slots of their own.
 *
 * Inputs and outputs cover all A actions, even if searches choose among drawn ones (sampled.h): masks, visits and
 * values are rows [A], which must not be asked for if there are too many actions. The policy's output, weights and
 * probabilities are rows [P]: with a policy per number, marginals (core/policy_form.h).
 *
 * Letters: R rows, O observation elements, A actions, P entries of a policy, N simulations.
 */
#ifndef CM_AGENT_PLANNER_H
#define CM_AGENT_PLANNER_H

#include "core/stop.h"
#include "env/env.h"
#include "mcts/options.h"
#include "mcts/search.h"
#include "network/inference.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_planner_config {
    const cm_network *network; /* borrowed, like all pointers here */
    const cm_env *rules;       /* the model; NULL: the network's dynamics is */
    const char *task;          /* what messages call the environment; NULL: that */
    cm_backend *backend;
    float *parameters, *state; /* blocks of the network's table; stay where they are */
    cm_dtype compute;          /* of matrix products */
    cm_search_params search;
    float discount; /* of a transition: gamma, or -gamma where two players alternate */
    int draws;      /* K: at every node a search chooses among actions that are drawn (network/sampled.h); 0: all. Only
                       for the dynamics of a network without chance */
    int rows;       /* R */
} cm_planner_config;

/* The network as the passes of such a planner use it. */
cm_network_use cm_planner_use(const cm_planner_config *config, cm_stream *stream);

typedef struct cm_planner cm_planner;

/* Takes all memory; nothing is allocated later. The caller owns it. Errors: CM_ERR_MEMORY; CM_ERR_INPUT for draws with
 * rules or with chance. */
cm_status cm_planner_create(const cm_planner_config *config, cm_planner **out) CM_MUST_USE;
void cm_planner_destroy(cm_planner *planner); /* NULL is allowed */

size_t cm_planner_bytes(const cm_planner_config *config, const cm_planner *planner); /* search and model */

/* What the next run starts from: row k belongs to root k. Both are owned by the planner and stay as they are during a
 * run. cm_planner_place fills both from a state block of `env`; a caller that fills them by hand needs the states only
 * if the planner was given rules. */
void cm_planner_place(cm_planner *planner, int row, const cm_env *env, const void *state);
float *cm_planner_observations(cm_planner *planner);  /* [R, O] */
void *cm_planner_state(cm_planner *planner, int row); /* a state block of the rules; NULL: it is not needed */

/* From now on, until the next call: once `stop` (borrowed; NULL, as at first: never) is asked a search ends at its next
 * operation with CM_ERR_INTERRUPTED, and its result is that of its cm_planner_simulations, unless they are 0; one on a
 * device, which takes far less than a second, is not begun. */
void cm_planner_heed(cm_planner *planner, const cm_stop *stop);

/* Searches roots->count <= R rows. Errors: those of cm_search_run; see cm_planner_heed. */
cm_status cm_planner_run(cm_planner *planner, const cm_roots *roots, const cm_search_result *result) CM_MUST_USE;

/* The same in two halves, so that its thread can do other work while a device searches: begin launches and does not
 * wait, end waits and makes the results. Where the trees lie on the host, all is done by end. What `roots` and `result`
 * point at, observations and states belong to the run until its end; the two themselves are copied. A begin is followed
 * by its end, unless it has failed or the planner is destroyed, which waits. */
cm_status cm_planner_begin(cm_planner *planner, const cm_roots *roots, const cm_search_result *result) CM_MUST_USE;
cm_status cm_planner_end(cm_planner *planner) CM_MUST_USE;
int64_t cm_planner_simulations(const cm_planner *planner); /* of the last run, over all rows */

/* Keeps what lies below the moves actions[n] of the last run (-1: nothing) for a run with roots.is_kept. Errors: those
 * of cm_search_keep; only planners with rules can. */
cm_status cm_planner_keep(cm_planner *planner, const int32_t *actions) CM_MUST_USE;

/* *out: the finished trees of the last run, as the search sees them; owned by the planner, valid until its next run.
 * Errors: CM_ERR_DEVICE, where the trees lie on a device and are copied. */
cm_status cm_planner_trees(cm_planner *planner, const cm_search **out) CM_MUST_USE;

/* prior [count, A]: of the actions at the first roots of the last run, with its noise if it had any; rows sum to 1.
 * Where actions are drawn these are their shares of the draws. Errors: those of cm_planner_trees. */
cm_status cm_planner_priors(cm_planner *planner, int count, float *prior) CM_MUST_USE;

/* The action that column `choice` of root `row` stands for in the trees of the last run: itself, or what was drawn. */
int cm_planner_root_action(const cm_planner *planner, int row, int choice);

/* Whether the trees of such a planner lie on the backend's device (those of a learnt model, where the
 * backend has kernels for them), so that a search of all rows costs little more than that of one. */
bool cm_planner_is_on_device(const cm_planner_config *config);

/* What the options mean for acting (training: with noise) or for playing greedily. `simulations` 0: those of the
 * options. Errors: CM_ERR_INPUT for a number out of its range. */
cm_status cm_planner_search_params(const cm_mcts_options *options, bool training, int simulations,
                                   cm_search_params *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
