/* Targets: the vectors of docs/spec/learning.md 1.1 - 1.3 and 1.6, and the properties that its test list asks for. */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "core/rng.h"
#include "replay/targets.h"
#include "support/main.h"

enum { STEPS = 64, ACTIONS = 3, UNROLL = 7 };

/* An episode and the targets of one of its positions. */
typedef struct fixture {
    cm_target_rule rule;
    cm_replay_row row[STEPS + 1];
    float policy[(STEPS + 1) * ACTIONS];
    int steps;
    bool terminated;
    float partial[UNROLL + 1], coefficient[UNROLL + 1], value_mask[UNROLL + 1], policy_mask[UNROLL + 1];
    float reward[UNROLL], reward_mask[UNROLL], consistency_mask[UNROLL], policies[(UNROLL + 1) * ACTIONS];
    int32_t bootstrap[UNROLL + 1];
    double value[UNROLL + 1];
} fixture;

static fixture make(int steps, const double *reward, const double *value, const int *player) {
    fixture f = {.steps = steps, .terminated = true, .rule = {.td_steps = 1, .discount = 1.0}};
    for (int t = 0; t <= steps; t++) {
        f.row[t].reward = t < steps ? (float)reward[t] : 0.0f;
        f.row[t].root_value = t < steps ? (float)value[t] : 0.0f;
        f.row[t].to_play = player && t < steps ? (uint8_t)player[t] : 0;
        for (int a = 0; a < ACTIONS; a++) f.policy[t * ACTIONS + a] = a == t % ACTIONS ? 0.5f : 0.25f;
    }
    return f;
}

static void compute(fixture *f, int t) {
    cm_target_window window = {.left = f->steps - t,
                               .terminated = f->terminated,
                               .form = {.numbers = 1, .values = ACTIONS},
                               .td_steps = f->rule.td_steps,
                               .row = f->row + t,
                               .policy = f->policy + t * ACTIONS};
    cm_target_row out = {f->partial,     f->coefficient, f->bootstrap,   f->value_mask,      f->reward,
                         f->reward_mask, f->policies,    f->policy_mask, f->consistency_mask};
    cm_target_compute(&f->rule, &window, &out);
    for (int k = 0; k <= f->rule.unroll; k++) {
        double stored = f->bootstrap[k] < 0 ? 0.0 : (double)window.row[f->bootstrap[k]].root_value;
        f->value[k] = (double)f->partial[k] + (double)f->coefficient[k] * stored;
    }
    double whole = cm_target_return(&f->rule, &window);
    ck_assert_double_eq_tol(whole, f->value[0], 1e-5);
}

static void expect_values(fixture *f, int td_steps, int count, const double *want) {
    f->rule.td_steps = td_steps;
    f->rule.unroll = count - 1;
    compute(f, 0);
    for (int k = 0; k < count; k++)
        ck_assert_msg(fabs(f->value[k] - want[k]) < 1e-5, "n = %d, t = %d: got %g, want %g", td_steps, k, f->value[k],
                      want[k]);
}

static const double rewards[] = {1, 0, 2, 0, 0, 3}, values[] = {.5, 1, 1.5, 2, 2.5, 3};

START_TEST(one_player_returns_of_1_3_and_10_steps_are_the_vectors) {
    fixture f = make(6, rewards, values, NULL);
    f.rule.discount = 0.9;
    expect_values(&f, 1, 8, (const double[]){1.9, 1.35, 3.8, 2.25, 2.7, 3, 0, 0});
    expect_values(&f, 3, 8, (const double[]){4.078, 3.6225, 4.187, 2.43, 2.7, 3, 0, 0});
    expect_values(&f, 10, 8, (const double[]){4.39147, 3.7683, 4.187, 2.43, 2.7, 3, 0, 0});
}
END_TEST

