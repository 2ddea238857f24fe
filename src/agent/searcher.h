/* Searches of many positions that are not being played, by threads of its own: what reanalyse.h and rolling.h share.
 *
 * A search is that of acting: the agent's weights, its simulations, root noise where it is wanted. Its result depends
 * on the position, its key and its step alone: not on threads, nor on what is searched with it.
 *
 * Letters: O observation elements, P entries of a policy.
 */
#ifndef CM_AGENT_SEARCHER_H
#define CM_AGENT_SEARCHER_H

#include "agent/agent.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_searcher_config {
    cm_agent *agent;     /* borrowed; acts on the network's own dynamics */
    int most;            /* positions of one call, at least 0 */
    int rows_on_device;  /* roots of one search where the trees lie on a device, at least 1 */
    int threads;         /* at least 1 */
    bool with_noise;     /* at the root */
    bool has_mask;       /* not every action is always legal */
    const cm_stop *stop; /* borrowed; searches are broken off once it is asked; NULL: never */
} cm_searcher_config;

typedef struct cm_searcher cm_searcher;

/* Takes all memory and the threads. The caller owns it. Errors: CM_ERR_INPUT if the agent searches on rules, which
 * needs states; CM_ERR_MEMORY. */
cm_status cm_searcher_create(const cm_searcher_config *config, cm_searcher **out) CM_MUST_USE;
void cm_searcher_destroy(cm_searcher *searcher);        /* NULL is allowed */
size_t cm_searcher_memory(const cm_searcher *searcher); /* bytes, for the plan; NULL has 0 */

/* What a root is, to be filled in. */
typedef struct cm_searched_root {
    float *observation; /* [O] */
    uint8_t *legal;     /* [P] */
    cm_key *key;        /* of its noise */
    uint64_t *step;     /* likewise */
} cm_searched_root;

/* What its search found. */
typedef struct cm_searcher_found {
    float *weights;  /* [P] the policy's output; may be written to */
    float value;     /* mean of the returns at the root */
    float raw_value; /* of the network at the root */
} cm_searcher_found;

/* Positions 0 .. count - 1. Both are called by several threads, for each position once. */
typedef struct cm_searched {
    int count; /* at most config.most */
    void *context;
    void (*place)(void *context, int position, const cm_searched_root *root);
    cm_status (*keep)(void *context, int position, const cm_searcher_found *found);
} cm_searched;

/* One call at a time. Not while the agent's weights change. Errors: those of the search and of `keep`,
 * CM_ERR_INTERRUPTED among them; some positions have been kept then. */
cm_status cm_searcher_run(cm_searcher *searcher, const cm_searched *positions) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
