/* Defaults for the task of a new run, where no recipe and no file says how to train it (run/task_defaults.h). */
#ifndef CM_CLI_FIT_H
#define CM_CLI_FIT_H

#include "cli/command.h"
#include "run/configuration.h"

/* Plays the environment that the command line names and suggests settings to `config`, which holds all that was given;
 * cm_config_recipe then tells them. Where --config or a recipe was taken nothing is played, and only what the shape of
 * observations asks for is suggested. Nothing, where the command fits no task or the environment does not open: who
 * trains finds out why. Collective for the ranks of arguments->comm. Errors: those of the ranks' talk. */
cm_status cm_cli_fit(const cm_arguments *arguments, const cm_configuration *configuration,
                     cm_config *config) CM_MUST_USE;
#endif
