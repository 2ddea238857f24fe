/* Memory of a batch of search trees.
 *
 * The cached leaf. Each node caches the leaf that its selection leads to, so a simulation reads the root's cached leaf
 * in O(1) and never walks down. What a node selects depends on its own statistics alone, and these change only in the
 * backup. So the backup renews, at each node from the new leaf's parent to the root, the cached leaf of the one entry
 * that led there, and the selection (docs/design/search.md).
 *
 * A node has two blocks: a hot one, which every backup through it reads, and a cold one. Reward, discount and prior of
 * an edge are stored at the child; the visits of a node equal those of the edge that leads to it (docs/spec/search.md
 * 2.2). The actions of a node are entries of its rows, in one of two orders, the same for a whole tree:
 *
 * Dense (at most eight actions, and PUCT or GUMBEL at every node): the entry of an action is its number. An action that
 * is not expanded has q NaN. Under PUCT its weight is its prior, or -inf if the action is not there; under GUMBEL
 * logits are a row of their own, with -inf for what is not there.
 *
 * Lists: the expanded children in the order of their first visit. Few children of a node are ever visited, so selection
 * costs by visited children, not by actions: all others (the open actions) share one transformed value, the best of
 * them is the one with the largest prior, and that is looked up once per expansion. It has the entry after the last
 * child. The priors of open actions are a row of their own.
 *
 * An edge has a number: slot of the node << shift | entry.
 */
#ifndef CM_MCTS_TREE_H
#define CM_MCTS_TREE_H

#include "mcts/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ROOT = 0, CM_NONE = -1 };

typedef struct cm_node { /* rows of four are read and written as vectors */
    float value;         /* mean of the returns seen from here                                                      */
    int32_t visits;      /* evaluations of the node and passages through it                                         */
    float share;         /* 1 / (visits + 1), of the next return in the mean                                        */
    union {
        float explore;   /* PUCT: sqrt(visits + 1) * pb_c(visits + 1), for the selection after the next return      */
        float raw_value; /* GUMBEL below the root: as in cm_node_cold */
    };

    float reward, discount, prior; /* of the edge that leads here; prior: softmax of the prior logits          */
    int32_t parent_edge;           /* number of that edge; the root's is 0                                     */
} __attribute__((aligned(16))) cm_node;

typedef struct cm_node_cold {
    int32_t count;       /* lists: expanded children                                               */
    int32_t open_action; /* lists: open action with the largest prior, CM_NONE: none is open       */
    float open_prior;    /* lists: its number in the row of open actions                           */
    float open_mass;     /* GUMBEL: sum of e^(logit - open_prior) over the open actions            */
    float top, factor;   /* GUMBEL: prior = e^(logit - top) * factor                               */
    float raw_value;     /* last value that the model gave                                         */
    int32_t depth;       /* edges from the root                                                    */
} __attribute__((aligned(16))) cm_node_cold;

/* What a node has of an entry, where rules read nothing else. */
typedef struct cm_entry { /* read and written as a row of four */
    float q;              /* reward + discount * value                                           */
    float weight;         /* PUCT, chance: prior / (visits + 1); GUMBEL: visits                  */
    int32_t leaf;         /* cached leaf: number of the edge to expand, starting with this entry       */
    float prior;          /* softmax of the prior logits                                         */
} __attribute__((aligned(16))) cm_entry;

/* A node with all that belongs to it: pointers into the tree. What belongs to entry i stands at [i * step]: numbers of
 * cm_entry, or, for the rules that read priors and visits, rows of their own. In lists the first `count` are in use;
 * what stands after them is for vectors (batched_backup.inc). */
typedef struct cm_node_view {
    int32_t slot;
    int32_t step; /* 4 (cm_entry) or 1 */
    bool is_list; /* not dense */
    cm_node *node;
    cm_node_cold *cold;
    float *q, *weight; /* as in cm_entry; in lists with GUMBEL weight is the logit         */
    int32_t *leaf;
    float *prior;
    int32_t *visits; /* only in rows of their own: times followed                          */
    int32_t *child;  /* [capacity] slot; dense: the node's own where there is no child     */
    float *logit;    /* [capacity] only dense with GUMBEL: prior logit, -inf: not there    */
    int32_t *action; /* [capacity] only in lists: column                                   */
    float *open;     /* only in lists: [columns] PUCT, chance: prior; GUMBEL: logit; -inf: not there, or expanded */
} cm_node_view;

