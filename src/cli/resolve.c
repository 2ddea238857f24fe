#include "cli/resolve.h"

#include <string.h>

#include "core/json.h"
#include "run/directory.h"
#include "run/recipe.h"

static void give(cm_cli_given *given, const char *key, const char *value, const char *origin) {
    if (value) given->row[given->count++] = (cm_given){key, value, origin};
}

/* What the flags of cli/output.h say, and --seed, --updates, --env-steps and --time. */
static cm_status collect(const cm_arguments *arguments, cm_cli_given *given) {
    static const char *const pairs[][2] = {
        {"--seed", "seed"},       {"--backend", "backend"},     {"--threads", "threads"}, {"--dtype", "model_dtype"},
        {"--updates", "updates"}, {"--env-steps", "env_steps"}, {"--env", "env_name"},
    };
    const char *set;
    double seconds = 0.0;
    given->count = 0;
    for (int i = 0; (set = cm_argument_at(arguments, "--set", i)) != NULL; i++) give(given, NULL, set, "--set");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        give(given, pairs[i][1], cm_argument(arguments, pairs[i][0]), pairs[i][0]);
    if (!cm_argument_is_set(arguments, "--time")) return CM_OK;
    CM_TRY(cm_argument_seconds(arguments, "--time", &seconds));
    cm_json_format_double(seconds, given->seconds);
    give(given, "time_limit", given->seconds, "--time");
    return CM_OK;
}

/* A muted command is another's look at the configuration, but for the ranks that follow the first. */
static bool fits_task(const cm_arguments *arguments) {
    return arguments->command->fits_task && (!arguments->is_mute || arguments->comm);
}

cm_status cm_cli_sources(const cm_arguments *arguments, const char *run, cm_cli_given *given, cm_sources *out) {
    CM_TRY(collect(arguments, given));
    *out = (cm_sources){.run = run,
                        .named = cm_argument(arguments, "--config"),
                        .named_by = "--config",
                        .local = "configuration.json",
                        .given = given->row,
                        .given_count = given->count,
                        .fits_task = fits_task(arguments),
                        .comm = arguments->comm};
    return CM_OK;
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
    return set_flag(arguments, is_recipe || cm_recipe_is_file(name) ? "--config" : "--env", name);
}
