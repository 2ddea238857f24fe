/* --set Section.key=value: any words give a value within its bounds or an error. */
#include "fuzz/fuzz.h"

#include "core/log.h"
#include "run/configuration.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char words[256];
    if (size >= sizeof words) return 0;
    memcpy(words, data, size);
    words[size] = '\0';
    cm_log_set_level(CM_ERROR);
    cm_configuration values;
    cm_config *config = NULL;
    if (cm_configuration_create(&values, &config) != CM_OK) abort();
    if (cm_config_set(config, words) != CM_OK)
        FUZZ_EXPECT(cm_error_message()[0] != '\0');
    else if (cm_configuration_finish(config, &values) != CM_OK)
        FUZZ_EXPECT(cm_error_message()[0] != '\0');
    cm_config_destroy(config);
    return 0;
}
