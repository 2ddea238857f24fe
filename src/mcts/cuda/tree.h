/* Kernels of the tree search: the rules of step_scalar.c, root by root.
 *
 * A root is an item with a warp to itself, so that no root waits for another with another path. In lists its lanes
 * share the work (lanes_warp.inc); dense entries are so few that the first lane does it alone. A new node's slot is the
 * number of visits of the root, which every simulation makes one larger: so the launches of all simulations are the
 * same. A root for which a number is not finite stands still from then on. */
#ifndef CM_MCTS_CUDA_TREE_H
#define CM_MCTS_CUDA_TREE_H

#include "device/cuda/lanes.h"
#include "device/cuda/launch.h"
#include "mcts/begin.h"
#include "mcts/kernels.h"
#include "mcts/summary.h"

/* clang-format off */
#include "mcts/lanes_warp.inc"
#include "mcts/step_impl.inc"
/* clang-format on */

/* The trees as root b sees them: with scratch of its own, which is for one lane, and the lanes that share its work. Of
 * either order of entries the compiler makes code of its own. */
CM_KERNEL_COPIED cm_tree cm_tree_of_root(const cm_tree_args *k, int b, const cm_lanes *lanes, bool is_dense) {
    cm_tree tree = k->tree;
    tree.scratch += (size_t)b * k->scratch_step;
    tree.lanes = lanes;
    tree.is_dense = is_dense;
    return tree;
}

/* How a lane of a warp works on a root: with all others, or alone. */
CM_KERNEL cm_lanes cm_tree_together(const cm_lanes *lanes) {
    cm_lanes all = {lanes->index, CM_WARP, lanes->barrier, NULL};
    return all;
}
CM_KERNEL cm_lanes cm_tree_alone(void) {
    cm_lanes one = {0, 1, NULL, NULL};
    return one;
}

/* A kernel of what is to be done with a root, NAME_root(k, tree, b). Item: a root. */
#define CM_TREE_KERNEL(name)                                                                                           \
    CM_KERNEL void name##s(const cm_tree_args *k, int64_t item, const cm_lanes *lanes) {                               \
        int b = (int)item;                                                                                             \
        if (!k->tree.is_dense) {                                                                                       \
            const cm_lanes all = cm_tree_together(lanes);                                                              \
            cm_tree tree = cm_tree_of_root(k, b, &all, false);                                                         \
            name(k, &tree, b);                                                                                         \
        } else if (lanes->index == 0) {                                                                                \
            const cm_lanes one = cm_tree_alone();                                                                      \
            cm_tree tree = cm_tree_of_root(k, b, &one, true);                                                          \
            name(k, &tree, b);                                                                                         \
        }                                                                                                              \
    }

