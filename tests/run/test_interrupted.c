/* Runs that are asked to stop where an evaluation is due or under way: it counts for nothing, and the run that goes on
 * makes it again, so that parameters, metrics, the best checkpoint and the report are those of the unbroken run. */
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "core/log.h"
#include "run/checkpoint.h"
#include "run/metrics.h"
#include "run/run.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/same_metrics.h"
#include "support/training.h"

/* A place where a run is asked to stop: when it prints a line with `text`; "": before it begins. */
typedef struct place {
    const char *text;
    const char *settings[3]; /* besides the common ones */
    bool is_pending;         /* the iteration's row of metrics waits for the evaluation */
} place;

static const place places[] = {
    {"", {"evaluation_interval=256", "stop_at_goal=false"}, false}, /* within acting */
    {"\"evaluation\"",
     {"evaluation_interval=512", "stop_at_goal=true", "goal_return=5"},
     true},                                                                          /* it is to be confirmed */
    {"\"iteration\": 4,", {"evaluation_interval=512", "stop_at_goal=false"}, false}, /* before the report */
    {"", {"evaluation_interval=768", "stop_at_goal=false", "env_steps=256"}, false}, /* the same */
    {"\"iteration\": 5,", {"evaluation_interval=512", "stop_at_goal=false", "extra_updates=150"}, false},
};
enum { PLACES = sizeof places / sizeof *places };

static cm_stop stop;
static const char *trigger; /* NULL: nothing is waited for */

/* All that this program prints passes here. */
ssize_t write(int file, const void *text, size_t size) {
    if (trigger && memmem(text, size, trigger, strlen(trigger))) cm_stop_ask(&stop);
    return syscall(SYS_write, file, text, size);
}

/* Nanoseconds by which the clock goes on with every look at it, so that it counts work and not time; 0: the true one.
 */
static int64_t tick, ticked;

int clock_gettime(clockid_t clock, struct timespec *out) {
    if (tick == 0) return (int)syscall(SYS_clock_gettime, clock, out);
    const int64_t now = __atomic_add_fetch(&ticked, tick, __ATOMIC_RELAXED);
    *out = (struct timespec){.tv_sec = now / 1000000000, .tv_nsec = now % 1000000000};
    return 0;
}

static void path_of(const char *run, const char *file, char path[160]) {
    snprintf(path, 160, "%s/%s%s%s", cm_test_folder, run, file[0] ? "/" : "", file);
}

static void train(const char *name, const place *at, bool resume, cm_run_result *result) {
    const char *settings[14] = {
        "env_steps=1024", "min_memory_steps=256", "final_evaluation_episodes=6", "evaluation_episodes=4",
        "threads=2",      "num_simulations=4",    "checkpoint_updates=40",       "hidden_dim=32",
        "batch_size=32",  "replay_ratio=8"};
    int count = 10;
    for (int i = 0; i < 3 && at->settings[i]; i++) settings[count++] = at->settings[i];
    train_run(name, resume, settings, count, &stop, result);
}

/* The weights that the run ends with. */
static void expect_evaluated_last(const char *run) {
    char path[160];
    cm_metrics *rows;
    int count;
    path_of(run, "metrics.jsonl", path);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    ck_assert(isfinite(rows[count - 1].eval_return));
    free(rows);
}

/* `best` points to the same checkpoint. */
static void expect_same_best(const char *broken) {
    char path[160], target[2][PATH_MAX] = {"", ""};
    const char *const runs[2] = {"unbroken", broken};
    for (int i = 0; i < 2; i++) {
        path_of(runs[i], "best", path);
        ck_assert_int_gt(readlink(path, target[i], sizeof target[i] - 1), 0);
    }
    ck_assert_str_eq(target[0], target[1]);
}

