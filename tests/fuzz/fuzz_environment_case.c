/* Recorded runs of environments: any content gives a report or an error, and never plays an illegal move. */
#include "fuzz/fuzz.h"

#include "cases/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_json_doc *doc = NULL;
    cm_env_case_report report;
    if (cm_json_parse((const char *)data, size, "input", &doc) != CM_OK) return 0;
    if (cm_env_case_run(cm_json_root(doc), "input", &report) == CM_OK)
        FUZZ_EXPECT(report.ok == (report.message[0] == '\0'));
    else
        FUZZ_EXPECT(cm_error_message()[0] != '\0');
    cm_json_free(doc);
    return 0;
}
