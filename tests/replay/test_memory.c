/* The block of memory: exact plans, budgets, nothing taken later; CuMind's buffer items 11 - 20 on the one replay. */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "replay/prefetch.h"
#include "support/main.h"

static const cm_replay_config base = {
    .observation_size = 4,
    .actions = 2,
    .environments = 8,
    .bytes = 1000000,
    .segment_steps = 50,
    .commit_steps = 8,
    .sample_open = true,
    .prioritized = true,
    .alpha = 0.6,
    .epsilon = 1e-6,
    .targets = {.unroll = 5, .td_steps = 10, .discount = 0.997},
};

static uint64_t planned(const cm_replay_config *config, cm_replay_plan *plan) {
    ck_assert_msg(cm_replay_plan_make(config, plan) == CM_OK, "%s", cm_error_message());
    uint64_t sum = 0;
    for (int i = 0; i < plan->count; i++) {
        ck_assert_str_ne(plan->row[i].name, "");
        ck_assert_str_ne(plan->row[i].dtype, "");
        sum += plan->row[i].bytes;
    }
    ck_assert_uint_eq(sum, plan->bytes);
    return plan->bytes;
}

START_TEST(block_is_as_large_as_the_budget_allows_and_no_larger) {
    static const uint64_t budgets[] = {100000, 123457, 1000000, 12345678};
    cm_replay_config config = base;
    cm_replay_plan plan, larger;
    for (int i = 0; i < 4; i++) {
        config.bytes = budgets[i];
        uint64_t bytes = planned(&config, &plan);
        ck_assert_uint_le(bytes, budgets[i]);
        ck_assert_uint_gt(bytes, budgets[i] - 2000); /* a row more, with padding of each array, would not fit */
        config.bytes = bytes;
        planned(&config, &larger);
        ck_assert_int_eq(larger.ring_rows, plan.ring_rows);
        config.bytes = bytes - 1;
        planned(&config, &larger);
        ck_assert_int_lt(larger.ring_rows, plan.ring_rows);
    }
}
END_TEST

START_TEST(limits_in_steps_or_episodes_bound_the_block_and_none_at_all_is_an_error) {
    cm_replay_config config = base;
    cm_replay_plan plan;
    config.bytes = (uint64_t)1 << 40;
    config.max_steps = 7000;
    ck_assert_uint_lt(planned(&config, &plan), 2000000);
    ck_assert_int_eq(plan.ring_rows, 2 * (7000 + 8 * 8) + 8 * 51);
    config.bytes = 0;
    planned(&config, &plan);
    ck_assert_int_eq(plan.ring_rows, 2 * (7000 + 8 * 8) + 8 * 51);
    config.max_steps = 0;
    config.max_episodes = 10;
    planned(&config, &plan);
    ck_assert_int_eq(plan.ring_rows, 10 * 51 + 2 * 8 * 8);
    config.max_episodes = 0;
    ck_assert_int_eq(cm_replay_plan_make(&config, &plan), CM_ERR_INPUT);
    config.bytes = 10000;
    ck_assert_int_eq(cm_replay_plan_make(&config, &plan), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "give it at least"));
    config.bytes = strtoull(strstr(cm_error_message(), "at least ") + 9, NULL, 10);
    ck_assert_int_eq(cm_replay_plan_make(&config, &plan), CM_OK);
    ck_assert_int_ge(plan.ring_rows, 51);
    config.bytes--;
    ck_assert_int_eq(cm_replay_plan_make(&config, &plan), CM_ERR_MEMORY);
}
END_TEST

