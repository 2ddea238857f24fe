/* Recipes: configurations that are tuned for one environment, beside the sources (configs/) and where they were
 * installed. */
#ifndef CM_CLI_RECIPE_H
#define CM_CLI_RECIPE_H

#include <linux/limits.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The whole path of the recipe for an environment ("connect4", "Acrobot-v1", "gymnasium:LunarLander-v3"); false if
 * there is none. */
bool cm_recipe_find(const char *env_name, char path[PATH_MAX]);

#ifdef __cplusplus
}
#endif
#endif
