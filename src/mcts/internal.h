/* The search object. Internal to the folder. */
#ifndef CM_MCTS_INTERNAL_H
#define CM_MCTS_INTERNAL_H

#include "core/arena.h"
#include "mcts/search.h"
#include "mcts/step.h"

struct cm_search {
    cm_tree tree;
    const cm_step *step; /* constant; tests compare several */
    cm_arena arena;      /* owns everything that tree and the fields below point to */
    int count;           /* roots of the last run */
    int64_t simulations; /* of the last run, over all roots */

    int32_t *kept; /* [B]    nodes that cm_search_keep left                                    */
    int32_t *map;  /* [3, N+1] scratch of cm_search_keep                                       */

    int32_t *order;        /* [B]    root of each row of the arrays below                      */
    cm_leaf *leaf;         /* [B]                                                              */
    int32_t *parent_slots; /* [B]                                                              */
    int32_t *actions;      /* [B]                                                              */
    int32_t *child_slots;  /* [B]                                                              */
    cm_model_out out;      /* [B] and prior_logits [B, max(A, C)]: what the model writes       */
};

/* Reads the finished trees into the arrays of `result`. */
void cm_result_write(cm_search *search, const cm_roots *roots, const cm_search_result *result);

/* Writes root_visits and root_q of root b from its rows. */
void cm_result_root(cm_tree *tree, int b);

/* The prior logits [A] of a kept root, before noise and mask. */
void cm_reuse_logits(const cm_tree *tree, int b, float *logits);

/* Gives a kept root its prior logits [A] after noise and mask, and renews its selection. */
void cm_reuse_root(cm_tree *tree, int b, const float *logits);

/* The stream of root b for one purpose. */
static inline cm_rng cm_root_stream(const cm_roots *roots, int b, cm_purpose purpose) {
    return cm_rng_init(cm_key_fold_in(roots->keys[b], (uint64_t)purpose), roots->steps ? roots->steps[b] : 0);
}

#endif
