/* The inner part of the search: everything between two model calls. Internal to the folder.
 *
 * step_impl.inc is compiled several times, with the scalar rules (the reference implementation) and with vectors of an
 * instruction set; each gives one table. All tables give the same bits. */
#ifndef CM_MCTS_STEP_H
#define CM_MCTS_STEP_H

#include "mcts/qtransform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An edge to expand. */
typedef struct cm_leaf { /* read as a row of four */
    int32_t edge;        /* its number                */
    int32_t action;      /* its column                */
    int32_t child;       /* slot of the new node, or of the old one that is evaluated again at the depth limit */
    int32_t depth;       /* of the parent */
} cm_leaf;

/* What the model said about the leaves of n roots. */
typedef struct cm_growth {
    int n;
    const int32_t *order;                   /* [n] the root of each row        */
    const cm_leaf *leaf;                    /* [n]                             */
    const float *reward, *discount, *value; /* [n]                            */
    const float *prior_logits;              /* [n, width], rows `stride` floats apart */
    int width;                              /* columns of the new nodes        */
    size_t stride;                          /* >= width                        */
} cm_growth;

typedef struct cm_step {
    const char *name;

    /* Fills the block of a fresh root from its value and root_logits, and makes the root's first selection. False if a
     * number is not finite. */
    bool (*root)(cm_tree *tree, int b, float value);

    /* Writes the evaluations into the leaves, backs them up to the roots and renews the selection and the cached leaf
     * of every node on the path. Returns CM_NONE, or a root for which a number is not finite. */
    int (*grow)(cm_tree *tree, const cm_growth *rows);
} cm_step;

extern const cm_step cm_step_scalar;
extern const cm_step cm_step_avx2; /* only on machines that have it */

/* The fastest table that this machine can run. */
const cm_step *cm_step_best(void);

/* The action of an entry of a node; 0 where nothing is to be expanded. */
static CM_HD inline int32_t cm_step_action(const cm_tree *tree, int b, const cm_node_view *view, int entry) {
    if (tree->is_dense || !cm_view_is_open(view, entry)) return cm_view_action(view, entry);
    bool is_told = view->slot == CM_ROOT && tree->params.root_rule == CM_RULE_GUMBEL;
    int32_t action = is_told ? tree->root_open[b] : view->cold->open_action;
    return action == CM_NONE ? 0 : action;
}

/* Whether an entry has no child yet. Without a limit of depth every edge that is expanded leads to a new node. */
static CM_HD inline bool cm_step_is_new(const cm_tree *tree, const cm_node_view *view, int entry) {
    return (tree->is_dense && tree->max_depth == INT32_MAX) || cm_view_is_open(view, entry);
}

/* The edge that root b expands next, tree->root_leaf[b]; a new node gets `slot`. */
static CM_HD inline cm_leaf cm_step_leaf(const cm_tree *tree, int b, int32_t edge, int32_t slot) {
    int32_t entry = cm_tree_entry_of(tree, edge);
    cm_node_view view = cm_tree_view(tree, b, cm_tree_slot_of(tree, edge));
    bool is_new = cm_step_is_new(tree, &view, entry);
    cm_leaf leaf = {edge, cm_step_action(tree, b, &view, entry), is_new ? slot : view.child[entry], view.cold->depth};
    return leaf;
}

#ifdef __cplusplus
}
#endif
#endif
