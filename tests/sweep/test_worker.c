/* Whole sweeps of tiny runs: broken off and gone on with, by several workers, with trials that fail. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "support/folder.h"
#include "support/main.h"
#include "sweep/worker.h"

enum { TRIALS = 3, SEED = 11, STEPS = 768, LINES = TRIALS + 1 };
static const char *const base[] = {"env_steps=768",
                                   "hidden_dim=16",
                                   "batch_size=16",
                                   "num_simulations=4",
                                   "num_unroll_steps=2",
                                   "td_steps=5",
                                   "min_memory_steps=128",
                                   "replay_ratio=1",
                                   "head_hidden=16",
                                   "reward_support_size=1",
                                   "evaluation_episodes=2",
                                   "evaluation_simulations=0",
                                   "final_evaluation_episodes=2",
                                   "max_steps=32",
                                   "threads=1",
                                   "tensorboard=false",
                                   "monitor=false"};
static cm_sweep_plan plan;

static void path_in(const char *sweep, const char *name, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, "%s/%s%s%s", cm_test_folder, sweep, *name ? "/" : "", name);
}

/* A sweep of three trials in two rungs for two workers, in a folder of that name; all vary the learning rate. */
static void begin(const char *sweep, const char *key) {
    char path[PATH_MAX];
    cm_configuration configuration, scratch;
    cm_config *config;
    plan = (cm_sweep_plan){.trials = TRIALS, .seeds = 1, .rungs = 2, .workers = 2, .seed = SEED};
    ck_assert(cm_configuration_create(&scratch, &config) == CM_OK);
    ck_assert(cm_sweep_space_add(&plan.space, config, "learning_rate") == CM_OK);
    if (key) ck_assert(cm_sweep_space_add(&plan.space, config, key) == CM_OK);
    cm_config_destroy(config);
    ck_assert(cm_sweep_plan_divide(&plan, STEPS, 0) == CM_OK);
    path_in(sweep, "", path);
    ck_assert(cm_directory_make(path) == CM_OK);
    ck_assert(cm_configuration_load(NULL, base, sizeof base / sizeof *base, &configuration, &config) == CM_OK);
    path_in(sweep, "base.json", path);
    ck_assert(cm_config_save(config, path) == CM_OK);
    cm_config_destroy(config);
    path_in(sweep, "", path);
    ck_assert(cm_sweep_plan_save(&plan, path) == CM_OK);
}

static cm_stop user, piece;
static int steps, lines, stop_after; /* told of; 0: never */

static void on_step(void *context, const cm_sweep_progress *progress, const cm_sweep_task *task,
                    const cm_metrics *row) {
    (void)context, (void)task, (void)row;
    ck_assert_int_eq(progress->runs, LINES);
    steps++;
    if (stop_after == 0 || steps < stop_after) return;
    cm_stop_ask(&user);
    cm_stop_ask(&piece);
}

static void on_line(void *context, const cm_sweep_progress *progress, const cm_sweep_line *line) {
    (void)context, (void)progress, (void)line;
    lines++;
}

/* Asked to stop after so many iterations; 0: never. */
static cm_status work(const char *sweep, int most) {
    char folder[PATH_MAX];
    path_in(sweep, "", folder);
    const cm_sweep_worker worker = {.folder = folder,
                                    .plan = &plan,
                                    .program = "cumind",
                                    .user = &user,
                                    .stop = &piece,
                                    .on_step = on_step,
                                    .on_line = on_line};
    user = (cm_stop){.asked = 0};
    steps = lines = 0, stop_after = most;
    return cm_sweep_work(&worker);
}

static void expect_whole(const char *sweep) { ck_assert_msg(work(sweep, 0) == CM_OK, "%s", cm_error_message()); }

static cm_sweep_ledger read_ledger(const char *sweep) {
    char folder[PATH_MAX];
    cm_sweep_ledger ledger;
    path_in(sweep, "", folder);
    ck_assert_msg(cm_sweep_ledger_read(folder, &plan, &ledger) == CM_OK, "%s", cm_error_message());
    return ledger;
}

/* All but the times. */
static void expect_same_ledgers(const char *one, const char *two) {
    cm_sweep_ledger a = read_ledger(one), b = read_ledger(two);
    ck_assert_int_eq(a.count, LINES);
    ck_assert_int_eq(b.count, LINES);
    for (int i = 0; i < LINES; i++) {
        ck_assert_int_eq(a.line[i].trial, b.line[i].trial);
        ck_assert_int_eq(a.line[i].rung, b.line[i].rung);
        ck_assert_int_eq(a.line[i].env_steps, b.line[i].env_steps);
        ck_assert(a.line[i].score == b.line[i].score);
    }
    cm_sweep_ledger_free(&a);
    cm_sweep_ledger_free(&b);
}

