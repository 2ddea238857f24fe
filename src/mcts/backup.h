/* One step of the backup (docs/spec/search.md 4.2). */
#ifndef CM_MCTS_BACKUP_H
#define CM_MCTS_BACKUP_H

#include "mcts/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The return seen from the parent: reward + discount * g. */
static CM_HD inline float cm_backup_return(const cm_node *child, float g) {
    return child->reward + child->discount * g;
}

/* Mean and counter of a node take the return g in. */
static CM_HD inline void cm_backup_node(const cm_tree *tree, cm_node *node, float g) {
    float value = node->value + (g - node->value) * node->share;
    cm_tree_count(tree, node, node->visits + 1);
    node->value = value;
}

/* The Q-value of the edge that leads to a child, after the child's own backup. */
static CM_HD inline float cm_backup_q(const cm_node *child) { return child->reward + child->discount * child->value; }

/* Its weight: for PUCT and chance prior / (visits + 1), in dense entries under GUMBEL the visits. */
static CM_HD inline float cm_backup_weight(const cm_tree *tree, const cm_node *child) {
    bool is_count = tree->is_dense && tree->params.interior_rule == CM_RULE_GUMBEL;
    return is_count ? (float)child->visits : child->prior * child->share;
}

#ifdef __cplusplus
}
#endif
#endif
