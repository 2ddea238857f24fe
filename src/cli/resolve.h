/* What the command line says of a configuration, for run/resolve.h. */
#ifndef CM_CLI_RESOLVE_H
#define CM_CLI_RESOLVE_H

#include "cli/command.h"
#include "run/resolve.h"

enum { CM_CLI_GIVEN = CM_VALUES + 8 };

/* Where the values lie that the flags give. */
typedef struct cm_cli_given {
    cm_given row[CM_CLI_GIVEN];
    int count;
    char seconds[40]; /* of --time */
} cm_cli_given;

/* Values of --set and of flags of their own, in this order; --config; and configuration.json here. `run`: the folder of
 * a run, for which no recipe is asked; NULL without one. `out` borrows `given`. Errors: CM_ERR_INPUT. */
cm_status cm_cli_sources(const cm_arguments *arguments, const char *run, cm_cli_given *given,
                         cm_sources *out) CM_MUST_USE;

/* For a command that takes NAME and the flags --config and --env: gives NAME, where there is one, to the flag that it
 * stands for. An environment is one for --env, another recipe's name and a file FILE.json are one for --config. Errors:
 * CM_ERR_INPUT if that flag is given, too, or if the word belongs after another flag. */
cm_status cm_cli_resolve_name(cm_arguments *arguments) CM_MUST_USE;
#endif
