#include "run/fit.h"

#include <stdio.h>

#include "run/session.h"
#include "run/task_defaults.h"

/* Whether the environment is played: no recipe, and no file, was taken for it. */
static bool is_played(const cm_sources *sources, const cm_config *config) {
    return !sources->named && *cm_config_recipe(config) == '\0' &&
           cm_config_source_of(config, "env_name") >= CM_FROM_SET;
}

/* Whether the network may still be chosen: a file that is named means all that it says. */
static bool is_network_free(const cm_sources *sources, const cm_config *config) {
    const cm_config_source most = sources->named ? CM_FROM_DEFAULT : CM_FROM_FILE;
    return cm_config_source_of(config, "family") <= most && cm_config_source_of(config, "preset") <= most;
}

/* As rank 0 sees it: a slow environment shows each another number of steps. No steps: it cannot be played. */
static cm_status survey(cm_comm *comm, const cm_env *env, bool is_open, cm_env_survey *seen) {
    const bool is_mine = is_open && (!comm || comm->rank == 0);
    const double seconds = 1.0; /* the user waits for it */
    if (is_mine && cm_env_survey_measure(env, seconds, seen) != CM_OK) seen->steps = 0;
    return comm ? comm->broadcast(comm, seen, sizeof *seen, 0) : CM_OK;
}

static void tell(cm_config *config, const char *why) {
    char text[CM_TASK_LINE + 128];
    const char *recipe = cm_config_recipe(config);
    snprintf(text, sizeof text, "%s%s%s", recipe, *recipe && *why ? "; " : "", why);
    cm_config_set_recipe(config, text);
}

cm_status cm_run_fit(const cm_sources *sources, const cm_configuration *configuration, cm_config *config) {
    char why[CM_TASK_LINE];
    cm_env_survey seen = {0};
    cm_env env;
    const bool plays = is_played(sources, config);
    if (!sources->fits_task || (!plays && !is_network_free(sources, config))) return CM_OK;
    const bool is_open = cm_session_env(&configuration->env, &env) == CM_OK;
    if (plays) CM_TRY(survey(sources->comm, &env, is_open, &seen));
    if (!is_open || (plays && seen.steps == 0)) return CM_OK;
    cm_task_defaults_apply(&env.spec, plays ? &seen : NULL, config, why);
    tell(config, why);
    return CM_OK;
}
