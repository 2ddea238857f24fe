/* One step of the search over the parts in lanes_*.h, which the includer has included before. */
#include "mcts/backup.h"
#include "mcts/step.h"

/* The numbers of a node's best open action, and under GUMBEL the mass of all. */
static inline void renew_open(const cm_tree *tree, cm_node *node, cm_edges edges, bool priors) {
    lanes_best_open(node, edges.open, tree->columns);
    if (priors || node->open_action == CM_NONE) return;
    node->open_mass = lanes_open_mass(edges.open, tree->columns, node->open_prior, tree->scratch);
}

/* The priors of a node without children. False if a logit is not finite. */
static inline bool write_priors(const cm_tree *tree, size_t index, cm_node *node, const float *logits, int width,
                                bool priors) {
    cm_edges edges = cm_tree_edges(tree, node);
    float sum = lanes_write_open(edges.open, tree->columns, logits, width, priors, &tree->scale[index]);
    node->count = 0;
    renew_open(tree, node, edges, priors);
    return sum >= 1.0f;
}

/* Moves an open action to the list of children; its visits are counted by the backup. */
static inline void add_child(const cm_tree *tree, size_t index, cm_node *node, int32_t action, int32_t child,
                             bool priors) {
    cm_edges edges = cm_tree_edges(tree, node);
    int at = node->count++;
    float open = edges.open[action];
    bool is_there = open > -FLT_MAX;
    edges.open[action] = -INFINITY;
    if (at % 8 == 0) {
        for (int i = at; i < at + 8 && i < tree->capacity; i++) edges.weight[i] = -INFINITY;
    }
    edges.child[at] = child;
    edges.action[at] = action;
    if (priors) {
        edges.prior[at] = edges.weight[at] = is_there ? open : 0.0f;
    } else {
        cm_scale scale = tree->scale[index];
        edges.prior[at] = cm_exp(open - scale.top) * scale.factor;
        edges.weight[at] = is_there ? open : -FLT_MAX;
    }
    node->next = at;
    renew_open(tree, node, edges, priors);
    node->next_open = node->open_action;
}

/* `entry` is what the node selects now; both outcomes are computed and one is taken: which it is cannot be predicted.
 */
static inline void set_next(const cm_tree *tree, int b, int slot, cm_node *node, const int32_t *children,
                            int32_t entry) {
    int32_t is_open = entry >> 31; /* all ones or 0 */
    int32_t ends = is_open | -(node->depth + 1 >= tree->max_depth), child = children[entry & ~is_open];
    int32_t below = cm_tree_node(tree, b, (slot & ends) | (child & ~ends))->leaf;
    node->next = entry;
    node->leaf = (slot & ends) | (below & ~ends);
}

/* A node without children selects its best open action, by every rule but Gumbel's root rule. */
static inline void select_first(cm_node *node, int slot) {
    node->next_open = node->open_action == CM_NONE ? 0 : node->open_action;
    node->next = CM_NONE;
    node->leaf = slot;
}

/* Gumbel's root rule; the root's numbers by action are in root_*. */
static inline cm_choice select_root(const cm_tree *tree, int b, const cm_node *node, cm_edges edges) {
    int simulations = tree->slots - 1, valid = tree->root_valid[b], most = tree->considered_rows - 1;
    cm_choice choice = {0.0f, 0, CM_NONE};
    if (simulations == 0) return choice;
    int simulation = node->visits - 1 < simulations ? node->visits - 1 : simulations - 1; /* the last one: not used */
    size_t row = (size_t)(valid < most ? valid : most) * (size_t)simulations;
    size_t first = (size_t)b * (size_t)tree->num_actions;
    choice.action = lanes_root_gumbel(tree->root_noise + first, tree->root_logits + first, tree->root_visits + first,
                                      tree->root_q + first, tree->num_actions, cm_rules_map(tree, node, edges),
                                      tree->considered[row + (size_t)simulation]);
    for (int i = 0; i < node->count; i++) choice.entry = edges.action[i] == choice.action ? i : choice.entry;
    return choice;
}

static bool step_root(cm_tree *tree, int b, float value) {
    cm_node *root = cm_tree_node(tree, b, CM_ROOT);
    size_t index = cm_tree_index(tree, b, CM_ROOT), n = (size_t)tree->num_actions, first = (size_t)b * n;
    bool priors = cm_rules_hold_priors(tree, false);
    *root = (cm_node){
        .visits = 1, .value = value, .raw_value = value, .slot = CM_ROOT, .parent = CM_ROOT, .action = CM_NONE};
    tree->is_used[index] = 1;
    tree->is_chance[index] = 0;
    memset(tree->root_visits + first, 0, n * sizeof(int32_t));
    memset(tree->root_q + first, 0, n * sizeof(float));
    bool finite = write_priors(tree, index, root, tree->root_logits + first, tree->num_actions, priors);
    select_first(root, CM_ROOT);
    if (tree->params.root_rule == CM_RULE_GUMBEL) {
        root->next_open = select_root(tree, b, root, cm_tree_edges(tree, root)).action;
    }
    return finite && isfinite(value);
}

