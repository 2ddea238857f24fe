/* A run whose environment was changed and built again. */
#include <limits.h>

#include "run/manifest.h"
#include "runs.h"

#define WALK(kind) " --set env_name=" CM_TEST_MODULES "/walk_" kind ".so"
#define CHANGED    "walk has changed since this run began: its "

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run begun --env-steps 512 --set num_envs=4 --set min_memory_steps=64"
              " --set final_evaluation_episodes=4" WALK("begun"));
}

START_TEST(what_of_the_task_has_changed_is_said_before_anything_else_is_read) {
    static const char *const changes[][2] = {
        {WALK("shape"), CHANGED "observations' shape is [12], was [9]; go on with the old library, or start again"},
        {WALK("actions"), CHANGED "number of actions is 3, was 2; "},
        {WALK("limit"), CHANGED "time limit in steps is 20, was 40; "},
        {WALK("state"), CHANGED "state's size in bytes is "}};
    char line[512];
    snprintf(line, sizeof line, "train --quiet --resume begun --env-steps 640%s", changes[_i][0]);
    expect_exit(line, 2, changes[_i][1]);
    expect_ok("train --quiet --resume begun --env-steps 576" WALK("begun"));
}
END_TEST

START_TEST(an_agent_plays_as_long_as_its_network_fits) {
    expect_ok("eval --run begun --episodes 2" WALK("limit"));
    expect_ok("eval --run begun --episodes 2" WALK("state"));
    expect_exit("eval --run begun --episodes 2" WALK("shape"), 2, CHANGED "observations' shape is [12], was [9]; ");
    expect_exit("eval --run begun --episodes 2" WALK("actions"), 2, CHANGED "number of actions is 3, was 2; ");
}
END_TEST

START_TEST(a_new_run_says_so_of_the_weights_and_games_it_is_to_begin_with) {
    expect_exit("train --quiet --run no --init-from begun" WALK("shape"), 2, CHANGED "observations' shape is [12], ");
    expect_exit("train --quiet --run no --replay-from begun" WALK("actions"), 2, CHANGED "number of actions is 3, ");
    expect_ok("train --quiet --run on --replay-from begun --env-steps 64 --set num_envs=4"
              " --set final_evaluation_episodes=0 --set evaluation_interval=0" WALK("state"));
}
END_TEST

/* The newest checkpoint of a run as an older cumind has written it: its state says nothing of the task. */
static void forget_task(const char *run) {
    char folder[PATH_MAX], path[PATH_MAX], *text;
    size_t size;
    cm_manifest manifest = {0};
    cm_dir dir;
    snprintf(folder, sizeof folder, "%s/%s/latest", cm_test_folder, run);
    ck_assert_int_eq(cm_dir_open(&dir, folder), CM_OK);
    snprintf(path, sizeof path, "%s/%s/latest/state.json", cm_test_folder, run);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    char *task = strstr(text, "\"task\": {"), *rest = task ? strstr(task, "\n  }") : NULL;
    ck_assert_msg(rest && rest[4] == ',', "%.400s", text);
    memmove(task, rest + 5, strlen(rest + 5) + 1);
    size = strlen(text);
    ck_assert_int_eq(cm_manifest_read(&manifest, &dir), CM_OK);
    cm_manifest_file *row = manifest.file;
    while (strcmp(row->name, "state.json") != 0) row++;
    row->bytes = size;
    cm_hash_bytes(text, size, row->hash);
    ck_assert_int_eq(cm_file_write(path, text, size), CM_OK);
    ck_assert_int_eq(cm_manifest_write(&manifest, &dir), CM_OK);
    cm_dir_close(&dir);
    cm_manifest_reset(&manifest);
    free(text);
}

START_TEST(a_checkpoint_that_says_nothing_of_its_task_is_gone_on_with) {
    expect_ok("train --quiet --run old --env-steps 512 --set num_envs=4 --set min_memory_steps=64"
              " --set final_evaluation_episodes=4" WALK("begun"));
    forget_task("old");
    expect_ok("train --quiet --resume old --env-steps 576");
    expect_exit("train --quiet --resume old --env-steps 640" WALK("limit"), 2, CHANGED "time limit in steps is 20, ");
}
END_TEST

START_TEST(rewards_and_rules_that_have_changed_are_a_warning_once) {
    static const char *const changes[][2] = {{WALK("reward"), "has reward 0.5, was 1; "},
                                             {WALK("rules"), "ends an episode (1) or does not (0): 0, was 1; "},
                                             {WALK("seen"), "has observations of mean 0.2222, was 0.1111; "}};
    char line[512], copy[512];
    snprintf(copy, sizeof copy, "cp -r %s/begun %s/copy%d", cm_test_folder, cm_test_folder, _i);
    ck_assert_int_eq(system(copy), 0);
    snprintf(line, sizeof line, "train --quiet --resume copy%d --env-steps 768%s", _i, changes[_i][0]);
    expect_ok(line);
    cm_program_expect_line(result.err, changes[_i][1]);
    ck_assert_msg(strstr(result.err, "walk has changed since these games were played: step "), "%s", result.err);
    snprintf(line, sizeof line, "train --quiet --resume copy%d --env-steps 1024%s", _i, changes[_i][0]);
    expect_ok(line);
    ck_assert_str_eq(result.err, "");
    snprintf(line, sizeof line,
             "train --quiet --run on%d --replay-from begun --env-steps 128"
             " --set num_envs=4 --set min_memory_steps=64%s",
             _i, changes[_i][0]);
    expect_ok(line);
    cm_program_expect_line(result.err, changes[_i][1]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/rebuilt");
    TCase *tests = tcase_create("rebuilt");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_loop_test(tests, what_of_the_task_has_changed_is_said_before_anything_else_is_read, 0, 4);
    tcase_add_test(tests, an_agent_plays_as_long_as_its_network_fits);
    tcase_add_test(tests, a_checkpoint_that_says_nothing_of_its_task_is_gone_on_with);
    tcase_add_test(tests, a_new_run_says_so_of_the_weights_and_games_it_is_to_begin_with);
    tcase_add_loop_test(tests, rewards_and_rules_that_have_changed_are_a_warning_once, 0, 3);
    return cm_test_main(suite);
}
