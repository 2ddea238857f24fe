#include "mcts/step.h"

#include "mcts/backup.h"
#include "mcts/select.h"

static cm_affine node_map(const cm_tree *tree, const cm_node *node, cm_edges edges, float raw_value) {
    const cm_qtransform *params = &tree->params.qtransform;
    if (params->kind == CM_QTRANSFORM_MIN_MAX) return cm_qtransform_min_max(params);
    if (params->kind == CM_QTRANSFORM_PARENT_AND_SIBLINGS) {
        return cm_qtransform_siblings(edges, tree->num_actions, node->value, params->epsilon);
    }
    return cm_qtransform_completed(params, edges, tree->num_actions, raw_value, node->visits - 1, tree->scratch);
}

static int select_root_gumbel(const cm_tree *tree, int b, const cm_node *node, cm_edges edges, cm_affine map) {
    int simulation = node->visits - 1, last = tree->slots - 2;
    int valid = tree->root_valid[b], most = tree->considered_rows - 1;
    size_t row = (size_t)(valid < most ? valid : most) * (size_t)(tree->slots - 1);
    size_t first = (size_t)b * (size_t)tree->num_actions;
    if (simulation > last) return 0; /* the search is over */
    return cm_select_gumbel_root(edges, tree->num_actions, map, tree->root_noise + first, tree->root_logits + first,
                                 tree->considered[row + (size_t)simulation]);
}

static void renew_selection(const cm_tree *tree, int b, int slot, cm_node *node) {
    cm_edges edges = cm_tree_edges(tree, node);
    size_t index = cm_tree_index(tree, b, slot);
    cm_rule rule = slot == CM_ROOT ? tree->params.root_rule : tree->params.interior_rule;
    int action;
    if (tree->is_chance[index]) {
        action = cm_select_chance(edges, tree->num_chance);
    } else {
        cm_affine map = node_map(tree, node, edges, tree->raw_values[index]);
        if (rule == CM_RULE_PUCT) {
            action = cm_select_puct(edges, tree->num_actions, map, tree->explore[node->visits]);
        } else if (slot == CM_ROOT) {
            action = select_root_gumbel(tree, b, node, edges, map);
        } else {
            action = cm_select_gumbel_interior(edges, tree->num_actions, map, node->visits - 1, tree->scratch);
        }
    }
    node->next_action = action;
    node->next_child = edges.child[action];
}

/* Whether the rows `weight` of this node hold prior / (visits + 1). */
static bool has_quota(const cm_tree *tree, size_t index) {
    return tree->params.interior_rule == CM_RULE_PUCT || tree->is_chance[index];
}

/* Writes prior logits [width] of a node and clears its edges. False if a logit is not finite. */
static bool write_edges(const cm_tree *tree, int b, int slot, cm_node *node, const float *logits) {
    cm_edges edges = cm_tree_edges(tree, node);
    int width = cm_tree_width(tree, b, slot);
    float sum = cm_softmax(edges.prior, logits, width);
    bool quota = has_quota(tree, cm_tree_index(tree, b, slot));
    for (int a = 0; a < width; a++) {
        float present = quota ? edges.prior[a] : logits[a];
        edges.weight[a] = logits[a] > -FLT_MAX ? present : -INFINITY;
        edges.q[a] = 0.0f;
        edges.visits[a] = 0;
        edges.child[a] = CM_NONE;
    }
    return sum >= 1.0f;
}

bool cm_step_root(cm_tree *tree, int b, float value) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    size_t index = cm_tree_index(tree, b, CM_ROOT);
    *root = (cm_node){.visits = 1, .value = value};
    tree->raw_values[index] = value;
    tree->is_chance[index] = 0;
    bool finite = write_edges(tree, b, CM_ROOT, root, tree->root_logits + (size_t)b * (size_t)tree->num_actions);
    renew_selection(tree, b, CM_ROOT, root);
    return finite && isfinite(value);
}

cm_leaf cm_step_walk(cm_tree *tree, int b, int32_t slot) {
    int32_t *path = tree->path + (size_t)b * (size_t)tree->max_depth;
    cm_leaf leaf = {CM_ROOT, 0, CM_ROOT};
    int depth = 0;
    do {
        leaf.parent = leaf.child;
        const cm_node *node = cm_tree_node(tree, b, leaf.parent);
        path[depth++] = leaf.parent;
        leaf.action = node->next_action;
        leaf.child = node->next_child;
    } while (leaf.child != CM_NONE && depth < tree->max_depth);
    tree->depth[b] = depth;
    if (leaf.child == CM_NONE) leaf.child = slot;
    return leaf;
}

static void back_up(cm_tree *tree, int b, int32_t leaf) {
    const int32_t *path = tree->path + (size_t)b * (size_t)tree->max_depth;
    const cm_node *child = cm_tree_node(tree, b, leaf);
    float g = child->value;
    for (int level = tree->depth[b] - 1; level >= 0; level--) {
        cm_node *node = cm_tree_node(tree, b, path[level]);
        cm_edges edges = cm_tree_edges(tree, node);
        int action = node->next_action;
        g = cm_backup_node(node, child, g);
        cm_backup_edge(edges, action, child);
        if (has_quota(tree, cm_tree_index(tree, b, path[level])) && edges.weight[action] > -FLT_MAX) {
            edges.weight[action] = edges.prior[action] * tree->reciprocal[edges.visits[action] + 1];
        }
        renew_selection(tree, b, path[level], node);
        child = node;
    }
}

bool cm_step_grow(cm_tree *tree, int b, cm_leaf leaf, const cm_evaluation *evaluation) {
    size_t index = cm_tree_index(tree, b, leaf.child);
    cm_node *node = cm_tree_node(tree, b, leaf.child), *parent = cm_tree_node(tree, b, leaf.parent);
    bool is_new = parent->next_child == CM_NONE;
    node->visits = is_new ? 1 : node->visits + 1;
    node->value = evaluation->value;
    node->reward = evaluation->reward;
    node->discount = evaluation->discount;
    tree->raw_values[index] = evaluation->value;
    tree->parents[index] = leaf.parent;
    tree->parent_actions[index] = leaf.action;
    tree->is_chance[index] = tree->num_chance > 0 && !tree->is_chance[cm_tree_index(tree, b, leaf.parent)];
    bool finite = write_edges(tree, b, leaf.child, node, evaluation->prior_logits);
    renew_selection(tree, b, leaf.child, node);
    cm_tree_edges(tree, parent).child[leaf.action] = leaf.child;
    back_up(tree, b, leaf.child);
    return finite && isfinite(evaluation->value) && isfinite(evaluation->reward) && isfinite(evaluation->discount);
}

cm_affine cm_step_root_map(const cm_tree *tree, int b) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    return node_map(tree, root, cm_tree_edges(tree, root), tree->raw_values[cm_tree_index(tree, b, CM_ROOT)]);
}
