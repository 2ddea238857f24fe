/* Defaults that depend on the task: what is known of it before training (its spec, and what random play meets) chooses
 * settings for the keys that were not given. A new run's only: its config.json has them. */
#ifndef CM_RUN_TASK_DEFAULTS_H
#define CM_RUN_TASK_DEFAULTS_H

#include "config/config.h"
#include "env/survey.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_task_setting {
    const char *key, *value; /* value NULL: by the task */
} cm_task_setting;

enum { CM_TASK_SETTINGS = 28 };
typedef struct cm_task_row {
    const char *what; /* the condition in words, "rewards are rare" */
    bool (*fits)(const cm_env_spec *spec, const cm_env_survey *seen);
    bool asks_spec;                             /* alone; all of its settings are taken, or none */
    cm_task_setting settings[CM_TASK_SETTINGS]; /* key NULL at the end */
} cm_task_row;

/* All rows; of those that fit a task a later one counts more. */
const cm_task_row *cm_task_rows(int *count);

/* Whether observations are pictures: [height, width, channels] of ten or more each way, and no board. */
bool cm_task_is_picture(const cm_env_spec *spec);

/* Gives keys that were not given (cm_config_suggest) what the rows that fit ask for. `why` becomes "" where none does,
 * else one line: what was seen of the task, and the first of the settings. `seen` NULL: nothing was played, and only
 * rows that ask the spec alone count. */
enum { CM_TASK_LINE = 256 };
void cm_task_defaults_apply(const cm_env_spec *spec, const cm_env_survey *seen, cm_config *config,
                            char why[CM_TASK_LINE]);

#ifdef __cplusplus
}
#endif
#endif
