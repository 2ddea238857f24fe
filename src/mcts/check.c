/* The invariants of a tree (spec/search.md 2.2). */
#include <math.h>

#include "mcts/internal.h"
#include "mcts/rules.h"

static cm_status broken(int b, int slot, const char *what, double got, double want) {
    return cm_fail(CM_ERR_STATE, "search: root %d, slot %d: %s is %.9g, must be %.9g", b, slot, what, got, want);
}

/* Entry `at` of the children of a node. */
static cm_status check_child(const cm_tree *tree, int b, int slot, int at) {
    cm_edges edges = cm_tree_edges(tree, cm_tree_node(tree, b, slot));
    int child = edges.child[at], action = edges.action[at];
    if (action < 0 || action >= cm_tree_width(tree, b, slot)) return broken(b, slot, "child's action", action, 0);
    if (edges.open[action] != -INFINITY) return broken(b, slot, "prior of a child's open action", 0, -INFINITY);
    if (child <= slot || child >= tree->slots) return broken(b, slot, "child slot", child, slot + 1);
    const cm_node *node = cm_tree_node(tree, b, child);
    float q = node->reward + node->discount * node->value;
    if (node->parent != slot) return broken(b, child, "parent", node->parent, slot);
    if (node->action != action) return broken(b, child, "action", node->action, action);
    if (cm_rules_count_visits(tree) && node->visits != edges.visits[at]) {
        return broken(b, slot, "edge visits", edges.visits[at], node->visits);
    }
    float weight = edges.prior[at] * tree->reciprocal[node->visits + 1];
    if (cm_rules_hold_priors(tree, tree->is_chance[cm_tree_index(tree, b, slot)]) && !(edges.weight[at] == weight)) {
        return broken(b, slot, "edge weight", (double)edges.weight[at], (double)weight);
    }
    if (!(edges.q[at] == q)) return broken(b, slot, "edge q", (double)edges.q[at], (double)q);
    return CM_OK;
}

static cm_status check_selection(const cm_tree *tree, int b, int slot) {
    const cm_node *node = cm_tree_node(tree, b, slot);
    cm_edges edges = cm_tree_edges(tree, cm_tree_node(tree, b, slot));
    int width = cm_tree_width(tree, b, slot);
    if (node->next < CM_NONE || node->next >= node->count) return broken(b, slot, "next entry", node->next, CM_NONE);
    bool is_open = node->next == CM_NONE;
    if (is_open && (node->next_open < 0 || node->next_open >= width))
        return broken(b, slot, "next", node->next_open, 0);
    for (int at = 0; is_open && at < node->count; at++) {
        if (edges.action[at] == node->next_open) return broken(b, slot, "next is not open, entry", at, CM_NONE);
    }
    bool ends = is_open || node->depth + 1 >= tree->max_depth;
    int leaf = ends ? slot : cm_tree_node(tree, b, edges.child[node->next])->leaf;
    if (node->leaf != leaf) return broken(b, slot, "leaf", node->leaf, leaf);
    return CM_OK;
}

/* Visits of a node = its own evaluation + passages; only a leaf at the depth limit is evaluated several times. */
static cm_status check_node(const cm_tree *tree, int b, int slot) {
    const cm_node *node = cm_tree_node(tree, b, slot);
    cm_edges edges = cm_tree_edges(tree, cm_tree_node(tree, b, slot));
    int passages = 0;
    if (node->count < 0 || node->count > tree->capacity)
        return broken(b, slot, "children", node->count, tree->capacity);
    for (int at = 0; at < node->count; at++) {
        CM_TRY(check_child(tree, b, slot, at));
        passages += cm_tree_node(tree, b, edges.child[at])->visits;
    }
    if (passages > 0 && node->visits != passages + 1) return broken(b, slot, "node visits", node->visits, passages + 1);
    if (node->visits < 1) return broken(b, slot, "node visits", node->visits, 1);
    if (node->slot != slot) return broken(b, slot, "own slot", node->slot, slot);
    if (!isfinite(node->value)) return broken(b, slot, "value", (double)node->value, 0);
    return check_selection(tree, b, slot);
}

cm_status cm_search_check(const cm_search *search) {
    const cm_tree *tree = &search->tree;
    for (int b = 0; b < search->count; b++) {
        for (int slot = 0; slot < tree->slots; slot++) {
            if (tree->is_used[cm_tree_index(tree, b, slot)]) CM_TRY(check_node(tree, b, slot));
        }
    }
    return CM_OK;
}
