/* Actions of several numbers, and of angles. */
#include "core/policy_form.h"

#include <check.h>
#include <math.h>

#include "support/main.h"

static const double turn = 6.28318530717958647693;

static const int turns[] = {1, 2, 3, 10, 16, 144, 65535, 65536};

/* The first value is at -pi. */
START_TEST(cosines_and_sines_are_those_of_equal_steps) {
    const int n = turns[_i];
    const cm_policy_form form = {.numbers = 1, .values = n, .angles = 1, .steps = 1};
    for (int k = 0; k < n; k += 1 + n / 5000) {
        const double x = turn * k / n - turn / 2;
        ck_assert_double_eq_tol((double)cm_policy_scaled(form, k, 0), cos(x), 1.5e-7);
        ck_assert_double_eq_tol((double)cm_policy_scaled(form, k, 1), sin(x), 1.5e-7);
    }
}
END_TEST

START_TEST(angles_have_as_many_values_as_actions_allow) {
    static const struct {
        int numbers, values;
        uint32_t angles;
        int steps, actions;
    } rows[] = {{1, 16, 1, 4096, 65536}, {2, 16, 1, 4096, 1 << 20},  {2, 16, 3, 256, 1 << 24},
                {3, 16, 7, 16, 1 << 24}, {1, 1000, 1, 65, 65000},    {1, 2, 1, 32768, 65536},
                {6, 16, 63, 1, 1 << 24}, {2, 1000, 2, 16, 16000000}, {2, 16, 0, 1, 256}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cm_policy_form form = cm_policy_form_of_angles(rows[i].numbers, rows[i].values, rows[i].angles);
        ck_assert_int_eq(form.steps, rows[i].steps);
        ck_assert_int_eq(cm_policy_actions(form), rows[i].actions);
        ck_assert_int_eq(cm_policy_size(form), rows[i].numbers * rows[i].values);
    }
}
END_TEST

/* Half a bin on either side of the first one, which ends where the last one begins. */
START_TEST(an_angle_counts_for_the_nearest_bin) {
    const cm_policy_form form = {.numbers = 1, .values = 5, .angles = 1, .steps = 8};
    for (int k = 0; k < 40; k++)
        ck_assert_int_eq(cm_policy_entry(form, k, 0), k < 4    ? 0
                                                      : k < 12 ? 1
                                                      : k < 20 ? 2
                                                      : k < 28 ? 3
                                                      : k < 36 ? 4
                                                               : 0);
}
END_TEST

/* Three numbers of 4 values, of which the first and the last are angles in steps of 3. */
START_TEST(numbers_stand_next_to_angles) {
    const cm_policy_form form = {.numbers = 3, .values = 4, .angles = 5, .steps = 3};
    ck_assert_int_eq(cm_policy_actions(form), 12 * 4 * 12);
    ck_assert_int_eq(cm_policy_scaled_size(form), 5);
    for (int action = 0; action < 12 * 4 * 12; action++) {
        const int number[3] = {action / 48, action / 12 % 4, action % 12};
        const double first = turn * number[0] / 12 - turn / 2, last = turn * number[2] / 12 - turn / 2;
        const double columns[5] = {cos(first), number[1] * 2.0 / 3.0 - 1.0, cos(last), sin(first), sin(last)};
        for (int d = 0; d < 3; d++) ck_assert_int_eq(cm_policy_number(form, action, d), number[d]);
        ck_assert_int_eq(cm_policy_entry(form, action, 1), number[1]);
        for (int i = 0; i < 5; i++)
            ck_assert_double_eq_tol((double)cm_policy_scaled(form, action, i), columns[i], 1.5e-7);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/policy_form");
    TCase *tests = tcase_create("angles");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, cosines_and_sines_are_those_of_equal_steps, 0, sizeof turns / sizeof *turns);
    tcase_add_test(tests, angles_have_as_many_values_as_actions_allow);
    tcase_add_test(tests, an_angle_counts_for_the_nearest_bin);
    tcase_add_test(tests, numbers_stand_next_to_angles);
    return cm_test_main(suite);
}
