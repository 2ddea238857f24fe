/* The search object. Internal to the folder. */
#ifndef CM_MCTS_INTERNAL_H
#define CM_MCTS_INTERNAL_H

#include "core/arena.h"
#include "mcts/search.h"
#include "mcts/step.h"
#include "mcts/summary.h"

struct cm_search {
    cm_tree tree;
    const cm_step *step; /* constant; tests compare several */
    cm_arena arena;      /* owns everything that tree and the fields below point to */
    int count;           /* roots of the last run */
    int64_t simulations; /* of the last run, over all roots */
    int planned;         /* simulations of a root that the table of sequential halving is for */

    int32_t *kept; /* [B]    nodes that cm_search_keep left                                    */
    int32_t *map;  /* [3, N+1] scratch of cm_search_keep                                       */

    int32_t *order;        /* [B]    root of each row of the arrays below                      */
    cm_leaf *leaf;         /* [B]                                                              */
    int32_t *parent_slots; /* [B]                                                              */
    int32_t *actions;      /* [B]                                                              */
    int32_t *child_slots;  /* [B]                                                              */
    cm_model_out out;      /* [B] and prior_logits [B, max(A, C)]: what the model writes       */
};

/* What the arrays of a tree are for these sizes: everything but addresses. */
void cm_tree_plan(cm_tree *tree, const cm_search_params *params, int batch, int num_actions, int num_chance);

/* Takes the arrays of the trees, all but scratch and backup, from the arena: for the same sizes always at the same
 * places. With a measuring arena they are only counted. */
void cm_tree_alloc(cm_tree *tree, cm_arena *arena);

/* Floats of scratch that a root needs at most. */
size_t cm_tree_scratch(const cm_tree *tree);

/* Fills the tables. */
void cm_tree_fill(const cm_tree *tree);

/* CM_ERR_INPUT for a size out of range. */
cm_status cm_tree_check_sizes(const cm_search_params *params, int batch, int num_actions, int num_chance) CM_MUST_USE;

/* CM_ERR_INPUT for what a run may not start from. */
cm_status cm_search_check_roots(const cm_tree *tree, const cm_roots *roots) CM_MUST_USE;

/* The share of the noise at the roots of a run; 0: none. And the noise [A] of root b, given or `drawn`; NULL: none. */
float cm_search_noise_share(const cm_tree *tree, const cm_roots *roots);
const float *cm_search_noise(const cm_tree *tree, const cm_roots *roots, int b, float *drawn);

/* CM_ERR_NOT_FINITE: `where` is "the root" or "a node". */
cm_status cm_search_not_finite(int b, const char *where);

/* Makes the result of root_* and summary. */
void cm_result_write(cm_tree *tree, const cm_roots *roots, const cm_search_result *result);

/* The prior logits [A] of a kept root, before noise and mask. */
void cm_reuse_logits(const cm_tree *tree, int b, float *logits);

/* Gives a kept root its prior logits [A] after noise and mask, and renews its selection. */
void cm_reuse_root(cm_tree *tree, int b, const float *logits);

/* The stream of root b for one purpose. */
static inline cm_rng cm_root_stream(const cm_roots *roots, int b, cm_purpose purpose) {
    return cm_rng_init(cm_key_fold_in(roots->keys[b], (uint64_t)purpose), roots->steps ? roots->steps[b] : 0);
}

#endif
