/* A tree of sums over n non-negative weights: change one in O(log n), draw an index in proportion to its weight.
 *
 * Eight children to a node, one cache line. A node is the sum of its children in a fixed order, never an accumulated
 * difference, so the tree is a function of its weights alone, whatever the history, and does not drift.
 */
#ifndef CM_REPLAY_SUM_TREE_H
#define CM_REPLAY_SUM_TREE_H

#include "core/arena.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_TREE_FAN = 8, CM_TREE_LEVELS = 11 }; /* 8^11 > 2^31 */

typedef struct cm_sum_tree {
    int leaves;                    /* n                                                                    */
    int levels;                    /* 1 .. CM_TREE_LEVELS                                                  */
    double *level[CM_TREE_LEVELS]; /* [0]: weights; [l][i]: sum of 8 of level l - 1; the last one has 8 entries */
} cm_sum_tree;

/* Takes the tree's memory from `arena`, all weights 0. leaves >= 1. (With a measuring arena it only counts.) */
void cm_sum_tree_init(cm_sum_tree *tree, cm_arena *arena, int leaves);

/* Bytes of all levels, as the arena counts them. */
size_t cm_sum_tree_bytes(int leaves);

void cm_sum_tree_set(cm_sum_tree *tree, int leaf, double weight); /* weight >= 0 and finite */
double cm_sum_tree_total(const cm_sum_tree *tree);

static inline double cm_sum_tree_weight(const cm_sum_tree *tree, int leaf) { return tree->level[0][leaf]; }

/* leaf[i] = the leaf whose share of [0, total) holds target[i]; never one of weight 0. target[n] in [0, total) is used
 * up; total > 0. All n descend together, so that their cache misses overlap. */
void cm_sum_tree_find(const cm_sum_tree *tree, int n, double *target, int32_t *leaf);

#ifdef __cplusplus
}
#endif
#endif
