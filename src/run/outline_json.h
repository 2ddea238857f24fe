/* A search tree as JSON, for pages that show it (run/tree_view.js), and the search that it is of. */
#ifndef CM_RUN_OUTLINE_JSON_H
#define CM_RUN_OUTLINE_JSON_H

#include "agent/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is searched, without noise and with the simulations of evaluation; all borrowed. */
typedef struct cm_outline_search {
    cm_agent *agent;
    const cm_env *env;
    const void *state;   /* [state_size] a position that has not ended */
    const char *moves;   /* how it came about, for people; NULL: not told */
    const cm_stop *stop; /* ends the search early; NULL: nothing does */
    int most_nodes;      /* of the text, >= 1: CM_OUTLINE_MOST */
    size_t most_bytes;   /* of the text; drawings are left out for it, and nothing else. 0: any */
} cm_outline_search;

typedef struct cm_outline_text {
    char *json; /* [size], and a NUL; owned */
    size_t size;
    int nodes, left_out; /* nodes of the tree that are in it, and that are not */
    int drawings;        /* nodes with a drawing */
    int64_t simulations; /* of the search */
    bool is_cut;         /* the search was ended early */
} cm_outline_text;

/* Searches the position and writes its tree. The text is an object:
 *   task, players (1 or 2), moves, simulations, left_out (nodes), is_exact (the rules are the model), mean (of the
 * returns at the root), chosen (number of the node that the agent's move leads to, -1: none); names: of moves, "outcome
 * 3" of chance, "draw 2" of actions that are not known; depth, name (of the move that leads here, a number of `names`),
 * visits, q (reward + discount * value, seen by the player who chose), prior, value (of the model, seen by the player
 * to move), reward: [nodes], the root first, with 0 where an edge leads to none; children stand after their parent,
 * best first; kind: a letter a node (cm_outline_kind); mover: a digit a node, 0 or 1; chance: the numbers of chance
 * nodes; hidden: [node, n, ...], nodes with n children that are left out; boards: as cm_outline_boards_put. No "<" is
 * in it, so that it may stand in a page as it is. Errors: those of the search (CM_ERR_INTERRUPTED only where no
 * simulation was made), CM_ERR_INPUT for a position after the end, or where actions cannot be listed. */
cm_status cm_outline_text_create(const cm_outline_search *search, cm_outline_text *out) CM_MUST_USE;
void cm_outline_text_destroy(cm_outline_text *text); /* leaves it empty */

#ifdef __cplusplus
}
#endif
#endif
