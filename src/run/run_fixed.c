/* The keys that are fixed for a run, in its checkpoints: a config.json that was changed by hand behind them is found
 * out. */
#include <string.h>

#include "run/run_internal.h"

bool cm_run_is_moved_library(const char *key, const char *before, const char *after) {
    return strcmp(key, "env_name") == 0 && cm_env_is_library(before) && cm_env_is_library(after);
}

void cm_run_put_fixed(const cm_run *run, const char *name, cm_json_writer *json) {
    const cm_option *row;
    char value[CM_OPTION_JSON];
    cm_json_begin_object(json, name);
    for (int i = 0; (row = cm_config_row(run->config, i)) != NULL; i++) {
        if (row->flags & CM_OPTION_RESUME) continue;
        cm_config_value_text(run->config, row, value);
        cm_json_put_string(json, row->key, value);
    }
    cm_json_end_object(json);
}

cm_status cm_run_check_fixed(const cm_run *run, const cm_json *saved) {
    const cm_option *row;
    char value[CM_OPTION_JSON];
    for (int i = 0; (row = cm_config_row(run->config, i)) != NULL; i++) {
        const char *before = cm_json_string(cm_json_get(saved, row->key));
        if (!before || row->flags & CM_OPTION_RESUME) continue; /* a key that is newer, or may change by now */
        cm_config_value_text(run->config, row, value);
        if (strcmp(before, value) == 0 || cm_run_is_moved_library(row->key, before, value)) continue;
        return cm_fail(CM_ERR_INPUT,
                       "%s.%s is fixed for a run: this one was trained with %s, and its config.json has %s by now; put "
                       "it back, or start a new run (--init-from takes its weights along)",
                       row->section, row->key, before, value);
    }
    return CM_OK;
}

cm_status cm_run_check_environment(const cm_run *run, const char *saved) {
    const char *now = run->session->env.spec.name;
    if (strcmp(saved, now) == 0) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "Environment.env_name is fixed for a run: this one was trained on %.60s, and %s is %s; put it back, "
                   "or start a new run",
                   saved, cm_run_options_of(run)->env.env_name, now);
}
