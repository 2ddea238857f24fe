/* Configurations: what is accepted can be written, and reads back to the same values and the same text. */
#include "fuzz/fuzz.h"

#include "core/log.h"
#include "run/configuration.h"

#include <string.h>

/* The text of the configuration that `text` gives, or NULL if it is refused; the caller destroys the writer. */
static const char *effective(const char *text, size_t size, cm_json_writer **writer, size_t *bytes) {
    cm_configuration values;
    cm_config *config = NULL;
    const char *written = NULL;
    if (cm_configuration_create(&values, &config) != CM_OK) abort();
    if (cm_config_parse(config, text, size, "input") == CM_OK && cm_configuration_finish(config, &values) == CM_OK) {
        if (cm_json_writer_create(2, writer) != CM_OK || cm_config_write(config, *writer) != CM_OK) abort();
        written = cm_json_writer_text(*writer, bytes);
    } else {
        FUZZ_EXPECT(cm_error_message()[0] != '\0');
    }
    cm_config_destroy(config);
    return written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_json_writer *first = NULL, *second = NULL;
    size_t n = 0, m = 0;
    cm_log_set_level(CM_ERROR);
    const char *text = effective((const char *)data, size, &first, &n);
    if (text) {
        const char *again = effective(text, n, &second, &m);
        FUZZ_EXPECT(again && n == m && memcmp(text, again, n) == 0);
    }
    cm_json_writer_destroy(first);
    cm_json_writer_destroy(second);
    return 0;
}
