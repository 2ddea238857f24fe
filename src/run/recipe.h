/* Recipes: configurations that are tuned for one environment. They are the files of configs/, whose texts are part of
 * the program, so that they are found from any folder and wherever it is installed. */
#ifndef CM_RUN_RECIPE_H
#define CM_RUN_RECIPE_H

#include "config/config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_recipe {
    const char *name; /* "connect4_muzero" */
    const char *file; /* "configs/connect4_muzero.json", as errors and origins call it */
    const char *text; /* JSON, ends with a NUL */
} cm_recipe;

/* The recipe of exactly this name, in capitals or not; NULL if there is none. */
const cm_recipe *cm_recipe_named(const char *name);

/* Recipe number `index` (from 0), in the order of their names; NULL after the last. */
const cm_recipe *cm_recipe_at(int index);

/* Whether the registry has an environment of this name. */
bool cm_recipe_is_environment(const char *name);

/* Whether a name is that of a file, FILE.json, and no recipe's. */
bool cm_recipe_is_file(const char *name);

/* Whether that is what train takes: a recipe or an environment of the registry. */
bool cm_recipe_is_known(const char *name);

/* CM_ERR_INPUT with the command that makes a run where `name`, given as the folder of one, is such a name and nothing
 * that exists. */
cm_status cm_recipe_advise_run(const char *name) CM_MUST_USE;

/* The recipe for an environment, NULL if there is none: of the registry ("connect4", "Acrobot-v1"; of a family, as for
 * "go13", the next larger size that has one, or the largest), or one that Gymnasium has ("gymnasium:LunarLander-v3",
 * "gymnasium:CartPole-v1"). Never loads code: a file of the user's has none. */
const cm_recipe *cm_recipe_for(const char *env_name);

/* Takes the values of the recipe that `name` names, as cm_config_read does those of a file; the name of an environment
 * of the registry means its recipe, and that environment. Errors: CM_ERR_INPUT for an unknown name, with the nearest
 * one, after `origin`, as "--config". */
cm_status cm_recipe_read(const char *name, const char *origin, cm_config *config) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
