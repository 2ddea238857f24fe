/* Writes what is generated from the option rows: `write_configuration configuration.json docs/CONFIGURATION.md`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "run/configuration.h"

static cm_status write_both(const cm_config *config, const char *json, const char *manual) {
    char *text;
    CM_TRY(cm_config_save(config, json));
    CM_TRY(cm_config_manual(config, &text));
    cm_status status = cm_file_write(manual, text, strlen(text));
    free(text);
    return status;
}

int main(int argc, char **argv) {
    cm_configuration configuration;
    cm_config *config = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: write_configuration JSON MANUAL\n");
        return 2;
    }
    cm_status status = cm_configuration_load(NULL, NULL, 0, &configuration, &config);
    if (status == CM_OK) status = write_both(config, argv[1], argv[2]);
    if (status != CM_OK) fprintf(stderr, "write_configuration: %s\n", cm_error_message());
    cm_config_destroy(config);
    return status == CM_OK ? 0 : 1;
}
