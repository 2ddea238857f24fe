/* cumind config: shows, explains and writes configurations. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/common.h"

static int print_text(cm_status status, char *text) {
    if (status != CM_OK) return cm_cli_fail(status);
    fputs(text, stdout);
    free(text);
    return 0;
}

static int show(const cm_config *config) {
    cm_json_writer *writer;
    cm_status status = cm_json_writer_create(2, &writer);
    if (status == CM_OK) status = cm_config_write(config, writer);
    return status == CM_OK ? cm_cli_print_json(writer) : cm_cli_fail(status);
}

static int act(const cm_arguments *arguments, const cm_config *config) {
    char *text = NULL;
    const char *key = cm_arguments_get(arguments, "explain"), *path = cm_arguments_get(arguments, "write");
    if (key) {
        cm_status status = cm_config_explain(config, key, &text);
        return print_text(status, text);
    }
    if (cm_arguments_has(arguments, "manual")) {
        cm_status status = cm_config_manual(config, &text);
        return print_text(status, text);
    }
    if (path) return cm_cli_fail(cm_config_save(config, path));
    return show(config);
}

static int run(const cm_arguments *arguments) {
    cm_configuration configuration;
    cm_config *config;
    cm_status status = cm_cli_configuration(arguments, &configuration, &config);
    if (status != CM_OK) return cm_cli_fail(status);
    int result = act(arguments, config);
    cm_config_destroy(config);
    return result;
}

static const cm_flag flags[] = {
    {"explain", "KEY", "Explains one key: meaning, range, default, value and where the value comes from."},
    {"write", "FILE", "Writes the effective configuration to a file."},
    {"manual", NULL, "Prints docs/CONFIGURATION.md."},
};

const cm_command cm_command_config = {.name = "config",
                                      .operands = "",
                                      .about = "Prints the effective configuration, explains a key, or writes a file.",
                                      .details = "Precedence: a flag, then --set, then the file, then the default.",
                                      .flags = flags,
                                      .flag_count = 3,
                                      .configured = true,
                                      .run = run};
