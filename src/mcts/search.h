/* Batched tree search: B roots in lock-step, N simulations each, one model call per simulation.
 *
 * A cm_search is one shard of roots: its memory is one block taken at create; nothing is allocated afterwards. It is
 * used by one thread at a time; other shards may run concurrently. What a root gets depends on its own inputs alone:
 * not on the other roots of the batch, on the shard or on threads.
 *
 * Source: mctx 0.0.71 semantics, float32; docs/spec/search.md.
 */
#ifndef CM_MCTS_SEARCH_H
#define CM_MCTS_SEARCH_H

#include "core/rng.h"
#include "mcts/model.h"
#include "mcts/params.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_search cm_search;

/* What a run starts from; borrowed during the call. Rows of n = count roots. */
typedef struct cm_roots {
    int count;                /* n, 1 .. B                                                                       */
    const uint8_t *legal;     /* [n, A] 1 where the action may be played at the root; NULL: no mask. A row of
                                 zeros is allowed: such a root selects action 0                                  */
    const cm_key *keys;       /* [n]    random key of each root (of its environment); NULL: nothing is random    */
    const uint64_t *steps;    /* [n]    step of the environment: its noise differs from step to step; NULL: 0    */
    const float *noise;       /* [n, A] Dirichlet (PUCT) or standard Gumbel noise; NULL: drawn from the keys     */
    bool without_noise;       /* no root noise in this run, whatever the parameters say (evaluation)             */
    bool is_kept;             /* goes on with the sub-trees of cm_search_keep; count as in the last run          */
    const float *temperature; /* [n]    NULL: params.temperature                                                 */
    int simulations;          /* n of this run, 1 .. N, which sequential halving divides; 0: N. Trees on a device
                                 always have N                                                                   */
} cm_roots;

/* What a run gives; arrays of the caller, each may be NULL. */
typedef struct cm_search_result {
    int32_t *visits;       /* [n, A] simulations through each root action; rows sum to N                        */
    float *action_weights; /* [n, A] the policy's output, sums to 1: visit fractions (PUCT) or improved policy   */
    float *action_probs;   /* [n, A] what `action` is drawn from; PUCT: weights sharpened by the temperature,
                              GUMBEL: 1 at the action                                                            */
    float *value;          /* [n]    mean of the returns at the root, from the mover's view                      */
    float *raw_value;      /* [n]    the model's value of the root                                               */
    float *qvalues;        /* [n, A] reward + discount * value of each root action, 0 where not visited          */
    int32_t *action;       /* [n]    PUCT: drawn from action_probs, or their lowest maximum if there are no keys;
                              GUMBEL: the best of the most visited (it carries the noise)                        */
} cm_search_result;

/* Bytes of the block that cm_search_create takes; 0 if the sizes are out of range. */
size_t cm_search_bytes(const cm_search_params *params, int batch, int num_actions, int num_chance);

/* Makes a search of at most `batch` roots for models of num_actions and num_chance (0: no chance nodes). The caller
 * owns it. Errors: CM_ERR_INPUT names the parameter, CM_ERR_MEMORY. */
cm_status cm_search_create(const cm_search_params *params, int batch, int num_actions, int num_chance,
                           cm_search **out) CM_MUST_USE;
void cm_search_destroy(cm_search *search); /* NULL is allowed */

/* Runs a whole search from fresh roots. Errors: CM_ERR_INPUT (arguments), CM_ERR_MODEL (the model reported one; its
 * message is kept), CM_ERR_NOT_FINITE (the model gave a number that is not finite; names the root), CM_ERR_STATE (only
 * with params.check: an invariant is broken), CM_ERR_INTERRUPTED (from the model; where cm_search_simulations is not 0
 * then, the result is that of those). */
cm_status cm_search_run(cm_search *search, const cm_model *model, const cm_roots *roots,
                        const cm_search_result *result) CM_MUST_USE;

/* Nodes that the last run added, over all roots: count * N, or fewer where trees were kept. */
int64_t cm_search_simulations(const cm_search *search);

/* Sub-tree reuse, between two runs: what lies below the played actions[n] (n of the last run; -1: nothing) becomes the
 * tree of its root, in the slots 0 .. k-1, and the model moves its states likewise. A run with roots.is_kept then
 * evaluates only the roots without a tree (model->root gets their slots) and adds N + 1 - k nodes to the others; noise
 * and mask are new. A tree with a visited action that the new mask forbids is dropped. Several moves in succession are
 * several calls. PUCT only, without chance nodes and max_depth; for models that are exact. Errors: CM_ERR_INPUT,
 * CM_ERR_MODEL. */
cm_status cm_search_keep(cm_search *search, const cm_model *model, const int32_t *actions) CM_MUST_USE;

/* The finished tree, for display, export and tests. */
typedef struct cm_node_info {
    int32_t visits, parent, action_from_parent; /* 0, -1, -1 for a slot that is not in use            */
    float value, raw_value;
    int width; /* columns in use: A, or C at a chance node */
    bool is_chance;
} cm_node_info;

typedef struct cm_edge_info {
    int32_t child, visits; /* -1, 0 for an edge that is not expanded; the numbers below are 0 then   */
    float reward, discount, value, q;
    float prior; /* softmax of the node's prior logits (at the root after noise and mask)            */
} cm_edge_info;

/* Root b, slot 0 .. N, column 0 .. width-1. Wrong numbers are bugs of the caller. */
cm_node_info cm_search_node(const cm_search *search, int b, int slot);
cm_edge_info cm_search_edge(const cm_search *search, int b, int slot, int column);

/* [A] the root's prior logits after noise and mask; owned by the search, valid until its next run. */
const float *cm_search_root_logits(const cm_search *search, int b);

/* Verifies the invariants of a tree for the roots of the last run (docs/spec/search.md 2.2). CM_ERR_STATE says what is
 * wrong. */
cm_status cm_search_check(const cm_search *search) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
