/* The invariants of a tree (docs/spec/search.md 2.2). */
#include <math.h>

#include "mcts/backup.h"
#include "mcts/internal.h"
#include "mcts/rules.h"

static cm_status broken(int b, int slot, const char *what, double got, double want) {
    return cm_fail(CM_ERR_STATE, "search: root %d, slot %d: %s is %.9g, must be %.9g", b, slot, what, got, want);
}

/* Entry `at` of a node, which is not open. */
static cm_status check_child(const cm_tree *tree, int b, const cm_node_view *view, int at) {
    int slot = view->slot, child = view->child[at], action = cm_view_action(view, at);
    if (action < 0 || action >= cm_tree_width(tree, b, slot)) return broken(b, slot, "child's action", action, 0);
    if (view->is_list && view->open[action] != -INFINITY) {
        return broken(b, slot, "prior of a child's open action", (double)view->open[action], (double)-INFINITY);
    }
    if (child <= slot || child >= tree->slots) return broken(b, slot, "child slot", child, slot + 1);
    const cm_node *node = cm_tree_node(tree, b, child);
    int32_t parent_edge = cm_tree_edge(tree, slot, at);
    float q = cm_backup_q(node), weight = cm_backup_weight(tree, node);
    if (node->parent_edge != parent_edge) return broken(b, child, "parent edge", node->parent_edge, parent_edge);
    if (tree->has_statistics && node->visits != view->visits[at]) {
        return broken(b, slot, "edge visits", view->visits[at], node->visits);
    }
    if (!(node->prior == *cm_view_prior(view, at))) {
        return broken(b, slot, "edge prior", (double)*cm_view_prior(view, at), (double)node->prior);
    }
    bool is_logit = !tree->is_dense && !cm_rules_hold_priors(tree, tree->is_chance[cm_tree_index(tree, b, slot)]);
    if (!is_logit && !(*cm_view_weight(view, at) == weight)) {
        return broken(b, slot, "edge weight", (double)*cm_view_weight(view, at), (double)weight);
    }
    if (!(*cm_view_q(view, at) == q)) return broken(b, slot, "edge q", (double)*cm_view_q(view, at), (double)q);
    return CM_OK;
}

/* The edge that a node selects leads to an entry of a node below, or of its own. */
static cm_status check_selection(const cm_tree *tree, int b, const cm_node_view *view, int32_t edge) {
    int slot = cm_tree_slot_of(tree, edge), entry = cm_tree_entry_of(tree, edge);
    if (slot < view->slot || slot >= tree->slots) return broken(b, view->slot, "slot to expand", slot, view->slot);
    cm_node_view leaf = cm_tree_view(tree, b, slot);
    int most = tree->is_dense ? tree->num_actions - 1 : leaf.cold->count, width = cm_tree_width(tree, b, slot);
    if (entry > most) return broken(b, slot, "entry to expand", entry, most);
    int32_t action = cm_step_action(tree, b, &leaf, entry);
    bool is_open = cm_view_is_open(&leaf, entry), is_limit = leaf.cold->depth + 1 >= tree->max_depth;
    if (action < 0 || action >= width) return broken(b, slot, "action to expand", action, 0);
    if (!is_open && !is_limit) return broken(b, slot, "action to expand has a child, entry", entry, most);
    for (int at = 0; is_open && leaf.is_list && at < leaf.cold->count; at++) {
        if (leaf.action[at] == action) return broken(b, slot, "action to expand has a child, entry", at, CM_NONE);
    }
    return CM_OK;
}

/* What the edges of a node without limit say is what its rule says. */
static cm_status check_rule(const cm_tree *tree, int b, const cm_node_view *view, int32_t edge) {
    bool is_told = view->slot == CM_ROOT && tree->params.root_rule == CM_RULE_GUMBEL;
    bool is_chance = tree->is_chance[cm_tree_index(tree, b, view->slot)];
    if (view->node->visits == 1 || is_told || view->cold->depth >= tree->max_depth) return CM_OK;
    int entry = is_chance ? cm_select_chance(view).entry
                : tree->params.interior_rule == CM_RULE_GUMBEL
                    ? cm_rules_gumbel(tree, view)
                    : cm_rules_puct(tree, view, tree->explore[view->node->visits]);
    bool ends = cm_view_is_open(view, entry) || view->cold->depth + 1 >= tree->max_depth;
    int32_t want = ends ? cm_tree_edge(tree, view->slot, entry) : *cm_view_leaf(view, entry);
    return edge == want ? CM_OK : broken(b, view->slot, "edge to expand", edge, want);
}

/* What a node keeps for the next backup. */
static cm_status check_constants(const cm_tree *tree, int b, int slot, const cm_node_view *view) {
    const cm_node *node = view->node;
    float share = tree->reciprocal[node->visits + 1], explore = tree->explore[node->visits + 1];
    if (node->share != share) return broken(b, slot, "share", (double)node->share, (double)share);
    if (tree->params.interior_rule == CM_RULE_PUCT) {
        return node->explore == explore ? CM_OK : broken(b, slot, "explore", (double)node->explore, (double)explore);
    }
    float raw = view->cold->raw_value;
    return node->raw_value == raw ? CM_OK : broken(b, slot, "raw value", (double)node->raw_value, (double)raw);
}

/* Visits of a node = its own evaluation + passages; only a leaf at the depth limit is evaluated several times. */
static cm_status check_node(const cm_tree *tree, int b, int slot) {
    cm_node_view view = cm_tree_view(tree, b, slot);
    const cm_node *node = view.node;
    int passages = 0, entries = cm_tree_entries(tree, &view);
    if (entries < 0 || entries > tree->capacity) return broken(b, slot, "children", entries, tree->capacity);
    for (int at = 0; at < entries; at++) {
        if (cm_view_is_open(&view, at)) continue;
        CM_TRY(check_child(tree, b, &view, at));
        passages += cm_tree_node(tree, b, view.child[at])->visits;
    }
    if (passages > 0 && node->visits != passages + 1) return broken(b, slot, "node visits", node->visits, passages + 1);
    if (node->visits < 1) return broken(b, slot, "node visits", node->visits, 1);
    CM_TRY(check_constants(tree, b, slot, &view));
    if (!isfinite(node->value)) return broken(b, slot, "value", (double)node->value, 0);
    cm_node_view above = cm_tree_view(tree, b, cm_tree_slot_of(tree, node->parent_edge));
    int depth = slot == CM_ROOT ? 0 : above.cold->depth + 1;
    if (view.cold->depth != depth) return broken(b, slot, "depth", view.cold->depth, depth);
    if (depth >= tree->max_depth) return CM_OK; /* its selection is not used */
    int32_t edge =
        slot == CM_ROOT ? tree->root_leaf[b] : *cm_view_leaf(&above, cm_tree_entry_of(tree, node->parent_edge));
    CM_TRY(check_selection(tree, b, &view, edge));
    return check_rule(tree, b, &view, edge);
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
