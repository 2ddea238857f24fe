/* Writes what is generated from the option rows:
 * `write_configuration configuration.json docs/CONFIGURATION.md docs/configuration.schema.json`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "run/configuration.h"

static cm_status write_manual(const cm_config *config, const char *path) {
    char *text;
    CM_TRY(cm_config_manual(config, &text));
    cm_status status = cm_file_write(path, text, strlen(text));
    free(text);
    return status;
}

static cm_status write_schema(const cm_config *config, const char *path) {
    cm_json_writer *writer;
    CM_TRY(cm_json_writer_create(1, &writer));
    cm_status status = cm_config_schema(config, writer);
    if (status == CM_OK) status = cm_json_writer_save(writer, path);
    cm_json_writer_destroy(writer);
    return status;
}

static cm_status write_all(const cm_config *config, char **paths) {
    CM_TRY(cm_config_save(config, paths[0]));
    CM_TRY(write_manual(config, paths[1]));
    return write_schema(config, paths[2]);
}

int main(int argc, char **argv) {
    cm_configuration configuration;
    cm_config *config = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: write_configuration JSON MANUAL SCHEMA\n");
        return 2;
    }
    cm_status status = cm_configuration_load(NULL, NULL, 0, &configuration, &config);
    if (status == CM_OK) status = write_all(config, argv + 1);
    if (status != CM_OK) fprintf(stderr, "write_configuration: %s\n", cm_error_message());
    cm_config_destroy(config);
    return status == CM_OK ? 0 : 1;
}
