/* Environments in shared objects: the example of docs/ADDING_AN_ENVIRONMENT.md as a library, and what is none. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "env/env.h"
#include "env/silent_check.h"
#include "run/configuration.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

#define CORRIDOR CM_TEST_MODULES "/environment_corridor.so"

static void expect_refused(const char *path, const char *says) {
    cm_env env;
    must_equal(cm_env_open(&env, path, NULL), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), says) != NULL, "%s", cm_error_message());
}

START_TEST(the_path_of_a_library_is_a_name) {
    cm_env env, again;
    must_msg(cm_env_open(&env, CORRIDOR, NULL) == CM_OK, "%s", cm_error_message());
    must_equal(cm_env_open(&again, CORRIDOR, NULL), CM_OK);
    must(strcmp(env.spec.name, "corridor") == 0 && env.spec.actions == 2 && cm_env_is_same(&env, &again));
    must_msg(cm_env_try(&env, 256) == CM_OK, "%s", cm_error_message());
    must(cm_env_is_library("grid.so") && cm_env_is_library("./grid") && !cm_env_is_library("go9"));
}
END_TEST

/* Its own code runs, in this program and in that. As in a file that was copied from src/env/ and changed. */
START_TEST(a_row_may_have_the_name_in_c_of_one_of_the_program) {
    cm_env env;
    static cm_output result;
    must_msg(cm_env_open(&env, CM_TEST_MODULES "/same_row.so", NULL) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(env.spec.name, "corridor");
    cm_test_folder_make();
    cm_program_run(cm_test_folder, "benchmark env --seconds 0.01 --env " CM_TEST_MODULES "/same_row.so", &result);
    must_msg(result.status == 0 && strcmp(result.err, "") == 0, "%s%s", result.out, result.err);
    cm_program_run(cm_test_folder, "play --episodes 1 --set env_name=" CM_TEST_MODULES "/same_row.so", &result);
    must_msg(strstr(result.out, "@") && strstr(result.out, "right"), "%s%s", result.out, result.err);
    cm_test_folder_remove();
}
END_TEST

START_TEST(what_is_no_library_is_refused_in_one_line) {
    expect_refused("./nowhere.so", "./nowhere.so: there is no such file; if it has moved, say where it is with --set");
    expect_refused("/dev/null", "/dev/null: not a regular file; needed is the library of an environment");
    expect_refused(CM_TEST_MODULES "/good.so",
                   "it has no cumind_environment; end the file with the line CM_ENV_LIBRARY(row)");
    expect_refused(CM_TEST_MODULES "/other_headers.so", "headers of another version of cumind");
    expect_refused(CM_TEST_MODULES "/no_library.so", "no_library.so: its cumind_environment returns nothing");
    expect_refused(CM_TEST_MODULES "/no_row.so", "no_row.so: holds no environment: its row is NULL");
}
END_TEST

START_TEST(of_a_path_that_leads_nowhere_the_nearest_library_is_named) {
    expect_refused(CM_TEST_MODULES "/mim.so",
                   "/mim.so: there is no such file; the nearest library is " CM_TEST_MODULES "/nim.so");
    expect_refused(CM_TEST_MODULES "/nim",
                   "/nim: there is no such file; the nearest library is " CM_TEST_MODULES "/nim.so");
    expect_refused(CM_TEST_MODULES "/quoridor.so", "/quoridor.so: there is no such file; if it has moved, ");
    expect_refused(CM_TEST_MODULES "/nowhere/nim.so", "/nowhere/nim.so: there is no such file; if it has moved, ");
    expect_refused(CM_TEST_MODULES "/nowhere/", "/nowhere/: there is no such file; if it has moved, ");
}
END_TEST

START_TEST(a_run_knows_its_library_by_the_whole_path) {
    cm_configuration c;
    cm_config *config;
    const char *const relative[] = {"env_name=" CM_TEST_MODULES "/../modules/environment_corridor.so"};
    must_equal(cm_configuration_load(NULL, relative, 1, &c, &config), CM_OK);
    must_msg(strcmp(c.env.env_name, CORRIDOR) == 0, "%s", c.env.env_name);
    cm_config_destroy(config);
}
END_TEST

static void copy_library(const char *name) {
    char path[64], *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    must_equal(cm_file_read(CORRIDOR, 1 << 24, &bytes, &size), CM_OK);
    must_equal(cm_file_write(path, bytes, size), CM_OK);
    free(bytes);
}

START_TEST(a_run_goes_on_where_its_library_has_moved_to) {
    static cm_output result;
    static const char *const commands[] = {
        "train --quiet --run r --set num_envs=4 --env-steps 512 --set min_memory_steps=64 --set env_name=first.so",
        "train --quiet --resume r --env-steps 600", "train --quiet --resume r --env-steps 600 --set env_name=second.so",
        "train --quiet --resume r --env-steps 700", /* the run knows it now */
        "train --quiet --resume r --env-steps 800 --set env_name=" CM_TEST_MODULES "/nim.so"};
    static const char *const says[] = {
        "", "/first.so: there is no such file; if it has moved, say where it is with --set", "", "",
        "cumind: r: state.json: Environment.env_name is fixed for a run: this one was "
        "trained on corridor, and " CM_TEST_MODULES "/nim.so is nim; put it back, or "};
    char old[64], new[64];
    cm_test_folder_make();
    copy_library("first.so");
    snprintf(old, sizeof old, "%s/first.so", cm_test_folder);
    snprintf(new, sizeof new, "%s/second.so", cm_test_folder);
    for (int i = 0; i < 5; i++) {
        cm_program_run(cm_test_folder, commands[i], &result);
        must_msg((result.status == 0) == (says[i][0] == '\0') && strstr(result.err, says[i]), "%s: %s", commands[i],
                 result.err);
        if (i == 0) must_equal(rename(old, new), 0);
    }
    cm_test_folder_remove();
}
END_TEST

START_TEST(a_library_is_trained_gone_on_with_and_evaluated) {
    static cm_output result;
    static const char *const commands[] = {
        "train --quiet --run r --set num_envs=4 --env-steps 512 --set min_memory_steps=64 --set env_name=" CORRIDOR,
        "train --quiet --resume r --env-steps 600", "eval --run r --episodes 3"};
    cm_test_folder_make();
    for (int i = 0; i < 3; i++) {
        cm_program_run(cm_test_folder, commands[i], &result);
        must_msg(result.status == 0, "%s: %s", commands[i], result.err);
    }
    must_msg(strstr(result.out, "3 greedy episodes") != NULL, "%s", result.out);
    cm_test_folder_remove();
}
END_TEST

START_TEST(a_game_whose_actions_have_no_names_is_played_by_numbers) {
    static cm_output result;
    cm_test_folder_make();
    cm_program_run_with(cm_test_folder, "play --opponent human --set env_name=" CM_TEST_MODULES "/nim.so",
                        "0\n3\n2\n0\n", &result);
    must_msg(result.status == 0, "%s", result.err);
    must_msg(strstr(result.out, "x has played 0") && strstr(result.out, "\"3\" is no move") &&
                 strstr(result.out, "x wins"),
             "%s", result.out);
    cm_test_folder_remove();
}
END_TEST

START_TEST(what_goes_wrong_late_is_laid_at_the_environment_s_door) {
    static cm_output result;
    static const char *const faults[][3] = {
        {"2", "cumind: late_fault: instance 0: its observe sets number 1 of 2 to nan (step ",
         "); bound or replace it in the environment; update 0 is saved: go on from it with --resume 2\n"},
        {"3", "cumind: late_fault: instance 0: its step gives reward nan (step "},
        {"4", ": scale the environment's observations, which are as large as 3.40282e+38\n"},
        {"6",
         "cumind: late_fault: instance 0: its step gives reward 1.5, beyond reward_low -1 and reward_high 1 of its "},
        {"7", "cumind: late_fault: instance 0: its legal allows no action, and the episode goes on; update "},
        {"8", "cumind: late_fault: instance 0: its step gives reward inf (step "},
        {"5", "cumind: train: a library ended the process by a call of exit; if it is the environment's, "}};
    cm_test_folder_make();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char command[300];
        snprintf(command, sizeof command,
                 "train --quiet --run %s --threads 1 --set rows=%s --set num_envs=1 --set env_name=" CM_TEST_MODULES
                 "/late_fault.so",
                 faults[i][0], faults[i][0]);
        cm_program_run(cm_test_folder, command, &result);
        const bool is_rule = strchr("67", *faults[i][0]);
        must_equal(result.status, is_rule ? 2 : 1); /* the row is at fault, or its numbers */
        must_msg(strstr(result.err, faults[i][1]) && strchr(result.err, '\n')[1] == '\0', "%s", result.err);
        must_msg(!faults[i][2] || strstr(result.err, faults[i][2]), "%s", result.err);
    }
    cm_test_folder_remove();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("libraries of environments");
    TCase *tcase = tcase_create("library");
    tcase_add_test(tcase, the_path_of_a_library_is_a_name);
    tcase_add_test(tcase, a_row_may_have_the_name_in_c_of_one_of_the_program);
    tcase_add_test(tcase, what_is_no_library_is_refused_in_one_line);
    tcase_add_test(tcase, of_a_path_that_leads_nowhere_the_nearest_library_is_named);
    tcase_add_test(tcase, a_run_knows_its_library_by_the_whole_path);
    tcase_add_test(tcase, a_run_goes_on_where_its_library_has_moved_to);
    tcase_add_test(tcase, a_library_is_trained_gone_on_with_and_evaluated);
    tcase_add_test(tcase, a_game_whose_actions_have_no_names_is_played_by_numbers);
    tcase_add_test(tcase, what_goes_wrong_late_is_laid_at_the_environment_s_door);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
