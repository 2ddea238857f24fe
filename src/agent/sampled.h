/* Sampled searches (network/sampled.h) seen from outside. Outside are masks, policies and moves of all A actions; a
 * search has K choices at a root, the numbers of the actions drawn there. Internal to the folder; a planner whose
 * searches draw owns one.
 *
 * A mask becomes the set of actions that may be drawn at the root, so no choice is illegal. An action that was not
 * drawn has visits, weight and value 0. Weights and probabilities are rows [P] in the form of the policy
 * (core/policy_form.h): those of all actions, or the marginals of each number of an action.
 */
#ifndef CM_AGENT_SAMPLED_H
#define CM_AGENT_SAMPLED_H

#include "mcts/search.h"
#include "network/inference.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the root pass reads and gives; of the inference's. Rows are those of the planner; K + 2 floats of each are
 * drawn: the actions in front. NULL where nothing is drawn, but for the observations. */
typedef struct cm_sampled_roots {
    const float *observation; /* [R, O] */
    float *legal, *seed;      /* [R, A], NULL where policies are per number: every action may be drawn; [R, 2] */
    const float *drawn;       /* [R, K + 2] */
} cm_sampled_roots;
cm_sampled_roots cm_sampled_roots_of(const cm_inference *inference);

typedef struct cm_sampled_sizes {
    int rows, observation, actions, draws; /* R, O, A, K */
    cm_policy_form form;
} cm_sampled_sizes;

typedef struct cm_sampled cm_sampled;

/* Takes all memory; the caller owns it. Errors: CM_ERR_MEMORY. */
cm_status cm_sampled_create(const cm_sampled_sizes *sizes, const cm_sampled_roots *roots, cm_sampled **out) CM_MUST_USE;
void cm_sampled_destroy(cm_sampled *sampled);       /* NULL is allowed */
size_t cm_sampled_bytes(const cm_sampled *sampled); /* NULL: 0 */

/* Before a run, of observations that are there: the request in place of `roots`, and where the results go that `result`
 * wants. Seeds are those of the roots' keys and steps; without keys each is that of its observation, so
 * that equal positions are searched alike and others draw independently: a seed of all would draw from a flat policy
 * the same few actions in every position of every episode, and leave the others to no evaluation. Errors: CM_ERR_INPUT
 * for noise that is given, for trees that are kept, and for a mask where policies are per number. */
cm_status cm_sampled_request(cm_sampled *sampled, const cm_roots *roots, const cm_search_result *result,
                             cm_roots *out_roots, cm_search_result *out_result) CM_MUST_USE;
/* After the run: the results of `count` roots. */
void cm_sampled_result(const cm_sampled *sampled, int count, const cm_search_result *result);

/* The action that choice 0 .. K-1 of root `row` stands for. */
int cm_sampled_action(const cm_sampled *sampled, int row, int choice);

/* prior [A] of root `row`, whose logits [K] the search had. */
void cm_sampled_prior(const cm_sampled *sampled, int row, const float *logits, float *prior);

#ifdef __cplusplus
}
#endif
#endif
