/* A run's agent (run/loaded.h) as the flags of a command ask for it. */
#ifndef CM_CLI_LOADED_H
#define CM_CLI_LOADED_H

#include "arena/time_limit.h"
#include "cli/output.h"
#include "run/loaded.h"

#define CM_FLAG_SIMULATIONS                                                                                            \
    { "--simulations", "N", "Simulations per move; without it those of the run's evaluation." }

#define CM_FLAGS_TIME                                                                                                  \
    {"--seconds-per-move", "TIME", "A move is decided in so long: 0.5, 2s; a search then has at most --simulations."}, \
    {                                                                                                                  \
        "--seconds-per-game", "TIME", "All moves of a player in a game take no longer: 30s, 5m."                       \
    }
#define CM_TIME_DETAILS                                                                                                \
    "With a limit of time a search ends by then, after at most as many simulations as without one: give more by "      \
    "--simulations. On a GPU a search is one launch, and is not broken off."

/* What these flags say. Errors: CM_ERR_INPUT for both, or for 0 seconds. */
cm_status cm_cli_time_control(const cm_arguments *arguments, cm_time_control *out) CM_MUST_USE;

/* Opens what the flags --run, --checkpoint, --simulations, --set and those of the machine say. Without --run there is a
 * session of the configuration of the other flags, and no agent. Errors: CM_ERR_INPUT, and those of reading the run;
 * nothing is left open then. */
cm_status cm_loaded_open(const cm_arguments *arguments, cm_loaded *out) CM_MUST_USE;

/* Another run with it: the checkpoint that plays (its best, else its latest), with the flags
 * --simulations, --set and those of the machine. Its pool has one thread, for it only packs weights. */
cm_status cm_loaded_open_other(const cm_arguments *arguments, const char *run, cm_loaded *out) CM_MUST_USE;
#endif