static double state_number(const char *run, const char *key) {
    char path[160];
    cm_json_doc *doc = NULL;
    path_of(run, "latest/state.json", path);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    const cm_json *node = cm_json_get(cm_json_root(doc), key);
    double value = node && cm_json_type(node) == CM_JSON_OBJECT ? 1.0 : cm_json_number(node, -1.0);
    cm_json_free(doc);
    return value;
}

START_TEST(evaluation_that_is_asked_to_stop_counts_for_nothing_and_is_made_again) {
    const place *at = &places[_i];
    char path[160];
    cm_run_result unbroken, broken;
    train("unbroken", at, false, &unbroken);
    ck_assert_int_ne(unbroken.end, CM_RUN_STOPPED);

    if (at->text[0] == '\0') cm_stop_ask(&stop);
    trigger = at->text[0] ? at->text : NULL;
    train("broken", at, false, &broken);
    ck_assert_int_eq(broken.end, CM_RUN_STOPPED);
    ck_assert(!broken.evaluated);
    path_of("broken", "result.json", path);
    ck_assert(!cm_file_exists(path));
    ck_assert_double_eq(state_number("broken", "pending"), at->is_pending ? 1.0 : -1.0);

    trigger = NULL, stop = (cm_stop){0};
    train("broken", at, true, &broken);
    ck_assert_int_eq(broken.end, unbroken.end);
    ck_assert_str_eq(broken.hash, unbroken.hash);
    ck_assert(broken.evaluated);
    ck_assert_double_eq(broken.final.mean, unbroken.final.mean);
    ck_assert_int_eq(broken.final_updates, unbroken.final_updates);
    ck_assert_double_eq(state_number("broken", "evaluations"), state_number("unbroken", "evaluations"));
    ck_assert_double_eq(state_number("broken", "best_return"), state_number("unbroken", "best_return"));
    ck_assert_double_eq(state_number("broken", "pending"), -1.0);
    expect_evaluated_last("unbroken");
    expect_same_metrics("unbroken", "broken");
    expect_same_best("broken");
}
END_TEST

START_TEST(stop_that_is_asked_again_and_again_loses_nothing) {
    cm_run_result unbroken, broken;
    train("unbroken", &places[0], false, &unbroken);
    cm_stop_ask(&stop);
    for (int i = 0; i < 3; i++) { /* each time within the first iteration */
        train("broken", &places[0], i > 0, &broken);
        ck_assert_int_eq(broken.end, CM_RUN_STOPPED);
        ck_assert_int_eq(broken.iterations, 0);
    }
    stop = (cm_stop){0};
    train("broken", &places[0], true, &broken);
    ck_assert_str_eq(broken.hash, unbroken.hash);
    expect_same_metrics("unbroken", "broken");
}
END_TEST

/* Sessions of a time that is over within acting and learning, until all is learnt; it gets longer where it was enough
 * for nothing. Batches are accumulated and reanalysed, so that an update may be broken off at any of these. */
START_TEST(a_run_that_the_time_ends_again_and_again_is_that_of_one_session) {
    char limit[32];
    const char *settings[] = {"env_steps=1024",
                              "min_memory_steps=256",
                              "threads=2",
                              "num_simulations=4",
                              "hidden_dim=32",
                              "batch_size=32",
                              "replay_ratio=8",
                              "evaluation_interval=0",
                              "gradient_accumulation=2",
                              "reanalyse_ratio=0.5",
                              "final_evaluation_episodes=0",
                              _i == 0 ? "extra_updates=0" : "extra_updates=90",
                              limit};
    const int count = sizeof settings / sizeof *settings;
    cm_run_result unbroken, broken = {.updates = 0};
    double seconds = 0.05;
    snprintf(limit, sizeof limit, "time_limit=0");
    train_run("unbroken", false, settings, count, NULL, &unbroken);
    for (bool resume = false; broken.updates < unbroken.updates || broken.env_steps < 1024; resume = true) {
        const int64_t before = broken.updates + broken.env_steps;
        snprintf(limit, sizeof limit, "time_limit=%g", seconds);
        train_run("broken", resume, settings, count, NULL, &broken);
        ck_assert_int_eq(broken.end, CM_RUN_LIMIT);
        if (broken.updates + broken.env_steps == before) seconds *= 1.5;
    }
    ck_assert_str_eq(broken.hash, unbroken.hash);
    expect_same_metrics("unbroken", "broken");
}
END_TEST

