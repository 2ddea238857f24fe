/* The reference cases of tests/cases/learning that belong to backends, on every backend and in every type. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "backend/classes.h"
#include "cases/backend.h"
#include "core/json.h"
#include "support/far.h"
#include "support/main.h"

/* In the place of a GPU: what is copied there and back. */
const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

static int run_file(const char *path, const char *name, cm_backend *backend, cm_dtype dtype) {
    cm_json_doc *doc;
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    const cm_json *root = cm_json_root(doc);
    const char *kind = cm_json_string(cm_json_get(root, "kind"));
    int ran = 0;
    if (kind && cm_backend_case_known(kind) && cm_case_has_dtype(root, cm_dtype_name(dtype))) {
        cm_stream *stream;
        cm_case_report report;
        ck_assert_int_eq(cm_stream_open(backend, &stream), CM_OK);
        cm_status status = cm_backend_case_run(root, stream, dtype, &report);
        ck_assert_msg(status == CM_OK, "%s: %s", name, cm_error_message());
        ck_assert_msg(report.ok, "%s on %s in %s: %s", name, backend->kind->name, cm_dtype_name(dtype), report.message);
        cm_stream_close(stream);
        ran = 1;
    }
    cm_json_free(doc);
    return ran;
}

static int run_folder(cm_backend *backend, cm_dtype dtype) {
    const char *folder = CM_TEST_CASES "/learning";
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    int ran = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!strstr(entry->d_name, ".json")) continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ran += run_file(path, entry->d_name, backend, dtype);
    }
    closedir(directory);
    return ran;
}

/* All backends of this build that open here. */
static void on_every_backend(cm_dtype dtype, int least) {
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        cm_backend *backend;
        ck_assert_msg(cm_backend_open((*kind)->name, &backend) == CM_OK, "%s", cm_error_message());
        int ran = run_folder(backend, dtype);
        ck_assert_msg(ran >= least, "%d cases on %s", ran, (*kind)->name);
        cm_backend_close(backend);
    }
    ck_assert_uint_gt(cm_far_state.peak, 0);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}

START_TEST(float32_cases_are_met) { on_every_backend(CM_F32, 80); }
END_TEST

START_TEST(bfloat16_cases_are_met) { on_every_backend(CM_BF16, 14); }
END_TEST

START_TEST(bfloat16_cases_are_met_in_float16) { on_every_backend(CM_F16, 14); }
END_TEST

START_TEST(a_scalar_loss_of_a_matrix_is_that_of_its_elements) {
    static const char text[] =
        "{\"kind\": \"scalar_loss\", \"options\": {}, \"inputs\": {\"prediction\": {\"shape\": [2, 2], \"data\": "
        "[1, 2, 3, 4]}, \"target\": {\"shape\": [2, 2], \"data\": [1, 0, 0, 3]}, \"dy\": {\"shape\": [2, 2], \"data\": "
        "[1, 1, 2, -1]}}, \"expected\": {\"y\": {\"shape\": [2, 2], \"data\": [0, 4, 9, 1]}, \"dprediction\": "
        "{\"shape\": [2, 2], \"data\": [0, 4, 12, -2]}}, \"tolerance\": {\"float32\": {\"y\": [0, 0, null], "
        "\"dprediction\": [0, 0, null]}}}";
    cm_json_doc *doc;
    cm_case_report report;
    cm_backend *backend;
    cm_stream *stream;
    ck_assert_int_eq(cm_json_parse(text, strlen(text), "case", &doc), CM_OK);
    ck_assert_int_eq(cm_backend_open("cpu", &backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(backend, &stream), CM_OK);
    ck_assert_msg(cm_backend_case_run(cm_json_root(doc), stream, CM_F32, &report) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(report.ok, "%s", report.message);
    cm_stream_close(stream);
    cm_backend_close(backend);
    cm_json_free(doc);
}
END_TEST

static void assert_refused(const char *text, const char *message) {
    cm_json_doc *doc;
    cm_case_report report;
    cm_backend *backend;
    cm_stream *stream;
    ck_assert_int_eq(cm_json_parse(text, strlen(text), "case", &doc), CM_OK);
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(backend, &stream), CM_OK);
    ck_assert_int_eq(cm_backend_case_run(cm_json_root(doc), stream, CM_F32, &report), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), message) != NULL, "got \"%s\"", cm_error_message());
    cm_stream_close(stream);
    cm_backend_close(backend);
    cm_json_free(doc);
}

#define REST                                                                                                           \
    "\"expected\": {\"y\": 0, \"dx\": 0}, \"tolerance\": {\"float32\": {\"y\": [1, 0, null], \"dx\": [1, 0, null]}}"

START_TEST(malformed_cases_are_refused) {
    assert_refused("{}", "kind: missing");
    assert_refused("{\"kind\": \"astrology\"}", "\"astrology\" is unknown");
    assert_refused("{\"kind\": \"activation\", \"options\": {\"activation\": \"selu\"}, \"inputs\": {}, " REST "}",
                   "activation: \"selu\" is unknown; known: none, relu");
    assert_refused("{\"kind\": \"activation\", \"options\": {\"activation\": \"relu\"}, \"inputs\": {}, " REST "}",
                   "x: missing");
    assert_refused("{\"kind\": \"activation\", \"options\": {\"activation\": \"relu\"}, \"inputs\": {\"x\": "
                   "{\"shape\": [2], \"data\": [1, 2]}, \"dy\": {\"shape\": [3], \"data\": [1, 2, 3]}}, " REST "}",
                   "activation_backward: dy is float32 [3]");
    assert_refused("{\"kind\": \"activation\", \"options\": {\"activation\": \"relu\"}, \"inputs\": {\"x\": "
                   "{\"shape\": [1, 1, 1, 1, 1], \"data\": [1]}, \"dy\": {\"shape\": [1], \"data\": [1]}}, " REST "}",
                   "x: must have 1 to 4 dimensions");
    assert_refused("{\"kind\": \"activation\", \"options\": {\"activation\": \"relu\"}, \"inputs\": {\"x\": "
                   "{\"shape\": [2], \"data\": [1, 2]}, \"dy\": {\"shape\": [2], \"data\": [1, 2]}}, \"expected\": "
                   "{\"y\": {\"shape\": [1, 2], \"data\": [1, 2]}}, \"tolerance\": {\"float32\": {}}}",
                   "y");
    assert_refused("{\"kind\": \"avg_pool\", \"options\": {\"kernel\": 5, \"stride\": 2, \"padding\": 1}, \"inputs\": "
                   "{}, " REST "}",
                   "kernel");
    assert_refused("{\"kind\": \"schedule\", \"options\": {\"schedule\": {\"type\": \"linear\"}}, \"inputs\": {}, " REST
                   "}",
                   "type: \"linear\" is unknown");
    ck_assert(!cm_backend_case_uses_backend("schedule"));
    ck_assert(cm_backend_case_uses_backend("dense"));
    ck_assert(!cm_backend_case_known("targets"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cases");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, float32_cases_are_met);
    tcase_add_test(tests, bfloat16_cases_are_met);
    tcase_add_test(tests, bfloat16_cases_are_met_in_float16);
    tcase_add_test(tests, a_scalar_loss_of_a_matrix_is_that_of_its_elements);
    tcase_add_test(tests, malformed_cases_are_refused);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
