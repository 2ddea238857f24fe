/* Sub-tree reuse between moves. */
#include <math.h>

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
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    cm_edges edges = cm_tree_edges(tree, root);
    for (int at = 0; at < root->count; at++) {
        if (edges.action[at] == action) return edges.child[at];
    }
    return CM_NONE;
}

/* map[slot] = new number of each slot below `top`, CM_NONE for the others; returns how many. Parents come first. */
static int number_subtree(const cm_tree *tree, int b, int32_t top, int32_t *map) {
    int kept = 0;
    for (int slot = 0; slot < tree->slots; slot++) {
        bool is_used = tree->is_used[cm_tree_index(tree, b, slot)] != 0;
        bool is_below = is_used && slot > top && map[cm_tree_node(tree, b, slot)->parent] != CM_NONE;
        map[slot] = top != CM_NONE && (slot == top || is_below) ? kept++ : CM_NONE;
    }
    return kept;
}

static void renumber(const cm_tree *tree, cm_node *node, const int32_t *map) {
    cm_edges edges = cm_tree_edges(tree, node);
    for (int at = 0; at < node->count; at++) edges.child[at] = map[edges.child[at]];
    node->slot = map[node->slot];
    node->parent = node->slot == CM_ROOT ? CM_ROOT : map[node->parent];
    node->leaf = map[node->leaf];
    node->depth -= 1;
}

/* The new root has no edge above it; its own edges by action are read from the list. */
static void make_root(cm_tree *tree, int b) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    cm_edges edges = cm_tree_edges(tree, root);
    size_t n = (size_t)tree->num_actions, first = (size_t)b * n;
    root->reward = root->discount = 0.0f;
    root->action = CM_NONE;
    memset(tree->root_visits + first, 0, n * sizeof(int32_t));
    memset(tree->root_q + first, 0, n * sizeof(float));
    for (int at = 0; at < root->count; at++) {
        size_t edge = first + (size_t)edges.action[at];
        tree->root_visits[edge] = cm_tree_node(tree, b, edges.child[at])->visits;
        tree->root_q[edge] = edges.q[at];
    }
}

/* Moves the blocks below `top` to the slots 0 .. k-1 and the model's states after them. */
static cm_status compact(cm_search *search, const cm_model *model, int b, int32_t top) {
    cm_tree *tree = &search->tree;
    int32_t *map = search->map, *from = search->map + tree->slots, *to = from + tree->slots;
    int kept = number_subtree(tree, b, top, map);
    for (int slot = 0; slot < tree->slots; slot++) {
        if (map[slot] == CM_NONE) continue;
        from[map[slot]] = (int32_t)cm_tree_index(tree, b, slot);
        to[map[slot]] = (int32_t)cm_tree_index(tree, b, map[slot]);
        renumber(tree, cm_tree_node(tree, b, slot), map);
        memmove(cm_tree_node(tree, b, map[slot]), cm_tree_node(tree, b, slot), tree->node_bytes);
    }
    uint8_t *is_used = tree->is_used + cm_tree_index(tree, b, 0);
    for (int slot = 0; slot < tree->slots; slot++) is_used[slot] = slot < kept;
    search->kept[b] = kept;
    if (kept == 0) return CM_OK;
    make_root(tree, b);
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

void cm_reuse_logits(const cm_tree *tree, int b, float *logits) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    cm_edges edges = cm_tree_edges(tree, root);
    for (int a = 0; a < tree->num_actions; a++) {
        logits[a] = edges.open[a] == -INFINITY ? -FLT_MAX : logf(cm_max(edges.open[a], FLT_MIN));
    }
    for (int at = 0; at < root->count; at++) logits[edges.action[at]] = logf(cm_max(edges.prior[at], FLT_MIN));
}

void cm_reuse_root(cm_tree *tree, int b, const float *logits) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    cm_edges edges = cm_tree_edges(tree, root);
    float *priors = tree->scratch;
    (void)cm_softmax(priors, logits, tree->num_actions);
    for (int at = 0; at < root->count; at++) {
        float visits = (float)cm_tree_node(tree, b, edges.child[at])->visits;
        edges.prior[at] = priors[edges.action[at]];
        edges.weight[at] = edges.prior[at] * (1.0f / (visits + 1.0f));
        priors[edges.action[at]] = -INFINITY;
    }
    for (int a = 0; a < tree->num_actions; a++) edges.open[a] = logits[a] > -FLT_MAX ? priors[a] : -INFINITY;
    int best = cm_argmax(edges.open, tree->num_actions);
    root->open_prior = edges.open[best];
    root->open_action = root->open_prior == -INFINITY ? CM_NONE : best;
    root->next_open = root->open_action == CM_NONE ? 0 : best;
    cm_choice choice = cm_select_puct(root, edges, cm_rules_map(tree, root, edges), tree->explore[root->visits]);
    root->next = choice.entry;
    root->leaf = choice.entry == CM_NONE ? CM_ROOT : cm_tree_node(tree, b, edges.child[choice.entry])->leaf;
}
