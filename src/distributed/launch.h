/* Starting the ranks of a run, and finding those that a launcher has started.
 *
 * There is one program. `cumind train --num-devices 4` starts four copies of itself under mpirun and watches over them.
 * A copy, like a process that a user started with mpirun or srun, learns its rank from the launcher's variables.
 */
#ifndef CM_DISTRIBUTED_LAUNCH_H
#define CM_DISTRIBUTED_LAUNCH_H

#include <stdio.h>

#include "distributed/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The launcher of this process. */
typedef struct cm_launch_found {
    const char *launcher; /* "mpirun" or "srun"; NULL: none that starts ranks */
    int ranks;            /* of the job; 1 without a launcher */
} cm_launch_found;

cm_launch_found cm_launch_find(void);

/* CM_OK, or CM_ERR_INPUT if srun has started this process with nothing by which MPI could find the other ranks. */
cm_status cm_launch_check_found(const cm_launch_found *found) CM_MUST_USE;

/* From now on a rank of mpirun ends when that does, however it does: what it would have to say goes nowhere then. */
void cm_launch_follow(const cm_launch_found *found);

typedef struct cm_launch {
    int ranks;          /* to be started, on this machine or in the allocation of SLURM that we are in; at least 1 */
    bool oversubscribe; /* more ranks than processors are wanted */
    bool keeps_nothing; /* ranks that are asked to stop have nothing to save: they are ended at once */
    char *const *argv;  /* of this program, NULL after the last: what every rank is called with */
    FILE *output;       /* takes what the ranks print, borrowed; NULL: stdout */
} cm_launch;

/* The line by which rank 0 answers a request to stop, on its stderr: mpirun drops those that come before it has started
 * the ranks, and dies of those that come when they have ended, so it is asked again until this is read. */
#define CM_LAUNCH_HEARD "cumind: the ranks have been asked to stop"

/* Ranks that mpirun has space for in the allocation of SLURM that we are in, on machines that it is told of; 0: in
 * none.
 */
int cm_launch_allocated(void);

/* CM_OK if the ranks find a processor each on this machine, or a task each in the allocation, or need none; else
 * CM_ERR_INPUT. */
cm_status cm_launch_check(const cm_launch *launch) CM_MUST_USE;

/* Starts the ranks under mpirun, as this program, and waits for the end of all. Meanwhile SIGINT, SIGTERM, SIGHUP,
 * SIGUSR1, SIGUSR2 and SIGXCPU are passed on to every rank as SIGUSR1, a request to stop (a SIGHUP that is ignored
 * stays so); a second SIGINT or SIGTERM ends them at once. Where nothing comes of it, and no rank says that it still
 * works, mpirun and all ranks are killed after some seconds, which one line says. SIGTSTP stops them and this process,
 * and they go on with it. With `keeps_nothing` the first request ends the ranks, and is raised again when all have
 * ended, for the handlers that the caller had. What the launcher itself has to say about a rank that died, or its own
 * death, becomes one line on stderr. *status is the exit status of the job: that of the first rank that failed, 128 +
 * number if a signal ended it, also if that came before the ranks could hear of it, which one line says. Errors:
 * CM_ERR_ABSENT if there is no mpirun, CM_ERR_IO, also if the ranks ended well and what they printed could not be
 * written, although somebody reads it. */
cm_status cm_launch_run(const cm_launch *launch, int *status) CM_MUST_USE;

/* Ranks of one machine that may use the same processors (no launcher has bound them) divide these: each keeps to its
 * share. Collective. Where there are more ranks than processors several have the same one. */
cm_status cm_launch_bind(cm_comm *comm) CM_MUST_USE;

/* ---- for tests ---- */

/* What becomes of the launcher's messages. One line goes in (without its end), what is to be said comes out in `out`,
 * "" if nothing. Frames of dashes are opened and closed by lines of "-----". */
enum { CM_LAUNCH_TEXT = 4096 };
typedef struct cm_launch_filter {
    bool in_frame;
    char frame[CM_LAUNCH_TEXT]; /* its lines so far */
} cm_launch_filter;
void cm_launch_filter_line(cm_launch_filter *filter, const char *line, char out[CM_LAUNCH_TEXT]);

#ifdef __cplusplus
}
#endif
#endif
