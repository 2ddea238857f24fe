/* The ranks of a command: starts them, or joins those that a launcher has started. */
#ifndef CM_CLI_RANKS_H
#define CM_CLI_RANKS_H

#include "cli/command.h"
#include "distributed/comm.h"

#define CM_FLAGS_RANKS                                                                                                 \
    {"--num-devices", "N",                                                                                             \
     "Train on N devices of this machine: as many processes, under mpirun. All counts are those "                      \
     "of the whole run."},                                                                                             \
    {                                                                                                                  \
        "--oversubscribe", NULL, "Allow more of them than the machine has processors, or GPUs."                        \
    }

typedef struct cm_cli_ranks {
    bool is_over; /* the ranks were started, and have ended with the status that is now arguments->verdict */
    cm_comm comm; /* else */
} cm_cli_ranks;

/* Says what --num-devices and the launcher, if there is one, mean. Checks the rest of the command line before it starts
 * anything. Errors: CM_ERR_INPUT, CM_ERR_ABSENT, CM_ERR_DEVICE. */
cm_status cm_cli_ranks_open(cm_arguments *arguments, cm_cli_ranks *out) CM_MUST_USE;

/* Leaves the ranks. If `status` is an error of one of several, it is reported here and ends all: it does not return.
 * The ranks after the first wait some seconds before they speak, as an error is often one of all. */
void cm_cli_ranks_close(cm_cli_ranks *ranks, cm_status status);
#endif
