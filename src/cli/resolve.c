#include "cli/resolve.h"

#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/recipe.h"
#include "core/file.h"
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

/* For a new run of an environment that the command line names. Its values were not asked for: what of them has no
 * effect next to what was given is not warned of. */
static cm_status apply_recipe(const cm_arguments *arguments, cm_config *config, const cm_recipe *recipe) {
    char text[128];
    snprintf(text, sizeof text, "%s (--config %s)%s", recipe->name, recipe->name,
             cm_file_is_named(standard_file) ? " in place of configuration.json" : "");
    cm_config_set_recipe(config, text);
    CM_TRY(cm_recipe_read(recipe->name, config));
    cm_config_mark_known(config);
    return cm_cli_assign(arguments, config);
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
    CM_TRY(cm_cli_assign(arguments, config));
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
