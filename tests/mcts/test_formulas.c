/* The parts of a search one by one: sums, exponentials, sequential halving, q-transforms, policies, random numbers of
 * JAX. */
#include <math.h>

#include "core/rng.h"
#include "mcts/considered.h"
#include "mcts/policy.h"
#include "mcts/qtransform.h"
#include "mcts/select.h"
#include "mcts/support.h"
#include "mcts/threefry.h"

START_TEST(exp_is_within_2_ulp) {
    for (float x = -86.9f; x < 80.0f; x += 0.0137f) {
        double want = exp((double)x), error = fabs((double)cm_exp(x) - want) / want;
        ck_assert_msg(error < 2.4e-7, "exp(%g): relative error %g", (double)x, error);
    }
    ck_assert(cm_exp(0.0f) == 1.0f);
    ck_assert(cm_exp(-FLT_MAX) == 0.0f);
    ck_assert(cm_exp(-INFINITY) == 0.0f);
    ck_assert(cm_exp(-87.337f) == 0.0f);
    assert_near(logf(cm_exp(-87.3365f)), -87.3365f, 1e-5f, "near the least", 0);
    ck_assert(isnan(cm_exp(NAN)));
}
END_TEST

START_TEST(log_is_within_2_ulp) {
    for (float x = FLT_MIN; x < FLT_MAX / 1.001f; x *= 1.000917f) {
        double want = log((double)x), error = fabs((double)cm_ln(x) - want);
        ck_assert_msg(error < 2.4e-7 * fabs(want) || error < 1e-7, "log(%g): error %g", (double)x, error);
    }
    ck_assert(cm_ln(1.0f) == 0.0f);
    ck_assert(cm_ln(INFINITY) == INFINITY);
    ck_assert(isnan(cm_ln(NAN)));
}
END_TEST

START_TEST(sum_adds_every_element_once) {
    float x[100];
    for (int i = 0; i < 100; i++) x[i] = (float)(1 << (i % 20));
    for (int n = 0; n <= 100; n++) {
        double want = 0.0;
        for (int i = 0; i < n; i++) want += (double)x[i];
        ck_assert(cm_sum(x, n) == (float)want);
    }
}
END_TEST

