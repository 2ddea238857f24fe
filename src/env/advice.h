/* What a name that opens no environment most likely means: one line with the right command. Internal to the folder. */
#ifndef CM_ENV_ADVICE_H
#define CM_ENV_ADVICE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CM_ERR_INPUT with the advice for a name that is no row of the registry: a source ("./grid.c"), a configuration, an id
 * that Gymnasium or a package of its users has ("LunarLander-v3", "ALE/Pong-v5", "gym:Taxi-v3"), a file of that name
 * here. CM_OK if there is none; nothing is opened for it. */
cm_status cm_env_advise(const char *name) CM_MUST_USE;

/* The same for what is only near such an id ("lunar-lander", "minigrid"). */
cm_status cm_env_advise_near(const char *name) CM_MUST_USE;

/* CM_ERR_INPUT: there is no file of this path. */
cm_status cm_env_fail_absent(const char *path) CM_MUST_USE;

/* CM_ERR_INPUT: the present message, of a "gymnasium:ID" that Python does not find, and after it which package to
 * install and how the id is written then, where that is known. */
cm_status cm_env_advise_package(const char *name) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
