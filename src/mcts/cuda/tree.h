/* Kernels of the tree search: the rules of step_scalar.c, root by root.
 *
 * A root is an item with a warp to itself, so that no root waits for another that takes another way; its first lane
 * does the work. A new node's slot is the number of visits of the root, which every simulation makes one larger: so the
 * launches of all simulations are the same. A root for which a number is not finite stands still from then on. */
#ifndef CM_MCTS_CUDA_TREE_H
#define CM_MCTS_CUDA_TREE_H

#include "device/cuda/lanes.h"
#include "device/cuda/launch.h"
#include "mcts/begin.h"
#include "mcts/kernels.h"
#include "mcts/summary.h"

/* clang-format off */
#include "mcts/lanes_scalar.inc"
#include "mcts/step_impl.inc"
/* clang-format on */

/* The trees as root b sees them: with scratch of its own. */
CM_KERNEL cm_tree cm_tree_of_root(const cm_tree_args *k, int b) {
    cm_tree tree = k->tree;
    tree.scratch += (size_t)b * k->scratch_step;
    return tree;
}

/* Whether what a root expands is an afterstate: a move at a node of decisions, with chance below. */
CM_KERNEL bool cm_tree_decides(const cm_tree *tree, int b, cm_leaf leaf) {
    return tree->num_chance > 0 && !tree->is_chance[cm_tree_index(tree, b, cm_tree_slot_of(tree, leaf.edge))];
}

/* Write row b of the recurrent pass, and of that of afterstates. */
CM_KERNEL void cm_tree_play(const cm_device_model *m, int b, int32_t parent, int32_t action, int32_t child) {
    m->parent_slots[b] = parent;
    m->child_slots[b] = child;
    if (m->actions) m->actions[b] = action;
    if (!m->codes) return;
    float *codes = m->codes + (size_t)b * (size_t)m->num_chance;
    for (int outcome = 0; outcome < m->num_chance; outcome++) codes[outcome] = outcome == action ? 1.0f : 0.0f;
}

CM_KERNEL void cm_tree_play_after(const cm_device_model *m, int b, int32_t parent, int32_t action, int32_t child) {
    m->after_parent_slots[b] = parent;
    m->after_actions[b] = action;
    m->after_child_slots[b] = child;
}

/* What root b expands next, if there is a slot for it. */
CM_KERNEL void cm_tree_next_leaf(const cm_tree_args *k, const cm_tree *tree, int b) {
    const cm_device_model *m = &k->model;
    int32_t slot = cm_tree_node(tree, b, CM_ROOT)->visits, idle = m->idle_slots + b;
    if (slot >= tree->slots) return;
    cm_leaf leaf = cm_step_leaf(tree, b, slot);
    int32_t parent = (int32_t)cm_tree_index(tree, b, cm_tree_slot_of(tree, leaf.edge));
    int32_t child = (int32_t)cm_tree_index(tree, b, leaf.child);
    k->leaf[b] = leaf;
    if (cm_tree_decides(tree, b, leaf)) {
        cm_tree_play_after(m, b, parent, leaf.action, child);
        cm_tree_play(m, b, 0, 0, idle);
    } else {
        if (tree->num_chance > 0) cm_tree_play_after(m, b, 0, 0, idle);
        cm_tree_play(m, b, parent, leaf.action, child);
    }
}

/* What the model says of the leaf of root b, as one row. An afterstate has the reward 0 and the discount 1. */
CM_KERNEL cm_growth cm_tree_growth(const cm_device_model *m, int b, bool decides, const float *none, const float *all) {
    size_t width = (size_t)(decides ? m->num_chance : m->num_actions);
    cm_growth row;
    row.n = 1;
    row.order = NULL;
    row.leaf = NULL;
    row.reward = decides ? none : m->reward + b;
    row.discount = decides ? all : m->discount + b;
    row.value = (decides ? m->after_value : m->value) + b;
    row.prior_logits = (decides ? m->after_logits : m->prior_logits) + (size_t)b * width;
    row.width = (int)width;
    return row;
}

/* Item: a root. From what the model says of it to its first leaf. */
CM_KERNEL void cm_tree_begin_roots(const cm_tree_args *k, int64_t item, const cm_lanes *lanes) {
    if (lanes->index != 0) return;
    int b = (int)item;
    cm_tree tree = cm_tree_of_root(k, b);
    size_t n = (size_t)tree.num_actions, first = (size_t)b * n;
    cm_root_terms terms = {k->ask->has_legal ? k->legal + first : NULL, k->ask->has_noise ? k->noise + first : NULL,
                           k->ask->share};
    memcpy(tree.root_logits + first, k->model.root_logits + first, n * sizeof(float));
    memset(tree.is_used + cm_tree_index(&tree, b, 0), 0, (size_t)tree.slots);
    cm_begin_logits(&tree, b, &terms);
    bool finite = step_root(&tree, b, k->model.root_value[b]);
    tree.summary[b].flaw = finite ? CM_FLAW_NONE : CM_FLAW_ROOT;
    cm_tree_next_leaf(k, &tree, b);
}

/* Item: a root. Takes in what the model says of its leaf, and finds the next one. */
CM_KERNEL void cm_tree_grow_roots(const cm_tree_args *k, int64_t item, const cm_lanes *lanes) {
    int b = (int)item;
    if (lanes->index != 0 || k->tree.summary[b].flaw != CM_FLAW_NONE) return;
    cm_tree tree = cm_tree_of_root(k, b);
    const float none = 0.0f, all = 1.0f;
    cm_leaf leaf = k->leaf[b];
    cm_growth row = cm_tree_growth(&k->model, b, cm_tree_decides(&tree, b, leaf), &none, &all);
    int32_t edge;
    bool finite = write_leaf(&tree, b, leaf, &row, 0, &edge);
    float g = back_up(&tree, b, cm_tree_node(&tree, b, leaf.child), edge);
    if (finite && isfinite(g)) {
        cm_tree_next_leaf(k, &tree, b);
    } else {
        tree.summary[b].flaw = CM_FLAW_NODE;
    }
}

/* Item: a root. */
CM_KERNEL void cm_tree_end_roots(const cm_tree_args *k, int64_t item, const cm_lanes *lanes) {
    if (lanes->index != 0) return;
    cm_tree tree = cm_tree_of_root(k, (int)item);
    cm_summary_write(&tree, (int)item);
}

CM_KERNEL_ENTRY(cm_tree_begin_roots, cm_tree_args)
CM_KERNEL_ENTRY(cm_tree_grow_roots, cm_tree_args)
CM_KERNEL_ENTRY(cm_tree_end_roots, cm_tree_args)

#endif
