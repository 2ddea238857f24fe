/* Seeds that are trained in processes of their own, several at a time. */
#ifndef CM_CLI_SEED_JOBS_H
#define CM_CLI_SEED_JOBS_H

#include "cli/seeds.h"
#include "cli/view.h"

/* What the process of a seed is to know of those next to it. */
typedef struct cm_seed_place {
    int columns;     /* that its lines may have; 0: any number */
    double interval; /* seconds between its lines of progress; 0: as it is configured */
    uint64_t space;  /* its share of the memory that there was before the first of them, bytes */
} cm_seed_place;

/* Calls `count` in a process of its own and returns its status, message and number: reading a configuration may open an
 * environment in Python, whose processes those of the seeds could not share. Errors: CM_ERR_IO too. */
cm_status cm_seed_jobs_ask(cm_status (*count)(const cm_arguments *arguments, int *out), const cm_arguments *arguments,
                           int *out) CM_MUST_USE;

/* Begins a process for each seed, in order, `at_once` (at least 1) at a time, each on its share of the processors, and
 * waits for all. Returns twice: in such a process *own is its seed, and it calls cm_seed_jobs_heed, trains that, calls
 * cm_seed_jobs_hand_in if that went well, and ends as a command does; in the caller own is NULL, and the seeds have
 * what became of them.
 *
 * What a process prints is passed on line by line after "seed 3  "; with --json its lines get a member "train_seed".
 * On a terminal there is one line for each that runs, the last that it has printed. Of what they say on stderr nothing
 * is said twice, and errors are kept for cm_seeds_verdict. Where one has failed no other is begun.
 *
 * Meanwhile the first SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU asks all to stop; a second SIGINT or SIGTERM
 * kills them and ends this process, with status 128 + number. SIGTSTP stops them and this process, and they go on with
 * it. Processes end with this one. Errors: CM_ERR_IO if there
 * can be no process. */
cm_status cm_seed_jobs_run(const cm_arguments *arguments, cm_seeds *seeds, int at_once, cm_seed **own,
                           cm_seed_place *place) CM_MUST_USE;
void cm_seed_jobs_hand_in(const cm_seed *own);

/* In a seed's process, once it has handlers of its own: what asks it to stop waits until then. */
void cm_seed_jobs_heed(void);
#endif
