/* A node as a step works on it: where it lies, or, on a device where entries are dense, a copy that a lane has for
 * itself. It is read at once and written back at once: a lane that reads number after number waits for each of them.
 * Where the compiler knows the number of actions, and no index is one that it does not know, a copy is in registers. */
#ifndef CM_MCTS_COPY_H
#define CM_MCTS_COPY_H

#include "mcts/rules.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_tree_copy {
    cm_node node;
    cm_node_cold cold;
    cm_entry entry[CM_DENSE_MOST];
    float logit[CM_DENSE_MOST]; /* GUMBEL */
} cm_tree_copy;

static CM_HD inline cm_entry *cm_copy_entries(const cm_node_view *view) { return (cm_entry *)(void *)view->q; }
static CM_HD inline bool cm_copy_has_logits(const cm_tree *tree) {
    return tree->params.interior_rule == CM_RULE_GUMBEL;
}

/* A view of the copy of a node. Its row of children is the tree's. */
static CM_HD inline cm_node_view cm_copy_view(const cm_node_view *of, cm_tree_copy *copy) {
    cm_entry *entry = copy->entry;
    cm_node_view view = *of;
    view.node = &copy->node;
    view.cold = &copy->cold;
    view.q = &entry->q;
    view.weight = &entry->weight;
    view.leaf = &entry->leaf;
    view.prior = &entry->prior;
    view.logit = copy->logit;
    return view;
}

/* The same of a node that says nothing yet. */
static CM_HD inline cm_node_view cm_copy_new(const cm_node_view *of, cm_tree_copy *copy) {
    const cm_node_cold none = {0, 0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0};
    copy->cold = none;
    return cm_copy_view(of, copy);
}

static CM_HD inline cm_node_view cm_copy_read(const cm_tree *tree, const cm_node_view *from, cm_tree_copy *copy) {
    copy->node = *from->node;
    copy->cold = *from->cold;
    CM_WRITTEN_OUT for (int a = 0; a < tree->num_actions; a++) copy->entry[a] = cm_copy_entries(from)[a];
    if (cm_copy_has_logits(tree))
        CM_WRITTEN_OUT for (int a = 0; a < tree->num_actions; a++) copy->logit[a] = from->logit[a];
    return cm_copy_view(from, copy);
}

/* Back to its place what a backup changes: the counters of the node and entry `at`. */
static CM_HD inline void cm_copy_write(const cm_tree *tree, int b, const cm_node_view *view, int at) {
    const cm_node_view to = cm_tree_view(tree, b, view->slot);
    cm_entry entry = cm_copy_entries(view)[0];
    CM_WRITTEN_OUT for (int a = 1; a < tree->num_actions; a++) {
        const cm_entry here = cm_copy_entries(view)[a];
        entry.q = a == at ? here.q : entry.q;
        entry.weight = a == at ? here.weight : entry.weight;
        entry.leaf = a == at ? here.leaf : entry.leaf;
        entry.prior = a == at ? here.prior : entry.prior;
    }
    to.node->value = view->node->value;
    to.node->visits = view->node->visits;
    to.node->share = view->node->share;
    to.node->explore = view->node->explore;
    cm_copy_entries(&to)[at] = entry;
}

/* All of a new node. */
static CM_HD inline void cm_copy_write_new(const cm_tree *tree, int b, const cm_node_view *view) {
    const cm_node_view to = cm_tree_view(tree, b, view->slot);
    *to.node = *view->node;
    *to.cold = *view->cold;
    CM_WRITTEN_OUT for (int a = 0; a < tree->capacity; a++) {
        cm_copy_entries(&to)[a] = cm_copy_entries(view)[a];
        if (cm_copy_has_logits(tree)) to.logit[a] = view->logit[a];
    }
}

#ifdef __cplusplus
}
#endif
#endif
