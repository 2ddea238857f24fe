/* Communication between the ranks of a run: one process per device, data parallel.
 *
 * A cm_comm is a table of functions and a context. The single-process implementation is always built, so that nobody
 * needs to ask how many ranks there are. Reductions give the same bits for any number of ranks that hold the same
 * chunks: they add in the fixed binary tree that the trainer uses within a rank.
 */
#ifndef CM_DISTRIBUTED_COMM_H
#define CM_DISTRIBUTED_COMM_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_comm {
    const char *name;
    int rank, size; /* rank in [0, size) */
    int local_rank; /* which device of its machine a rank takes */
    void *context;
    cm_status (*barrier)(struct cm_comm *comm);
    cm_status (*broadcast)(struct cm_comm *comm, void *data, size_t bytes, int root);
    /* data[n] <- sum over ranks, on every rank */
    cm_status (*all_reduce)(struct cm_comm *comm, float *data, size_t n);
    cm_status (*all_reduce_double)(struct cm_comm *comm, double *data, size_t n);
    void (*abort_all)(struct cm_comm *comm); /* ends every rank; this one goes on to report its error */
    void (*close)(struct cm_comm *comm);
} cm_comm;

/* One process alone: rank 0 of 1; every operation leaves the data as it is. */
void cm_comm_single(cm_comm *out);

#ifdef __cplusplus
}
#endif
#endif