START_TEST(softmax_sums_to_1_and_gives_0_to_absent_actions) {
    float x[5] = {1000.0f, 1001.0f, -FLT_MAX, 999.0f, -FLT_MAX}, p[5];
    ck_assert(cm_softmax(p, x, 5) >= 1.0f);
    assert_near(cm_sum(p, 5), 1.0f, 1e-6f, "sum", 0);
    assert_near(p[1] / p[0], expf(1.0f), 1e-5f, "ratio", 0);
    ck_assert(p[2] == 0.0f && p[4] == 0.0f);
    float none[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    (void)cm_softmax(p, none, 3);
    for (int i = 0; i < 3; i++) assert_near(p[i], 1.0f / 3.0f, 1e-7f, "uniform", i);
    float bad[2] = {NAN, 0.0f}, worse[2] = {0.0f, INFINITY};
    ck_assert(!(cm_softmax(p, bad, 2) >= 1.0f));
    ck_assert(!(cm_softmax(p, worse, 2) >= 1.0f));
}
END_TEST

START_TEST(argmax_takes_the_lowest_of_equals) {
    ck_assert_int_eq(cm_argmax((const float[]){1, 3, 3, 2}, 4), 1);
    ck_assert_int_eq(cm_argmax((const float[]){-INFINITY, -INFINITY}, 2), 0);
    ck_assert_int_eq(cm_argmax((const float[]){-INFINITY, -1e30f}, 2), 1);
}
END_TEST

static void check_sequence(int m, int simulations, const char *want) {
    int32_t row[64];
    ck_assert_int_le(simulations, 64);
    cm_considered_sequence(row, m, simulations);
    const char *at = want;
    for (int t = 0; t < simulations; t++) {
        char *end;
        long number = strtol(at, &end, 10);
        ck_assert_msg(end != at, "m=%d: the expectation is too short", m);
        ck_assert_msg(row[t] == number, "m=%d S=%d t=%d: got %d, want %ld", m, simulations, t, row[t], number);
        at = end;
    }
    ck_assert_msg(strtol(at, NULL, 10) == 0, "m=%d: the expectation is too long", m);
}

START_TEST(sequential_halving_considers_the_published_rows) {
    check_sequence(0, 4, "0 1 2 3");
    check_sequence(1, 4, "0 1 2 3");
    check_sequence(2, 8, "0 0 1 1 2 2 3 3");
    check_sequence(3, 8, "0 0 0 1 1 2 2 3");
    check_sequence(4, 8, "0 0 0 0 1 1 2 2");
    check_sequence(8, 24, "0 0 0 0 0 0 0 0 1 1 1 1 2 2 2 2 3 3 4 4 5 5 6 6");
    check_sequence(8, 47,
                   "0 0 0 0 0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3 4 4 5 5 6 6 7 7 8 8 9 9 10 10 11 11 12 12 13 13 "
                   "14 14 15 15 16 16 17");
    check_sequence(8, 2, "0 0");
    check_sequence(8, 13, "0 0 0 0 0 0 0 0 1 1 1 1 2");
    check_sequence(7, 24, "0 0 0 0 0 0 0 1 1 1 2 2 2 3 3 4 4 5 5 6 6 7 7 8");
    check_sequence(16, 50,
                   "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 2 2 2 2 3 3 3 3 4 4 4 4 5 5 6 6 7 7 8 8 "
                   "9 9 10 10 11 11");
    check_sequence(5, 12, "0 0 0 0 0 1 1 2 2 3 3 4");
    check_sequence(6, 20, "0 0 0 0 0 0 1 1 1 2 2 2 3 3 4 4 5 5 6 6");
    check_sequence(4, 5, "0 0 0 0 1");
    int32_t table[3 * 4];
    cm_considered_table(table, 2, 4);
    ck_assert_int_eq(table[3], 3);
    ck_assert_int_eq(table[7], 3);
    ck_assert_int_eq(table[11], 1);
}
END_TEST

/* Two children of a node with four actions. */
static const int32_t visits[2] = {4, 4};

START_TEST(mixed_value_is_the_weighted_mean_of_raw_and_visited) {
    float scratch[8], prior[4], q[2] = {30.0f / 54.0f, -10.0f / 54.0f};
    (void)cm_softmax(prior, (const float[]){-FLT_MAX, -1, 2, -FLT_MAX}, 4);
    float want = (-0.8f + 8.0f * (prior[1] * q[0] + prior[2] * q[1])) / 9.0f;
    assert_near(cm_mixed_value(q, prior + 1, visits, 2, -0.8f, scratch), want, 1e-6f, "mixed", 0);
    assert_near(cm_mixed_value(q, prior + 1, visits, 0, -0.8f, scratch), -0.8f, 0.0f, "no children", 0);
    const float all[4] = {NAN, q[0], q[1], NAN}; /* what is not visited does not count */
    const int32_t times[4] = {0, 4, 4, 0}, none[4] = {0};
    assert_near(cm_mixed_value(all, prior, times, 4, -0.8f, scratch), want, 1e-6f, "mixed", 1);
    assert_near(cm_mixed_value(all, prior, none, 4, -0.8f, scratch), -0.8f, 0.0f, "unvisited", 0);
    prior[1] = prior[2] = 0.0f; /* underflow: still finite */
    ck_assert(isfinite(cm_mixed_value(q, prior + 1, visits, 2, -0.8f, scratch)));
}
END_TEST

START_TEST(siblings_transform_maps_to_0_and_1) {
    const float q[2] = {3.0f, -1.0f}, equal[2] = {0.5f, 0.5f};
    cm_affine map = cm_range_map(cm_qtransform_siblings(q, 1, 2, 0.5f, 1e-8f));
    assert_near(cm_affine_apply(map, q[0]), 1.0f, 1e-6f, "high", 0);
    assert_near(cm_affine_apply(map, q[1]), 0.0f, 0.0f, "low", 0);
    assert_near(cm_affine_open(map), 0.0f, 0.0f, "open", 0);
    map = cm_range_map(cm_qtransform_siblings(q, 1, 2, 7.0f, 1e-8f)); /* the node's own value is a bound as well */
    assert_near(cm_affine_apply(map, q[0]), 0.5f, 1e-6f, "value above", 0);
    map = cm_range_map(cm_qtransform_siblings(q, 1, 2, -5.0f, 1e-8f));
    assert_near(cm_affine_apply(map, q[1]), 0.5f, 1e-6f, "value below", 0);
    map = cm_range_map(cm_qtransform_siblings(q, 1, 2, 0.5f, 3.0f)); /* epsilon bounds the divisor, it is not added */
    assert_near(cm_affine_apply(map, q[0]), 1.0f, 1e-6f, "small epsilon", 0);
    map = cm_range_map(cm_qtransform_siblings(q, 1, 2, 0.5f, 8.0f));
    assert_near(cm_affine_apply(map, q[0]), 0.5f, 1e-6f, "large epsilon", 0);
    map = cm_range_map(cm_qtransform_siblings(equal, 1, 2, 0.5f, 1e-8f));
    assert_near(cm_affine_apply(map, equal[1]), 0.0f, 0.0f, "equal", 0);
}
END_TEST

START_TEST(min_max_transform_does_not_clip) {
    cm_qtransform params = {.kind = CM_QTRANSFORM_MIN_MAX, .min_value = -1, .max_value = 3};
    cm_affine map = cm_range_map(cm_qtransform_min_max(&params));
    assert_near(cm_affine_apply(map, 5.0f), 1.5f, 1e-6f, "above", 0);
    assert_near(cm_affine_apply(map, -2.0f), -0.25f, 1e-6f, "below", 0);
    assert_near(cm_affine_open(map), 0.0f, 0.0f, "open", 0);
}
END_TEST

START_TEST(completed_transform_scales_with_the_most_visits) {
    cm_qtransform params = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO).qtransform;
    const float q[2] = {2.0f, 1.0f};
    cm_affine map = cm_qtransform_completed(&params, q, visits, 2, 4, 4.0f / 3.0f);
    assert_near(cm_affine_apply(map, q[0]), 5.4f, 1e-5f, "rescaled", 0);
    assert_near(cm_affine_apply(map, q[1]), 0.0f, 1e-5f, "rescaled", 1);
    assert_near(cm_affine_open(map), 5.4f / 3.0f, 1e-5f, "rescaled, open", 0);
    map = cm_qtransform_completed(&params, q, visits, 2, 4, -2.0f); /* the fill bounds the range ... */
    assert_near(cm_affine_apply(map, q[1]), 5.4f * 0.75f, 1e-5f, "low fill", 1);
    map = cm_qtransform_completed(&params, q, visits, 2, 2, -2.0f); /* ... only if something is open */
    assert_near(cm_affine_apply(map, q[1]), 0.0f, 1e-5f, "nothing open", 1);
    params.epsilon = 4.0f; /* the floor of the range, which is 2 */
    map = cm_qtransform_completed(&params, q, visits, 2, 4, 0.0f);
    assert_near(cm_affine_apply(map, q[0]), 5.4f * 0.5f, 1e-5f, "floor", 0);
    assert_near(cm_affine_open(map), 0.0f, 1e-5f, "floor, open", 0);
    params.epsilon = 0.01f; /* values that are as good as equal stay so: EfficientZero's floor */
    map = cm_qtransform_completed(&params, (const float[]){0.502f, 0.5f}, visits, 2, 2, 0.0f);
    assert_near(cm_affine_apply(map, 0.502f), 5.4f * 0.2f, 1e-4f, "floor", 1);
    assert_near(cm_affine_apply(map, 0.5f), 0.0f, 1e-5f, "floor", 2);
    params.rescale_values = false;
    map = cm_qtransform_completed(&params, q, visits, 2, 4, -3.0f);
    assert_near(cm_affine_apply(map, q[0]), 10.8f, 1e-5f, "plain", 0);
    assert_near(cm_affine_open(map), -16.2f, 1e-5f, "plain, open", 0);
}
END_TEST

