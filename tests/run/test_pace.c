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
    {{.learning = 58.0, .seconds = 59.0, .is_said = false}, 36000.0, 32.0}, /* not known yet */
    {{.learning = 58.0, .seconds = 61.0, .is_said = true}, 36000.0, 32.0},  /* said */
    {{.learning = 54.0, .seconds = 61.0, .is_said = false}, 36000.0, 32.0}, /* acting takes its part */
    {{.learning = 58.0, .seconds = 61.0, .is_said = false}, 1700.0, 32.0},  /* soon over */
    {{.learning = 58.0, .seconds = 61.0, .is_said = false}, (double)INFINITY, 32.0},
    {{.learning = 58.0, .seconds = 61.0, .is_said = false}, 36000.0, 3.9},
    {{.learning = 58.0, .seconds = 61.0, .is_said = false}, 36000.0, 0.0}, /* other keys decide */
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

/* Evaluations are known best, then acting; episodes may get longer by half, up to their bound. */
static const struct need {
    cm_pace pace;
    int most_steps;
    double each; /* seconds of an episode; NAN: not known */
} needs[] = {
    {{.acting = 4.0, .steps = 200, .length = 10.0}, 0, 1.1 * 0.02 * 15.0},
    {{.acting = 4.0, .steps = 200, .length = 10.0}, 12, 1.1 * 0.02 * 12.0},
    {{.acting = 4.0, .steps = 200, .evaluating = 1.0, .evaluated = 100, .length = 10.0}, 0, 1.1 * 0.01 * 15.0},
    {{.acting = 4.0, .steps = 200}, 0, (double)NAN}, /* no episode has ended */
    {{.length = 10.0}, 0, (double)NAN},
};

START_TEST(what_an_end_needs_of_a_limit_is_left_up_to_a_quarter_of_it) {
    const struct need *n = &needs[_i];
    cm_pace pace = n->pace;
    const double need = cm_pace_need(&pace, 7, n->most_steps);
    ck_assert_int_eq(isnan(need), isnan(n->each));
    if (isfinite(need)) ck_assert_double_eq_tol(need, 7.0 * n->each, 1e-12);
    const double kept = isfinite(need) ? need : 10.0;
    ck_assert_double_eq_tol(cm_pace_reserve(&pace, 7, n->most_steps, 100.0), kept, 1e-12);
    pace.saving = 2.0;
    ck_assert_double_eq_tol(cm_pace_reserve(&pace, 7, n->most_steps, 100.0), kept + 2.0, 1e-12);
    ck_assert_double_eq_tol(cm_pace_reserve(&pace, 0, n->most_steps, 100.0), 2.0, 1e-12);
    pace.saving = 50.0;
    ck_assert_double_eq_tol(cm_pace_reserve(&pace, 7, n->most_steps, 100.0), 25.0, 1e-12);
}
END_TEST

START_TEST(evaluations_wait_that_take_more_than_a_quarter_of_the_time) {
    cm_pace pace = {.acting = 4.0, .steps = 200, .length = 10.0}; /* 20 episodes of 15 steps: 6.6 s */
    ck_assert(!cm_pace_affords(&pace, 20, 0, 3.0 * 6.6 - 0.1) && cm_pace_affords(&pace, 20, 0, 3.0 * 6.6 + 0.1));
    ck_assert(!cm_pace_affords(&pace, 20, 300, 3.0 * 6.6 - 0.1) && cm_pace_affords(&pace, 20, 10, 3.0 * 4.4 + 0.1));
    pace.evaluating = 5.0, pace.evaluated = 250; /* of that time they have taken some */
    ck_assert(!cm_pace_affords(&pace, 20, 0, 3.0 * 6.6 + 19.0) && cm_pace_affords(&pace, 20, 0, 3.0 * 6.6 + 21.0));
    pace = (cm_pace){.acting = 4.0, .steps = 200}; /* no episode has ended: it may be the longest one */
    ck_assert(!cm_pace_affords(&pace, 20, 10, 3.0 * 4.4 - 0.1) && cm_pace_affords(&pace, 20, 10, 3.0 * 4.4 + 0.1));
    pace = (cm_pace){.acting = 0.0}; /* nothing is known */
    ck_assert(cm_pace_affords(&pace, 20, 10, 1.0));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/pace");
    TCase *tests = tcase_create("pace");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, nothing_is_said_where_it_would_not_help, 0, (int)(sizeof silences / sizeof *silences));
    tcase_add_test(tests, a_long_run_that_learns_most_of_the_time_is_told_what_a_lower_ratio_takes);
    tcase_add_loop_test(tests, what_an_end_needs_of_a_limit_is_left_up_to_a_quarter_of_it, 0,
                        (int)(sizeof needs / sizeof *needs));
    tcase_add_test(tests, evaluations_wait_that_take_more_than_a_quarter_of_the_time);
    return cm_test_main(suite);
}
