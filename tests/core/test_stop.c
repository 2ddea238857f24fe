/* Stops: what asks them, and how much earlier the clock does where looks at it are far apart. */
#include "core/stop.h"

#include <check.h>

#include "support/main.h"

START_TEST(a_stop_is_asked_by_itself_another_one_or_the_clock) {
    cm_stop other = {0};
    const cm_stop with = {.with = &other}, never = {.until = cm_clock_seconds() + 1000.0},
                  over = {.until = cm_clock_seconds()};
    ck_assert(!cm_stop_asked(NULL) && !cm_stop_asked(&with) && !cm_stop_asked(&never) && cm_stop_asked(&over));
    cm_stop_ask(&other);
    ck_assert(cm_stop_asked(&other) && cm_stop_asked(&with));
}
END_TEST

START_TEST(reserve_is_twice_the_longest_pause_up_to_the_most) {
    cm_stop_pace pace = {.last = 10.0, .most = 3.0};
    ck_assert_double_eq(cm_stop_pace_look(&pace, 10.25), 0.5);
    ck_assert_double_eq(cm_stop_pace_look(&pace, 10.375), 0.5);
    ck_assert_double_eq(cm_stop_pace_look(&pace, 11.375), 2.0);
    ck_assert_double_eq(cm_stop_pace_look(&pace, 13.375), 3.0);
    ck_assert_double_eq(pace.longest, 2.0);
    ck_assert_double_eq(pace.last, 13.375);
}
END_TEST

START_TEST(pauses_let_the_clock_ask_earlier) {
    const double now = cm_clock_seconds();
    cm_stop_pace pace = {.last = now, .longest = 600.0, .most = 2000.0};
    const cm_stop stop = {.until = now + 1000.0, .pace = &pace};
    ck_assert(cm_stop_asked(&stop));
    pace.most = 500.0;
    ck_assert(!cm_stop_asked(&stop));
    pace.last = now - 800.0; /* a pause that ends with this look */
    pace.most = 2000.0;
    pace.longest = 0.0;
    ck_assert(cm_stop_asked(&stop));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/stop");
    TCase *tests = tcase_create("stop");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_stop_is_asked_by_itself_another_one_or_the_clock);
    tcase_add_test(tests, reserve_is_twice_the_longest_pause_up_to_the_most);
    tcase_add_test(tests, pauses_let_the_clock_ask_earlier);
    return cm_test_main(suite);
}