/* What a finished search says of a root, next to its visits and Q-values. */
typedef struct cm_summary {
    float value, raw_value;    /* mean of the returns; of the model                  */
    float fill, shift, factor; /* GUMBEL: the q-transform at the root (qtransform.h) */
    int32_t error;             /* cm_tree_error; not written where the host has the tree   */
} cm_summary;

/* Where the model gave a number that is not finite. */
typedef enum cm_tree_error { CM_TREE_ERROR_NONE, CM_TREE_ERROR_ROOT, CM_TREE_ERROR_NODE } cm_tree_error;

/* The batched backup (batched_backup.inc): the roots of a growth, those with the longest path first. Arrays are [B],
 * rounded up to 16. */
typedef struct cm_batched_backup {
    int32_t *place;       /* of each row of the batch here                          */
    int32_t *active;      /* [N+1] roots whose path begins at this depth or deeper   */
    int32_t *root;        /* number of the root                                     */
    unsigned char **tree; /* node 0 of its tree                                     */
    unsigned char **at;   /* the node to go on with                                 */
    float *g;             /* return seen from that node                             */
    int32_t *leaf;        /* at the root: the edge to expand                        */
} cm_batched_backup;

struct cm_lanes;

typedef struct cm_tree {
    cm_search_params params;
    const struct cm_lanes *lanes; /* in a kernel: those that share a root (device/cuda/lanes.h)   */
    int batch, slots;             /* B, N + 1                                                       */
    int num_actions, num_chance;  /* A, C                                                           */
    bool is_dense;                /* order of the entries                                           */
    bool has_statistics;          /* rows of priors and visits                                      */
    int columns;                  /* max(A, C), rounded up to 8                                     */
    int capacity;                 /* entries: dense 2, 4 or 8; lists: the most children of a node and an open action,
                                     rounded up to 4 or to 8s                                       */
    int shift;                    /* bits of an entry in the number of an edge                      */
    int max_depth;                /* >= 1; INT32_MAX: no limit                                      */
    int considered_rows;          /* rows of `considered`                                           */
    size_t rows_at;               /* bytes before the entries of a node                             */
    size_t node_bytes, cold_bytes;

    unsigned char *nodes; /* [B, N+1] blocks of node_bytes: cm_node, in lists cm_node_cold; cm_entry and, with GUMBEL, a
                             row logit, or rows q, weight, leaf, prior, visits. One more node after them for vectors
                             that are not full */
    unsigned char *cold;  /* [B, N+1] blocks of cold_bytes: dense cm_node_cold; rows child, action   */
    float *open;          /* [B, N+1, columns] lists                                            */
    uint8_t *is_used;     /* [B, N+1] 1 where the slot holds a node of this search              */
    uint8_t *is_chance;   /* [B, N+1] 1 for chance nodes                                        */
    int32_t *root_leaf;   /* [B + 1]  number of the edge that each root expands next            */
    float *root_value;    /* [B]      raw value of a fresh root                                 */
    int32_t *root_valid;  /* [B]      actions that may be played                                */
    int32_t *root_open;   /* [B]      GUMBEL: the open action that the root selects             */
    float *root_logits;   /* [B, A]   after noise and mask                                      */
    float *root_noise;    /* [B, A]   GUMBEL: g + logits - max logits; vectors read more        */
    int32_t *root_visits; /* [B, A]                                                             */
    float *root_q;        /* [B, A]   0 where not visited                                       */
    cm_summary *summary;  /* [B]      of the finished search                                    */
    float *scratch;       /* [4, max(columns, capacity)]                                        */
    cm_batched_backup backup; /* where the host has the trees                                       */

    float *explore;      /* [N + 3] sqrt(visits) * pb_c(visits), for PUCT                       */
    float *reciprocal;   /* [N + 3] 1 / i                                                       */
    int32_t *considered; /* [considered_rows, N] sequential halving                             */
} cm_tree;

static CM_HD inline size_t cm_tree_index(const cm_tree *tree, int b, int slot) {
    return (size_t)b * (size_t)tree->slots + (size_t)slot;
}

static CM_HD inline cm_node *cm_tree_node(const cm_tree *tree, int b, int slot) {
    return (cm_node *)(void *)(tree->nodes + cm_tree_index(tree, b, slot) * tree->node_bytes);
}

