/* Memory of a batch of search trees.
 *
 * Slot i of root b is one block: a cm_node, a row of what the actions not followed yet have for a prior (the open
 * actions), and rows that list the expanded children in the order of their first visit. Few children of a node are ever
 * visited, so selection costs by visited children, not by actions: all open actions share one transformed value, the
 * best of them is the one with the largest prior, and that is looked up once per expansion.
 *
 * What belongs to an edge stands where it is used: reward and discount of an edge at the child, and the visits of a
 * node equal those of the edge that leads to it (spec/search.md 2.2).
 *
 * The action that a node would select is kept in the node and renewed when its statistics change, in the backup: it
 * depends on nothing else. So is the end of the walk that follows these actions: nobody walks down the tree.
 */
#ifndef CM_MCTS_TREE_H
#define CM_MCTS_TREE_H

#include "mcts/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ROOT = 0, CM_NONE = -1 };

typedef struct cm_node { /* a cache line */
    int32_t visits;      /* evaluations of the node and passages through it                         */
    float value;         /* mean of the returns seen from here                                      */
    float reward;        /* of the edge that leads here                                             */
    float discount;      /* of the edge that leads here                                             */
    int32_t parent;      /* slot; the root's is the root                                            */
    int32_t action;      /* that leads here, CM_NONE: root                                          */
    int32_t depth;       /* edges from the root                                                     */
    int32_t leaf;        /* slot whose next edge is to be expanded, walking from here               */
    int32_t next;        /* what the selection rule says now: an entry of the list of children, or
                            CM_NONE for the open action `next_open`                                 */
    int32_t next_open;   /* the best open action but under GUMBEL's root rule                       */
    int32_t count;       /* expanded children                                                       */
    int32_t open_action; /* open action with the largest prior, CM_NONE: none is open               */
    float open_prior;    /* its number in the row of open actions                                   */
    float open_mass;     /* GUMBEL: sum of e^(logit - open_prior) over the open actions             */
    float raw_value;     /* last value that the model gave                                          */
    int32_t slot;        /* its own                                                                 */
} cm_node;

typedef struct cm_scale { /* GUMBEL: prior = e^(logit - top) * factor */
    float top, factor;
} cm_scale;

/* Rows of a node. The first `count` of [capacity] are in use; weights behind them, to the end of a vector of eight, are
 * -inf. */
typedef struct cm_edges {
    float *q;        /* [capacity] reward + discount * value                                             */
    float *weight;   /* [capacity] PUCT, chance: prior / (visits + 1); GUMBEL: logit                     */
    int32_t *child;  /* [capacity] slot                                                                  */
    int32_t *action; /* [capacity] column                                                                */
    float *prior;    /* [capacity] softmax of the prior logits                                           */
    int32_t *visits; /* [capacity] times followed; kept only where a rule reads it, cm_rules_count_visits */
    float *open;     /* [columns]  PUCT, chance: prior; GUMBEL: logit; -inf: not there, or expanded      */
} cm_edges;

typedef struct cm_tree {
    cm_search_params params;
    int batch, slots;            /* B, N + 1                                                       */
    int num_actions, num_chance; /* A, C                                                           */
    int columns;                 /* max(A, C), rounded up to 8                                     */
    int capacity;                /* the most children of a node, rounded up to 4 or to 8s          */
    int max_depth;               /* >= 1; INT32_MAX: no limit                                      */
    int considered_rows;         /* rows of `considered`                                           */
    size_t node_bytes;

    unsigned char *nodes; /* [B, N+1] blocks of node_bytes                                      */
    cm_scale *scale;      /* [B, N+1]                                                           */
    uint8_t *is_used;     /* [B, N+1] 1 where the slot holds a node of this search              */
    uint8_t *is_chance;   /* [B, N+1] 1 for chance nodes                                        */
    float *root_logits;   /* [B, A]   after noise and mask                                      */
    float *root_noise;    /* [B, A]   GUMBEL: g + logits - max logits                           */
    int32_t *root_visits; /* [B, A]                                                             */
    float *root_q;        /* [B, A]   0 where not visited                                       */
    float *root_value;    /* [B]      raw value of a fresh root                                     */
    int32_t *root_valid;  /* [B]      actions that may be played                                */
    float *scratch;       /* [4, max(columns, capacity)]                                        */

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
    float *rows = (float *)(void *)(node + 1);
    size_t n = (size_t)tree->capacity;
    cm_edges edges = {rows,
                      rows + n,
                      (int32_t *)(void *)(rows + 2 * n),
                      (int32_t *)(void *)(rows + 3 * n),
                      rows + 4 * n,
                      (int32_t *)(void *)(rows + 5 * n),
                      rows + 6 * n};
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
