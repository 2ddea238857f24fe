/* The options of all modules together, and how they are read.
 *
 *     cm_configuration configuration;
 *     cm_config *config;
 *     CM_TRY(cm_configuration_create(&configuration, &config));            defaults
 *     CM_TRY(cm_config_read(config, "configuration.json"));                file
 *     CM_TRY(cm_config_set(config, "MCTS.num_simulations=50"));   command line
 *     CM_TRY(cm_configuration_finish(config, &configuration));             presets, alternatives, checks, warnings
 *
 * The struct is plain data: it may be copied, and does not depend on `config` once finished. */
#ifndef CM_RUN_CONFIGURATION_H
#define CM_RUN_CONFIGURATION_H

#include "agent/options.h"
#include "config/config.h"
#include "env/options.h"
#include "mcts/options.h"
#include "network/options.h"
#include "replay/options.h"
#include "run/options.h"
#include "trainer/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_configuration {
    cm_network_options network;
    cm_trainer_options trainer;
    cm_run_options run;
    cm_mcts_options mcts;
    cm_env_options env;
    cm_replay_options replay;
    cm_agent_options agent;
} cm_configuration;

/* All values at their defaults; `configuration` must live as long as *config. */
cm_status cm_configuration_create(cm_configuration *configuration, cm_config **config) CM_MUST_USE;

/* For a new run, before cm_configuration_finish: one whose time the command line gives (--time), and nothing else of
 * its length, goes on for that time; other lengths and stop_at_goal of lower precedence give way. */
void cm_configuration_prefer_time(cm_config *config, cm_configuration *configuration);

/* After the last value: applies the preset and the alternatives, checks what concerns several keys, warns of keys that
 * have no effect. Errors: CM_ERR_INPUT names the keys and their origins. */
cm_status cm_configuration_finish(cm_config *config, cm_configuration *configuration) CM_MUST_USE;

/* create, read `path` (NULL: only defaults), set `count` assignments "Section.key=value", finish. */
cm_status cm_configuration_load(const char *path, const char *const *assignments, int count,
                                cm_configuration *configuration, cm_config **config) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
