/* Runs on stacks of frames: killed and gone on with, on other threads, by ranks, watched and evaluated. */
#include <check.h>
#include <signal.h>

#include "runs.h"

/* The memory goes around, and episodes are longer than its segments. */
#define STACKED SMALL " --config default --set env_name=CartPole-v1 --set frame_stack=4 --set memory_steps=600"
#define CONSISTENT                                                                                                     \
    " --set consistency_weight=1 --set prioritized=true --set consistency_hidden=32 --set consistency_output=16"       \
    " --set consistency_predictor=8"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" STACKED CONSISTENT);
    hash_of("ref", reference);
}

START_TEST(killed_run_resumes_to_the_same_parameters) {
    char dir[32], line[600];
    snprintf(dir, sizeof dir, "killed-%d", _i);
    snprintf(line, sizeof line, "train --quiet --run %s" STACKED CONSISTENT, dir);
    pid_t child = cm_program_start(cm_test_folder, line);
    await_run(dir);
    usleep(20000 + 40000 * (unsigned)_i);
    kill(child, SIGKILL);
    cm_program_wait(child);
    snprintf(line, sizeof line, "train --quiet --resume %s", dir);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

START_TEST(threads_and_prefetching_change_nothing) {
    expect_ok("train --quiet --run threads" STACKED CONSISTENT " --threads 2 --set prefetch_depth=0");
    expect_reference("threads");
}
END_TEST

/* Where observations lie changes no result, whenever it changes. */
START_TEST(a_memory_in_a_file_gives_the_same_parameters) {
    char line[600];
    expect_ok("train --quiet --run file" STACKED CONSISTENT " --set memory_store=file");
    expect_reference("file");
    expect_ok("train --quiet --run packed" STACKED CONSISTENT " --set memory_store=compressed");
    expect_reference("packed");
    expect_ok("train --run auto" STACKED CONSISTENT " --set memory_store=auto");
    expect_reference("auto");
    snprintf(line, sizeof line, "train --quiet --run moved" STACKED CONSISTENT "%s",
             _i ? " --set memory_store=file --set memory_path=." : " --set memory_store=compressed");
    pid_t child = cm_program_start(cm_test_folder, line);
    await_run("moved");
    usleep(60000);
    kill(child, SIGKILL);
    cm_program_wait(child);
    expect_ok(_i ? "train --quiet --resume moved --set memory_store=ram" : "train --quiet --resume moved");
    expect_reference("moved");
    snprintf(line, sizeof line, "%s/moved", cm_test_folder);
    ck_assert_int_eq(cm_directory_remove(line), CM_OK);
    static const char *const others[] = {"auto", "file", "packed"};
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "%s/%s", cm_test_folder, others[i]);
        ck_assert_int_eq(cm_directory_remove(line), CM_OK);
    }
}
END_TEST

/* A vector, pictures with symmetries, a game of two with symmetries, and one of chance. */
START_TEST(whole_observations_have_the_same_parameters_wherever_they_lie) {
    static const char *const tasks[] = {"CartPole-v1", "catch", "tictactoe", "2048"};
    static const char *const stores[] = {"ram", "file", "compressed", "auto"};
    char line[512], want[64], got[64];
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line,
                 "train --quiet --run %s-%s" SMALL
                 " --updates 20 --config default --set env_name=%s --set memory_store=%s",
                 tasks[_i], stores[i], tasks[_i], stores[i]);
        expect_ok(line);
        snprintf(line, sizeof line, "%s-%s", tasks[_i], stores[i]);
        hash_of(line, i == 0 ? want : got);
        if (i > 0) ck_assert_str_eq(got, want);
    }
}
END_TEST

START_TEST(a_file_that_cannot_be_is_one_line) {
    expect_exit("train --quiet --run nowhere" STACKED " --set memory_store=file --set memory_path=/no/such/folder", 2,
                "Memory.memory_path: /no/such/folder: no folder; name one that is there");
    expect_exit("train --quiet --run proc" STACKED " --set memory_store=file --set memory_path=/proc", 1,
                "Memory.memory_path: /proc: no file can be made there");
}
END_TEST

START_TEST(ranks_share_what_others_have_saved) {
    if (!cm_program_has_mpi()) return;
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* of MPI, to the end */
    expect_ok("train --quiet --run two" STACKED CONSISTENT " --num-devices 2 --oversubscribe --env-steps 512");
    expect_ok("train --quiet --resume two --env-steps 768");
    expect_ok("train --quiet --resume two --num-devices 2 --oversubscribe --env-steps 1024 --set memory_store=file");
}
END_TEST

START_TEST(what_is_trained_on_stacks_is_evaluated_played_and_exported_on_them) {
    expect_ok("eval --run ref --episodes 3 --json");
    expect_ok("play --run ref --seed 3");
    expect_ok("export --run ref --torch exported");
    expect_exit("eval --run ref --episodes 3 --set frame_stack=2", 2, "its observations' shape is [8], was [16]");
}
END_TEST

START_TEST(a_memory_of_other_stacks_is_refused) {
    expect_exit("train --quiet --run others" STACKED " --set frame_stack=2 --replay-from ref", 2,
                "its observations' shape is [8], was [16]");
    expect_ok("train --quiet --run same" STACKED " --replay-from ref");
}
END_TEST

START_TEST(games_of_two_have_no_stacks) {
    expect_exit("train --quiet --run two-players --config default --set env_name=tictactoe --set frame_stack=2", 2,
                "frame_stack is for tasks of one player without chance");
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("frames of runs");
    TCase *tcase = tcase_create("frames of runs");
    tcase_add_unchecked_fixture(tcase, begin_all, cm_test_folder_remove);
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, killed_run_resumes_to_the_same_parameters, 0, 3);
    tcase_add_test(tcase, threads_and_prefetching_change_nothing);
    tcase_add_loop_test(tcase, a_memory_in_a_file_gives_the_same_parameters, 0, 2);
    tcase_add_loop_test(tcase, whole_observations_have_the_same_parameters_wherever_they_lie, 0, 4);
    tcase_add_test(tcase, a_file_that_cannot_be_is_one_line);
    tcase_add_test(tcase, ranks_share_what_others_have_saved);
    tcase_add_test(tcase, what_is_trained_on_stacks_is_evaluated_played_and_exported_on_them);
    tcase_add_test(tcase, a_memory_of_other_stacks_is_refused);
    tcase_add_test(tcase, games_of_two_have_no_stacks);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return cm_test_main(make_suite()); }