START_TEST(numbers_out_of_range_are_named) {
    cm_replay_config bad[12];
    static const char *const name[12] = {"observation_size", "actions", "environments", "segment_steps",
                                         "commit_steps",     "alpha",   "epsilon",      "observation_unit",
                                         "td_steps",         "2^31",    "symmetries",   "max_steps"};
    for (int i = 0; i < 12; i++) bad[i] = base;
    bad[0].observation_size = 0;
    bad[1].actions = 65537;
    bad[2].environments = 0;
    bad[3].segment_steps = 0;
    bad[4].commit_steps = -1;
    bad[5].alpha = -0.1;
    bad[6].epsilon = -1.0;
    bad[7].observation_unit = -1.0f;
    bad[8].targets.td_steps = 0;
    bad[9].environments = 65536, bad[9].segment_steps = 1 << 24;
    bad[10].symmetries = 2;
    bad[11].max_steps = -5;
    for (int i = 0; i < 12; i++) {
        cm_replay *replay;
        ck_assert_int_eq(cm_replay_create(&bad[i], &replay), CM_ERR_INPUT);
        ck_assert_ptr_null(replay);
        ck_assert_msg(strstr(cm_error_message(), name[i]) != NULL, "%s: %s", name[i], cm_error_message());
    }
    cm_replay_config config = base;
    const int32_t elements[8] = {0, 1, 2, 3, 0, 0, 3, 3}, actions[4] = {0, 1, 1, 0};
    cm_replay *replay;
    config.symmetries = 2, config.symmetry_elements = elements, config.symmetry_actions = actions;
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "symmetry_elements[1]"));
}
END_TEST

static cm_status play(cm_replay *replay, int environment, int steps, bool ends) {
    const float observation[4] = {1, 2, 3, 4}, policy[2] = {3, 1};
    for (int t = 0; t < steps; t++) {
        cm_replay_step step = {.observation = observation, .policy = policy, .reward = 1.0f, .root_value = 0.5f};
        CM_TRY(cm_replay_append(replay, environment, &step));
    }
    cm_replay_end end = {.observation = observation, .terminated = true};
    return ends ? cm_replay_finish(replay, environment, &end) : CM_OK;
}

START_TEST(nothing_is_allocated_after_create) {
    cm_replay_config config = base;
    config.max_steps = 500;
    cm_replay *replay;
    cm_prefetch *prefetch;
    cm_batch_config batch_config = {.rows = 32, .consistency = true, .bootstrap = true};
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_OK);
    ck_assert_int_eq(cm_prefetch_create(replay, &(cm_prefetch_config){batch_config, 0, 1, {0}}, &prefetch), CM_OK);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < 300; i++) {
        for (int e = 0; e < 8; e++) ck_assert_int_eq(play(replay, e, 1 + (i + e) % 8, (i + e) % 3 == 0), CM_OK);
        ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
        ck_assert_int_eq(cm_prefetch_begin(prefetch, (uint64_t)i, 2, 0.4), CM_OK);
        for (int u = 0; u < 2; u++) {
            cm_batch_handle handle;
            cm_batch *b;
            ck_assert_int_eq(cm_prefetch_next(prefetch, &handle), CM_OK);
            ck_assert_int_eq(cm_batch_borrow(handle, &b), CM_OK);
            ck_assert_int_eq(cm_replay_update_priorities(replay, 32, b->slot, b->index, b->weights), CM_OK);
            ck_assert_int_eq(cm_batch_release(handle), CM_OK);
        }
        cm_prefetch_end(prefetch);
    }
    ck_assert_uint_eq(mallinfo2().uordblks + mallinfo2().hblkhd, before);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_int_le(counts.positions, 500);
    ck_assert_uint_gt(counts.collected, 5000);
    cm_prefetch_destroy(prefetch);
    cm_replay_destroy(replay);
}
END_TEST

/* 1 is four quarters; thirds, negative numbers, 256 quarters and what is no number have no byte. */
START_TEST(numbers_that_are_no_multiples_of_the_unit_are_refused) {
    static const float wrong[] = {0.3f, -0.25f, 64.0f, NAN, INFINITY};
    cm_replay *replay;
    cm_replay_config config = base;
    config.observation_unit = 0.25f;
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_OK);
    float observation[4] = {1.0f, 0.0f, 63.75f, 0.25f};
    const float policy[2] = {3, 1};
    const cm_replay_step step = {.observation = observation, .policy = policy};
    const cm_replay_end end = {.observation = observation, .terminated = true};
    ck_assert_int_eq(cm_replay_append(replay, 3, &step), CM_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        observation[2] = wrong[i];
        ck_assert_int_eq(cm_replay_append(replay, 3, &step), CM_ERR_INPUT);
        ck_assert_int_eq(cm_replay_finish(replay, 3, &end), CM_ERR_INPUT);
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "replay: environment 3: number 2 of an observation is "));
    }
    observation[2] = 0.0f;
    ck_assert_int_eq(cm_replay_finish(replay, 3, &end), CM_OK);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_uint_eq(counts.collected, 1);
    ck_assert_int_eq(counts.rows, 2);
    cm_replay_destroy(replay);
}
END_TEST

