/* How wide supports have to be. */
#include <check.h>
#include <math.h>

#include "run/supports.h"
#include "support/main.h"

START_TEST(a_bound_holds_what_is_to_be_held) {
    static const struct {
        double reach;
        bool transform;
        double bound;
        int atoms;
    } cases[] = {{0.0, true, 0.0, 1},       {1.0, true, 1.0, 3},           {422.0, true, 20.0, 41},
                 {5000.0, true, 75.0, 151}, {1e7, true, 13200.0, 601},     {1e5, true, 416.0, 601},
                 {9e4, true, 390.0, 601},   {5e4, true, 273.0, 547},       {999.0, false, 999.0, 601},
                 {1e7, false, 1e7, 601},    {12345.0, false, 12400.0, 601}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double bound = cm_support_bound(cases[i].reach, cases[i].transform);
        ck_assert_msg(bound == cases[i].bound, "%g: %.17g", cases[i].reach, bound);
        ck_assert_int_eq(cm_support_atoms(bound), cases[i].atoms);
    }
}
END_TEST

START_TEST(a_reward_at_every_step_is_worth_the_sum_of_its_discounts) {
    cm_env_spec spec = {.max_plies = 3};
    ck_assert_double_eq(cm_support_steps(&spec, 1.0), 3.0);
    ck_assert_double_eq_tol(cm_support_steps(&spec, 0.5), 1.75, 1e-12);
    spec.max_plies = 0;
    ck_assert_double_eq_tol(cm_support_steps(&spec, 0.75), 4.0, 1e-12);
    ck_assert(isinf(cm_support_steps(&spec, 1.0)));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("supports");
    TCase *tc = tcase_create("supports");
    tcase_add_test(tc, a_bound_holds_what_is_to_be_held);
    tcase_add_test(tc, a_reward_at_every_step_is_worth_the_sum_of_its_discounts);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
