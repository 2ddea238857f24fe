/* Memory of a batch of search trees.
 *
 * Slot i of root b is one block: a cm_node, then five rows of `stride` numbers, one column per action (decision node)
 * or per outcome (chance node). What belongs to an edge only once it has been followed stands at the child: its reward
 * and discount. Visits of a node = visits of the edge that leads to it, and the value of an edge = the value of its
 * child after the last backup, so neither is stored twice (spec/search.md 2.2). A block of two actions is one cache
 * line.
 *
 * The action that a node would select is kept in the node and renewed when its statistics change, in the backup: it
 * depends on nothing else. Walking down is then one load per level.
 */
#ifndef CM_MCTS_TREE_H
#define CM_MCTS_TREE_H

#include "mcts/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ROOT = 0, CM_NONE = -1 };

typedef struct cm_node {
    int32_t visits;      /* evaluations of the node and passages through it     */
    float value;         /* mean of the returns seen from here                  */
    float reward;        /* of the edge that leads here                         */
    float discount;      /* of the edge that leads here                         */
    int32_t next_action; /* what the selection rule says now                    */
    int32_t next_child;  /* slot of that action's child, CM_NONE: not expanded  */
} cm_node;

typedef struct cm_edges { /* rows of one node, each [stride] */
    float *prior;         /* softmax of the prior logits                                          */
    float *weight;        /* PUCT and chance: prior / (visits + 1); GUMBEL: the prior logits.
                             Either is <= -FLT_MAX where the action is not there                  */
    float *q;             /* reward + discount * value; 0 if not expanded                         */
    int32_t *visits;      /* times followed                                                       */
    int32_t *child;       /* slot, CM_NONE: not expanded                                          */
} cm_edges;

typedef struct cm_tree {
    cm_search_params params;
    int batch, slots;            /* B, N + 1                                                       */
    int num_actions, num_chance; /* A, C                                                           */
    int stride;                  /* numbers per row: max(A, C), rounded up                         */
    int max_depth;               /* >= 1                                                           */
    int considered_rows;         /* rows of `considered`                                           */
    size_t header_bytes, node_bytes;

    unsigned char *nodes;    /* [B, N+1] blocks of node_bytes                                      */
    float *raw_values;       /* [B, N+1] last value that the model gave                            */
    int32_t *parents;        /* [B, N+1] slot, CM_NONE: root or unused slot                        */
    int32_t *parent_actions; /* [B, N+1] action or outcome that leads from the parent, CM_NONE     */
    uint8_t *is_chance;      /* [B, N+1] 1 for chance nodes                                        */
    float *root_logits;      /* [B, A]   after noise and mask                                      */
    float *root_noise;       /* [B, A]   GUMBEL: g + logits - max logits                           */
    int32_t *root_valid;     /* [B]      actions that may be played                                */
    int32_t *path;           /* [B, max_depth] slots from the root to the parent of the leaf       */
    int32_t *depth;          /* [B]      edges on that path                                        */
    float *scratch;          /* [4, stride]                                                        */

    float *explore;      /* [N + 2] PUCT: sqrt(visits) * pb_c(visits)                              */
    float *reciprocal;   /* [N + 2] 1 / i                                                          */
    int32_t *considered; /* [considered_rows, N] sequential halving                                */
} cm_tree;

static CM_HD inline size_t cm_tree_index(const cm_tree *tree, int b, int slot) {
    return (size_t)b * (size_t)tree->slots + (size_t)slot;
}

static CM_HD inline cm_node *cm_tree_node(const cm_tree *tree, int b, int slot) {
    return (cm_node *)(void *)(tree->nodes + cm_tree_index(tree, b, slot) * tree->node_bytes);
}

static CM_HD inline cm_edges cm_tree_edges(const cm_tree *tree, cm_node *node) {
    float *rows = (float *)(void *)((unsigned char *)node + tree->header_bytes);
    size_t stride = (size_t)tree->stride;
    cm_edges edges = {rows, rows + stride, rows + 2 * stride, (int32_t *)(void *)(rows + 3 * stride),
                      (int32_t *)(void *)(rows + 4 * stride)};
    return edges;
}

/* Columns in use at a node. */
static CM_HD inline int cm_tree_width(const cm_tree *tree, int b, int slot) {
    return tree->is_chance[cm_tree_index(tree, b, slot)] ? tree->num_chance : tree->num_actions;
}

#ifdef __cplusplus
}
#endif
#endif