/* Each row has 4 numbers: 12 bytes less of it. */
START_TEST(bytes_take_a_quarter_of_the_memory_of_observations) {
    cm_replay_plan floats, bytes;
    cm_replay_config config = base;
    config.bytes = 0, config.max_steps = 1000;
    ck_assert_int_eq(cm_replay_plan_make(&config, &floats), CM_OK);
    config.observation_unit = 1.0f;
    ck_assert_int_eq(cm_replay_plan_make(&config, &bytes), CM_OK);
    for (int i = 0; i < floats.count; i++) {
        if (strcmp(floats.row[i].name, "observation") != 0) continue;
        ck_assert_str_eq(bytes.row[i].dtype, "uint8");
        ck_assert_int_eq(bytes.row[i].rows, floats.row[i].rows);
        ck_assert_uint_eq(floats.bytes - bytes.bytes, floats.row[i].bytes - bytes.row[i].bytes);
        ck_assert_uint_le(bytes.row[i].bytes, floats.row[i].bytes / 4 + CM_ALIGN);
        return;
    }
    ck_abort_msg("no row for observations");
}
END_TEST

START_TEST(steps_that_cannot_be_stored_are_refused_and_change_nothing) {
    cm_replay *replay;
    ck_assert_int_eq(cm_replay_create(&base, &replay), CM_OK);
    const float observation[4] = {0}, policy[2] = {3, 1}, none[2] = {0, 0};
    const cm_replay_step good = {.observation = observation, .policy = policy};
    cm_replay_step step = good;
    ck_assert_int_eq(cm_replay_append(replay, 8, &good), CM_ERR_INPUT);
    ck_assert_int_eq(cm_replay_append(replay, -1, &good), CM_ERR_INPUT);
    step.action = 2;
    ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_ERR_INPUT);
    step = good, step.reward = 0.0f / 0.0f;
    ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_ERR_NOT_FINITE);
    step = good, step.root_value = 1.0f / 0.0f;
    ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_ERR_NOT_FINITE);
    step = good, step.policy = none;
    ck_assert_int_eq(cm_replay_append(replay, 3, &step), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "environment 3: the policy"));
    cm_replay_end end = {.observation = observation, .root_value = 0.0f / 0.0f};
    ck_assert_int_eq(cm_replay_finish(replay, 0, &end), CM_ERR_STATE); /* nothing is open */
    ck_assert_int_eq(play(replay, 0, 8, false), CM_OK);
    ck_assert_int_eq(cm_replay_finish(replay, 0, &end), CM_ERR_NOT_FINITE);
    ck_assert_int_eq(cm_replay_append(replay, 0, &good), CM_ERR_STATE); /* a ninth before the commit */
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    ck_assert_uint_eq(counts.collected, 8);
    ck_assert_int_eq(counts.positions, 0); /* no return of 10 steps is complete yet */
    cm_replay_destroy(replay);
}
END_TEST

/* A replay of `capacity` episodes with `count` of two steps in it. */
static cm_replay *episodes(int64_t capacity, int count) {
    cm_replay_config config = base;
    config.max_episodes = capacity;
    config.environments = 1;
    cm_replay *replay;
    ck_assert_int_eq(cm_replay_create(&config, &replay), CM_OK);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(play(replay, 0, 2, true), CM_OK);
        ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    }
    return replay;
}

static int64_t length(const cm_replay *replay) {
    cm_replay_counts counts;
    cm_replay_count(replay, &counts);
    return counts.episodes;
}

