/* A run of several ranks: what of the configuration each takes, and what they agree on.
 *
 * All counts of a configuration are those of the whole run. Every rank has its share of the environments, of the rows
 * of a batch and of the replay, acts and samples by itself, and learns with all others. Each writes its replay and its
 * environments to checkpoints (run_data.c); all else in the run's folder is written by rank 0, which alone speaks. In
 * an evaluation each plays its share of the episodes, and all know the results.
 */
#ifndef CM_RUN_RANKS_H
#define CM_RUN_RANKS_H

#include "agent/acting.h"
#include "distributed/comm.h"
#include "run/configuration.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Errors: CM_ERR_INPUT names the first key whose count the ranks cannot share evenly, and the nearest one that they
 * can; for a run that goes on, whose counts are fixed, the largest smaller number of ranks that can share all. */
cm_status cm_ranks_check(const cm_configuration *configuration, int ranks, bool resumes) CM_MUST_USE;

/* counts <- those of all ranks together: sums, and means over the recent episodes of all. Collective. */
cm_status cm_ranks_count(cm_comm *comm, cm_actor_counts *counts) CM_MUST_USE;

/* CM_OK if a text [bytes] is the same on every rank; else all return CM_ERR_INPUT, which names the first line in which
 * a rank differs from rank 0. Before anything is made by what it says. Collective. */
cm_status cm_ranks_compare(cm_comm *comm, const char *text, size_t bytes) CM_MUST_USE;

/* values[count] <- each the lowest of all ranks; those of ranks where it is NAN do not count. Collective. */
cm_status cm_ranks_lowest(cm_comm *comm, double *values, int count) CM_MUST_USE;

/* *flag <- whether it is true on any rank. Collective. */
cm_status cm_ranks_any(cm_comm *comm, bool *flag) CM_MUST_USE;

/* CM_OK if `status` is that on every rank; else all return the status of the lowest rank that has another one, with its
 * message. Collective. */
cm_status cm_ranks_agree(cm_comm *comm, cm_status status) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
