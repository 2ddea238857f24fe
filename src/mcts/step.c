#include "mcts/step.h"

#include "mcts/rules.h"

cm_leaf cm_step_leaf(const cm_tree *tree, int b, int32_t slot) {
    int32_t parent = cm_tree_node(tree, b, CM_ROOT)->leaf;
    cm_node *node = cm_tree_node(tree, b, parent);
    cm_edges edges = cm_tree_edges(tree, node);
    cm_leaf fresh = {parent, node->next_open, slot};
    if (node->next == CM_NONE) return fresh;
    cm_leaf again = {parent, edges.action[node->next], edges.child[node->next]};
    return again;
}

cm_affine cm_step_root_map(const cm_tree *tree, int b) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    return cm_rules_map(tree, root, cm_tree_edges(tree, root));
}

const cm_step *cm_step_best(void) { return __builtin_cpu_supports("avx2") ? &cm_step_avx2 : &cm_step_scalar; }