START_TEST(two_player_returns_are_the_vectors) {
    fixture f =
        make(5, (const double[]){0, 0, 0, 0, 1}, (const double[]){.1, -.2, .3, -.4, .9}, (const int[]){0, 1, 0, 1, 0});
    expect_values(&f, 1, 7, (const double[]){.2, -.3, .4, -.9, 1, 0, 0});
    expect_values(&f, 2, 7, (const double[]){.3, -.4, .9, -1, 1, 0, 0});
    expect_values(&f, 10, 7, (const double[]){1, -1, 1, -1, 1, 0, 0});
    f.rule.discount = 0.9;
    expect_values(&f, 1, 7, (const double[]){.18, -.27, .36, -.81, 1, 0, 0});
    expect_values(&f, 2, 7, (const double[]){.243, -.324, .729, -.9, 1, 0, 0});
    expect_values(&f, 10, 7, (const double[]){.6561, -.729, .81, -.9, 1, 0, 0});
}
END_TEST

START_TEST(truncated_episode_bootstraps_its_value) {
    fixture f = make(6, rewards, values, NULL);
    f.rule.discount = 0.9;
    f.terminated = false;
    f.row[6].root_value = 10.0f;
    expect_values(&f, 1, 6, (const double[]){1.9, 1.35, 3.8, 2.25, 2.7, 3 + .9 * 10});
    double z = 1 + .81 * 2 + pow(.9, 5) * 3 + pow(.9, 6) * 10;
    expect_values(&f, 6, 1, &z);
    expect_values(&f, 50, 1, &z);
    ck_assert_int_eq(f.bootstrap[0], 6);
}
END_TEST

START_TEST(value_prefixes_are_the_vectors) {
    fixture f = make(7, (const double[]){1, 1, 0, 2, 1, 5, 7}, (const double[7]){0}, NULL);
    f.rule.value_prefix_horizon = 5;
    f.rule.unroll = 6;
    compute(&f, 0);
    const float at_0[] = {1, 2, 2, 4, 5, 5}, at_4[] = {1, 6, 13, 13, 13, 0};
    for (int k = 0; k < 6; k++) ck_assert_float_eq(f.reward[k], at_0[k]);
    compute(&f, 4);
    for (int k = 0; k < 6; k++) ck_assert_float_eq(f.reward[k], at_4[k]);
}
END_TEST

START_TEST(return_of_reward_1_and_its_fixed_point_is_that_for_every_n) {
    double reward[STEPS], value[STEPS];
    for (int t = 0; t < STEPS; t++) reward[t] = 1.0, value[t] = 1.0 / (1.0 - 0.9375);
    fixture f = make(STEPS, reward, value, NULL);
    f.rule.discount = 0.9375; /* 1 / (1 - 0.9375) = 16 is exact */
    f.terminated = false;
    f.row[STEPS].root_value = 16.0f;
    for (int n = 1; n <= STEPS + 3; n++) expect_values(&f, n, 3, (const double[]){16, 16, 16});
}
END_TEST

static fixture random_two_player(uint64_t number) {
    cm_rng rng = cm_rng_init(cm_key_make(4, CM_RNG_TEST, number), 0);
    double reward[STEPS], value[STEPS];
    int player[STEPS];
    int steps = 1 + (int)cm_rng_below(&rng, 20);
    for (int t = 0; t < steps; t++) {
        reward[t] = (double)cm_rng_normal(&rng);
        value[t] = (double)cm_rng_normal(&rng);
        player[t] = (int)cm_rng_below(&rng, 2);
    }
    fixture f = make(steps, reward, value, player);
    f.rule.discount = 0.95;
    f.rule.td_steps = 1 + (int)cm_rng_below(&rng, 8);
    f.rule.unroll = UNROLL;
    f.terminated = cm_rng_below(&rng, 2);
    f.row[steps].root_value = cm_rng_normal(&rng);
    f.row[steps].to_play = (uint8_t)cm_rng_below(&rng, 2);
    compute(&f, 0);
    return f;
}

