/* All simulations of a search on a device as one kernel: a table in the class of the backend (agent/cuda/). Without it
 * a simulation is several launches: those of its passes and one of the trees. */
#ifndef CM_AGENT_KERNELS_H
#define CM_AGENT_KERNELS_H

#include "mcts/kernels.h"
#include "network/inference.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The simulations of a search, after the launch that begins its trees. */
typedef struct cm_simulations {
    int count;                 /* N */
    const cm_tree_args *trees; /* borrowed while one is created */
    cm_call_list recurrent;    /* the calls of these passes, over the rows of the trees */
    cm_call_list afterstate;   /* with chance, before those; else without calls */
    /* Launched on the stream: what begins the trees, and one simulation. */
    cm_status (*begin)(void *context);
    cm_status (*simulate)(void *context);
    void *context;
} cm_simulations;

typedef struct cm_agent_kernels {
    /* Makes one launch of the simulations: *whole, the caller's until `destroy`, stays NULL where the passes are not
     * such that a few rows can go through them by themselves, or where it would take longer. That is measured: searches
     * run, so nothing in the trees or in the blocks of the passes may be of use yet. Errors: CM_ERR_DEVICE,
     * CM_ERR_MEMORY. */
    cm_status (*create)(cm_stream *stream, const cm_simulations *of, void **whole);
    /* All of them; the calls are where they were. May be under capture. Errors: CM_ERR_DEVICE. */
    cm_status (*launch)(cm_stream *stream, const void *whole);
    void (*destroy)(void *whole); /* NULL is allowed */
} cm_agent_kernels;

#ifdef __cplusplus
}
#endif
#endif
