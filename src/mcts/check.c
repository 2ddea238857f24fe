/* The invariants of spec/search.md 2.2, and that the stored selection is what the rules would say is covered by tests.
 */
#include <math.h>

#include "mcts/internal.h"

static cm_status broken(int b, int slot, const char *what, double got, double want) {
    return cm_fail(CM_ERR_STATE, "search: root %d, slot %d: %s is %.9g, must be %.9g", b, slot, what, got, want);
}

static cm_status check_edge(const cm_tree *tree, int b, int slot, int column) {
    cm_edges edges = cm_tree_edges(tree, cm_tree_node(tree, b, slot));
    int child = edges.child[column], visits = edges.visits[column];
    if (child == CM_NONE) {
        if (visits != 0) return broken(b, slot, "visits of an edge that is not expanded", visits, 0);
        if (edges.q[column] != 0.0f)
            return broken(b, slot, "q of an edge that is not expanded", (double)edges.q[column], 0);
        return CM_OK;
    }
    if (child <= slot || child >= tree->slots) return broken(b, slot, "child slot", child, slot + 1);
    size_t index = cm_tree_index(tree, b, child);
    const cm_node *node = cm_tree_node(tree, b, child);
    float q = node->reward + node->discount * node->value;
    if (tree->parents[index] != slot) return broken(b, child, "parent", tree->parents[index], slot);
    if (tree->parent_actions[index] != column) return broken(b, child, "action", tree->parent_actions[index], column);
    if (node->visits != visits) return broken(b, slot, "edge visits", visits, node->visits);
    if (!(edges.q[column] == q)) return broken(b, slot, "edge q", (double)edges.q[column], (double)q);
    return CM_OK;
}

/* Visits of a node = evaluations of its own + passages; a leaf at the depth limit is evaluated several times. */
static cm_status check_node(const cm_tree *tree, int b, int slot) {
    cm_node *node = cm_tree_node(tree, b, slot);
    cm_edges edges = cm_tree_edges(tree, node);
    int width = cm_tree_width(tree, b, slot), passages = 0;
    float prior = 0.0f;
    for (int column = 0; column < width; column++) {
        CM_TRY(check_edge(tree, b, slot, column));
        passages += edges.visits[column];
        prior += edges.prior[column];
    }
    if (passages > 0 && node->visits != passages + 1) return broken(b, slot, "node visits", node->visits, passages + 1);
    if (node->visits < 1) return broken(b, slot, "node visits", node->visits, 1);
    if (!isfinite(node->value)) return broken(b, slot, "value", (double)node->value, 0);
    if (!(fabsf(prior - 1.0f) < 1e-4f)) return broken(b, slot, "sum of priors", (double)prior, 1);
    if (node->next_action < 0 || node->next_action >= width)
        return broken(b, slot, "next action", node->next_action, 0);
    if (node->next_child != edges.child[node->next_action]) {
        return broken(b, slot, "next child", node->next_child, edges.child[node->next_action]);
    }
    return CM_OK;
}

cm_status cm_search_check(const cm_search *search) {
    const cm_tree *tree = &search->tree;
    for (int b = 0; b < search->count; b++) {
        for (int slot = 0; slot < tree->slots; slot++) {
            bool is_used = slot == CM_ROOT || tree->parents[cm_tree_index(tree, b, slot)] != CM_NONE;
            if (is_used) CM_TRY(check_node(tree, b, slot));
        }
    }
    return CM_OK;
}
