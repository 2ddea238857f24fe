#include "mcts/step.h"

#include "mcts/backup.h"
#include "mcts/select.h"

/* ---------------------------------------------------------------- selection */

static cm_affine node_map(const cm_tree *tree, const cm_node *node, cm_edges edges) {
    const cm_qtransform *params = &tree->params.qtransform;
    if (params->kind == CM_QTRANSFORM_MIN_MAX) return cm_qtransform_min_max(params);
    if (params->kind == CM_QTRANSFORM_PARENT_AND_SIBLINGS) {
        return cm_qtransform_siblings(edges.q, node->count, node->value, params->epsilon);
    }
    float fill = node->raw_value;
    if (params->use_mixed_value) {
        fill = cm_mixed_value(edges.q, edges.prior, node->count, fill, node->visits - 1, tree->scratch);
    }
    return cm_qtransform_completed(params, edges.q, edges.visits, node->count, tree->num_actions, fill);
}

/* The root's children are found by action. */
static cm_choice select_root_gumbel(const cm_tree *tree, int b, const cm_node *node, cm_edges edges, cm_affine map) {
    int simulations = tree->slots - 1, valid = tree->root_valid[b], most = tree->considered_rows - 1;
    if (simulations == 0) return cm_choice_none();
    int simulation = node->visits - 1 < simulations ? node->visits - 1 : simulations - 1; /* the last one: not used */
    size_t row = (size_t)(valid < most ? valid : most) * (size_t)simulations;
    size_t first = (size_t)b * (size_t)tree->num_actions;
    cm_choice choice = cm_choice_none();
    choice.action =
        cm_select_gumbel_root(tree->root_noise + first, tree->root_logits + first, tree->root_visits + first,
                              tree->root_q + first, tree->num_actions, map, tree->considered[row + (size_t)simulation]);
    for (int i = 0; i < node->count; i++) {
        if (edges.action[i] == choice.action) choice.entry = i;
    }
    return choice;
}

static void renew_selection(const cm_tree *tree, int b, int slot, cm_node *node) {
    cm_edges edges = cm_tree_edges(tree, node);
    size_t index = cm_tree_index(tree, b, slot);
    cm_rule rule = slot == CM_ROOT ? tree->params.root_rule : tree->params.interior_rule;
    cm_choice choice;
    if (tree->is_chance[index]) {
        choice = cm_select_chance(node, edges);
    } else {
        cm_affine map = node_map(tree, node, edges);
        if (rule == CM_RULE_PUCT) {
            choice = cm_select_puct(node, edges, map, tree->explore[node->visits]);
        } else if (slot == CM_ROOT) {
            choice = select_root_gumbel(tree, b, node, edges, map);
        } else {
            choice = cm_select_gumbel_interior(node, edges, map, node->open_mass, tree->scratch);
        }
    }
    node->next_action = choice.action;
    node->next_entry = choice.entry;
    node->next_child = choice.entry == CM_NONE ? CM_NONE : edges.child[choice.entry];
    bool ends = node->next_child == CM_NONE || node->depth + 1 == tree->max_depth;
    node->leaf = ends ? slot : cm_tree_node(tree, b, node->next_child)->leaf;
}

/* ---------------------------------------------------------------- expansion */

/* Whether the open row of this node holds priors and `weight` prior / (visits + 1); otherwise both hold logits. */
static bool holds_priors(const cm_tree *tree, size_t index) {
    return tree->params.interior_rule == CM_RULE_PUCT || tree->is_chance[index];
}

/* Looks up the best open action again, and under GUMBEL the mass of the open ones. */
static void renew_open(const cm_tree *tree, size_t index, cm_node *node, cm_edges edges) {
    int width = tree->is_chance[index] ? tree->num_chance : tree->num_actions;
    int best = cm_argmax(edges.open, width);
    node->open_prior = edges.open[best];
    node->open_action = node->open_prior == -INFINITY ? CM_NONE : best;
    if (holds_priors(tree, index) || node->open_action == CM_NONE) return;
    for (int a = 0; a < width; a++) tree->scratch[a] = cm_exp(edges.open[a] - node->open_prior);
    node->open_mass = cm_sum(tree->scratch, width);
}

/* Writes prior logits [width] of a node without children. False if a logit is not finite. */
static bool write_priors(const cm_tree *tree, int b, int slot, cm_node *node, const float *logits) {
    cm_edges edges = cm_tree_edges(tree, node);
    size_t index = cm_tree_index(tree, b, slot);
    int width = cm_tree_width(tree, b, slot);
    float sum = cm_softmax(tree->scratch, logits, width);
    tree->scale[index] = (cm_scale){cm_max_of(logits, width), 1.0f / sum};
    const float *shown = holds_priors(tree, index) ? tree->scratch : logits;
    for (int a = 0; a < width; a++) edges.open[a] = logits[a] > -FLT_MAX ? shown[a] : -INFINITY;
    node->count = 0;
    renew_open(tree, index, node, edges);
    return sum >= 1.0f;
}

