/* Learning cases of the kinds that replay/ runs: any content gives a report or an error. */
#include "fuzz/fuzz.h"

#include "cases/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_json_doc *doc = NULL;
    cm_case_report report;
    if (cm_json_parse((const char *)data, size, "input", &doc) != CM_OK) return 0;
    const cm_json *root = cm_json_root(doc);
    if (cm_case_begin(&report, root, "float32") == CM_OK && cm_replay_case_run(root, &report) == CM_OK &&
        cm_case_end(&report) == CM_OK)
        FUZZ_EXPECT(report.ok == (report.message[0] == '\0'));
    cm_json_free(doc);
    return 0;
}
