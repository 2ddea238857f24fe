/* Every learning case of the replay's kinds passes, and a wrong number in one does not. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cases/replay.h"
#include "support/main.h"

static cm_status run_file(const char *name, bool *known, cm_case_report *report) {
    char path[512];
    snprintf(path, sizeof path, "%s/learning/%s", CM_TEST_CASES, name);
    cm_json_doc *doc;
    CM_TRY(cm_json_read(path, &doc));
    const cm_json *root = cm_json_root(doc);
    const char *kind = cm_json_string(cm_json_get(root, "kind"));
    *known = kind && cm_replay_case_knows(kind);
    cm_status status = CM_OK;
    if (*known) {
        status = cm_case_begin(report, root, "float32");
        if (status == CM_OK) status = cm_replay_case_run(root, report);
        if (status == CM_OK) status = cm_case_end(report);
    }
    cm_json_free(doc);
    return status;
}

START_TEST(all_seventeen_replay_cases_pass) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s/learning", CM_TEST_CASES);
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    int passed = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!strstr(entry->d_name, ".json")) continue;
        bool known;
        cm_case_report report = {0};
        cm_status status = run_file(entry->d_name, &known, &report);
        ck_assert_msg(status == CM_OK, "%s: %s", entry->d_name, cm_error_message());
        ck_assert_msg(!known || report.ok, "%s: %s", entry->d_name, report.message);
        passed += known;
    }
    closedir(directory);
    ck_assert_int_eq(passed, 17);
}
END_TEST

static cm_status run_text(const char *text, cm_case_report *report) {
    cm_json_doc *doc;
    CM_TRY(cm_json_parse(text, strlen(text), "case", &doc));
    cm_status status = cm_case_begin(report, cm_json_root(doc), "float32");
    if (status == CM_OK) status = cm_replay_case_run(cm_json_root(doc), report);
    if (status == CM_OK) status = cm_case_end(report);
    cm_json_free(doc);
    return status;
}

#define TD_CASE(index, want)                                                                                           \
    "{\"kind\":\"dynamic_td_steps\",\"options\":{\"td_steps\":5,\"collected\":100000,\"interval\":30000},"             \
    "\"inputs\":{\"index\":" index "},\"expected\":{\"td_steps\":" want "},"                                           \
    "\"tolerance\":{\"float32\":{\"td_steps\":[0.1,0,null]}}}"

START_TEST(a_wrong_number_is_reported_with_path_index_got_and_want) {
    cm_case_report report;
    const char *text = TD_CASE("{\"shape\":[2],\"data\":[0,10001]}", "{\"shape\":[2],\"data\":[2,4]}");
    ck_assert_int_eq(run_text(text, &report), CM_OK);
    ck_assert(!report.ok);
    ck_assert_str_eq(report.path, "td_steps");
    ck_assert_int_eq(report.index, 1);
    ck_assert_double_eq(report.got, 3.0);
    ck_assert_double_eq(report.want, 4.0);
    ck_assert_str_eq(report.message, "td_steps[1]: got 3, want 4");
}
END_TEST

START_TEST(broken_cases_are_errors) {
    static const char *const broken[] = {
        "{}",
        "{\"kind\":\"targets\",\"expected\":{},\"tolerance\":{\"float32\":{}}}",
        "{\"kind\":\"foreign\",\"expected\":{},\"tolerance\":{\"float32\":{}}}",
        TD_CASE("7", "{\"shape\":[1],\"data\":[2]}"),
        TD_CASE("{\"shape\":[1],\"data\":[-1]}", "{\"shape\":[1],\"data\":[2]}"),
        TD_CASE("{\"shape\":[1],\"data\":[100000]}", "{\"shape\":[1],\"data\":[2]}"),
        TD_CASE("{\"shape\":[2],\"data\":[1]}", "{\"shape\":[2],\"data\":[2,2]}"),
        TD_CASE("{\"shape\":[1],\"data\":[1]}", "{\"shape\":[2],\"data\":[2,2]}"),
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        cm_case_report report;
        ck_assert_int_eq(run_text(broken[i], &report), CM_ERR_INPUT);
        ck_assert_str_ne(cm_error_message(), "");
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("replay cases");
    TCase *tests = tcase_create("cases");
    tcase_add_test(tests, all_seventeen_replay_cases_pass);
    tcase_add_test(tests, a_wrong_number_is_reported_with_path_index_got_and_want);
    tcase_add_test(tests, broken_cases_are_errors);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
