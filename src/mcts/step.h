/* The inner part of the search, for ranges of roots: everything between two model calls. Internal to the folder. */
#ifndef CM_MCTS_STEP_H
#define CM_MCTS_STEP_H

#include "mcts/qtransform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An edge to expand. */
typedef struct cm_leaf {
    int32_t parent, action;
    int32_t child; /* slot of the new node, or of the old one that is evaluated again at the depth limit */
} cm_leaf;

/* What the model says about one new node; prior_logits: [columns of the node]. */
typedef struct cm_evaluation {
    float reward, discount, value;
    const float *prior_logits;
} cm_evaluation;

/* Fills the block of a fresh root from root_logits and its value, and makes the root's first selection. False if a
 * number is not finite. */
bool cm_step_root(cm_tree *tree, int b, float value);

/* The edge that root b expands next; a new node gets `slot`. */
cm_leaf cm_step_leaf(const cm_tree *tree, int b, int32_t slot);

/* Writes the evaluation into the leaf, backs it up to the root and renews the selection of every node on the way.
 * False if the evaluation is not finite. */
bool cm_step_grow(cm_tree *tree, int b, cm_leaf leaf, const cm_evaluation *evaluation);

/* The q-transform at the root. */
cm_affine cm_step_root_map(const cm_tree *tree, int b);

#ifdef __cplusplus
}
#endif
#endif
