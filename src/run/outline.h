/* The outline of a search tree: its nodes in the order in which a page lists them, a node before what lies below it,
 * siblings by visits (among equals by prior, then by age). */
#ifndef CM_RUN_OUTLINE_H
#define CM_RUN_OUTLINE_H

#include "mcts/search.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_OUTLINE_MOST = 10000 }; /* nodes of a page */

/* Arrays are [count], owned; a zeroed struct is empty. Node 0 is the root. */
typedef struct cm_outline {
    const cm_search *trees; /* borrowed, like what it was made of: valid until its next run */
    int row;                /* of the trees */
    int count, left_out;    /* nodes here, and those that there was no place for */
    int32_t *slot;          /* in the tree */
    int32_t *parent;        /* number of the node; the root's is -1 */
    int32_t *depth;         /* edges from the root */
    int32_t *hidden;        /* children that were left out */
    int32_t *by_visits;     /* all nodes by visits, a parent before its children */
} cm_outline;

/* The outline of tree `row` of a finished search whose trees have `slots` slots, N + 1. Of more than `most` >= 1 nodes
 * those with the most visits are kept, so that what lies above a node is there, too. Errors: CM_ERR_MEMORY. */
cm_status cm_outline_create(const cm_search *trees, int row, int slots, int most, cm_outline *out) CM_MUST_USE;
void cm_outline_destroy(cm_outline *outline); /* leaves it empty */

/* Node i as the search has it, and the edge that leads to it, i >= 1. */
cm_node_info cm_outline_node(const cm_outline *outline, int i);
cm_edge_info cm_outline_edge(const cm_outline *outline, int i);

#ifdef __cplusplus
}
#endif
#endif
