/* Runs whose searches have the true rules as their model, as a user meets them. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/program.h"

/* A run of a second: 16 games at a time, a checkpoint every 20 updates. */
#define SMALL                                                                                                          \
    " --set policy=alphazero --set env_name=tictactoe --set num_envs=16 --set env_steps=2048"                          \
    " --set min_memory_steps=256 --set replay_ratio=8 --set checkpoint_updates=20 --set temperature_threshold=3"       \
    " --set evaluation_interval=1024 --set evaluation_episodes=4 --set final_evaluation_episodes=4"

static char where[64], reference[64];
static cm_output result;

static void expect_ok(const char *arguments) {
    cm_program_run(where, arguments, &result);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

static void hash_of(const char *dir, char hash[64]) {
    char path[160];
    cm_json_doc *doc = NULL;
    snprintf(path, sizeof path, "%s/%s/result.json", where, dir);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    snprintf(hash, 64, "%s", cm_json_string(cm_json_get(cm_json_root(doc), "parameter_hash")));
    cm_json_free(doc);
}

static void expect_reference(const char *dir) {
    char hash[64];
    hash_of(dir, hash);
    ck_assert_str_eq(hash, reference);
}

static void begin_all(void) {
    strcpy(where, "/tmp/cumind-alphazero-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(where));
    expect_ok("train --quiet --run ref --threads 1" SMALL);
    hash_of("ref", reference);
}
static void end_all(void) { ck_assert_int_eq(cm_directory_remove(where), CM_OK); }

START_TEST(threads_change_no_parameter) {
    expect_ok("train --quiet --run two --threads 2" SMALL);
    expect_ok("train --quiet --run three --threads 3 --set prefetch_depth=0" SMALL);
    expect_reference("two");
    expect_reference("three");
}
END_TEST

START_TEST(trees_that_are_kept_play_other_games) {
    char hash[64];
    expect_ok("train --quiet --run anew --set reuse_tree=false" SMALL);
    hash_of("anew", hash);
    ck_assert_str_ne(hash, reference);
}
END_TEST

START_TEST(killed_run_resumes_to_the_same_parameters) {
    char path[160];
    pid_t child = cm_program_start(where, "train --quiet --run killed" SMALL);
    snprintf(path, sizeof path, "%s/killed/latest/manifest.json", where);
    for (int i = 0; i < 20000 && !cm_file_exists(path); i++) usleep(1000);
    kill(child, SIGKILL);
    cm_program_wait(child);
    expect_ok("train --quiet --resume killed");
    expect_reference("killed");
}
END_TEST

START_TEST(the_agent_is_evaluated_shown_and_inspected) {
    expect_ok("eval --run ref --episodes 40 --set num_simulations=50");
    ck_assert_ptr_nonnull(strstr(result.out, "against random"));
    expect_ok("play --run ref --episodes 2 --quiet");
    ck_assert_ptr_nonnull(strstr(result.out, "episode 1: return"));
    expect_ok("inspect --run ref");
    ck_assert_ptr_nonnull(strstr(result.out, "prediction.value_head"));
    ck_assert_ptr_null(strstr(result.out, "dynamics"));
    ck_assert_ptr_null(strstr(result.out, "recurrent"));
}
END_TEST

START_TEST(a_game_of_chance_is_refused_in_one_line) {
    cm_program_run(where, "train --set policy=alphazero --set env_name=2048", &result);
    ck_assert_int_eq(result.status, 2);
    ck_assert_msg(strstr(result.err, "MCTS.policy: alphazero searches on the true rules") != NULL, "%s", result.err);
    ck_assert_ptr_eq(strchr(result.err, '\n'), result.err + strlen(result.err) - 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/alphazero");
    TCase *t = tcase_create("alphazero");
    tcase_add_unchecked_fixture(t, begin_all, end_all);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, threads_change_no_parameter);
    tcase_add_test(t, trees_that_are_kept_play_other_games);
    tcase_add_test(t, killed_run_resumes_to_the_same_parameters);
    tcase_add_test(t, the_agent_is_evaluated_shown_and_inspected);
    tcase_add_test(t, a_game_of_chance_is_refused_in_one_line);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