START_TEST(flipping_players_leaves_returns_and_negating_rewards_and_values_negates_them) {
    fixture f = random_two_player((uint64_t)_i), flipped = f, negated = f;
    for (int t = 0; t <= f.steps; t++) {
        flipped.row[t].to_play ^= 1;
        negated.row[t].reward = -f.row[t].reward;
        negated.row[t].root_value = -f.row[t].root_value;
    }
    compute(&flipped, 0);
    compute(&negated, 0);
    for (int k = 0; k <= UNROLL; k++) {
        ck_assert_double_eq(flipped.value[k], f.value[k]);
        ck_assert_double_eq(negated.value[k], -f.value[k]);
    }
}
END_TEST

START_TEST(past_a_terminated_end_zeros_are_trained_and_past_a_truncated_one_nothing) {
    fixture f = make(6, rewards, values, NULL);
    f.rule.unroll = 4;
    for (int terminated = 0; terminated < 2; terminated++) {
        f.terminated = terminated;
        compute(&f, 4); /* two steps are left */
        for (int k = 0; k <= 4; k++) {
            bool inside = k < 2;
            ck_assert_float_eq(f.value_mask[k], inside || terminated ? 1.0f : 0.0f);
            ck_assert_float_eq(f.policy_mask[k], inside ? 1.0f : 0.0f);
            if (!inside) ck_assert_double_eq(f.value[k], 0.0);
            for (int a = 0; a < ACTIONS; a++)
                ck_assert_float_eq(f.policies[k * ACTIONS + a], inside ? (a == (4 + k) % 3 ? 0.5f : 0.25f) : 0.0f);
            if (k == 4) continue;
            ck_assert_float_eq(f.reward_mask[k], inside || terminated ? 1.0f : 0.0f);
            ck_assert_float_eq(f.reward[k], k == 1 ? 3.0f : 0.0f);
            ck_assert_float_eq(f.consistency_mask[k], k + 1 <= 2 ? 1.0f : 0.0f);
        }
    }
}
END_TEST

START_TEST(explored_move_gets_the_search_value_and_ends_the_returns_before_it) {
    fixture f =
        make(5, (const double[]){0, 0, 0, 0, 1}, (const double[]){.1, -.2, .3, -.4, .9}, (const int[]){0, 1, 0, 1, 0});
    f.row[2].flags = 1;
    expect_values(&f, 9, 6, (const double[]){.3, -.3, .3, -1, 1, 0});
    for (int k = 0; k < 3; k++) ck_assert_float_eq(f.coefficient[k], 0.0f); /* no network value takes its place */
    expect_values(&f, 1, 3, (const double[]){.2, -.3, .3});
}
END_TEST

START_TEST(td_steps_shrink_by_one_per_30000_steps_of_age) {
    cm_target_rule rule = {.td_steps = 5, .td_interval = 30000};
    const uint64_t index[] = {0, 10000, 10001, 40000, 40001, 70000, 70001, 99999};
    const int want[] = {2, 2, 3, 3, 4, 4, 5, 5};
    for (int i = 0; i < 8; i++) ck_assert_int_eq(cm_target_td_steps(&rule, 100000, index[i]), want[i]);
    ck_assert_int_eq(cm_target_td_steps(&rule, UINT64_C(1) << 50, 0), 1);
    rule.td_interval = 0;
    ck_assert_int_eq(cm_target_td_steps(&rule, 100000, 0), 5);
}
END_TEST

START_TEST(smoothing_mixes_in_the_uniform_policy) {
    fixture f = make(1, rewards, values, NULL);
    f.rule.policy_smoothing = 0.3;
    compute(&f, 0);
    ck_assert_double_eq_tol((double)f.policies[0], 0.5 * 0.7 + 0.1, 1e-7);
    ck_assert_double_eq_tol((double)f.policies[1], 0.25 * 0.7 + 0.1, 1e-7);
}
END_TEST

