/* Configuration files: accepted or refused in one line; what is accepted prints to bytes that read back to themselves.
 */
#include "fuzz/fuzz.h"

#include "core/log.h"
#include "run/configuration.h"

#include <string.h>

static void expect_one_line(cm_status status) {
    FUZZ_EXPECT(status == CM_ERR_INPUT);
    FUZZ_EXPECT(*cm_error_message() && !strchr(cm_error_message(), '\n'));
}

/* The effective configuration as text; the caller destroys the writer that owns it. */
static const char *written(const cm_config *config, cm_json_writer **writer, size_t *size) {
    if (cm_json_writer_create(2, writer) != CM_OK || cm_config_write(config, *writer) != CM_OK) abort();
    return cm_json_writer_text(*writer, size);
}

static void read_back(const char *text, size_t size) {
    cm_configuration again;
    cm_config *config;
    cm_json_writer *writer;
    size_t n;
    if (cm_configuration_create(&again, &config) != CM_OK) abort();
    FUZZ_EXPECT(cm_config_parse(config, text, size, "effective") == CM_OK);
    FUZZ_EXPECT(cm_configuration_finish(config, &again) == CM_OK);
    const char *retold = written(config, &writer, &n);
    FUZZ_EXPECT(n == size && memcmp(retold, text, n) == 0);
    cm_json_writer_destroy(writer);
    cm_config_destroy(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_configuration configuration;
    cm_config *config;
    cm_log_set_level(CM_SILENT);
    if (cm_configuration_create(&configuration, &config) != CM_OK) abort();
    cm_status status = cm_config_parse(config, (const char *)data, size, "input");
    if (status == CM_OK) status = cm_configuration_finish(config, &configuration);
    if (status == CM_OK) {
        cm_json_writer *writer;
        size_t n;
        const char *text = written(config, &writer, &n);
        read_back(text, n);
        cm_json_writer_destroy(writer);
    } else {
        expect_one_line(status);
    }
    cm_config_destroy(config);
    return 0;
}
