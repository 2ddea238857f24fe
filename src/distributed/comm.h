/* Communication between the ranks of a run: one process per device, data parallel.
 *
 * A cm_comm is a table of functions and a context. There are two kinds: `single`, one process alone, which is always
 * built; and `mpi`, a module (lib/cumind_mpi.so) that is opened when ranks are found. No caller needs to ask for the
 * number of ranks. All calls but rank, size and abort_all are collective: every rank makes the same calls in the same
 * order, from one thread at a time.
 *
 * The order of sums. all_reduce adds the ranks' numbers in a fixed binary tree by rank number: level by level, rank i
 * adds those of rank i + 1, then i + 2, i + 4, ... This tree continues the one in which a rank sums its own chunks
 * (trainer/optimizer.h). So
 *   - the same numbers give the same bits each time: the MPI library only moves data;
 *   - one rank and many give the same bits, if the batch is cut into the same chunks whatever the number of ranks, and
 *     each rank has a power of two of neighbouring chunks. Each rank then sums an aligned sub-tree, and the ranks sum
 * the rest of the same tree.
 *
 * Devices. Once the ranks' devices are joined (cm_comm_join_devices), NCCL sums and gathers what lies on them; all else
 * stays as it is. NCCL has an order of its own. Two ranks have only one order, which gives the bits of the tree; among
 * more ranks the sums equal those of the tree to rounding. All ranks get the same bits in any case.
 *
 * Faults. Each rank hears a beat of the rank before it every second or so, whatever its main thread does. A silent rank
 * (dead, stopped, cut off) is named in one line on the log, and the job ends at most `timeout` seconds after the last
 * beat. It is given up 5 s before that, or at half of the time if that is later, because mpirun may wait some seconds
 * for a machine that it no longer reaches. The same limit holds for a rank that does not join.
 */
#ifndef CM_DISTRIBUTED_COMM_H
#define CM_DISTRIBUTED_COMM_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_comm cm_comm;

struct cm_comm {
    const char *name;
    int rank, size;             /* rank in [0, size) */
    int local_rank, local_size; /* among the ranks of this machine: which device of it a rank takes */
    bool oversubscribe;         /* several ranks may share a device; set by the caller */
    void *context;
    void *joined;        /* of cm_comm_join_devices */
    size_t device_bytes; /* that joining takes of each rank's device, about; 0 before */
    cm_status (*barrier)(cm_comm *comm);
    cm_status (*broadcast)(cm_comm *comm, void *data, size_t bytes, int root);
    /* all[size, bytes] <- every rank's mine[bytes], by rank number; `mine` may be its place in `all` */
    cm_status (*all_gather)(cm_comm *comm, const void *mine, size_t bytes, void *all);
    /* data[n] <- sum over ranks in the tree above, on every rank. Memory for it is taken by the first call of a size.
     */
    cm_status (*all_reduce)(cm_comm *comm, float *data, size_t n);
    cm_status (*all_reduce_double)(cm_comm *comm, double *data, size_t n);
    /* The same of data on this rank's device, in the order of its stream's `queue` (cm_stream_queue): nothing is waited
     * for. NULL before cm_comm_join_devices. Errors: CM_ERR_DEVICE, also for what went wrong since the last call. */
    cm_status (*sum_on)(cm_comm *comm, void *queue, float *data, size_t n);
    cm_status (*gather_on)(cm_comm *comm, void *queue, const void *mine, size_t bytes, void *all);
    /* ends every other rank, and this process with exit status `code` if there are others; else it returns */
    void (*abort_all)(cm_comm *comm, int code);
    void (*close)(cm_comm *comm); /* collective, too; after an error it is left out */
};

/* One process alone: rank 0 of 1; every operation leaves the data as it is. */
void cm_comm_single(cm_comm *out);

typedef struct cm_comm_options {
    double timeout; /* seconds after the last sign of life of a rank at which the job has ended; > 0 */
} cm_comm_options;

/* CM_OK if the module of MPI is there; else CM_ERR_ABSENT says how to get it. Opens nothing. */
cm_status cm_comm_check_mpi(void) CM_MUST_USE;

/* Joins the ranks that an MPI launcher has started, of which this process is one. Errors: CM_ERR_ABSENT if the module
 * is not built or its library is missing, CM_ERR_DEVICE if MPI refuses. */
cm_status cm_comm_open_mpi(const cm_comm_options *options, cm_comm *out) CM_MUST_USE;

/* Gives several ranks sum_on and gather_on, over NCCL, between the CUDA devices that are current in the threads that
 * call this: their backends have just been opened. `shared`: another rank has this one's device, so that this one
 * has to look to NCCL like one on a machine of its own; it may differ between ranks. Collective; until `close`. Errors:
 * CM_ERR_ABSENT without NCCL's library, CM_ERR_DEVICE if NCCL refuses. */
cm_status cm_comm_join_devices(cm_comm *comm, bool shared) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
