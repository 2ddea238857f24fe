/* A run's agent, ready to play: configuration, session, agent with the weights of a checkpoint. */
#ifndef CM_CLI_LOADED_H
#define CM_CLI_LOADED_H

#include "agent/agent.h"
#include "cli/output.h"
#include "run/weights.h"

#define CM_FLAG_SIMULATIONS                                                                                            \
    { "--simulations", "N", "Simulations per move; without it those of the run's evaluation." }

/* All owned; a zeroed struct is empty. */
typedef struct cm_loaded {
    cm_config *config;
    cm_session *session;
    cm_agent *agent; /* NULL if there is no run */
    cm_run_facts facts;
} cm_loaded;

/* Opens what the flags --run, --checkpoint, --simulations, --set and those of the machine say. Without --run there is a
 * session of the configuration of the other flags, and no agent. Errors: CM_ERR_INPUT, and those of reading the run;
 * nothing is left open then. */
cm_status cm_loaded_open(const cm_arguments *arguments, cm_loaded *out) CM_MUST_USE;

/* Another run with it: the checkpoint that plays (its best, else its latest), with the flags
 * --simulations, --set and those of the machine. Its pool has one thread, for it only packs weights. */
cm_status cm_loaded_open_other(const cm_arguments *arguments, const char *run, cm_loaded *out) CM_MUST_USE;

void cm_loaded_close(cm_loaded *loaded); /* leaves it empty */
#endif
