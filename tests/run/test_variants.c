/* Runs of variants of the algorithm: they end with the same parameters on any number of threads and broken off in
 * between. Value prefixes: the sums of the rewards are the targets. Accumulated batches: the metrics
 * are those of one. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/checkpoint.h"
#include "run/metrics.h"
#include "run/run.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/training.h"

static void path_of(const char *run, const char *file, char path[160]) {
    snprintf(path, 160, "%s/%s%s", cm_test_folder, run, file);
}

enum {
    PREFIXES,
    DRAWN_ACTIONS,
    ANGLES,
    PER_NUMBER,
    AUGMENTED,
    EMBEDDED,
    EMBEDDED_NUMBERS,
    BUFFER,
    MIXED,
    INT8,
    INT8_PLANES,
    INT8_RULES,
    QAT,
    QAT_PLANES,
    VARIANTS,
    WHOLE = VARIANTS,
    QUARTERS,
    PLAIN,
    ALL,
    SETTINGS = 6
};
static const char *const variants[ALL][SETTINGS] = {
    [PREFIXES] = {"value_prefix=true", "value_prefix_horizon=2", "lstm_size=12", "td_steps=30"},
    [DRAWN_ACTIONS] = {"env_name=Pendulum-v1", "action_bins=21", "num_sampled_actions=5", "td_steps=5"},
    [ANGLES] = {"env_name=aim", "num_sampled_actions=5", "td_steps=5"},
    [PER_NUMBER] = {"env_name=glide4", "action_bins=11", "num_sampled_actions=5", "td_steps=5"},
    [AUGMENTED] = {"env_name=catch", "augmentation_shift=2", "augmentation_intensity=0.05", "td_steps=5"},
    [EMBEDDED] = {"env_name=catch", "family=resnet", "action_embedding=6", "updates_per_iteration=1", "conv_channels=8",
                  "batch_size=32"},
    [EMBEDDED_NUMBERS] = {"env_name=glide4", "num_sampled_actions=5", "action_embedding=6", "td_steps=5",
                          "updates_per_iteration=1"},
    [BUFFER] = {"env_name=tictactoe", "reanalyse=buffer", "target_update_frequency=7", "td_interval=300"},
    [MIXED] = {"env_name=tictactoe", "mixed_value_updates=3", "mixed_value_steps=100", "td_steps=3"},
    [INT8] = {"acting_dtype=int8", "td_steps=5", "num_simulations=16", "min_memory_steps=128", "batch_size=128",
              "updates_per_iteration=16"},
    [INT8_PLANES] = {"env_name=catch", "acting_dtype=int8", "family=resnet", "updates_per_iteration=1",
                     "conv_channels=8", "batch_size=32"},
    [INT8_RULES] = {"env_name=tictactoe", "acting_dtype=int8", "policy=alphazero", "num_unroll_steps=0",
                    "reanalyse_ratio=0", "td_steps=3"},
    [QAT] = {"quantization=qat", "acting_dtype=int8", "td_steps=5", "min_memory_steps=128"},
    [QAT_PLANES] = {"env_name=catch", "quantization=qat", "family=resnet", "updates_per_iteration=1", "conv_channels=8",
                    "batch_size=32"},
    [WHOLE] = {"batch_size=64", "gradient_accumulation=1", "td_steps=5", "updates_per_iteration=8"},
    [QUARTERS] = {"batch_size=16", "gradient_accumulation=4", "td_steps=5", "updates_per_iteration=8"},
    [PLAIN] = {"td_steps=5", "num_simulations=16", "min_memory_steps=128", "batch_size=128",
               "updates_per_iteration=16"},
};

/* A run of that name that trains, or goes on; two settings besides. */
static void train(int variant, const char *name, bool resume, const char *const more[2], cm_run_result *result) {
    const char *settings[SETTINGS + 14] = {
        "num_unroll_steps=4",      "schedule=constant",     "hidden_dim=16",         "num_simulations=4",
        "min_memory_steps=512",    "evaluation_interval=0", "reanalyse_ratio=0.25",  "batch_size=32",
        "updates_per_iteration=4", "chunk_rows=16",         "reward_support_size=1", "final_evaluation_episodes=0"};
    int count = 12;
    for (int i = 0; i < SETTINGS && variants[variant][i]; i++) settings[count++] = variants[variant][i];
    for (int i = 0; i < 2; i++) settings[count++] = more[i];
    train_run(name, resume, settings, count, NULL, result);
}

START_TEST(threads_and_a_break_change_no_bit) {
    cm_run_result one, two, broken;
    const char *const short_run[2] = {"threads=2", "env_steps=1024"}, *const with_two[2] = {"threads=2",
                                                                                            "env_steps=1280"};
    const char *const with_one[2] = {"threads=1", "env_steps=1280"};
    train(_i, "one", false, with_one, &one);
    train(_i, "two", false, with_two, &two);
    train(_i, "broken", false, short_run, &broken);
    ck_assert_int_gt(broken.updates, 0);
    ck_assert_str_ne(one.hash, broken.hash);
    train(_i, "broken", true, with_two, &broken);
    ck_assert_str_eq(one.hash, two.hash);
    ck_assert_str_eq(one.hash, broken.hash);
}
END_TEST

START_TEST(angles_between_bins_reach_what_is_learnt) {
    cm_run_result between, bins;
    const char *const with[2] = {"threads=1", "env_steps=1024"}, *const without[2] = {"angle_spread=0",
                                                                                      "env_steps=1024"};
    train(ANGLES, "between", false, with, &between);
    train(ANGLES, "bins", false, without, &bins);
    ck_assert_int_gt(bins.updates, 0);
    ck_assert_str_ne(between.hash, bins.hash);
}
END_TEST

