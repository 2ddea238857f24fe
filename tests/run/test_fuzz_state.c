/* The fuzzer of state.json on deterministic changes of such files. */
#include "fuzz/fuzz_state.c" /* the oracle of one input */

#include <check.h>

#include "core/file.h"
#include "fuzz/mutate.h"
#include "support/main.h"

static const char *const seeds[] = {"whole.json", "old.json"};

START_TEST(changed_states_are_read_or_refused_in_one_line) {
    char path[640], *text;
    size_t size;
    snprintf(path, sizeof path, CM_TEST_CASES "/../fuzz/corpus/state/%s", seeds[_i]);
    ck_assert_msg(cm_file_read(path, MUTATE_BYTES, &text, &size) == CM_OK, "%s", cm_error_message());
    mutate_run(text, size, 10000);
    free(text);
}
END_TEST

START_TEST(seed_itself_is_read) {
    char path[640];
    cm_json_doc *doc;
    cm_run_counters counters;
    snprintf(path, sizeof path, CM_TEST_CASES "/../fuzz/corpus/state/%s", seeds[_i]);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_run_counters_read(cm_json_root(doc), &counters) == CM_OK, "%s", cm_error_message());
    cm_json_free(doc);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz of states");
    TCase *c = tcase_create("fuzz");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, changed_states_are_read_or_refused_in_one_line, 0, 2);
    tcase_add_loop_test(c, seed_itself_is_read, 0, 2);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
