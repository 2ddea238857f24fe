/* What the configuration of a command is made of, in this order, later over earlier:
 *
 *     a run's own config.json, where there is one | the built-in defaults, and on top of them the recipe of the
 *                                                 | environment that the command line names
 *     --config, a file or the name of a recipe; it takes the place of a recipe of the environment
 *     --set, and flags of their own (--seed, --env)
 *
 * Where there is none of these files, defaults may depend on the task (cli/fit.h). Without --config, and where the
 * command line names no environment that has a recipe, configuration.json here takes the place of --config. */
#ifndef CM_CLI_RESOLVE_H
#define CM_CLI_RESOLVE_H

#include "cli/command.h"
#include "run/configuration.h"

/* Gives a config that holds the defaults, of `configuration`, its values; they are not finished. `first`: the
 * configuration of a run, for which no recipe is asked; NULL without one. cm_config_recipe tells the recipe that was
 * taken unasked, "" for none. Errors: CM_ERR_INPUT. */
cm_status cm_cli_resolve(const cm_arguments *arguments, const char *first, const cm_configuration *configuration,
                         cm_config *config) CM_MUST_USE;

/* For a command that takes NAME and the flags --config and --env: gives NAME, where there is one, to the flag that it
 * stands for. An environment is one for --env, another recipe's name and a file FILE.json are one for --config. Errors:
 * CM_ERR_INPUT if that flag is given, too, or if the word belongs after another flag. */
cm_status cm_cli_resolve_name(cm_arguments *arguments) CM_MUST_USE;
#endif
