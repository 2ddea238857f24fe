/* The keys that are fixed for a run, in its checkpoints: a config.json that was changed by hand after them is found
 * out. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/log.h"
#include "env/trust.h"
#include "run/run_internal.h"
#include "run/weights.h"

/* Of the registry; code is opened for no comparison. */
static bool open_listed(const char *value, cm_env *env) {
    char name[CM_OPTION_JSON];
    snprintf(name, sizeof name, "%s", value + (*value == '"'));
    name[strcspn(name, "\"")] = '\0';
    return !cm_env_is_code(name) && cm_env_open(env, name, NULL) == CM_OK;
}

bool cm_run_is_same_environment(const char *key, const char *before, const char *after) {
    cm_env one, other;
    if (strcmp(key, "env_name") != 0) return false;
    if (cm_env_is_file(before) && cm_env_is_file(after)) return true;
    return open_listed(before, &one) && open_listed(after, &other) && one.def == other.def &&
           one.params.size == other.params.size;
}

static bool is_among(const char *key, const char *const *keys) {
    while (*keys && strcmp(key, *keys) != 0) keys++;
    return *keys != NULL;
}

cm_run_carry cm_run_carry_of(const char *section, const char *key) {
    static const char *const any_task[] = {"num_envs", NULL};
    static const char *const any_array[] = {"value_support_min",
                                            "value_support_max",
                                            "reward_support_min",
                                            "reward_support_max",
                                            "value_transform",
                                            "initializer",
                                            "zero_init_heads",
                                            "value_prefix_horizon",
                                            "angle_spread",
                                            "quantization",
                                            NULL};
    static const char *const arrays[] = {"policy", "num_sampled_actions", "consistency_weight", NULL};
    if (strcmp(section, cm_env_option_rows[0].section) == 0)
        return is_among(key, any_task) ? CM_CARRY_WEIGHTS : CM_CARRY_NOTHING;
    if (strcmp(section, cm_network_option_rows[0].section) == 0)
        return is_among(key, any_array) ? CM_CARRY_WEIGHTS : CM_CARRY_GAMES;
    return is_among(key, arrays) ? CM_CARRY_GAMES : CM_CARRY_WEIGHTS;
}

const char *cm_run_carry_advice(cm_run_carry carry) {
    static const char *const advice[] = {"", " (--replay-from takes its games along, its weights do not fit)",
                                         " (--init-from takes its weights along)"};
    return advice[carry];
}

void cm_run_put_fixed(const cm_config *config, const char *name, cm_json_writer *json) {
    const cm_option *row;
    char value[CM_OPTION_JSON];
    cm_json_begin_object(json, name);
    for (int i = 0; (row = cm_config_row(config, i)) != NULL; i++) {
        if (row->flags & CM_OPTION_RESUME) continue;
        cm_config_value_text(config, row, value);
        cm_json_put_string(json, row->key, value);
    }
    cm_json_end_object(json);
}

cm_status cm_run_check_fixed(const cm_config *config, const cm_json *saved) {
    const cm_option *row;
    char value[CM_OPTION_JSON];
    for (int i = 0; (row = cm_config_row(config, i)) != NULL; i++) {
        const char *before = cm_json_string(cm_json_get(saved, row->key));
        if (!before || row->flags & CM_OPTION_RESUME) continue; /* a key that is newer, or may change by now */
        cm_config_value_text(config, row, value);
        if (strcmp(before, value) == 0 || cm_run_is_same_environment(row->key, before, value)) continue;
        return cm_fail(CM_ERR_INPUT,
                       "%s.%s is fixed for a run: this one was trained with %s, and its config.json has %s by now; put "
                       "it back, or start a new run%s",
                       row->section, row->key, before, value,
                       cm_run_carry_advice(cm_run_carry_of(row->section, row->key)));
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

/* ---- the file against the newest checkpoint ---- */

typedef struct comparison {
    const cm_config *config;
    cm_status status;
} comparison;

static cm_status compare(void *context, cm_checkpoint_reader *reader) {
    comparison *c = context;
    cm_json_doc *state = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &state));
    c->status = cm_run_check_fixed(c->config, cm_json_get(cm_json_root(state), CM_STATE_FIXED));
    cm_json_free(state);
    return c->status;
}

/* A file or a checkpoint that cannot be read is left to its loader. */
static cm_status compare_file(const char *run, const char *path, cm_config *config) {
    cm_checkpoint_store *store = NULL;
    comparison c = {.config = config};
    const cm_checkpoint_part part = {.name = "the counters", .context = &c, .load = compare};
    cm_status read = cm_config_read(config, path);
    if (read == CM_OK) read = cm_checkpoint_store_create(run, 1, NULL, &store);
    if (read == CM_OK) read = cm_checkpoint_load(store, CM_CHECKPOINT_LATEST, &part, 1, NULL);
    cm_checkpoint_store_destroy(store);
    if (read != CM_OK && c.status == CM_OK) cm_log(CM_DEBUG, "%s was not compared: %s", path, cm_error_message());
    return c.status == CM_OK ? CM_OK : cm_fail_in(c.status, "%s", path);
}

cm_status cm_run_check_configuration(const char *run) {
    char path[PATH_MAX];
    cm_configuration configuration;
    cm_config *config = NULL;
    CM_TRY(cm_path_join(path, sizeof path, run, "config.json"));
    CM_TRY(cm_configuration_create(&configuration, &config));
    cm_status status = compare_file(run, path, config);
    cm_config_destroy(config);
    return status;
}
