/* Drawing: frequencies, importance weights, edge cases, and which priority updates count. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/batch.h"
#include "replay/priority.h"
#include "support/main.h"

static cm_replay_config make_config(void) {
    return (cm_replay_config){
        .observation_size = 1,
        .actions = 2,
        .environments = 1,
        .bytes = 1 << 20,
        .max_steps = 1000,
        .segment_steps = 100,
        .commit_steps = 100,
        .prioritized = true,
        .alpha = 0.6,
        .epsilon = 1e-6,
        .targets = {.unroll = 1, .td_steps = 3, .discount = 1.0},
    };
}

/* Appends a terminated episode of `steps` steps; observation, reward and search value of step t are given by number. */
static void add_episode(cm_replay *replay, int steps, const float *reward, const float *value) {
    const float policy[2] = {1, 1};
    for (int t = 0; t < steps; t++) {
        float observation = (float)t;
        cm_replay_step step = {.observation = &observation,
                               .policy = policy,
                               .reward = reward ? reward[t] : 0.0f,
                               .root_value = value ? value[t] : 0.0f};
        ck_assert_msg(cm_replay_append(replay, 0, &step) == CM_OK, "%s", cm_error_message());
    }
    float observation = (float)steps;
    cm_replay_end end = {.observation = &observation, .terminated = true};
    ck_assert_int_eq(cm_replay_finish(replay, 0, &end), CM_OK);
}

static cm_replay *make_replay(cm_replay_config config, int steps) {
    cm_replay *replay;
    ck_assert_msg(cm_replay_create(&config, &replay) == CM_OK, "%s", cm_error_message());
    if (steps > 0) add_episode(replay, steps, NULL, NULL);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    return replay;
}

static cm_batch *make_batch(const cm_replay *replay, int rows) {
    cm_batch *batch;
    cm_batch_config config = {.rows = rows, .seed = 1};
    ck_assert_int_eq(cm_batch_create(replay, &config, &batch), CM_OK);
    return batch;
}

/* Gives the step with observation t the priority p[t]; at once. */
static void set_priorities(cm_replay *replay, int steps, const float *p) {
    cm_batch *batch = make_batch(replay, 4096);
    ck_assert_int_eq(cm_replay_sample(replay, 99, 0.0, batch), CM_OK);
    for (int row = 0; row < 4096; row++) {
        int t = (int)batch->observation[row];
        ck_assert_int_lt(t, steps);
        ck_assert_int_eq(cm_replay_update_priorities(replay, 1, &batch->slot[row], &batch->index[row], &p[t]), CM_OK);
    }
    cm_batch_destroy(batch);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
}

/* The slot of the step with a given observation. */
static int32_t replay_slot_of(const cm_replay *replay, float observation) {
    cm_batch *batch = make_batch(replay, 1000);
    int32_t slot = -1;
    ck_assert_int_eq(cm_replay_sample(replay, 0, 0.0, batch), CM_OK);
    for (int row = 0; row < 1000; row++) {
        if (batch->observation[row] == observation) slot = batch->slot[row];
    }
    cm_batch_destroy(batch);
    return slot;
}

/* How often each step is drawn in 100 batches of 1,000; weight[t] is that of the last batch. */
static void count_draws(cm_replay *replay, double beta, int steps, int *count, float *weight) {
    cm_batch *batch = make_batch(replay, 1000);
    memset(count, 0, (size_t)steps * sizeof *count);
    for (uint64_t update = 0; update < 100; update++) {
        ck_assert_int_eq(cm_replay_sample(replay, update, beta, batch), CM_OK);
        for (int row = 0; row < 1000; row++) {
            int t = (int)batch->observation[row];
            count[t]++;
            weight[t] = batch->weights[row];
        }
    }
    cm_batch_destroy(batch);
}

static void expect_frequencies(const int *count, int steps, const double *probability) {
    for (int t = 0; t < steps; t++) {
        double n = 1e5, mean = n * probability[t], sigma = sqrt(mean * (1.0 - probability[t]));
        ck_assert_msg(fabs(count[t] - mean) <= 3.0 * sigma, "step %d drawn %d times, want %g +- %g", t, count[t], mean,
                      3.0 * sigma);
    }
}