/* Late settings take the place of the variant's. */
START_TEST(what_is_looked_up_and_mixed_values_reach_what_is_learnt) {
    static const int kinds[] = {BUFFER, MIXED};
    static const char *const without[] = {"reanalyse=batch", "mixed_value_updates=0"};
    cm_run_result with, plain;
    const char *const all[2] = {"threads=2", "env_steps=1024"}, *const less[2] = {without[_i], "env_steps=1024"};
    train(kinds[_i], "with", false, all, &with);
    train(kinds[_i], "plain", false, less, &plain);
    ck_assert_int_eq(with.updates, plain.updates);
    ck_assert_str_ne(with.hash, plain.hash);
}
END_TEST

/* Broken off after the third iteration: the ranges are those of the second, and not to be had from its weights. */
START_TEST(ranges_of_acting_in_8_bits_are_gone_on_with) {
    cm_run_result whole, broken, floats, other;
    const char *const all[2] = {"threads=1", "env_steps=1280"}, *const part[2] = {"threads=2", "env_steps=768"};
    const char *const same[2] = {"acting_dtype=same", "env_steps=1280"}, *const none[2] = {"threads=1", all[1]};
    train(INT8, "whole", false, all, &whole);
    train(INT8, "broken", false, part, &broken);
    train(INT8, "broken", true, all, &broken);
    ck_assert_str_eq(whole.hash, broken.hash);
    train(INT8, "floats", false, same, &floats);
    ck_assert_int_eq(whole.updates, floats.updates);
    ck_assert_str_ne(whole.hash, floats.hash);
    train(PLAIN, "plain", false, none, &other);
    ck_assert_str_eq(floats.hash, other.hash);
}
END_TEST

START_TEST(shifts_and_intensities_reach_what_is_learnt) {
    cm_run_result both, bright, shifted;
    const char *const all[2] = {"threads=2", "env_steps=1024"};
    const char *const without_shift[2] = {"augmentation_shift=0", "env_steps=1024"};
    const char *const without_intensity[2] = {"augmentation_intensity=0", "env_steps=1024"};
    train(AUGMENTED, "both", false, all, &both);
    train(AUGMENTED, "bright", false, without_shift, &bright);
    train(AUGMENTED, "shifted", false, without_intensity, &shifted);
    ck_assert_str_ne(both.hash, bright.hash);
    ck_assert_str_ne(both.hash, shifted.hash);
    ck_assert_str_ne(bright.hash, shifted.hash);
}
END_TEST

/* Each step of CartPole pays 1, so with a horizon of 2 the prefixes are 1, 2, 1, 2 but after an end; a head that
 * begins with 0 and does not learn misses them by (1 + 4 + 1 + 4) / 4 in the mean of squares, and rewards by 1. */
START_TEST(the_sums_of_the_rewards_are_the_targets) {
    char path[160];
    cm_run_result result;
    cm_metrics *rows;
    int count;
    const char *const slow[2] = {"learning_rate=1e-9", "env_steps=1024"};
    train(PREFIXES, "sums", false, slow, &result);
    path_of("sums", "/metrics.jsonl", path);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    ck_assert_int_gt(count, 0);
    ck_assert_double_gt(rows[count - 1].loss[CM_LOSS_reward], 2.0);
    ck_assert_double_le(rows[count - 1].loss[CM_LOSS_reward], 2.5 + 1e-3);
    free(rows);
}
END_TEST

/* The last row of metrics of a run that learns next to nothing. */
static cm_metrics last_metrics(int variant, const char *name) {
    char path[160];
    cm_run_result result;
    cm_metrics *rows, last;
    int count;
    const char *const slow[2] = {"learning_rate=1e-9", "env_steps=1024"};
    train(variant, name, false, slow, &result);
    path_of(name, "/metrics.jsonl", path);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    ck_assert_int_gt(count, 0);
    last = rows[count - 1];
    free(rows);
    return last;
}

START_TEST(four_accumulated_batches_have_the_metrics_of_one_of_four_times_the_size) {
    const cm_metrics whole = last_metrics(WHOLE, "whole"), quarters = last_metrics(QUARTERS, "quarters");
    ck_assert_int_eq(whole.updates, quarters.updates);
    ck_assert_double_eq_tol(quarters.entropy, whole.entropy, 0.1 * whole.entropy);
    ck_assert_double_eq_tol(quarters.total_loss, whole.total_loss, 0.1 * whole.total_loss);
    ck_assert_double_eq_tol(quarters.loss[CM_LOSS_reward], whole.loss[CM_LOSS_reward],
                            0.1 * whole.loss[CM_LOSS_reward]);
    ck_assert_double_eq_tol(quarters.gradient_norm, whole.gradient_norm, 0.3 * whole.gradient_norm);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/variants");
    TCase *tests = tcase_create("variants");
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, threads_and_a_break_change_no_bit, 0, VARIANTS);
    tcase_add_test(tests, angles_between_bins_reach_what_is_learnt);
    tcase_add_loop_test(tests, what_is_looked_up_and_mixed_values_reach_what_is_learnt, 0, 2);
    tcase_add_test(tests, ranges_of_acting_in_8_bits_are_gone_on_with);
    tcase_add_test(tests, shifts_and_intensities_reach_what_is_learnt);
    tcase_add_test(tests, the_sums_of_the_rewards_are_the_targets);
    tcase_add_test(tests, four_accumulated_batches_have_the_metrics_of_one_of_four_times_the_size);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
