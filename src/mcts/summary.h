/* What a finished tree says of its root. */
#ifndef CM_MCTS_SUMMARY_H
#define CM_MCTS_SUMMARY_H

#include "mcts/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes root_visits and root_q of root b from one of its entries. */
static CM_HD inline void cm_summary_edge(const cm_tree *tree, int b, const cm_node_view *root, int at) {
    if (cm_view_is_open(root, at)) return;
    size_t edge = (size_t)b * (size_t)tree->num_actions + (size_t)cm_view_action(root, at);
    tree->root_visits[edge] = cm_tree_node(tree, b, root->child[at])->visits;
    tree->root_q[edge] = *cm_view_q(root, at);
}

/* The same from all of them. */
static CM_HD inline void cm_summary_edges(const cm_tree *tree, int b) {
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    size_t n = (size_t)tree->num_actions, first = (size_t)b * n;
    memset(tree->root_visits + first, 0, n * sizeof(int32_t));
    memset(tree->root_q + first, 0, n * sizeof(float));
    for (int at = 0; at < cm_tree_entries(tree, &root); at++) cm_summary_edge(tree, b, &root, at);
}

/* Whether root_visits and root_q are not kept up to date: in lists GUMBEL keeps them. */
static CM_HD inline bool cm_summary_needs_edges(const cm_tree *tree) {
    return tree->params.root_rule != CM_RULE_GUMBEL || tree->is_dense;
}

/* Writes the numbers of root b; `map`: the q-transform at the root, NULL: not GUMBEL. */
static CM_HD inline void cm_summary_values(const cm_tree *tree, int b, const cm_affine *map) {
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    cm_summary *summary = &tree->summary[b];
    summary->value = root.node->value;
    summary->raw_value = root.cold->raw_value;
    if (!map) return;
    summary->fill = map->fill;
    summary->shift = map->shift;
    summary->factor = map->factor;
}

/* Writes what root b has of root_visits, root_q and summary, but for the error. */
static CM_HD inline void cm_summary_write(const cm_tree *tree, int b) {
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    bool is_gumbel = tree->params.root_rule == CM_RULE_GUMBEL;
    if (cm_summary_needs_edges(tree)) cm_summary_edges(tree, b);
    if (is_gumbel) {
        cm_affine map = cm_rules_map(tree, &root);
        cm_summary_values(tree, b, &map);
    } else {
        cm_summary_values(tree, b, NULL);
    }
}

#ifdef __cplusplus
}
#endif
#endif
