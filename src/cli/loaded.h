/* A run's agent (run/loaded.h) as the flags of a command ask for it. */
#ifndef CM_CLI_LOADED_H
#define CM_CLI_LOADED_H

#include "cli/output.h"
#include "run/loaded.h"

#define CM_FLAG_SIMULATIONS                                                                                            \
    { "--simulations", "N", "Simulations per move; without it those of the run's evaluation." }

/* Opens what the flags --run, --checkpoint, --simulations, --set and those of the machine say. Without --run there is a
 * session of the configuration of the other flags, and no agent. Errors: CM_ERR_INPUT, and those of reading the run;
 * nothing is left open then. */
cm_status cm_loaded_open(const cm_arguments *arguments, cm_loaded *out) CM_MUST_USE;

/* Another run with it: the checkpoint that plays (its best, else its latest), with the flags
 * --simulations, --set and those of the machine. Its pool has one thread, for it only packs weights. */
cm_status cm_loaded_open_other(const cm_arguments *arguments, const char *run, cm_loaded *out) CM_MUST_USE;
#endif
