/* Runs that begin with weights or games of another. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "runs.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
    hash_of("ref", reference);
}

START_TEST(new_run_starts_from_old_weights) {
    expect_ok("train --quiet --run young --init-from ref --set learning_rate=1e-12 --set weight_decay=0" SMALL);
    char hash[64];
    hash_of("young", hash);
    ck_assert_str_ne(hash, reference); /* it starts from the average */
    expect_ok("eval --run young --episodes 3 --json");
}
END_TEST

/* Also for a network of another size, and with the same games for any number of threads. */
START_TEST(new_run_starts_with_old_games) {
    char one[64], two[64];
    double steps = 0.0, episodes = 0.0;
    run("train --run fed-1 --threads 1 --replay-from ref --set hidden_dim=48" SMALL);
    ck_assert_msg(result.status == 0, "%s", result.err);
    const char *line = strstr(result.out, "replay    begins with ");
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "replay begins with %lf steps of %lf episodes, from ref\n", &steps, &episodes), 2);
    ck_assert(steps > 300.0 && steps <= 1024.0 && episodes > 10.0);
    expect_ok("train --quiet --run fed-2 --threads 2 --replay-from ref --set hidden_dim=48" SMALL);
    hash_of("fed-1", one);
    hash_of("fed-2", two);
    ck_assert_str_eq(one, two);
}
END_TEST

/* Killed before any other checkpoint, it still begins with what it was given. */
START_TEST(beginning_is_kept_for_a_run_that_is_killed) {
    static const char *const from[] = {"init", "replay"};
    char line[512], whole[64], again[64];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "train --quiet --run begun-%d --%s-from ref --set keep_checkpoints=100" SMALL, i,
                 from[i]);
        expect_ok(line);
        snprintf(line, sizeof line, "begun-%d", i);
        hash_of(line, whole);
        snprintf(line, sizeof line, "train --quiet --resume begun-%d --checkpoint 0 --overwrite", i);
        expect_ok(line);
        snprintf(line, sizeof line, "begun-%d", i);
        hash_of(line, again);
        ck_assert_str_eq(whole, again);
    }
}
END_TEST

/* What the first update waits for is there from the beginning. */
START_TEST(old_games_are_learnt_from_at_once) {
    static const char *const from[] = {"", " --replay-from ref"};
    char line[512];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "train --run at-once-%d%s" SMALL " --env-steps 128 --set final_evaluation_episodes=0", i, from[i]);
        expect_ok(line);
        ck_assert_int_eq(strstr(result.out, " steps, 0 updates,") != NULL, i == 0);
    }
}
END_TEST

START_TEST(games_that_cannot_be_taken_are_refused_in_one_line) {
    expect_exit("train --quiet --run no --replay-from nowhere", 2, "nowhere: there is no such run");
    expect_exit("train --quiet --run no --replay-from ref --set env_name=tictactoe", 2,
                "--replay-from ref: that is a run of CartPole-v1, this one is of tictactoe: add --config "
                "ref/config.json, or --set env_name=CartPole-v1\n");
    expect_exit("train --quiet --resume ref --replay-from ref", 2, "--replay-from belongs to new ones");
    expect_ok("train --quiet --run short --env-steps 1 --set num_envs=1 --set steps_per_iteration=1"
              " --set final_evaluation_episodes=0");
    expect_exit("train --quiet --run no --replay-from short", 2, "short has saved no finished episode");
}
END_TEST

START_TEST(weights_that_do_not_fit_are_refused_by_the_task_or_the_keys_that_differ) {
    expect_exit("train --quiet --run no --init-from ref --set hidden_dim=32 --set env_name=catch", 2,
                "--init-from ref: that is a run of CartPole-v1, this one is of catch: add --config ref/config.json, or "
                "--set env_name=CartPole-v1\n");
    expect_exit("train --quiet --run no --init-from ref --set hidden_dim=48 --set initializer=fan_in_uniform", 2,
                "--init-from ref: its weights are of another network, with hidden_dim 32 (not 48); add --config "
                "ref/config.json, or set them alike\n");
    expect_ok("train --quiet --run fits --config ref/config.json --init-from ref --env-steps 64"
              " --set final_evaluation_episodes=0 --set evaluation_interval=0");
}
END_TEST

START_TEST(what_cannot_change_on_resume_is_told_with_what_a_new_run_may_take_along) {
    static const char *const keys[][2] = {
        {"discount=0.9", "start a new run (--init-from takes its weights along), or leave it\n"},
        {"hidden_dim=64", "start a new run (--replay-from takes its games along, its weights do not fit), or leave it"},
        {"discount=0.9 --set preset=none --set family=cumind",
         "start a new run (--replay-from takes its games along, its weights "},
        {"env_name=catch", "start a new run, or leave it\n"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char line[256];
        snprintf(line, sizeof line, "train --quiet --resume ref --set %s", keys[i][0]);
        expect_exit(line, 2, keys[i][1]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/starts");
    TCase *tests = tcase_create("starts");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, new_run_starts_from_old_weights);
    tcase_add_test(tests, new_run_starts_with_old_games);
    tcase_add_test(tests, beginning_is_kept_for_a_run_that_is_killed);
    tcase_add_test(tests, old_games_are_learnt_from_at_once);
    tcase_add_test(tests, games_that_cannot_be_taken_are_refused_in_one_line);
    tcase_add_test(tests, weights_that_do_not_fit_are_refused_by_the_task_or_the_keys_that_differ);
    tcase_add_test(tests, what_cannot_change_on_resume_is_told_with_what_a_new_run_may_take_along);
    return cm_test_main(suite);
}
