/* The inside of the module of MPI: comm.c (the table, moving data), tree.c (sums), join.c (absent ranks), beat.c
 * (ranks that are alive), guard.c (a launcher that does not end). */
#ifndef CM_DISTRIBUTED_MPI_INTERNAL_H
#define CM_DISTRIBUTED_MPI_INTERNAL_H

#include "distributed/comm.h"

/* ---- tree.c ---- */

/* part[count, n] is summed into part[0] in the tree of comm.h; the other parts are changed. */
typedef void cm_tree_sum(void *part, int count, size_t n);
cm_tree_sum cm_tree_sum_floats, cm_tree_sum_doubles;

/* ---- join.c ---- */

typedef struct cm_join cm_join;

/* Before MPI begins: if cm_join_end does not come within the silence that beats are given, the process logs which ranks
 * have not come, as far as they are of this machine, and ends with the job. *out is NULL where Open MPI's variables are
 * not there. Errors: CM_ERR_MEMORY, CM_ERR_DEVICE. */
cm_status cm_join_begin(double timeout, cm_join **out) CM_MUST_USE;

/* All are there, or it has failed otherwise. NULL is allowed. */
void cm_join_end(cm_join *join);

/* ---- beat.c ---- */

/* Seconds without a sign after which a rank is given up, so that the job has ended after `timeout`. */
double cm_beat_silence(double timeout);

typedef struct cm_beat cm_beat;

/* Begins to send beats to the rank after this one and to hear those of the rank before it, on a thread and a
 * communicator of its own. `host` [size, width] are the machines of the ranks; borrowed. If 5 s less
 * than `timeout`, or half of it where that is more, pass without a beat, the thread logs the silent rank and ends the
 * job. Errors: CM_ERR_MEMORY, CM_ERR_DEVICE. */
cm_status cm_beat_start(const char *host, size_t width, double timeout, cm_beat **out) CM_MUST_USE;

/* Ends the thread; collective, and all ranks must have come to it. NULL is allowed. */
void cm_beat_stop(cm_beat *beat);

/* ---- guard.c ---- */

typedef struct cm_guard cm_guard;

/* On the first rank of each machine of a job that Open MPI has spread over several, starts a process that outlives this
 * one: if this process ends without cm_guard_stop, and mpirun or its daemon, whose child it was, has not ended some
 * seconds later, the guard ends that. On all other ranks *out is NULL. To be called before there are threads. Errors:
 * CM_ERR_MEMORY, CM_ERR_DEVICE. */
cm_status cm_guard_start(cm_guard **out) CM_MUST_USE;

/* All went well: the guard ends. NULL is allowed. */
void cm_guard_stop(cm_guard *guard);
#endif
