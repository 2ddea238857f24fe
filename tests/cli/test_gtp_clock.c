/* The clocks of games of the Go Text Protocol. */
#include <check.h>

#include "cli/gtp_clock.h"
#include "support/main.h"

static const cm_env_spec spec = {.max_plies = 160}; /* a share of the rest is a 20th */

static void expect_next(const cm_gtp_clock *clock, int player, double seconds) {
    ck_assert_double_eq_tol(cm_gtp_clock_next(clock, &spec, player), seconds, 1e-9);
}

START_TEST(no_settings_are_no_limit) {
    cm_gtp_clock clock = {.own = {0}};
    expect_next(&clock, 0, 0.0);
    cm_gtp_clock_set(&clock, 0.0, 1.0, 0);
    expect_next(&clock, 1, 0.0);
    cm_gtp_clock_set(&clock, 0.0, 0.0, 0);
    expect_next(&clock, 1, 0.0);
}
END_TEST

START_TEST(main_time_is_shared_over_the_rest_of_the_game) {
    cm_gtp_clock clock = {.own = {0}};
    cm_gtp_clock_set(&clock, 60.0, 0.0, 0);
    expect_next(&clock, 0, 3.0);
    cm_gtp_clock_count(&clock, 0, 20.0);
    expect_next(&clock, 0, 2.0);
    expect_next(&clock, 1, 3.0);
    cm_gtp_clock_count(&clock, 0, 50.0);
    ck_assert(cm_gtp_clock_next(&clock, &spec, 0) > 0.0 && cm_gtp_clock_next(&clock, &spec, 0) < 0.01);
    cm_gtp_clock_begin(&clock);
    expect_next(&clock, 0, 3.0);
}
END_TEST

START_TEST(canadian_periods_are_for_their_stones) {
    cm_gtp_clock clock = {.own = {0}};
    cm_gtp_clock_set(&clock, 10.0, 20.0, 5);
    expect_next(&clock, 0, 4.0); /* a 20th of 10 s is less than a stone of the period has */
    cm_gtp_clock_count(&clock, 0, 11.0);
    expect_next(&clock, 0, 19.0 / 4);
    for (int i = 0; i < 3; i++) cm_gtp_clock_count(&clock, 0, 2.0);
    expect_next(&clock, 0, 13.0);
    cm_gtp_clock_count(&clock, 0, 2.0);
    expect_next(&clock, 0, 4.0);
    cm_gtp_clock_set(&clock, 0.0, 1.0, 1);
    for (int i = 0; i < 3; i++) cm_gtp_clock_count(&clock, 1, 0.9);
    expect_next(&clock, 1, 1.0);
}
END_TEST

START_TEST(japanese_periods_begin_again_with_each_move) {
    cm_gtp_clock clock = {.own = {0}};
    cm_gtp_clock_set(&clock, 1.0, 10.0, 3);
    clock.is_japanese = true;
    cm_gtp_clock_count(&clock, 0, 2.0);
    expect_next(&clock, 0, 10.0);
    cm_gtp_clock_count(&clock, 0, 9.0);
    expect_next(&clock, 0, 10.0);
}
END_TEST

START_TEST(the_stricter_of_two_limits_holds) {
    cm_gtp_clock clock = {.own = {.move = 1.5}};
    expect_next(&clock, 0, 1.5);
    cm_gtp_clock_set(&clock, 60.0, 0.0, 0);
    expect_next(&clock, 0, 1.5);
    cm_gtp_clock_set(&clock, 20.0, 0.0, 0);
    expect_next(&clock, 0, 1.0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/gtp_clock");
    TCase *tests = tcase_create("gtp_clock");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, no_settings_are_no_limit);
    tcase_add_test(tests, main_time_is_shared_over_the_rest_of_the_game);
    tcase_add_test(tests, canadian_periods_are_for_their_stones);
    tcase_add_test(tests, japanese_periods_begin_again_with_each_move);
    tcase_add_test(tests, the_stricter_of_two_limits_holds);
    return cm_test_main(suite);
}