/* Moves an open action to the list of children. */
static void add_child(const cm_tree *tree, size_t index, cm_node *node, int32_t action, int32_t child) {
    cm_edges edges = cm_tree_edges(tree, node);
    cm_scale scale = tree->scale[index];
    int at = node->count++;
    float open = edges.open[action];
    bool is_there = open > -FLT_MAX, priors = holds_priors(tree, index);
    edges.open[action] = -INFINITY;
    edges.child[at] = child;
    edges.action[at] = action;
    edges.visits[at] = 0;
    edges.prior[at] = !is_there ? 0.0f : priors ? open : cm_exp(open - scale.top) * scale.factor;
    edges.weight[at] = is_there ? open : priors ? 0.0f : -FLT_MAX;
    node->next_entry = at;
    renew_open(tree, index, node, edges);
}

bool cm_step_root(cm_tree *tree, int b, float value) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    size_t index = cm_tree_index(tree, b, CM_ROOT), n = (size_t)tree->num_actions, first = (size_t)b * n;
    *root = (cm_node){.visits = 1, .value = value, .raw_value = value, .parent = CM_NONE, .action = CM_NONE};
    tree->is_used[index] = 1;
    tree->is_chance[index] = 0;
    memset(tree->root_visits + first, 0, n * sizeof(int32_t));
    memset(tree->root_q + first, 0, n * sizeof(float));
    bool finite = write_priors(tree, b, CM_ROOT, root, tree->root_logits + first);
    renew_selection(tree, b, CM_ROOT, root);
    return finite && isfinite(value);
}

/* ---------------------------------------------------------------- a simulation */

cm_leaf cm_step_leaf(const cm_tree *tree, int b, int32_t slot) {
    int32_t parent = cm_tree_node(tree, b, CM_ROOT)->leaf;
    const cm_node *node = cm_tree_node(tree, b, parent);
    cm_leaf leaf = {parent, node->next_action, node->next_child == CM_NONE ? slot : node->next_child};
    return leaf;
}

/* The statistics of a node that was passed on the way to `child`. Returns the return seen from the node. */
static float back_up(cm_tree *tree, int b, int slot, cm_node *node, const cm_node *child, float g) {
    cm_edges edges = cm_tree_edges(tree, node);
    int at = node->next_entry;
    g = cm_backup_node(node, child, g);
    cm_backup_edge(edges, at, child);
    if (holds_priors(tree, cm_tree_index(tree, b, slot))) {
        edges.weight[at] = edges.prior[at] * tree->reciprocal[edges.visits[at] + 1];
    }
    if (slot == CM_ROOT) {
        size_t edge = (size_t)b * (size_t)tree->num_actions + (size_t)node->next_action;
        tree->root_visits[edge] = edges.visits[at];
        tree->root_q[edge] = edges.q[at];
    }
    renew_selection(tree, b, slot, node);
    return g;
}

bool cm_step_grow(cm_tree *tree, int b, cm_leaf leaf, const cm_evaluation *evaluation) {
    size_t index = cm_tree_index(tree, b, leaf.child), above = cm_tree_index(tree, b, leaf.parent);
    cm_node *node = cm_tree_node(tree, b, leaf.child), *parent = cm_tree_node(tree, b, leaf.parent);
    bool is_new = parent->next_child == CM_NONE;
    node->visits = is_new ? 1 : node->visits + 1;
    node->value = node->raw_value = evaluation->value;
    node->reward = evaluation->reward;
    node->discount = evaluation->discount;
    node->parent = leaf.parent;
    node->action = leaf.action;
    node->depth = parent->depth + 1;
    tree->is_used[index] = 1;
    tree->is_chance[index] = tree->num_chance > 0 && !tree->is_chance[above];
    bool finite = write_priors(tree, b, leaf.child, node, evaluation->prior_logits);
    renew_selection(tree, b, leaf.child, node);
    if (is_new) add_child(tree, above, parent, leaf.action, leaf.child);
    float g = node->value;
    for (int slot = leaf.parent; slot != CM_NONE; slot = node->parent) {
        const cm_node *child = node;
        node = cm_tree_node(tree, b, slot);
        g = back_up(tree, b, slot, node, child, g);
    }
    return finite && isfinite(evaluation->value) && isfinite(evaluation->reward) && isfinite(evaluation->discount);
}

cm_affine cm_step_root_map(const cm_tree *tree, int b) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    return node_map(tree, root, cm_tree_edges(tree, root));
}