START_TEST(new_buffer_of_100_has_length_0_and_two_episodes_make_it_2) {
    cm_replay *replay = episodes(100, 0);
    ck_assert_int_eq(cm_replay_configuration(replay)->max_episodes, 100);
    ck_assert_int_eq(length(replay), 0);
    cm_replay_destroy(replay);
    replay = episodes(10, 1);
    ck_assert_int_eq(length(replay), 1);
    ck_assert_int_eq(play(replay, 0, 2, true), CM_OK);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    ck_assert_int_eq(length(replay), 2);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(ten_episodes_into_a_capacity_of_5_leave_5_and_clear_leaves_0) {
    cm_replay *replay = episodes(5, 10);
    ck_assert_int_eq(length(replay), 5);
    ck_assert_int_eq(cm_replay_clear(replay), CM_OK);
    ck_assert_int_eq(length(replay), 0);
    cm_replay_destroy(replay);
}
END_TEST

static cm_status is_ready(const cm_replay *replay, int64_t min_size, double min_fill, bool *ready) {
    return cm_replay_is_ready(length(replay), cm_replay_configuration(replay)->max_episodes, min_size, min_fill, ready);
}

START_TEST(buffer_of_20_is_ready_for_10_after_10_and_not_for_11) {
    bool ready = true;
    cm_replay *replay = episodes(20, 0);
    ck_assert_int_eq(is_ready(replay, 10, 0.0, &ready), CM_OK);
    ck_assert(!ready);
    cm_replay_destroy(replay);
    replay = episodes(20, 10);
    ck_assert_int_eq(is_ready(replay, 10, 0.0, &ready), CM_OK);
    ck_assert(ready);
    ck_assert_int_eq(is_ready(replay, 11, 0.0, &ready), CM_OK);
    ck_assert(!ready);
    ck_assert_int_eq(is_ready(replay, 1, 0.5, &ready), CM_OK);
    ck_assert(ready);
    ck_assert_int_eq(is_ready(replay, 1, 0.51, &ready), CM_OK);
    ck_assert(!ready);
    ck_assert_int_eq(is_ready(replay, -1, 0.5, &ready), CM_ERR_INPUT);
    ck_assert_int_eq(is_ready(replay, 1, 1.5, &ready), CM_ERR_INPUT);
    ck_assert_int_eq(is_ready(replay, 0, 0.0, &ready), CM_ERR_INPUT);
    cm_replay_destroy(replay);
    replay = episodes(0, 0);
    ck_assert_int_eq(is_ready(replay, 1, 0.5, &ready), CM_ERR_INPUT); /* half of no capacity */
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(sample_of_5_from_15_episodes_has_5_rows) {
    cm_replay *replay = episodes(20, 15);
    cm_batch *batch;
    cm_batch_config config = {.rows = 5};
    ck_assert_int_eq(cm_batch_create(replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(replay, 0, 0.4, batch), CM_OK);
    for (int row = 0; row < 5; row++) {
        ck_assert_float_eq(batch->observation[4 * row + 3], 4.0f);
        ck_assert_float_eq(batch->target_policy[row * 6 * 2], 0.75f);
    }
    config.rows = 0;
    cm_batch_destroy(batch);
    ck_assert_int_eq(cm_batch_create(replay, &config, &batch), CM_ERR_INPUT);
    cm_replay_destroy(replay);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("replay memory");
    TCase *tests = tcase_create("memory");
    tcase_add_test(tests, block_is_as_large_as_the_budget_allows_and_no_larger);
    tcase_add_test(tests, limits_in_steps_or_episodes_bound_the_block_and_none_at_all_is_an_error);
    tcase_add_test(tests, numbers_out_of_range_are_named);
    tcase_add_test(tests, nothing_is_allocated_after_create);
    tcase_add_test(tests, steps_that_cannot_be_stored_are_refused_and_change_nothing);
    tcase_add_test(tests, numbers_that_are_no_multiples_of_the_unit_are_refused);
    tcase_add_test(tests, bytes_take_a_quarter_of_the_memory_of_observations);
    tcase_add_test(tests, new_buffer_of_100_has_length_0_and_two_episodes_make_it_2);
    tcase_add_test(tests, ten_episodes_into_a_capacity_of_5_leave_5_and_clear_leaves_0);
    tcase_add_test(tests, buffer_of_20_is_ready_for_10_after_10_and_not_for_11);
    tcase_add_test(tests, sample_of_5_from_15_episodes_has_5_rows);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
