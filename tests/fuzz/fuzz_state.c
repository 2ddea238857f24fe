/* state.json of a checkpoint: what is read lies in its bounds and reads back; what is not is said in one line. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/log.h"
#include "run/run_internal.h"

static cm_configuration configuration;
static cm_config *config;
static cm_env env;

static void prepare(void) {
    cm_log_set_level(CM_SILENT);
    if (cm_configuration_load(NULL, NULL, 0, &configuration, &config) != CM_OK) abort();
    if (cm_env_open(&env, "CartPole-v1", NULL) != CM_OK) abort();
}

static cm_json_writer *write_counters(const cm_run_counters *c) {
    cm_json_writer *json;
    if (cm_json_writer_create(0, &json) != CM_OK) abort();
    cm_json_begin_object(json, NULL);
    cm_run_counters_put(c, json);
    cm_json_end_object(json);
    return json;
}

static void expect_same(const cm_run_counters *c) {
    cm_json_writer *once = write_counters(c), *twice;
    cm_json_doc *doc;
    cm_run_counters read;
    size_t size, again;
    const char *text = cm_json_writer_text(once, &size);
    FUZZ_EXPECT(cm_json_parse(text, size, "again", &doc) == CM_OK);
    FUZZ_EXPECT(cm_run_counters_read(cm_json_root(doc), &read) == CM_OK);
    twice = write_counters(&read);
    const char *retold = cm_json_writer_text(twice, &again);
    FUZZ_EXPECT(again == size && memcmp(text, retold, size) == 0);
    cm_json_free(doc);
    cm_json_writer_destroy(once);
    cm_json_writer_destroy(twice);
}

static void expect_line(cm_status status) {
    FUZZ_EXPECT(status == CM_OK || (*cm_error_message() && !strchr(cm_error_message(), '\n')));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_json_doc *doc;
    cm_run_counters counters;
    if (!config) prepare();
    if (cm_json_parse((const char *)data, size, "state.json", &doc) != CM_OK) return 0;
    const cm_json *root = cm_json_root(doc);
    expect_line(cm_run_check_fixed(config, cm_json_get(root, CM_STATE_FIXED)));
    expect_line(cm_run_check_task(&env, cm_json_get(root, CM_STATE_TASK), true));
    const cm_status status = cm_run_counters_read(root, &counters);
    expect_line(status);
    if (status == CM_OK) expect_same(&counters);
    cm_json_free(doc);
    return 0;
}
