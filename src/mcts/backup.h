/* One step of the backup (spec/search.md 4.2). */
#ifndef CM_MCTS_BACKUP_H
#define CM_MCTS_BACKUP_H

#include "mcts/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The return seen from the parent: g = reward + discount * g. Mean and counter of the parent take it in. */
static CM_HD inline float cm_backup_node(cm_node *parent, const cm_node *child, float g) {
    g = child->reward + child->discount * g;
    float n = (float)parent->visits;
    parent->value = (parent->value * n + g) / (n + 1.0f);
    parent->visits += 1;
    return g;
}

/* The Q-value of the edge that leads to a child, after the child's own backup. */
static CM_HD inline float cm_backup_q(const cm_node *child) { return child->reward + child->discount * child->value; }

#ifdef __cplusplus
}
#endif
#endif
