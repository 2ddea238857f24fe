/* Updates after the last step: as many as asked for, without acting, on the way to the end of the schedules. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "run/checkpoint.h"
#include "run/metrics.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/training.h"

enum { PER_ITERATION = 64, BEFORE = 256 }; /* 32 environments act 8 steps, each trained 8 times in batches of 32 */

/* Four iterations of 256 steps; three settings besides. */
static void train(const char *name, bool resume, const char *const more[3], cm_run_result *result) {
    const char *const settings[] = {"env_steps=1024",
                                    "min_memory_steps=1",
                                    "td_steps=5",
                                    "hidden_dim=16",
                                    "batch_size=32",
                                    "replay_ratio=8",
                                    "head_hidden=16",
                                    "num_simulations=4",
                                    "evaluation_interval=0",
                                    "final_evaluation_episodes=0",
                                    "stop_at_goal=false",
                                    more[0],
                                    more[1],
                                    more[2]};
    train_run(name, resume, settings, sizeof settings / sizeof *settings, NULL, result);
}

static cm_metrics *read_rows(const char *name, int *count) {
    char path[160];
    cm_metrics *rows;
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, name);
    ck_assert_msg(cm_metrics_read(path, &rows, count) == CM_OK, "%s", cm_error_message());
    return rows;
}

static const char *const overlaps[] = {"overlap=off", "overlap=on"};

START_TEST(as_many_are_made_as_asked_for_and_nothing_is_acted) {
    const char *const with[3] = {overlaps[_i], "extra_updates=150", "schedule=constant"};
    const char *const without[3] = {overlaps[_i], "extra_updates=0", "schedule=constant"};
    cm_run_result result, before;
    int count, acting = 0, last = 0;
    train("with", false, with, &result);
    train("without", false, without, &before);
    ck_assert_int_eq(before.updates, BEFORE);
    ck_assert_int_eq(result.updates, BEFORE + 150);
    ck_assert_int_eq(result.env_steps, before.env_steps);
    ck_assert_int_eq(result.episodes, before.episodes);
    ck_assert_int_eq(result.iterations, before.iterations + 3); /* of 64, 64 and 22 */
    cm_metrics *rows = read_rows("with", &count);
    for (int i = 0; i < count; i++) {
        const bool is_extra = rows[i].updates > BEFORE;
        acting += isfinite(rows[i].env_steps_per_second), last += is_extra;
        ck_assert_int_eq(isfinite(rows[i].env_steps_per_second), !is_extra);
        if (is_extra) ck_assert_int_eq(rows[i].env_steps, result.env_steps);
        if (is_extra) ck_assert(isfinite(rows[i].total_loss));
    }
    ck_assert_int_gt(acting, 0);
    ck_assert_int_eq(last, 3);
    free(rows);
}
END_TEST

/* The cosine is at its end with the last of them; without them it would have been with the last step. */
START_TEST(schedules_last_to_their_end) {
    const char *const settings[3] = {"warmup_steps=0", "extra_updates=256", "final_learning_rate=0.001"};
    cm_run_result result;
    int count;
    train("cosine", false, settings, &result);
    cm_metrics *rows = read_rows("cosine", &count);
    ck_assert_int_eq(rows[count - 1].updates, 2 * BEFORE);
    for (int i = 0; i < count; i++) {
        if (rows[i].updates == 0) continue;
        const double share = (double)(rows[i].updates - 1) / (2 * BEFORE),
                     half = 0.5 * (1.0 + cos(share * 3.14159265358979));
        ck_assert_double_eq_tol(rows[i].learning_rate, 0.001 + (0.003 - 0.001) * half, 1e-9);
    }
    free(rows);
}
END_TEST

START_TEST(a_run_that_is_made_longer_makes_them_again) {
    const char *const first[3] = {"schedule=constant", "extra_updates=50", "threads=1"};
    const char *const longer[3] = {"schedule=constant", "extra_updates=50", "env_steps=2048"};
    const char *const more[3] = {"schedule=constant", "extra_updates=60", "env_steps=2048"};
    cm_run_result result;
    train("run", false, first, &result);
    ck_assert_int_eq(result.updates, BEFORE + 50);
    train("run", true, longer, &result);
    ck_assert_int_eq(result.updates, BEFORE + 50 + 4 * PER_ITERATION + 50);
    train("run", true, more, &result);
    ck_assert_int_eq(result.updates, BEFORE + 50 + 4 * PER_ITERATION + 60);
    ck_assert_int_eq(result.env_steps, 2048);
}
END_TEST

START_TEST(a_limit_on_updates_ends_them_and_a_higher_one_goes_on) {
    const char *const first[3] = {"schedule=constant", "extra_updates=100", "updates=290"};
    const char *const more[3] = {"schedule=constant", "extra_updates=100", "updates=1000"};
    cm_run_result result;
    train("run", false, first, &result);
    ck_assert_int_eq(result.updates, 290);
    train("run", true, more, &result);
    ck_assert_int_eq(result.updates, BEFORE + 100);
}
END_TEST

START_TEST(a_memory_that_is_not_ready_has_none) {
    const char *const settings[3] = {"min_memory_steps=4000", "extra_updates=100", "threads=1"};
    cm_run_result result;
    cm_log_set_level(CM_ERROR);
    train("run", false, settings, &result);
    ck_assert_int_eq(result.updates, 0);
    ck_assert_int_eq(result.end, CM_RUN_LIMIT);
}
END_TEST

int main(void) {
    cm_log_set_level(CM_WARNING);
    Suite *suite = suite_create("run/extra_updates");
    TCase *t = tcase_create("extra updates");
    tcase_add_checked_fixture(t, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, as_many_are_made_as_asked_for_and_nothing_is_acted, 0, 2);
    tcase_add_test(t, schedules_last_to_their_end);
    tcase_add_test(t, a_run_that_is_made_longer_makes_them_again);
    tcase_add_test(t, a_limit_on_updates_ends_them_and_a_higher_one_goes_on);
    tcase_add_test(t, a_memory_that_is_not_ready_has_none);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
