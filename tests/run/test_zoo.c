/* Agents of the zoo by name, and the folders that the names stand for. */
#include "run/zoo.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "run/directory.h"
#include "support/main.h"

START_TEST(rows_stand_in_the_order_of_their_names) {
    for (int i = 1; cm_zoo_at(i); i++) ck_assert_str_gt(cm_zoo_at(i)->name, cm_zoo_at(i - 1)->name);
    ck_assert_ptr_null(cm_zoo_at(-1));
}
END_TEST

START_TEST(intervals_hold_the_scores) {
    for (int i = 0; cm_zoo_at(i); i++) {
        const cm_zoo_agent *agent = cm_zoo_at(i);
        ck_assert_msg(agent->least <= agent->score && agent->score <= agent->most, "%s", agent->name);
    }
}
END_TEST

START_TEST(every_agent_is_a_run) {
    for (int i = 0; cm_zoo_at(i); i++) {
        char folder[PATH_MAX];
        ck_assert_msg(cm_zoo_folder(cm_zoo_at(i), folder) == CM_OK, "%s", cm_error_message());
        ck_assert_msg(cm_run_directory_check(folder) == CM_OK, "%s", cm_error_message());
        ck_assert_ptr_null(strstr(folder, ".."));
    }
}
END_TEST

START_TEST(names_are_found_with_and_without_zoo) {
    const cm_zoo_agent *a, *b;
    ck_assert_int_eq(cm_zoo_named("cartpole", &a), CM_OK);
    ck_assert_int_eq(cm_zoo_named("zoo:cartpole", &b), CM_OK);
    ck_assert_ptr_eq(a, b);
    ck_assert_str_eq(a->name, "cartpole");
}
END_TEST

START_TEST(the_nearest_name_is_proposed) {
    const cm_zoo_agent *agent;
    ck_assert_int_eq(cm_zoo_named("zoo:cartpol", &agent), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(),
                     "zoo:cartpol: there is no such agent; did you mean zoo:cartpole? (cumind zoo lists all)");
    ck_assert_int_eq(cm_zoo_named("zoo:qqqqqqqqqq", &agent), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "zoo:qqqqqqqqqq: there is no such agent; cumind zoo lists those there are");
}
END_TEST

START_TEST(a_folder_stands_for_itself) {
    char out[PATH_MAX], longest[PATH_MAX + 1];
    ck_assert_int_eq(cm_zoo_resolve("checkpoints/zoo", out), CM_OK);
    ck_assert_str_eq(out, "checkpoints/zoo");
    memset(longest, 'a', PATH_MAX);
    longest[PATH_MAX] = '\0';
    ck_assert_int_eq(cm_zoo_resolve(longest, out), CM_ERR_INPUT);
    ck_assert_int_eq(cm_zoo_resolve("zoo:cartpole", out), CM_OK);
    ck_assert_str_eq(out + strlen(out) - strlen("/zoo/cartpole"), "/zoo/cartpole");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/zoo");
    TCase *tests = tcase_create("zoo");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, rows_stand_in_the_order_of_their_names);
    tcase_add_test(tests, intervals_hold_the_scores);
    tcase_add_test(tests, every_agent_is_a_run);
    tcase_add_test(tests, names_are_found_with_and_without_zoo);
    tcase_add_test(tests, the_nearest_name_is_proposed);
    tcase_add_test(tests, a_folder_stands_for_itself);
    return cm_test_main(suite);
}