/* Creates the leaf's node, or evaluates it again. False if a number is not finite. */
static inline bool write_leaf(cm_tree *tree, int b, cm_leaf leaf, const cm_growth *rows, int row) {
    size_t index = cm_tree_index(tree, b, leaf.child), above = cm_tree_index(tree, b, leaf.parent);
    cm_node *node = cm_tree_node(tree, b, leaf.child), *parent = cm_tree_node(tree, b, leaf.parent);
    float value = rows->value[row], reward = rows->reward[row], discount = rows->discount[row];
    bool is_new = parent->next == CM_NONE, is_chance = tree->num_chance > 0 && !tree->is_chance[above];
    node->visits = is_new ? 1 : node->visits + 1;
    node->value = node->raw_value = value;
    node->reward = reward;
    node->discount = discount;
    node->slot = leaf.child;
    node->parent = leaf.parent;
    node->action = leaf.action;
    node->depth = parent->depth + 1;
    tree->is_used[index] = 1;
    tree->is_chance[index] = is_chance;
    const float *logits = rows->prior_logits + (size_t)row * (size_t)rows->width;
    bool finite = write_priors(tree, index, node, logits, rows->width, cm_rules_hold_priors(tree, is_chance));
    select_first(node, leaf.child);
    if (is_new) {
        add_child(tree, above, parent, leaf.action, leaf.child, cm_rules_hold_priors(tree, tree->is_chance[above]));
    }
    return finite && isfinite(value) && isfinite(reward) && isfinite(discount);
}

/* The backup at a node that was passed on the way to `child`, and its next selection. Returns the return seen from it.
 */
static inline float pass_node(const cm_tree *tree, int b, int slot, cm_node *node, const cm_node *child, float g) {
    cm_edges edges = cm_tree_edges(tree, node);
    bool is_chance = tree->is_chance[cm_tree_index(tree, b, slot)];
    int at = node->next;
    g = cm_backup_node(node, child, g);
    float q = cm_backup_q(child), weight = edges.prior[at] * tree->reciprocal[child->visits + 1];
    cm_choice choice;
    if (is_chance) {
        edges.weight[at] = weight;
        edges.q[at] = q;
        choice = cm_select_chance(node, edges);
    } else if (node->slot == CM_ROOT && tree->params.root_rule == CM_RULE_GUMBEL) {
        if (tree->params.interior_rule == CM_RULE_PUCT) edges.weight[at] = weight;
        edges.q[at] = q;
        edges.visits[at] = child->visits;
        choice = select_root(tree, b, node, edges);
    } else if (tree->params.interior_rule == CM_RULE_PUCT) {
        edges.visits[at] = child->visits;
        choice = lanes_puct(tree, node, edges, at, q, weight);
    } else {
        choice = lanes_gumbel(tree, node, edges, at, q, child->visits);
    }
    node->next_open = choice.action;
    set_next(tree, b, slot, node, edges.child, choice.entry);
    return g;
}

/* The root's edge to `child` by action, for the results and for Gumbel's root rule. */
static inline void write_root(cm_tree *tree, int b, const cm_node *child) {
    size_t edge = (size_t)b * (size_t)tree->num_actions + (size_t)child->action;
    tree->root_visits[edge] = child->visits;
    tree->root_q[edge] = cm_backup_q(child);
}

static inline bool grow_root(cm_tree *tree, int b, cm_leaf leaf, const cm_growth *rows, int row) {
    bool finite = write_leaf(tree, b, leaf, rows, row);
    const cm_node *child = cm_tree_node(tree, b, leaf.child);
    cm_node *node = cm_tree_node(tree, b, leaf.parent);
    float g = child->value;
    for (int level = node->depth; level >= 0; level--) {
        if (level == 0) write_root(tree, b, child);
        g = pass_node(tree, b, node->slot, node, child, g);
        child = node;
        node = cm_tree_node(tree, b, node->parent);
    }
    return finite && isfinite(g);
}

static int step_grow(cm_tree *tree, const cm_growth *rows) {
    int bad = CM_NONE;
    for (int row = 0; row < rows->n; row++) {
        int b = rows->order[row];
        if (!grow_root(tree, b, rows->leaf[b], rows, row)) bad = b;
    }
    return bad;
}
