/* What a finished tree says of its root. */
#ifndef CM_MCTS_SUMMARY_H
#define CM_MCTS_SUMMARY_H

#include "mcts/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes root_visits and root_q of root b from its entries. */
static CM_HD inline void cm_summary_edges(const cm_tree *tree, int b) {
    cm_view root = cm_tree_view(tree, b, CM_ROOT);
    size_t n = (size_t)tree->num_actions, first = (size_t)b * n;
    memset(tree->root_visits + first, 0, n * sizeof(int32_t));
    memset(tree->root_q + first, 0, n * sizeof(float));
    for (int at = 0; at < cm_tree_entries(tree, &root); at++) {
        if (cm_view_is_open(&root, at)) continue;
        size_t edge = first + (size_t)cm_view_action(&root, at);
        tree->root_visits[edge] = cm_tree_node(tree, b, root.child[at])->visits;
        tree->root_q[edge] = *cm_view_q(&root, at);
    }
}

/* Writes what root b has of root_visits, root_q and summary, but for the flaw. */
static CM_HD inline void cm_summary_write(const cm_tree *tree, int b) {
    cm_view root = cm_tree_view(tree, b, CM_ROOT);
    bool is_gumbel = tree->params.root_rule == CM_RULE_GUMBEL;
    cm_summary *summary = &tree->summary[b];
    if (!is_gumbel || tree->is_dense) cm_summary_edges(tree, b); /* in lists GUMBEL keeps them up to date */
    summary->value = root.node->value;
    summary->raw_value = root.rest->raw_value;
    if (!is_gumbel) return;
    cm_affine map = cm_rules_map(tree, &root);
    summary->fill = map.fill;
    summary->shift = map.shift;
    summary->factor = map.factor;
}

#ifdef __cplusplus
}
#endif
#endif