/* Whether what a root expands is an afterstate: a move at a node of decisions, with chance below. */
CM_KERNEL bool cm_tree_decides(const cm_tree *tree, int b, cm_leaf leaf) {
    return tree->num_chance > 0 && !cm_tree_is_chance(tree, b, cm_tree_slot_of(tree, leaf.edge));
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

/* What root b expands next, `edge`, if there is a slot for it. */
CM_KERNEL void cm_tree_next_leaf(const cm_tree_args *k, const cm_tree *tree, int b, int32_t edge) {
    const cm_device_model *m = &k->model;
    int32_t slot = cm_tree_node(tree, b, CM_ROOT)->visits, idle = m->idle_slots + b;
    if (slot >= tree->slots) return;
    cm_leaf leaf = cm_step_leaf(tree, b, edge, slot);
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
    row.stride = width;
    return row;
}

/* The same read at once: what a lane reads after what it has written waits for that. Of lists the logits are many, and
 * those of all lanes. */
typedef struct cm_said {
    float reward, discount, value, logits[CM_DENSE_MOST];
} cm_said;

CM_KERNEL cm_growth cm_tree_heard(const cm_tree *tree, const cm_growth *row, cm_said *said) {
    cm_growth heard = *row;
    said->reward = *row->reward;
    said->discount = *row->discount;
    said->value = *row->value;
    heard.reward = &said->reward;
    heard.discount = &said->discount;
    heard.value = &said->value;
    if (!tree->is_dense) return heard;
    for (int a = 0; a < tree->num_actions; a++) said->logits[a] = row->prior_logits[a];
    heard.prior_logits = said->logits;
    return heard;
}

/* ---------------------------------------------------------------- the beginning */

/* cm_begin_logits by the lanes of a warp, from the model's logits [A]. A lane has the same actions all the time. */
CM_KERNEL void cm_tree_share_logits(const cm_tree *tree, int b, const float *from, const cm_root_terms *terms) {
    const cm_lanes *lanes = tree->lanes;
    int n = tree->num_actions, valid = 0;
    size_t first = (size_t)b * (size_t)n;
    float *logits = tree->root_logits + first, *sums = tree->root_noise + first;
    bool is_gumbel = tree->params.root_rule == CM_RULE_GUMBEL;
    if (is_gumbel) {
        CM_EACH(a, lanes, n) logits[a] = from[a];
    } else {
        float top = lanes_max_of(lanes, from, n), factor = 1.0f / lanes_exp_sum(lanes, from, n, top);
        CM_EACH(a, lanes, n) {
            const float *noise = terms->noise ? terms->noise + a : NULL;
            logits[a] = cm_policy_mixed(from[a], cm_exp(from[a] - top) * factor, noise, terms->share);
        }
    }
    if (terms->legal) {
        float most = lanes_max_of(lanes, logits, n);
        CM_EACH(a, lanes, n) logits[a] = terms->legal[a] ? logits[a] - most : -FLT_MAX;
    }
    if (is_gumbel) {
        float most = lanes_max_of(lanes, logits, n);
        CM_EACH(a, lanes, n) {
            sums[a] = cm_policy_perturbed(logits[a], most, terms->noise ? terms->noise + a : NULL, terms->share);
        }
    }
    CM_EACH(a, lanes, n) valid += logits[a] > -FLT_MAX;
    valid = (int)cm_lanes_sum(lanes, valid);
    if (lanes_leads(tree)) tree->root_valid[b] = valid;
}

/* From what the model says of the root to its first leaf. */
CM_KERNEL void cm_tree_begin_root(const cm_tree_args *k, cm_tree *tree, int b) {
    size_t n = (size_t)tree->num_actions, first = (size_t)b * n;
    const float *from = k->model.root_logits + first;
    uint8_t *is_used = tree->is_used + cm_tree_index(tree, b, 0);
    cm_root_terms terms = {k->request->has_legal ? k->legal + first : NULL,
                           k->request->has_noise ? k->noise + first : NULL, k->request->share};
    CM_EACH(slot, tree->lanes, tree->slots) is_used[slot] = 0;
    if (tree->is_dense) {
        memcpy(tree->root_logits + first, from, n * sizeof(float));
        cm_begin_logits(tree, b, &terms);
    } else {
        cm_tree_share_logits(tree, b, from, &terms);
    }
    bool finite = step_root(tree, b, k->model.root_value[b]);
    if (!lanes_leads(tree)) return;
    tree->summary[b].error = finite ? CM_TREE_ERROR_NONE : CM_TREE_ERROR_ROOT;
    cm_tree_next_leaf(k, tree, b, tree->root_leaf[b]);
}

/* ---------------------------------------------------------------- a simulation */

/* Takes in what the model says of the root's leaf, and finds the next one. */
CM_KERNEL_COPIED void cm_tree_grow_root(const cm_tree_args *k, cm_tree *tree, int b) {
    const float none = 0.0f, all = 1.0f;
    cm_leaf leaf = k->leaf[b];
    if (tree->summary[b].error != CM_TREE_ERROR_NONE) return;
    if (!tree->is_dense) lanes_fetch(tree, b, cm_tree_slot_of(tree, leaf.edge));
    cm_growth row = cm_tree_growth(&k->model, b, cm_tree_decides(tree, b, leaf), &none, &all);
    cm_said said;
    row = cm_tree_heard(tree, &row, &said);
    cm_tree_copy copy;
    const cm_node_view node = lanes_new(tree, b, leaf.child, &copy);
    int32_t edge;
    bool finite = write_leaf(tree, b, leaf, &row, 0, &node, &edge);
    float g = back_up(tree, b, &node, &edge);
    if (!lanes_leads(tree)) return;
    if (finite && isfinite(g)) {
        cm_tree_next_leaf(k, tree, b, edge);
    } else {
        tree->summary[b].error = CM_TREE_ERROR_NODE;
    }
}

/* ---------------------------------------------------------------- the end */

/* cm_summary_write by the lanes of a warp. */
CM_KERNEL void cm_tree_end_root(const cm_tree_args *k, cm_tree *tree, int b) {
    (void)k;
    cm_node_view root = cm_tree_view(tree, b, CM_ROOT);
    if (cm_summary_needs_edges(tree)) { /* both rows are still zero */
        CM_EACH(at, tree->lanes, cm_tree_entries(tree, &root)) cm_summary_edge(tree, b, &root, at);
    }
    bool is_gumbel = tree->params.root_rule == CM_RULE_GUMBEL;
    cm_affine map = {0.0f, 0.0f, 0.0f};
    if (is_gumbel) map = lanes_map(tree, &root);
    if (lanes_leads(tree)) cm_summary_values(tree, b, is_gumbel ? &map : NULL);
}

CM_TREE_KERNEL(cm_tree_begin_root)
CM_TREE_KERNEL(cm_tree_end_root)

/* A root of a dense tree with n actions. The compiler knows n, which keeps nodes in registers (copy.h). */
CM_KERNEL_COPIED void cm_tree_grow_dense(const cm_tree_args *k, int b, int n) {
    const cm_lanes one = cm_tree_alone();
    cm_tree tree = cm_tree_of_root(k, b, &one, true);
    tree.num_actions = n;
    tree.num_chance = 0;
    tree.has_statistics = false;
    tree.capacity = cm_dense_capacity(n);
    cm_tree_grow_root(k, &tree, b);
}

/* A function for each n: in one the compiler would share code among them. */
#define CM_TREE_DENSE(n)                                                                                               \
    CM_KERNEL_CALLED void cm_tree_grow_##n(const cm_tree_args *k, int b) { cm_tree_grow_dense(k, b, n); }
CM_TREE_DENSE(1)
CM_TREE_DENSE(2)
CM_TREE_DENSE(3)
CM_TREE_DENSE(4)
CM_TREE_DENSE(5)
CM_TREE_DENSE(6)
CM_TREE_DENSE(7)
CM_TREE_DENSE(8)

/* Item: a root. */
CM_KERNEL void cm_tree_grow_roots(const cm_tree_args *k, int64_t item, const cm_lanes *lanes) {
    const int b = (int)item;
    if (!k->tree.is_dense) {
        const cm_lanes all = cm_tree_together(lanes);
        cm_tree tree = cm_tree_of_root(k, b, &all, false);
        cm_tree_grow_root(k, &tree, b);
        return;
    }
    if (lanes->index != 0) return;
    switch (k->tree.num_actions) {
    case 1: cm_tree_grow_1(k, b); break;
    case 2: cm_tree_grow_2(k, b); break;
    case 3: cm_tree_grow_3(k, b); break;
    case 4: cm_tree_grow_4(k, b); break;
    case 5: cm_tree_grow_5(k, b); break;
    case 6: cm_tree_grow_6(k, b); break;
    case 7: cm_tree_grow_7(k, b); break;
    default: cm_tree_grow_8(k, b); break;
    }
}

#define CM_TREE_KERNELS(X)                                                                                             \
    X(cm_tree_begin_roots, cm_tree_args)                                                                               \
    X(cm_tree_grow_roots, cm_tree_args)                                                                                \
    X(cm_tree_end_roots, cm_tree_args)
CM_TREE_KERNELS(CM_KERNEL_ENTRY)

#endif
