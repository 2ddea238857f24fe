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

/* What root b expands next, if there is a slot for it. */
CM_KERNEL void cm_tree_next_leaf(const cm_tree_args *k, const cm_tree *tree, int b) {
    int32_t slot = cm_tree_node(tree, b, CM_ROOT)->visits;
    if (slot >= tree->slots) return;
    cm_leaf leaf = cm_step_leaf(tree, b, slot);
    k->leaf[b] = leaf;
    k->model.parent_slots[b] = (int32_t)cm_tree_index(tree, b, cm_tree_slot_of(tree, leaf.edge));
    k->model.actions[b] = leaf.action;
    k->model.child_slots[b] = (int32_t)cm_tree_index(tree, b, leaf.child);
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
    const cm_device_model *m = &k->model;
    cm_growth rows = {tree.batch, NULL, k->leaf, m->reward, m->discount, m->value, m->prior_logits, tree.num_actions};
    cm_leaf leaf = k->leaf[b];
    int32_t edge;
    bool finite = write_leaf(&tree, b, leaf, &rows, b, &edge);
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
