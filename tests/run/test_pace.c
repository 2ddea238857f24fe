#include <check.h>
#include <math.h>
#include <string.h>

#include "run/pace.h"
#include "support/main.h"

static char line[300];

static const struct silence {
    cm_pace pace;
    double whole, ratio;
} silences[] = {
    {{58.0, 59.0, false}, 36000.0, 32.0}, /* not known yet */
    {{58.0, 61.0, true}, 36000.0, 32.0},  /* said */
    {{54.0, 61.0, false}, 36000.0, 32.0}, /* acting takes its part */
    {{58.0, 61.0, false}, 1700.0, 32.0},  /* soon over */
    {{58.0, 61.0, false}, (double)INFINITY, 32.0}, {{58.0, 61.0, false}, 36000.0, 3.9},
    {{58.0, 61.0, false}, 36000.0, 0.0}, /* other keys decide */
};

START_TEST(nothing_is_said_where_it_would_not_help) {
    cm_pace pace = silences[_i].pace;
    cm_pace_advise(&pace, silences[_i].whole, silences[_i].ratio, line, sizeof line);
    ck_assert_str_eq(line, "");
    ck_assert_int_eq(pace.is_said, silences[_i].pace.is_said);
}
END_TEST

START_TEST(a_long_run_that_learns_most_of_the_time_is_told_what_a_lower_ratio_takes) {
    cm_pace pace = {.learning = 96.0, .seconds = 100.0};
    cm_pace_advise(&pace, 36000.0, 32.0, line, sizeof line);
    ck_assert_str_eq(
        line, "96 % of the time is learning, from each step 32 times: a run with replay_ratio=8 would take 2h48m "
              "in place of 10h00m; where steps are cheap it is better lower (docs/TUNING.md)");
    cm_pace_advise(&pace, 36000.0, 32.0, line, sizeof line);
    ck_assert_str_eq(line, "");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/pace");
    TCase *tests = tcase_create("pace");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, nothing_is_said_where_it_would_not_help, 0, (int)(sizeof silences / sizeof *silences));
    tcase_add_test(tests, a_long_run_that_learns_most_of_the_time_is_told_what_a_lower_ratio_takes);
    return cm_test_main(suite);
}