/* What is left for the report goes by how long episodes are: they may have become shorter within the iteration that the
 * time breaks off, so that a plan made then leaves more time. */
START_TEST(a_run_that_the_time_alone_has_broken_off_has_met_its_limit) {
    char limit[32];
    const char *settings[] = {"num_envs=32",
                              "steps_per_iteration=4",
                              "num_simulations=2",
                              "hidden_dim=8",
                              "batch_size=16",
                              "num_unroll_steps=1",
                              "replay_ratio=0.5",
                              "min_memory_steps=256",
                              "threads=1",
                              "evaluation_interval=0",
                              "final_evaluation_episodes=100",
                              "stop_at_goal=false",
                              limit};
    cm_run_result result;
    snprintf(limit, sizeof limit, "time_limit=%g", 31.8 + 0.1 * _i);
    tick = 1000000;
    train_run("timed", false, settings, sizeof settings / sizeof *settings, NULL, &result);
    tick = 0;
    ck_assert_int_eq(result.end, CM_RUN_LIMIT);
}
END_TEST

START_TEST(a_limit_on_time_counts_from_where_the_program_began) {
    static const char *const settings[] = {"time_limit=1", "evaluation_interval=0", "final_evaluation_episodes=0"};
    cm_run_result late; /* as long as the clock goes */
    ck_assert_int_eq(try_run_from(1e-3, "late", false, settings, 3, NULL, &late), CM_OK);
    ck_assert_int_eq(late.end, CM_RUN_LIMIT);
    ck_assert_int_eq(late.env_steps, 0);
}
END_TEST

/* All of these end where the first evaluation is due. */
START_TEST(opponent_that_keeps_a_run_waiting_is_told_of_at_the_start) {
    static const char *const rows[][2] = {{"env_name=connect4", "evaluation_opponent=perfect"}, /* this one */
                                          {"env_name=connect4", "evaluation_opponent=mcts:800"},
                                          {"env_name=tictactoe", "evaluation_opponent=perfect"}};
    const place at = {.settings = {"evaluation_interval=256", rows[_i][0], rows[_i][1]}};
    char path[160], *text;
    size_t size;
    cm_run_result broken;
    cm_stop_ask(&stop);
    train("broken", &at, false, &broken);
    ck_assert_int_eq(broken.end, CM_RUN_STOPPED);
    path_of("broken", "log.txt", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    ck_assert_int_eq(strstr(text, "opponent  perfect: it solves the first moves for minutes; mcts:800 takes seconds") !=
                         NULL,
                     _i == 0);
    free(text);
}
END_TEST

int main(void) {
    cm_log_set_level(CM_WARNING);
    Suite *suite = suite_create("run/interrupted");
    TCase *t = tcase_create("evaluations");
    tcase_add_checked_fixture(t, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, evaluation_that_is_asked_to_stop_counts_for_nothing_and_is_made_again, 0, PLACES);
    tcase_add_test(t, stop_that_is_asked_again_and_again_loses_nothing);
    tcase_add_loop_test(t, a_run_that_the_time_ends_again_and_again_is_that_of_one_session, 0, 2);
    tcase_add_test(t, a_limit_on_time_counts_from_where_the_program_began);
    tcase_add_loop_test(t, opponent_that_keeps_a_run_waiting_is_told_of_at_the_start, 0, 3);
    suite_add_tcase(suite, t);
    t = tcase_create("clock");
    tcase_add_checked_fixture(t, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_run_that_the_time_alone_has_broken_off_has_met_its_limit, 0, 8);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
