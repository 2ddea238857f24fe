/* What the wall time of a run goes to: rows of metrics have all of it, by what it was, whoever goes on with the run. */
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

/* Four iterations of 256 steps, with evaluations, checkpoints and two settings besides. */
static void train(const char *name, bool resume, const char *steps, const char *more, cm_run_result *result) {
    const char *const settings[] = {steps,
                                    more,
                                    "min_memory_steps=1",
                                    "td_steps=5",
                                    "hidden_dim=16",
                                    "head_hidden=16",
                                    "replay_ratio=4",
                                    "num_simulations=4",
                                    "evaluation_interval=512",
                                    "evaluation_episodes=2",
                                    "final_evaluation_episodes=0",
                                    "stop_at_goal=false",
                                    "checkpoint_updates=4",
                                    "target_update_frequency=8"};
    train_run(name, resume, settings, sizeof settings / sizeof *settings, NULL, result);
}

/* Sums over all rows; `last`: the run's seconds in the last of them. */
static int sum_rows(const char *name, double time[CM_TIMES], double *last) {
    char path[160];
    cm_metrics *rows;
    int count;
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, name);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    for (int part = 0; part < CM_TIMES; part++) {
        time[part] = 0.0;
        for (int i = 0; i < count; i++) {
            ck_assert_double_ge(rows[i].time[part], 0.0);
            time[part] += rows[i].time[part];
        }
    }
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(rows[i].time[CM_TIME_EVALUATION] > 0.0, isfinite(rows[i].eval_return));
    }
    *last = rows[count - 1].seconds;
    free(rows);
    return count;
}

/* The rows' time is that of the run, but for what follows the last of them, whose seconds are read before its times. */
static void expect_whole(const double time[CM_TIMES], double last, const cm_run_result *result) {
    double all = 0.0;
    for (int part = 0; part < CM_TIMES; part++) all += time[part];
    ck_assert_double_ge(all, last - 1e-6);
    ck_assert_double_le(all, result->seconds);
}

static const char *const overlaps[] = {"overlap=off", "overlap=on"};

START_TEST(rows_add_up_to_the_wall_time) {
    cm_run_result result;
    double time[CM_TIMES], last;
    train("run", false, "env_steps=1024", overlaps[_i], &result);
    ck_assert_int_eq(sum_rows("run", time, &last), result.iterations);
    expect_whole(time, last, &result);
    ck_assert_double_gt(time[CM_TIME_ACTING], 0.0);
    ck_assert_double_gt(time[CM_TIME_LEARNING], 0.0);
    ck_assert_double_gt(time[CM_TIME_SAVING], 0.0);
    ck_assert_double_eq(time[CM_TIME_REANALYSIS], 0.0);
}
END_TEST

static const char *const reanalyses[] = {"reanalyse_ratio=1", "reanalyse=buffer"};

START_TEST(searches_that_updates_wait_for_are_reanalysis) {
    cm_run_result result;
    double time[CM_TIMES], last;
    train("run", false, "env_steps=1024", reanalyses[_i], &result);
    sum_rows("run", time, &last);
    expect_whole(time, last, &result);
    ck_assert_double_gt(time[CM_TIME_REANALYSIS], 0.0);
    ck_assert_double_gt(time[CM_TIME_LEARNING], 0.0);
}
END_TEST

/* With a row in every third iteration the second process begins in the midst of one. */
START_TEST(a_run_that_goes_on_loses_no_time) {
    cm_run_result result;
    double time[CM_TIMES], last;
    train("run", false, "env_steps=1024", "metrics_interval=3", &result);
    train("run", true, "env_steps=1536", "metrics_interval=3", &result);
    ck_assert_int_eq(sum_rows("run", time, &last), 4); /* iterations 2, 3, 4 and 6: three of them have evaluations */
    expect_whole(time, last, &result);
}
END_TEST

int main(void) {
    cm_log_set_level(CM_ERROR);
    Suite *suite = suite_create("run/times");
    TCase *tests = tcase_create("times");
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, rows_add_up_to_the_wall_time, 0, 2);
    tcase_add_loop_test(tests, searches_that_updates_wait_for_are_reanalysis, 0, 2);
    tcase_add_test(tests, a_run_that_goes_on_loses_no_time);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