START_TEST(priorities_are_drawn_with_their_probabilities_and_weighed_as_the_vector_says) {
    cm_replay *replay = make_replay(make_config(), 4);
    set_priorities(replay, 4, (const float[]){1.0f, 0.5f, 2.0f, 0.1f});
    int count[4];
    float weight[4];
    count_draws(replay, 0.4, 4, count, weight);
    expect_frequencies(count, 4, (const double[]){.291829, .192536, .442331, .073304});
    const double want[4] = {.575440, .679590, .487251, 1};
    for (int t = 0; t < 4; t++) ck_assert_double_eq_tol((double)weight[t], want[t], 1e-5);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(weights_are_raised_to_the_least_and_draws_stay_the_same) {
    cm_replay_config config = make_config();
    config.weight_min = 0.3;
    cm_replay *replay = make_replay(config, 4);
    set_priorities(replay, 4, (const float[]){1.0f, 0.5f, 2.0f, 0.1f});
    int count[4];
    float weight[4];
    count_draws(replay, 1.0, 4, count, weight);
    const double probability[4] = {.291829, .192536, .442331, .073304};
    expect_frequencies(count, 4, probability);
    const double want[4] = {.3, .073304 / .192536, .3, 1}; /* the ratios of the others are .2512 and .1657 */
    for (int t = 0; t < 4; t++) ck_assert_double_eq_tol((double)weight[t], want[t], 1e-5);
    cm_replay_destroy(replay);
    config.weight_min = 1.5;
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "weight_min"));
}
END_TEST

static void expect_uniform(cm_replay *replay) {
    int count[5];
    float weight[5];
    count_draws(replay, 0.4, 5, count, weight);
    expect_frequencies(count, 5, (const double[]){.2, .2, .2, .2, .2});
    for (int t = 0; t < 5; t++) ck_assert_float_eq(weight[t], 1.0f);
}