/* The run that was trained to its end has the same parameters. */
static void expect_same_winners(const char *one, const char *two) {
    const char *const sweeps[2] = {one, two};
    char hash[2][64];
    for (int i = 0; i < 2; i++) {
        cm_sweep_ledger ledger = read_ledger(sweeps[i]);
        char folder[PATH_MAX], run[PATH_MAX], path[PATH_MAX];
        cm_json_doc *doc;
        path_in(sweeps[i], "", folder);
        ck_assert(cm_sweep_run_path(folder, ledger.line[LINES - 1].trial, SEED, "", run) == CM_OK);
        ck_assert(cm_path_join(path, sizeof path, run, "result.json") == CM_OK);
        ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
        snprintf(hash[i], 64, "%s", cm_json_string(cm_json_get(cm_json_root(doc), "parameter_hash")));
        cm_json_free(doc);
        cm_sweep_ledger_free(&ledger);
    }
    ck_assert_str_eq(hash[0], hash[1]);
}

START_TEST(a_sweep_that_is_stopped_again_and_again_is_the_unbroken_one) {
    int times = 0;
    begin("whole", NULL);
    expect_whole("whole");
    ck_assert_int_eq(lines, LINES);
    begin("broken", NULL);
    for (cm_status status = CM_ERR_INTERRUPTED; status != CM_OK; times++) {
        status = work("broken", 1 + times % 2);
        ck_assert_msg(status == CM_OK || status == CM_ERR_INTERRUPTED, "%s", cm_error_message());
        ck_assert_int_lt(times, 20);
    }
    ck_assert_int_gt(times, 3);
    expect_same_ledgers("whole", "broken");
    expect_same_winners("whole", "broken");
}
END_TEST

/* A worker may be killed after the checkpoint and before it has said what the run has reached. */
START_TEST(what_was_trained_and_not_said_is_not_trained_again) {
    begin("whole", NULL);
    expect_whole("whole");
    begin("lost", NULL);
    expect_whole("lost");
    char path[PATH_MAX];
    for (int t = 0; t < TRIALS; t++) {
        char name[64];
        snprintf(name, sizeof name, "trials/%03d/seed-%d.rung-0.json", t, SEED);
        path_in("lost", name, path);
        ck_assert_int_eq(remove(path), 0);
    }
    path_in("lost", "ledger.jsonl", path);
    ck_assert_int_eq(remove(path), 0);
    expect_whole("lost");
    ck_assert_int_eq(steps, 0);
    ck_assert_int_eq(lines, LINES);
    expect_same_ledgers("whole", "lost");
}
END_TEST

/* The first of the two is killed in its midst. */
START_TEST(two_workers_one_of_which_is_killed_make_the_ledger_of_one) {
    int state;
    begin("one", NULL);
    expect_whole("one");
    begin("two", NULL);
    const pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process == 0) _exit(work("two", 0) == CM_OK ? 0 : 1);
    usleep(150000);
    ck_assert_int_eq(kill(process, SIGKILL), 0);
    const pid_t second = fork();
    if (second == 0) _exit(work("two", 0) == CM_OK ? 0 : 1);
    expect_whole("two");
    ck_assert_int_eq(waitpid(process, &state, 0), process);
    ck_assert_int_eq(waitpid(second, &state, 0), second);
    ck_assert_int_eq(state, 0);
    expect_same_ledgers("one", "two");
    expect_same_winners("one", "two");
}
END_TEST

/* Five of two actions cannot be drawn: of seed 11 that is one of the trials, and not the first. */
START_TEST(a_trial_that_is_refused_counts_as_worst) {
    cm_sweep_ledger ledger;
    int failed = 0;
    begin("partly", "num_sampled_actions=0,5");
    expect_whole("partly");
    ledger = read_ledger("partly");
    ck_assert_int_eq(ledger.count, LINES);
    for (int i = 0; i < TRIALS; i++) {
        if (!isnan(ledger.line[i].score)) continue;
        ck_assert_ptr_nonnull(strstr(ledger.line[i].error, "5 draws are no fewer than the 2 actions"));
        ck_assert_int_ne(ledger.line[i].trial, ledger.line[LINES - 1].trial);
        failed++;
    }
    ck_assert_int_gt(failed, 0);
    ck_assert_int_lt(failed, TRIALS);
    cm_sweep_ledger_free(&ledger);
}
END_TEST

START_TEST(a_sweep_whose_trials_have_all_failed_says_why) {
    begin("failing", "num_sampled_actions=5");
    ck_assert(work("failing", 0) == CM_ERR_STATE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "all trials have failed; trial 0: seed 11: "));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("worker");
    TCase *cases = tcase_create("worker");
    cm_log_set_level(CM_ERROR);
    tcase_set_timeout(cases, 120);
    tcase_add_checked_fixture(cases, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(cases, a_sweep_that_is_stopped_again_and_again_is_the_unbroken_one);
    tcase_add_test(cases, what_was_trained_and_not_said_is_not_trained_again);
    tcase_add_test(cases, two_workers_one_of_which_is_killed_make_the_ledger_of_one);
    tcase_add_test(cases, a_trial_that_is_refused_counts_as_worst);
    tcase_add_test(cases, a_sweep_whose_trials_have_all_failed_says_why);
    suite_add_tcase(suite, cases);
    return cm_test_main(suite);
}