static CM_HD inline cm_node_view cm_tree_view(const cm_tree *tree, int b, int slot) {
    size_t index = cm_tree_index(tree, b, slot), n = (size_t)tree->capacity, row = tree->has_statistics ? n : 1;
    cm_node *node = (cm_node *)(void *)(tree->nodes + index * tree->node_bytes);
    unsigned char *cold = tree->cold + index * tree->cold_bytes;
    float *rows = (float *)(void *)((unsigned char *)node + tree->rows_at);
    int32_t *child = (int32_t *)(void *)(cold + (tree->is_dense ? sizeof(cm_node_cold) : 0));
    cm_node_view view;
    view.slot = slot;
    view.step = tree->has_statistics ? 1 : 4;
    view.is_list = !tree->is_dense;
    view.node = node;
    view.cold = tree->is_dense ? (cm_node_cold *)(void *)cold : (cm_node_cold *)(void *)(node + 1);
    view.q = rows;
    view.weight = rows + row;
    view.leaf = (int32_t *)(void *)(rows + 2 * row);
    view.prior = rows + 3 * row;
    view.visits = (int32_t *)(void *)(rows + 4 * row);
    view.child = child;
    view.logit = rows + 4 * n;
    view.action = child + n;
    view.open = tree->open + (tree->is_dense ? 0 : index * (size_t)tree->columns);
    return view;
}

static CM_HD inline float *cm_view_q(const cm_node_view *view, int entry) { return view->q + entry * view->step; }
static CM_HD inline float *cm_view_weight(const cm_node_view *view, int entry) {
    return view->weight + entry * view->step;
}
static CM_HD inline int32_t *cm_view_leaf(const cm_node_view *view, int entry) {
    return view->leaf + entry * view->step;
}
static CM_HD inline float *cm_view_prior(const cm_node_view *view, int entry) {
    return view->prior + entry * view->step;
}

/* The number of an edge, and what it stands for. */
static CM_HD inline int32_t cm_tree_edge(const cm_tree *tree, int32_t slot, int32_t entry) {
    return slot << tree->shift | entry;
}
static CM_HD inline int32_t cm_tree_slot_of(const cm_tree *tree, int32_t edge) { return edge >> tree->shift; }
static CM_HD inline int32_t cm_tree_entry_of(const cm_tree *tree, int32_t edge) {
    return edge & ((1 << tree->shift) - 1);
}

/* Entries of a node that may have children; an entry has one if it is not open. */
static CM_HD inline int cm_tree_entries(const cm_tree *tree, const cm_node_view *view) {
    return tree->is_dense ? tree->num_actions : view->cold->count;
}
static CM_HD inline bool cm_view_is_open(const cm_node_view *view, int entry) {
    return view->is_list ? entry >= view->cold->count : view->child[entry] == view->slot;
}

/* The column of an entry that is not open. */
static CM_HD inline int32_t cm_view_action(const cm_node_view *view, int entry) {
    return view->is_list ? view->action[entry] : entry;
}

/* The action that leads to a node, CM_NONE: root. */
static CM_HD inline int32_t cm_tree_action_to(const cm_tree *tree, int b, int slot) {
    if (slot == CM_ROOT) return CM_NONE;
    int32_t parent_edge = cm_tree_node(tree, b, slot)->parent_edge;
    cm_node_view above = cm_tree_view(tree, b, cm_tree_slot_of(tree, parent_edge));
    return cm_view_action(&above, cm_tree_entry_of(tree, parent_edge));
}

/* Sets the number of visits, and what the next one will use. (What is read stands before what is written, so that one
 * need not wait for the other.) */
static CM_HD inline void cm_tree_count(const cm_tree *tree, cm_node *node, int32_t visits) {
    bool is_puct = tree->params.interior_rule == CM_RULE_PUCT;
    float share = tree->reciprocal[visits + 1], explore = is_puct ? tree->explore[visits + 1] : 0.0f;
    node->visits = visits;
    node->share = share;
    if (is_puct) node->explore = explore;
}

/* Whether chance selects below a node. */
static CM_HD inline bool cm_tree_is_chance(const cm_tree *tree, int b, int slot) {
    return tree->num_chance > 0 && tree->is_chance[cm_tree_index(tree, b, slot)];
}

/* Columns in use at a node. */
static CM_HD inline int cm_tree_width(const cm_tree *tree, int b, int slot) {
    return cm_tree_is_chance(tree, b, slot) ? tree->num_chance : tree->num_actions;
}

#ifdef __cplusplus
}
#endif
#endif