START_TEST(all_zero_priorities_and_alpha_0_and_no_priorities_draw_uniformly) {
    cm_replay_config config = make_config();
    const float zeros[5] = {0}, mixed[5] = {0.0f, 1.0f, 2.0f, 300.0f, 0.1f};
    config.epsilon = 0.0;
    cm_replay *replay = make_replay(config, 5); /* rewards and values are 0: so are the priorities */
    expect_uniform(replay);
    set_priorities(replay, 5, mixed); /* and back */
    set_priorities(replay, 5, zeros);
    cm_replay_destroy(replay);

    config.alpha = 0.0;
    replay = make_replay(config, 5);
    set_priorities(replay, 5, mixed);
    expect_uniform(replay);
    cm_replay_destroy(replay);

    config.alpha = 0.6;
    config.prioritized = false;
    replay = make_replay(config, 5);
    expect_uniform(replay);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(zero_among_others_is_never_drawn_and_nan_stands_for_the_largest) {
    cm_replay_config config = make_config();
    config.alpha = 1.0;
    cm_replay *replay = make_replay(config, 4);
    set_priorities(replay, 4, (const float[]){0.5f, NAN, 2.0f, 0.0f});
    int count[4];
    float weight[4];
    count_draws(replay, 1.0, 4, count, weight);
    expect_frequencies(count, 4, (const double[]){.5 / 4.5, 2 / 4.5, 2 / 4.5, 0});
    ck_assert_double_eq_tol((double)weight[1], 0.25, 1e-6);
    set_priorities(replay, 4, (const float[]){INFINITY, NAN, NAN, 1.0f}); /* the last one is never drawn: 0 */
    count_draws(replay, 1.0, 4, count, weight);
    expect_frequencies(count, 4, (const double[]){1 / 3., 1 / 3., 1 / 3., 0});
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(new_priority_is_the_error_of_the_search_value) {
    cm_replay_config config = make_config();
    config.alpha = 1.0;
    config.epsilon = 0.5;
    cm_replay *replay = make_replay(config, 0);
    /* 3-step returns: 1 + 2 + 3, 2 + 3, 3; errors 6 - 1, 5 - 5, 3 - 1 */
    add_episode(replay, 3, (const float[]){1, 2, 3}, (const float[]){1, 5, 1});
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    int count[3];
    float weight[3];
    count_draws(replay, 1.0, 3, count, weight);
    expect_frequencies(count, 3, (const double[]){5.5 / 8.5, 0.5 / 8.5, 2.5 / 8.5});
    ck_assert_double_eq_tol((double)weight[0], 0.5 / 5.5, 1e-6);
    ck_assert_double_eq_tol((double)weight[2], 0.5 / 2.5, 1e-6);
    cm_replay_destroy(replay);

    config.new_is_max = true;
    replay = make_replay(config, 2);
    set_priorities(replay, 2, (const float[]){4.0f, 0.5f});
    add_episode(replay, 3, (const float[]){1, 2, 3}, (const float[]){1, 5, 1});
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    count_draws(replay, 1.0, 3, count, weight); /* observations 0 and 1 occur in both episodes */
    expect_frequencies(count, 3, (const double[]){8 / 16.5, 4.5 / 16.5, 4 / 16.5});
    cm_replay_destroy(replay);
}
END_TEST

static void append_step(cm_replay *replay, int t) {
    const float policy[2] = {1, 0}, observation = (float)t;
    const cm_replay_step step = {.observation = &observation, .policy = policy, .reward = (float)(t + 1)};
    ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_OK);
}

START_TEST(open_steps_show_with_complete_returns_and_keep_their_priorities) {
    cm_replay_config config = make_config();
    config.alpha = 1.0;
    config.sample_open = true;
    config.epsilon = 1.0;
    cm_replay *replay = make_replay(config, 0);
    for (int t = 0; t < 5; t++) append_step(replay, t);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK); /* two of five: returns 1 + 2 + 3 and 2 + 3 + 4 */
    int count[6];
    float weight[6];
    count_draws(replay, 1.0, 6, count, weight);
    expect_frequencies(count, 6, (const double[]){7 / 17., 10 / 17., 0, 0, 0, 0});
    cm_batch *batch = make_batch(replay, 64);
    ck_assert_int_eq(cm_replay_sample(replay, 0, 1.0, batch), CM_OK);
    for (int row = 0; row < 64; row++) {
        const float three = 3.0f;
        if (batch->observation[row] != 0.0f) continue;
        ck_assert_int_eq(cm_replay_update_priorities(replay, 1, &batch->slot[row], &batch->index[row], &three), CM_OK);
    }
    cm_batch_destroy(batch);
    append_step(replay, 5);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK); /* 3 by training, returns 9 and 12 with 1 added */
    count_draws(replay, 1.0, 6, count, weight);
    expect_frequencies(count, 6, (const double[]){3 / 26., 10 / 26., 13 / 26., 0, 0, 0});
    const float observation = 6.0f;
    cm_replay_end end = {.observation = &observation, .terminated = true};
    ck_assert_int_eq(cm_replay_finish(replay, 0, &end), CM_OK);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK); /* and now the shorter returns 15, 11, 6 */
    count_draws(replay, 1.0, 6, count, weight);
    expect_frequencies(count, 6, (const double[]){3 / 61., 10 / 61., 13 / 61., 16 / 61., 12 / 61., 7 / 61.});
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(step_that_has_had_the_largest_priority_keeps_it_when_its_episode_ends) {
    cm_replay_config config = make_config();
    config.alpha = 1.0;
    config.sample_open = true;
    config.new_is_max = true;
    config.targets.td_steps = 1;
    cm_replay *replay = make_replay(config, 0);
    const float policy[2] = {1, 0};
    float observation[1] = {0};
    cm_replay_step step = {.observation = observation, .policy = policy};
    for (int t = 0; t < 3; t++) {
        observation[0] = (float)t;
        ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_OK);
    }
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK); /* 0 and 1 have priority 1 */
    const int32_t slot = replay_slot_of(replay, 1.0f);
    const uint32_t index = 1;
    const float nine = 9.0f;
    ck_assert_int_eq(cm_replay_update_priorities(replay, 1, &slot, &index, &nine), CM_OK);
    cm_replay_end end = {.observation = observation, .terminated = true};
    ck_assert_int_eq(cm_replay_finish(replay, 0, &end), CM_OK);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK); /* 1 has 9; 2 is new and gets 9; 0 keeps 1 */
    int count[3];
    float weight[3];
    count_draws(replay, 1.0, 3, count, weight);
    expect_frequencies(count, 3, (const double[]){1 / 19., 9 / 19., 9 / 19.});
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(value_targets_have_their_parts_with_them) {
    cm_replay_config config = make_config();
    config.targets.td_steps = 1;
    cm_replay *replay = make_replay(config, 0);
    add_episode(replay, 2, (const float[]){1, 5}, (const float[]){3, 4});
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    cm_batch *batch = make_batch(replay, 16);
    ck_assert_int_eq(cm_replay_sample(replay, 0, 0.4, batch), CM_OK);
    for (int row = 0; row < 16; row++) {
        bool first = batch->observation[row] == 0.0f;
        ck_assert_float_eq(batch->target_value[2 * row], 5.0f); /* 1 + 4, or 5 */
        ck_assert_float_eq(batch->value_partial[2 * row], first ? 1.0f : 5.0f);
        ck_assert_float_eq(batch->value_coefficient[2 * row], first ? 1.0f : 0.0f);
        ck_assert_float_eq(batch->value_partial[2 * row + 1], first ? 5.0f : 0.0f);
        ck_assert_float_eq(batch->value_coefficient[2 * row + 1], 0.0f);
    }
    cm_batch_destroy(batch);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(updates_wait_for_the_commit_and_late_ones_are_ignored) {
    cm_replay_config config = make_config();
    config.max_steps = 4;
    config.alpha = 1.0;
    cm_replay *replay = make_replay(config, 4);
    cm_batch *batch = make_batch(replay, 64), *again = make_batch(replay, 64);
    ck_assert_int_eq(cm_replay_sample(replay, 0, 1.0, batch), CM_OK);
    float priority[64];
    for (int row = 0; row < 64; row++) priority[row] = batch->observation[row] + 1.0f;
    ck_assert_int_eq(cm_replay_update_priorities(replay, 64, batch->slot, batch->index, priority), CM_OK);
    ck_assert_int_eq(cm_replay_sample(replay, 0, 1.0, again), CM_OK);
    ck_assert_mem_eq(again->slot, batch->slot, 64 * sizeof *batch->slot);
    ck_assert_mem_eq(again->weights, batch->weights, 64 * sizeof *batch->weights);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    for (int rows = 0; rows < counts.ring_rows;
         rows += 5) { /* the last one, or the one before, is where the first was */
        add_episode(replay, 4, NULL, NULL);
        ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    }
    for (int row = 0; row < 64; row++) priority[row] = 1e9f * (batch->observation[row] == 2.0f);
    ck_assert_int_eq(cm_replay_update_priorities(replay, 64, batch->slot, batch->index, priority), CM_OK);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    cm_replay_count(replay, &counts);
    ck_assert_uint_eq(counts.late_updates, 64);
    ck_assert_int_eq(counts.steps, 4);
    int count[4];
    float weight[4];
    count_draws(replay, 1.0, 4, count, weight);
    expect_frequencies(count, 4, (const double[]){.25, .25, .25, .25});
    cm_batch_destroy(batch);
    cm_batch_destroy(again);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(bad_updates_are_named) {
    cm_replay *replay = make_replay(make_config(), 4);
    const int32_t slot = INT32_MAX, negative = -1, good = 0;
    const uint32_t index = 0;
    const float one = 1.0f, minus = -0.5f;
    ck_assert_int_eq(cm_replay_update_priorities(replay, 1, &slot, &index, &one), CM_ERR_INPUT);
    ck_assert_int_eq(cm_replay_update_priorities(replay, 1, &negative, &index, &one), CM_ERR_INPUT);
    ck_assert_int_eq(cm_replay_update_priorities(replay, 1, &good, &index, &minus), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "-0.5"));
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(weighted_mean_over_priorities_is_the_mean_over_all) {
    cm_replay_config config = make_config();
    cm_replay *replay = make_replay(config, 50);
    float priority[50];
    double mean = 0.0, sum = 0.0, weights = 0.0;
    for (int t = 0; t < 50; t++) {
        priority[t] = 1.0f + (float)t;
        mean += t / 50.0;
    }
    set_priorities(replay, 50, priority);
    cm_batch *batch = make_batch(replay, 200000);
    ck_assert_int_eq(cm_replay_sample(replay, 0, 1.0, batch), CM_OK);
    for (int row = 0; row < 200000; row++) {
        double t = (double)batch->observation[row];
        sum += (double)batch->weights[row] * t;
        weights += (double)batch->weights[row];
    }
    ck_assert_double_eq_tol(sum / weights, mean,
                            0.2); /* the standard error is 0.04, the mean of the drawn is off by 6 */
    cm_batch_destroy(batch);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(uniform_batch_holds_distinct_positions_and_a_larger_one_repeats) {
    cm_replay_config config = make_config();
    config.prioritized = false;
    cm_replay *replay = make_replay(config, 20);
    cm_batch *five = make_batch(replay, 5), *twenty = make_batch(replay, 20), *many = make_batch(replay, 300);
    int count[20] = {0};
    for (uint64_t update = 0; update < 2000; update++) {
        int seen = 0;
        ck_assert_int_eq(cm_replay_sample(replay, update, 0.4, five), CM_OK);
        for (int row = 0; row < 5; row++) {
            int t = (int)five->observation[row];
            ck_assert_int_eq(seen >> t & 1, 0);
            seen |= 1 << t;
            count[t]++;
        }
    }
    for (int t = 0; t < 20; t++) ck_assert_int_le(abs(count[t] - 500), 3 * 20); /* sigma is 19.4 */
    ck_assert_int_eq(cm_replay_sample(replay, 1, 0.4, twenty), CM_OK);
    int all = 0;
    for (int row = 0; row < 20; row++) all |= 1 << (int)twenty->observation[row];
    ck_assert_int_eq(all, (1 << 20) - 1);
    ck_assert_int_eq(cm_replay_sample(replay, 1, 0.4, many), CM_OK);
    cm_batch_destroy(five);
    cm_batch_destroy(twenty);
    cm_batch_destroy(many);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(rows_of_a_rank_are_those_of_the_whole_batch) {
    cm_replay *replay = make_replay(make_config(), 100);
    cm_batch *whole = make_batch(replay, 64), *half;
    cm_batch_config config = {.rows = 32, .seed = 1, .first_row = 32};
    ck_assert_int_eq(cm_batch_create(replay, &config, &half), CM_OK);
    ck_assert_int_eq(cm_replay_sample(replay, 5, 0.4, whole), CM_OK);
    ck_assert_int_eq(cm_replay_sample(replay, 5, 0.4, half), CM_OK);
    ck_assert_mem_eq(half->slot, whole->slot + 32, 32 * sizeof *half->slot);
    ck_assert_mem_eq(half->action, whole->action + 32, 32 * sizeof *half->action);
    cm_batch_destroy(whole);
    cm_batch_destroy(half);
    cm_replay_destroy(replay);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("priorities");
    TCase *tests = tcase_create("priorities");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, priorities_are_drawn_with_their_probabilities_and_weighed_as_the_vector_says);
    tcase_add_test(tests, weights_are_raised_to_the_least_and_draws_stay_the_same);
    tcase_add_test(tests, all_zero_priorities_and_alpha_0_and_no_priorities_draw_uniformly);
    tcase_add_test(tests, zero_among_others_is_never_drawn_and_nan_stands_for_the_largest);
    tcase_add_test(tests, new_priority_is_the_error_of_the_search_value);
    tcase_add_test(tests, open_steps_show_with_complete_returns_and_keep_their_priorities);
    tcase_add_test(tests, step_that_has_had_the_largest_priority_keeps_it_when_its_episode_ends);
    tcase_add_test(tests, value_targets_have_their_parts_with_them);
    tcase_add_test(tests, updates_wait_for_the_commit_and_late_ones_are_ignored);
    tcase_add_test(tests, bad_updates_are_named);
    tcase_add_test(tests, weighted_mean_over_priorities_is_the_mean_over_all);
    tcase_add_test(tests, uniform_batch_holds_distinct_positions_and_a_larger_one_repeats);
    tcase_add_test(tests, rows_of_a_rank_are_those_of_the_whole_batch);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
