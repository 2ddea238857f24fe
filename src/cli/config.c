/* cumind config: shows, explains and writes configurations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/resolve.h"
#include "cli/view.h"

static cm_status print_text(cm_status status, char *text) {
    if (status == CM_OK) fputs(text, stdout);
    free(text);
    return status;
}

/* Lines that are too wide for a terminal go on below themselves. */
static cm_status explain(const cm_arguments *arguments, const cm_config *config, const char *key) {
    const cm_view view = cm_view_of_stdout(arguments);
    char *text = NULL, *rest;
    CM_TRY(cm_config_explain(config, key, &text));
    if (!view.tty) return print_text(CM_OK, text);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        cm_text_print(stdout, view.columns, line, 0, (int)strspn(line, " ") + 2);
    }
    free(text);
    return CM_OK;
}

static cm_status show(const cm_config *config) {
    cm_json_writer *writer;
    CM_TRY(cm_json_writer_create(2, &writer));
    return cm_cli_print(writer, cm_config_write(config, writer));
}

/* What is shown or written is for a run: its environment has to be one, as when it trains. */
static cm_status act(const cm_arguments *arguments, const cm_config *config, const cm_configuration *configuration) {
    char *text = NULL;
    cm_env env;
    const char *key = cm_argument(arguments, "--explain"), *path = cm_argument(arguments, "--write");
    if (key) return explain(arguments, config, key);
    if (cm_argument_is_set(arguments, "--manual")) {
        cm_status status = cm_config_manual(config, &text);
        return print_text(status, text);
    }
    CM_TRY(cm_session_env(&configuration->env, &env));
    return path ? cm_config_save(config, path) : show(config);
}

/* Of all configurations, whatever stands in the one here. */
static cm_status print_schema(void) {
    cm_configuration configuration;
    cm_config *config;
    cm_json_writer *writer;
    CM_TRY(cm_configuration_create(&configuration, &config));
    cm_status status = cm_json_writer_create(1, &writer);
    if (status == CM_OK) status = cm_cli_print(writer, cm_config_schema(config, writer));
    cm_config_destroy(config);
    return status;
}

static cm_status run(cm_arguments *arguments) {
    cm_configuration configuration;
    cm_config *config;
    if (cm_argument_is_set(arguments, "--schema")) return print_schema();
    CM_TRY(cm_cli_resolve_name(arguments));
    CM_TRY(cm_cli_configuration(arguments, &configuration, &config));
    cm_status status = act(arguments, config, &configuration);
    cm_config_destroy(config);
    return status;
}

static const cm_flag flags[] = {
    CM_FLAGS_CONFIGURATION,
    CM_FLAG_ENV,
    CM_FLAGS_MACHINE,
    {"--explain", "KEY",
     "Explain one key: meaning, range, default, value and where the value comes from; of a section such as MCTS its "
     "keys."},
    {"--write", "FILE",
     "Write a file for new runs: all values but those of supports that are not given, which a run fits to its task."},
    {"--manual", NULL, "Print the manual of all keys (docs/CONFIGURATION.md)."},
    {"--schema", NULL, "Print the JSON Schema of configuration files, by which editors check and complete them."},
    CM_FLAGS_END};

const cm_command cm_command_config = {
    .name = "config",
    .about = "print the effective configuration, explain a key, or write a file",
    .positional = "[NAME]",
    .details = "NAME is an environment or a recipe, as of cumind train. Precedence: a flag, then --set, then the file "
               "or the recipe, then the default. What is printed has all values, also of the supports (keys such as "
               "value_support_max) that a run fits to its task where they are not given; --write leaves those out. A "
               "configuration whose environment does not exist is neither shown nor written.",
    .flags = flags,
    .examples = "  cumind config catch                        # what train catch takes\n"
                "  cumind config --explain num_simulations    # what a key means\n"
                "  cumind config --write my.json              # a file to begin with\n",
    .run = run,
    .fits_task = true};
