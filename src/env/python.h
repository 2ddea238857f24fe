/* Environments written in Python, played by processes next to this one: one that Gymnasium knows, or a class of a file.
 *
 * The state of such an environment is the seed of its episode, the actions since, and the results of its last step. Its
 * process keeps the Python object. If the object is gone, as after a resume, or has gone on, as for a copy, the actions
 * are played again. So the environment is saved, copied and compared like any other. Equal seeds and actions must give
 * equal episodes; cm_env_try checks that.
 */
#ifndef CM_ENV_PYTHON_H
#define CM_ENV_PYTHON_H

#include "core/stop.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "atari:Pong", "gymnasium:CartPole-v1", "gymnasium:PACKAGE:ID", the name that an environment is registered by, or
 * "gymnasium:ID,KEY=VALUE,..." with arguments of its constructor, or the path of a file that ends in .py. */
bool cm_env_is_python(const char *name);

/* "atari:Pong", "atari:ms_pacman", a game that the package ale-py has (docs/spec/atari.md), which is in Python, too. */
bool cm_env_is_atari(const char *name);

/* Starts a process that plays it, unless there is one, and gives its row and params->python for it. More processes, up
 * to one per processor, start as they are needed, but for Atari's games, of which one plays all; all end with this one.
 * Read of *params are the timeout, of the start, and what Atari's games take. Errors: CM_ERR_INPUT says what it lacks,
 * why its process has ended, or that 16 others are open; within five seconds the same name gives the same error again.
 */
cm_status cm_env_open_python(const char *name, cm_env_params *params, const cm_env_def **def) CM_MUST_USE;

/* Warns, once of each, that an environment in Python has no limit on the steps of an episode of its own, so that one of
 * 10,000 is taken. Nothing for others, and where `max_steps` of the options (env/env.h) is not 0. */
void cm_env_warn_endless(const cm_env *env, int max_steps);

/* Whose flag ends calls that hang, from now on: asked, a call has some seconds to come back, then its process is ended,
 * and what waits for it fails with CM_ERR_INTERRUPTED. NULL, as at first: none. Before there are other threads. */
void cm_env_heed(const cm_stop *stop);

#ifdef __cplusplus
}
#endif
#endif