START_TEST(puct_prefers_the_prior_and_then_the_value) {
    float q[2] = {1.0f, 0.5f}, weight[2] = {0.1f, 0.1f};
    int32_t action[2] = {3, 1};
    cm_node_cold cold = {.count = 0, .open_action = 2, .open_prior = 0.3f};
    cm_node_view view = {.step = 1, .is_list = true, .cold = &cold, .q = q, .weight = weight, .action = action};
    cm_affine map = {0, 0, 1};
    cm_choice choice = cm_select_puct(&view, map, 1.25f);
    ck_assert(choice.action == 2 && choice.entry == 0);
    cold.count = 2;
    choice = cm_select_puct(&view, map, 1.25f);
    ck_assert(choice.action == 3 && choice.entry == 0);
    q[1] = 1.0f; /* equal scores: the lower action, wherever it stands */
    choice = cm_select_puct(&view, map, 1.25f);
    ck_assert(choice.action == 1 && choice.entry == 1);
    weight[0] = 0.3f; /* equal values: the larger weight */
    choice = cm_select_puct(&view, map, 1.25f);
    ck_assert(choice.action == 3 && choice.entry == 0);
    weight[0] = 0.1f;
    map.fill = 5.0f; /* what open actions have for a value */
    choice = cm_select_puct(&view, map, 1.25f);
    ck_assert(choice.action == 2 && choice.entry == 2);
    map.fill = 0.0f;
    cold.open_prior = 2.0f;
    choice = cm_select_puct(&view, map, 1.25f);
    ck_assert(choice.action == 2 && choice.entry == 2);
    assert_near(cm_puct_explore(4.0f, 1.25f, 19652.0f), 2.0f * (1.25f + logf(19657.0f / 19652.0f)), 1e-6f, "explore",
                0);
}
END_TEST

