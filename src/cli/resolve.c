#include "cli/resolve.h"

#include <stdio.h>
#include <string.h>

#include "cli/recipe.h"
#include "core/file.h"
#include "core/json.h"
#include "run/directory.h"

static const char standard_file[] = "configuration.json";

/* A file that cannot be read is the user's mistake here. */
static cm_status read_file(cm_config *config, const char *path) {
    cm_status status = cm_config_read(config, path);
    return status == CM_ERR_IO ? cm_fail(CM_ERR_INPUT, "%s", cm_error_message()) : status;
}

static bool is_json(const char *name) {
    const char *ending = strrchr(name, '.');
    return ending && strcmp(ending, ".json") == 0;
}

/* What is no path, with a / in it or .json after it, is the name of a recipe. */
static cm_status read_named(cm_config *config, const char *name) {
    return strchr(name, '/') || is_json(name) ? read_file(config, name) : cm_recipe_read(name, config);
}

static cm_status assign_flag(const cm_arguments *arguments, cm_config *config, const char *flag, const char *key) {
    const char *value = cm_argument(arguments, flag);
    return value ? cm_config_assign(config, key, value, flag) : CM_OK;
}

/* What the flags of cli/output.h say, and --seed, --updates, --env-steps and --time. */
static cm_status assign(const cm_arguments *arguments, cm_config *config) {
    static const char *const pairs[][2] = {
        {"--seed", "seed"},       {"--backend", "backend"},     {"--threads", "threads"}, {"--dtype", "model_dtype"},
        {"--updates", "updates"}, {"--env-steps", "env_steps"}, {"--env", "env_name"},
    };
    const char *set;
    for (int i = 0; (set = cm_argument_at(arguments, "--set", i)) != NULL; i++) CM_TRY(cm_config_set(config, set));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        CM_TRY(assign_flag(arguments, config, pairs[i][0], pairs[i][1]));
    }
    double seconds = 0.0;
    if (!cm_argument_is_set(arguments, "--time")) return CM_OK;
    CM_TRY(cm_argument_seconds(arguments, "--time", &seconds));
    char text[40];
    cm_json_format_double(seconds, text);
    return cm_config_assign(config, "time_limit", text, "--time");
}

/* For a new run of an environment that the command line names. Its values were not asked for: what of them has no
 * effect next to what was given is not warned of. */
static cm_status apply_recipe(const cm_arguments *arguments, cm_config *config, const cm_recipe *recipe) {
    char text[128];
    snprintf(text, sizeof text, "%s (--config %s)%s", recipe->name, recipe->name,
             cm_file_is_named(standard_file) ? " in place of configuration.json" : "");
    cm_config_set_recipe(config, text);
    CM_TRY(cm_recipe_read(recipe->name, config));
    cm_config_mark_known(config);
    return assign(arguments, config);
}

/* The layer below --set: what is read later replaces nothing that is given there. */
static cm_status read_base(const cm_arguments *arguments, const cm_configuration *configuration, cm_config *config) {
    const char *named = cm_argument(arguments, "--config");
    if (named) return read_named(config, named);
    if (cm_config_source_of(config, "env_name") >= CM_FROM_SET) {
        const cm_recipe *recipe = cm_recipe_for(configuration->env.env_name);
        if (recipe) return apply_recipe(arguments, config, recipe);
    }
    return cm_file_is_named(standard_file) ? read_file(config, standard_file) : CM_OK;
}

cm_status cm_cli_resolve(const cm_arguments *arguments, const char *first, const cm_configuration *configuration,
                         cm_config *config) {
    const char *named = cm_argument(arguments, "--config");
    if (first) CM_TRY(read_file(config, first));
    cm_config_mark_known(config);
    CM_TRY(assign(arguments, config));
    if (first) return named ? read_named(config, named) : CM_OK;
    return read_base(arguments, configuration, config);
}

static cm_status set_flag(cm_arguments *arguments, const char *flag, const char *name) {
    if (cm_argument_is_set(arguments, flag))
        return cm_fail(CM_ERR_INPUT, "%s: give either %.100s or %s", arguments->command->name, name, flag);
    cm_argument_set(arguments, flag, name);
    return CM_OK;
}

cm_status cm_cli_resolve_name(cm_arguments *arguments) {
    if (arguments->positional_count == 0) return CM_OK;
    const char *name = arguments->positional[0];
    if (cm_argument_is_setting(name) || cm_run_directory_check(name) == CM_OK)
        return cm_argument_unexpected(arguments->command, name);
    const bool is_recipe = cm_recipe_named(name) && !cm_recipe_is_environment(name);
    return set_flag(arguments, is_recipe || is_json(name) ? "--config" : "--env", name);
}
