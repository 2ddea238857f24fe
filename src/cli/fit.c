#include "cli/fit.h"

#include "run/session.h"
#include "run/task_defaults.h"

static bool is_open(const cm_arguments *arguments, const cm_config *config) {
    return arguments->command->fits_task && !arguments->is_mute && !cm_argument_given(arguments, "--config") &&
           *cm_config_recipe(config) == '\0' && cm_config_source_of(config, "env_name") >= CM_FROM_SET;
}

cm_status cm_cli_fit(const cm_arguments *arguments, const cm_configuration *configuration, cm_config *config) {
    char why[CM_TASK_LINE];
    cm_env_survey seen = {0};
    cm_env env;
    if (!is_open(arguments, config)) return CM_OK;
    const bool is_there =
        cm_session_env(&configuration->env, &env) == CM_OK && cm_env_survey_take(&env, &seen) == CM_OK;
    if (!is_there) seen.steps = 0;
    /* A slow environment shows each rank another number of steps. */
    if (arguments->comm) CM_TRY(arguments->comm->broadcast(arguments->comm, &seen, sizeof seen, 0));
    if (!is_there || seen.steps == 0) return CM_OK;
    cm_task_defaults_apply(&env.spec, &seen, config, why);
    cm_config_set_recipe(config, why);
    return CM_OK;
}