START_TEST(gumbel_root_takes_the_lowest_of_equals_and_has_a_floor) {
    const float noise[5] = {0.0f, 1.0f, 1.0f, -3e9f, -2e9f}, q[5] = {0, 0, 0, 0, 0};
    const int32_t none[5] = {0, 0, 0, 0, 0}, some[5] = {1, 1, 1, 0, 0};
    float logits[5] = {0, 0, 0, 0, 0};
    cm_affine map = {0, 0, 1};
    ck_assert_int_eq(cm_select_gumbel_root(noise, logits, none, q, 5, map, 0), 1);
    ck_assert_int_eq(cm_select_gumbel_root(noise, logits, some, q, 5, map, 0), 3); /* both at -1e9 */
    ck_assert_int_eq(cm_select_gumbel_root(noise, logits, some, q, 5, map, 2), 0); /* nothing fits */
    logits[1] = -FLT_MAX;
    ck_assert_int_eq(cm_select_gumbel_root(noise, logits, none, q, 5, map, 0), 2);
}
END_TEST

START_TEST(sharpened_weights_follow_the_temperature) {
    const float weights[4] = {0.5f, 0.25f, 0.0f, 0.25f};
    float probs[4];
    cm_policy_sharpen(probs, weights, 1.0f, 4);
    for (int a = 0; a < 4; a++) assert_near(probs[a], weights[a], 1e-6f, "T=1", a);
    cm_policy_sharpen(probs, weights, 0.5f, 4);
    const float squared[4] = {2.0f / 3.0f, 1.0f / 6.0f, 0, 1.0f / 6.0f};
    for (int a = 0; a < 4; a++) assert_near(probs[a], squared[a], 1e-6f, "T=0.5", a);
    cm_policy_sharpen(probs, (const float[]){0.4f, 0.4f, 0.2f, 0}, 0.0f, 4);
    const float ties[4] = {0.5f, 0.5f, 0, 0};
    for (int a = 0; a < 4; a++) assert_near(probs[a], ties[a], 1e-6f, "T=0", a);
    cm_policy_sharpen(probs, weights, 20.0f, 4); /* (FLT_MIN / 0.5)^(1/20) = 0.01314 of the most visited action */
    assert_near(probs[2] / probs[0], 0.0131390f, 1e-6f, "T=20", 2);
}
END_TEST

START_TEST(what_is_not_there_is_not_played_however_high_the_temperature) {
    const float weights[4] = {0.5f, 0.25f, 0.0f, 0.25f}, closed[4] = {0, 0, -FLT_MAX, 0};
    float probs[4], playable[4];
    cm_policy_sharpen(probs, weights, 1e6f, 4);
    for (int a = 0; a < 4; a++) assert_near(probs[a], 0.25f, 1e-4f, "T=1e6", a);
    cm_policy_playable(playable, probs, weights, closed, 4);
    for (int a = 0; a < 4; a++) ck_assert(playable[a] == (a == 2 ? 0.0f : probs[a]));
    cm_policy_playable(playable, probs, (const float[]){0, 0, 1, 0}, closed, 4);
    ck_assert(playable[2] == probs[2]); /* visited, where no action is legal */
}
END_TEST

