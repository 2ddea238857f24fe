/* Defaults for the task of a new run, where no recipe and no file says how to train it (run/task_defaults.h). */
#ifndef CM_RUN_FIT_H
#define CM_RUN_FIT_H

#include "run/resolve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plays the environment that a given value names and suggests settings to `config`, which holds all that was given;
 * cm_config_recipe then tells them. Where something is named or a recipe was taken nothing is played, and only what the
 * shape of observations asks for is suggested. Nothing, where the sources fit no task or the environment does not open:
 * the training finds out why. Collective for the ranks of sources->comm. Errors: those of the ranks' talk. */
cm_status cm_run_fit(const cm_sources *sources, const cm_configuration *configuration, cm_config *config) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
