/* The fuzzer of configurations on deterministic changes of the original's file and of our own. */
#include "fuzz/fuzz_config.c" /* the oracle of one input */

#include <check.h>

#include "core/file.h"
#include "fuzz/mutate.h"
#include "support/main.h"

static const char *const seeds[] = {CM_TEST_CASES "/cumind/configuration.json",
                                    CM_TEST_CASES "/../../configuration.json"};

START_TEST(changed_configurations_are_accepted_or_refused_in_one_line) {
    char *text;
    size_t size;
    ck_assert_int_eq(cm_file_read(seeds[_i], MUTATE_BYTES, &text, &size), CM_OK);
    mutate_run(text, size, 4000);
    free(text);
}
END_TEST

START_TEST(seed_itself_is_accepted) {
    cm_configuration configuration;
    cm_config *config;
    ck_assert_int_eq(cm_configuration_load(seeds[_i], NULL, 0, &configuration, &config), CM_OK);
    cm_config_destroy(config);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz of configurations");
    TCase *c = tcase_create("fuzz");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, changed_configurations_are_accepted_or_refused_in_one_line, 0, 2);
    tcase_add_loop_test(c, seed_itself_is_accepted, 0, 2);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
