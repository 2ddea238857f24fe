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

enum { VALUE_FITS = 1, REWARD_FITS = 2 };

static cm_network_options fit(double low, double high, const cm_env_tried *seen, int flags, bool transform) {
    const cm_env_spec spec = {.max_plies = 100, .reward_low = low, .reward_high = high};
    cm_network_options o = {.value_support_min = -20,
                            .value_support_max = 20,
                            .value_support_size = 41,
                            .reward_support_min = -20,
                            .reward_support_max = 20,
                            .reward_support_size = 41,
                            .value_transform = transform,
                            .fits_value_support = flags & VALUE_FITS,
                            .fits_reward_support = (flags & REWARD_FITS) != 0};
    cm_supports_fit(&spec, seen, 1.0, 3, &o);
    return o;
}

START_TEST(supports_are_widened_to_what_was_seen) {
    static const struct {
        cm_env_tried seen; /* steps, rewards */
        double low, high;  /* of the environment */
        double value, reward;
    } cases[] = {
        {{.steps = 100}, -HUGE_VAL, HUGE_VAL, 20, 20},                                            /* no rewards */
        {{.steps = 100, .reward_high = 1, .reward_sum = 100}, -HUGE_VAL, HUGE_VAL, 20, 20},       /* 200 in all */
        {{.steps = 100, .reward_high = 100, .reward_sum = 100}, -HUGE_VAL, HUGE_VAL, 20, 20},     /* once */
        {{.steps = 100, .reward_low = -1000, .reward_sum = 1000}, -HUGE_VAL, HUGE_VAL, 67, 67},   /* 4000 */
        {{.steps = 100, .reward_high = 1000, .reward_sum = 1e5}, -HUGE_VAL, HUGE_VAL, 647, 67},   /* always */
        {{.steps = 100, .reward_high = 1000, .reward_sum = 1e5}, 0, 1000, 416, 32},               /* no more */
        {{.steps = 100, .reward_high = 1, .reward_sum = 1}, -1e4, 1e4, 20, 110},                  /* unseen */
        {{.steps = 100, .reward_high = 1e15, .reward_sum = 1e17}, -HUGE_VAL, HUGE_VAL, 1e6, 1e6}, /* the most */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double value = cases[i].value, reward = cases[i].reward;
        const cm_network_options o = fit(cases[i].low, cases[i].high, &cases[i].seen, VALUE_FITS | REWARD_FITS, true);
        ck_assert_msg(o.value_support_max == value && o.value_support_min == -value, "%zu: %g", i, o.value_support_max);
        ck_assert_msg(o.reward_support_max == reward && o.reward_support_min == -reward, "%zu: %g", i,
                      o.reward_support_max);
        ck_assert_int_eq(o.value_support_size, cm_support_atoms(value));
        ck_assert_int_eq(o.reward_support_size, cm_support_atoms(reward));
        ck_assert_int_eq(o.fits_value_support, value > 20.0);
        ck_assert_int_eq(o.fits_reward_support, reward > 20.0);
    }
}
END_TEST

START_TEST(supports_that_are_given_stay) {
    const cm_env_tried seen = {.steps = 10, .reward_high = 1000, .reward_sum = 1000};
    for (int flags = 0; flags < 4; flags++) {
        const cm_network_options o = fit(-HUGE_VAL, HUGE_VAL, &seen, flags, false);
        ck_assert_double_eq(o.value_support_max, flags & VALUE_FITS ? 20000 : 20);
        ck_assert_double_eq(o.reward_support_max, flags & REWARD_FITS ? 4000 : 20);
    }
}
END_TEST

/* The reward head of value prefixes adds up the rewards of an unroll, or of a horizon. */
START_TEST(a_prefix_has_space_for_its_rewards) {
    static const struct {
        int unroll, horizon;
        double bound;
    } cases[] = {{3, 5, 300}, {8, 5, 500}, {0, 5, 100}};
    const cm_env_spec spec = {.max_plies = 100, .reward_low = -100, .reward_high = 100};
    const cm_env_tried seen = {.steps = 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_network_options o = {.reward_support_max = 20,
                                .fits_reward_support = true,
                                .value_prefix = true,
                                .value_prefix_horizon = cases[i].horizon};
        cm_supports_fit(&spec, &seen, 1.0, cases[i].unroll, &o);
        ck_assert_double_eq(o.reward_support_max, cases[i].bound);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("supports");
    TCase *tc = tcase_create("supports");
    tcase_add_test(tc, a_bound_holds_what_is_to_be_held);
    tcase_add_test(tc, a_reward_at_every_step_is_worth_the_sum_of_its_discounts);
    tcase_add_test(tc, supports_are_widened_to_what_was_seen);
    tcase_add_test(tc, supports_that_are_given_stay);
    tcase_add_test(tc, a_prefix_has_space_for_its_rewards);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
