/* Sub-tree reuse between moves. */
#include <math.h>

#include "mcts/backup.h"
#include "mcts/internal.h"
#include "mcts/policy.h"
#include "mcts/rules.h"

static cm_status check_keep(const cm_search *search, const cm_model *model, const int32_t *actions) {
    const cm_tree *tree = &search->tree;
    const cm_search_params *params = &tree->params;
    if (params->root_rule != CM_RULE_PUCT || params->interior_rule != CM_RULE_PUCT || tree->num_chance > 0 ||
        tree->max_depth != INT32_MAX) {
        return cm_fail(CM_ERR_INPUT, "search: sub-trees are kept only under PUCT without chance nodes and max_depth");
    }
    if (!model->move) return cm_fail(CM_ERR_INPUT, "search: to keep sub-trees the model needs its function `move`");
    for (int b = 0; b < search->count; b++) {
        if (actions[b] >= CM_NONE && actions[b] < tree->num_actions) continue;
        return cm_fail(CM_ERR_INPUT, "search: actions[%d] must be in [-1, %d], got %d", b, tree->num_actions - 1,
                       actions[b]);
    }
    return CM_OK;
}

/* Slot of the root's child by `action`, CM_NONE if it is not expanded or there is no tree. */
static int32_t child_of_root(const cm_tree *tree, int b, int32_t action) {
    if (!tree->is_used[cm_tree_index(tree, b, CM_ROOT)]) return CM_NONE;
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    for (int at = 0; at < cm_tree_entries(tree, &root); at++) {
        if (!cm_view_is_open(&root, at) && cm_view_action(&root, at) == action) return root.child[at];
    }
    return CM_NONE;
}

/* map[slot] = new number of each slot below `top`, CM_NONE for the others; returns how many. Parents come first. */
static int number_subtree(const cm_tree *tree, int b, int32_t top, int32_t *map) {
    int kept = 0;
    for (int slot = 0; slot < tree->slots; slot++) {
        bool is_used = tree->is_used[cm_tree_index(tree, b, slot)] != 0;
        int32_t above = cm_tree_slot_of(tree, cm_tree_node(tree, b, slot)->parent_edge);
        bool is_below = is_used && slot > top && map[above] != CM_NONE;
        map[slot] = top != CM_NONE && (slot == top || is_below) ? kept++ : CM_NONE;
    }
    return kept;
}

static int32_t renumber_edge(const cm_tree *tree, int32_t edge, const int32_t *map) {
    return cm_tree_edge(tree, map[cm_tree_slot_of(tree, edge)], cm_tree_entry_of(tree, edge));
}

/* New numbers in all that node `slot` has; entries after the last child of a list refer to the node itself. */
static void renumber(const cm_tree *tree, int b, int slot, const int32_t *map) {
    cm_node_view view = cm_tree_view(tree, b, slot);
    int entries = cm_tree_entries(tree, &view);
    for (int at = 0; at < entries; at++) {
        *cm_view_leaf(&view, at) = renumber_edge(tree, *cm_view_leaf(&view, at), map);
        view.child[at] = map[view.child[at]];
    }
    for (int at = entries; at < tree->capacity; at++) {
        *cm_view_leaf(&view, at) = cm_tree_edge(tree, map[slot], view.is_list ? entries : 0);
    }
    view.node->parent_edge = map[slot] == CM_ROOT ? 0 : renumber_edge(tree, view.node->parent_edge, map);
    view.cold->depth -= 1;
}

/* Copies what belongs to one slot to another. */
static void move_slot(const cm_tree *tree, int b, int from, int to) {
    size_t i = cm_tree_index(tree, b, from), j = cm_tree_index(tree, b, to), row = (size_t)tree->columns;
    if (i == j) return;
    memcpy(tree->nodes + j * tree->node_bytes, tree->nodes + i * tree->node_bytes, tree->node_bytes);
    memcpy(tree->cold + j * tree->cold_bytes, tree->cold + i * tree->cold_bytes, tree->cold_bytes);
    if (!tree->is_dense) memcpy(tree->open + j * row, tree->open + i * row, row * sizeof(float));
}