START_TEST(visit_counts_become_probabilities_and_bad_ones_are_errors) {
    float policy[3];
    ck_assert_int_eq(cm_policy_normalise((const float[]){1, 0, 3}, cm_policy_form_of(3, 1), policy), CM_OK);
    ck_assert_float_eq(policy[0], 0.25f);
    ck_assert_float_eq(policy[1], 0.0f);
    ck_assert_float_eq(policy[2], 0.75f);
    ck_assert_int_eq(cm_policy_normalise((const float[]){0, 0, 0}, cm_policy_form_of(3, 1), policy), CM_ERR_INPUT);
    ck_assert_int_eq(cm_policy_normalise((const float[]){1, -1, 3}, cm_policy_form_of(3, 1), policy), CM_ERR_INPUT);
    ck_assert_int_eq(cm_policy_normalise((const float[]){1, NAN, 3}, cm_policy_form_of(3, 1), policy), CM_ERR_INPUT);
    ck_assert_int_eq(cm_policy_normalise((const float[]){1, INFINITY, 3}, cm_policy_form_of(3, 1), policy),
                     CM_ERR_INPUT);
}
END_TEST

START_TEST(each_number_of_a_policy_is_normalised_and_smoothed) {
    const cm_policy_form form = cm_policy_form_of(4, 2);
    float policy[4];
    ck_assert_int_eq(cm_policy_normalise((const float[]){1, 3, 2, 2}, form, policy), CM_OK);
    ck_assert(policy[0] == 0.25f && policy[1] == 0.75f && policy[2] == 0.5f && policy[3] == 0.5f);
    cm_policy_smooth(0.5, form, policy, 1, policy);
    ck_assert(policy[0] == 0.375f && policy[1] == 0.625f && policy[2] == 0.5f && policy[3] == 0.5f);
    ck_assert_int_eq(cm_policy_normalise((const float[]){1, 3, 0, 0}, form, policy), CM_ERR_INPUT);
}
END_TEST

START_TEST(rules_out_of_range_are_named) {
    const cm_target_rule good = {.unroll = 3, .td_steps = 5, .discount = 0.99};
    cm_target_rule bad[] = {good, good, good, good, good, good};
    bad[0].unroll = -1;
    bad[1].td_steps = 0;
    bad[2].discount = 1.5;
    bad[3].value_prefix_horizon = -1;
    bad[4].policy_smoothing = (double)NAN;
    bad[5].td_interval = -1;
    ck_assert_int_eq(cm_target_rule_check(&good), CM_OK);
    for (int i = 0; i < 6; i++) ck_assert_int_eq(cm_target_rule_check(&bad[i]), CM_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("targets");
    TCase *tests = tcase_create("targets");
    tcase_add_test(tests, one_player_returns_of_1_3_and_10_steps_are_the_vectors);
    tcase_add_test(tests, two_player_returns_are_the_vectors);
    tcase_add_test(tests, truncated_episode_bootstraps_its_value);
    tcase_add_test(tests, value_prefixes_are_the_vectors);
    tcase_add_test(tests, return_of_reward_1_and_its_fixed_point_is_that_for_every_n);
    tcase_add_loop_test(tests, flipping_players_leaves_returns_and_negating_rewards_and_values_negates_them, 0, 50);
    tcase_add_test(tests, past_a_terminated_end_zeros_are_trained_and_past_a_truncated_one_nothing);
    tcase_add_test(tests, explored_move_gets_the_search_value_and_ends_the_returns_before_it);
    tcase_add_test(tests, td_steps_shrink_by_one_per_30000_steps_of_age);
    tcase_add_test(tests, smoothing_mixes_in_the_uniform_policy);
    tcase_add_test(tests, visit_counts_become_probabilities_and_bad_ones_are_errors);
    tcase_add_test(tests, each_number_of_a_policy_is_normalised_and_smoothed);
    tcase_add_test(tests, rules_out_of_range_are_named);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