START_TEST(masked_logits_are_shifted_by_their_maximum) {
    float logits[4] = {1e6f, -FLT_MAX, 1e6f + 1.0f, -100.0f}, p[4];
    cm_policy_mask(logits, (const uint8_t[]){1, 0, 1, 0}, 4);
    (void)cm_softmax(p, logits, 4);
    assert_near(p[0], 1.0f / (1.0f + expf(1.0f)), 1e-6f, "masked", 0);
    assert_near(p[2], expf(1.0f) / (1.0f + expf(1.0f)), 1e-6f, "masked", 2);
    ck_assert(p[1] == 0.0f && p[3] == 0.0f);
    ck_assert(logits[2] == 0.0f && logits[3] == -FLT_MAX);
}
END_TEST

START_TEST(root_noise_is_mixed_before_the_logarithm) {
    float logits[3] = {1.0f, 1.0f, -FLT_MAX}, scratch[3];
    cm_policy_mix(logits, (const float[]){0.0f, 0.2f, 0.8f}, 0.25f, 3, scratch);
    assert_near(logits[0], logf(0.75f * 0.5f), 1e-6f, "mixed", 0);
    assert_near(logits[1], logf(0.75f * 0.5f + 0.05f), 1e-6f, "mixed", 1);
    ck_assert(logits[2] == -FLT_MAX);
}
END_TEST

START_TEST(visit_fractions_of_nothing_are_uniform) {
    float weights[4];
    cm_policy_visit_fractions(weights, (const int32_t[]){0, 0, 0, 0}, 4);
    for (int a = 0; a < 4; a++) ck_assert(weights[a] == 0.25f);
    cm_policy_visit_fractions(weights, (const int32_t[]){3, 0, 1, 0}, 4);
    ck_assert(weights[0] == 0.75f && weights[1] == 0.0f && weights[2] == 0.25f);
}
END_TEST

START_TEST(threefry_matches_jax) {
    const cm_threefry_key zero = {{0, 0}}, ones = {{~0u, ~0u}}, pi = {{0x13198a2eu, 0x03707344u}};
    cm_threefry_key out = cm_threefry(zero, 0, 0);
    ck_assert(out.word[0] == 0x6b200159u && out.word[1] == 0x99ba4efeu);
    out = cm_threefry(ones, ~0u, ~0u);
    ck_assert(out.word[0] == 0x1cb996fcu && out.word[1] == 0xbb002be7u);
    out = cm_threefry(pi, 0x243f6a88u, 0x85a308d3u);
    ck_assert(out.word[0] == 0xc4923a9cu && out.word[1] == 0x483df7a0u);
    const uint32_t split3[6] = {2467461003u, 428148500u, 3186719485u, 3840466878u, 2562233961u, 1946702221u};
    for (uint32_t i = 0; i < 6; i++) ck_assert_uint_eq(cm_threefry_split(zero, 3, i / 2).word[i % 2], split3[i]);
    out = cm_threefry_fold_in(zero, 2);
    ck_assert(out.word[0] == 4146024105u && out.word[1] == 2718843009u);
    const float uniform[3] = {0.9653214f, 0.3146816f, 0.6330299f}, normal[3] = {1.8160864f, -0.4826232f, 0.3398891f};
    for (uint32_t i = 0; i < 3; i++) {
        assert_near(cm_threefry_uniform(zero, 3, i, 0, 1), uniform[i], 1e-6f, "uniform", (int)i);
        assert_near(cm_threefry_normal(zero, 3, i), normal[i], 2e-6f, "normal", (int)i);
    }
}
END_TEST

int main(void) {
    return RUN_SUITE(
        "search formulas", exp_is_within_2_ulp, log_is_within_2_ulp, sum_adds_every_element_once,
        softmax_sums_to_1_and_gives_0_to_absent_actions, argmax_takes_the_lowest_of_equals,
        sequential_halving_considers_the_published_rows, mixed_value_is_the_weighted_mean_of_raw_and_visited,
        siblings_transform_maps_to_0_and_1, min_max_transform_does_not_clip,
        completed_transform_scales_with_the_most_visits, puct_prefers_the_prior_and_then_the_value,
        gumbel_root_takes_the_lowest_of_equals_and_has_a_floor, sharpened_weights_follow_the_temperature,
        what_is_not_there_is_not_played_however_high_the_temperature, masked_logits_are_shifted_by_their_maximum,
        root_noise_is_mixed_before_the_logarithm, visit_fractions_of_nothing_are_uniform, threefry_matches_jax);
}