/* Moves the blocks below `top` to the slots 0 .. k-1 and the model's states after them. */
static cm_status compact(cm_search *search, const cm_model *model, int b, int32_t top) {
    cm_tree *tree = &search->tree;
    int32_t *map = search->map, *from = search->map + tree->slots, *to = from + tree->slots;
    int kept = number_subtree(tree, b, top, map);
    if (kept > 0) {
        cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
        int entry = cm_tree_entry_of(tree, cm_tree_node(tree, b, top)->parent_edge);
        tree->root_leaf[b] = renumber_edge(tree, *cm_view_leaf(&root, entry), map);
    }
    for (int slot = 0; slot < tree->slots; slot++) {
        if (map[slot] == CM_NONE) continue;
        from[map[slot]] = (int32_t)cm_tree_index(tree, b, slot);
        to[map[slot]] = (int32_t)cm_tree_index(tree, b, map[slot]);
        renumber(tree, b, slot, map);
        move_slot(tree, b, slot, map[slot]);
    }
    uint8_t *is_used = tree->is_used + cm_tree_index(tree, b, 0);
    for (int slot = 0; slot < tree->slots; slot++) is_used[slot] = slot < kept;
    search->kept[b] = kept;
    if (kept == 0) return CM_OK;
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    root->reward = root->discount = root->prior = 0.0f;
    cm_summary_edges(tree, b);
    cm_status status = model->move(model->ctx, kept, from, to);
    return status == CM_OK ? CM_OK : cm_fail_in(CM_ERR_MODEL, "model, move");
}

cm_status cm_search_keep(cm_search *search, const cm_model *model, const int32_t *actions) {
    CM_TRY(check_keep(search, model, actions));
    for (int b = 0; b < search->count; b++) {
        CM_TRY(compact(search, model, b, child_of_root(&search->tree, b, actions[b])));
    }
    return CM_OK;
}

/* The prior of an action that is not expanded; -inf if it is not there or expanded. */
static float *open_prior(const cm_node_view *root, int action) {
    return root->is_list ? root->open + action : cm_view_weight(root, action);
}

void cm_reuse_logits(const cm_tree *tree, int b, float *logits) {
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    for (int a = 0; a < tree->num_actions; a++) {
        float open = *open_prior(&root, a);
        logits[a] = open == -INFINITY ? -FLT_MAX : cm_ln(cm_max(open, FLT_MIN));
    }
    for (int at = 0; at < cm_tree_entries(tree, &root); at++) {
        if (cm_view_is_open(&root, at)) continue;
        logits[cm_view_action(&root, at)] = cm_ln(cm_max(*cm_view_prior(&root, at), FLT_MIN));
    }
}

/* New priors of the root's children and open actions. */
static void renew_priors(cm_tree *tree, int b, const cm_node_view *root, const float *logits) {
    float *priors = tree->scratch;
    (void)cm_softmax(priors, logits, tree->num_actions);
    for (int a = 0; a < tree->num_actions; a++) {
        *open_prior(root, a) = logits[a] > -FLT_MAX ? priors[a] : -INFINITY;
        if (tree->is_dense) *cm_view_prior(root, a) = logits[a] > -FLT_MAX ? priors[a] : 0.0f;
    }
    for (int at = 0; at < cm_tree_entries(tree, root); at++) {
        if (cm_view_is_open(root, at)) continue;
        cm_node *child = cm_tree_node(tree, b, root->child[at]);
        int action = cm_view_action(root, at);
        child->prior = *cm_view_prior(root, at) = priors[action];
        *open_prior(root, action) = -INFINITY;
        *cm_view_weight(root, at) = cm_backup_weight(tree, child);
    }
    if (tree->is_dense) return;
    int best = cm_argmax(root->open, tree->num_actions), count = root->cold->count;
    root->cold->open_prior = root->open[best];
    root->cold->open_action = root->open[best] == -INFINITY ? CM_NONE : best;
    if (count < tree->capacity) *cm_view_weight(root, count) = root->cold->open_prior;
}

void cm_reuse_root(cm_tree *tree, int b, const float *logits) {
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    renew_priors(tree, b, &root, logits);
    int entry = cm_rules_puct(tree, &root, tree->explore[root.node->visits]);
    bool ends = cm_view_is_open(&root, entry);
    tree->root_leaf[b] = ends ? cm_tree_edge(tree, CM_ROOT, entry) : *cm_view_leaf(&root, entry);
}
