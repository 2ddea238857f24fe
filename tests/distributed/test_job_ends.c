/* How jobs of ranks end: asked to stop, killed, left by their command, with a launcher that does not answer. */
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "distributed/launch.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output output;

#define SMALL                                                                                                          \
    "train --oversubscribe --set min_memory_steps=256 --set num_simulations=4 --set hidden_dim=32 "                    \
    "--set final_evaluation_episodes=2 --set stop_at_goal=false --set memory_steps=8192 "

/* Starts a long run of two ranks and waits until its first iterations are there. */
static pid_t start_long(void) {
    char text[4096] = "";
    pid_t job = cm_program_start_job(cm_test_folder,
                                     SMALL "--num-devices 2 --set evaluation_interval=0 --env-steps 10000000 --run "
                                           "long --set log_interval=0");
    for (int i = 0; i < 600 && !strstr(text, "\"iteration\": 2,"); i++) {
        usleep(100000);
        cm_program_file(cm_test_folder, "long/metrics.jsonl", text, sizeof text);
    }
    ck_assert_msg(strstr(text, "\"iteration\": 2,") != NULL, "it did not begin");
    return job;
}

START_TEST(a_killed_rank_ends_the_job_promptly_and_is_named) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_long(), rank = cm_program_find_rank(job, 1);
    ck_assert_int_gt(rank, 0);
    double start = cm_clock_seconds();
    kill(rank, SIGKILL);
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGKILL);
    ck_assert_double_lt(cm_clock_seconds() - start, 30.0);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    cm_program_expect_line(text, "cumind: rank 1 on ");
    cm_program_expect_line(text, " was ended by signal 9 (Killed)");
}
END_TEST

START_TEST(a_request_to_stop_ends_and_saves_all_ranks) {
    char text[65536];
    if (!cm_program_has_mpi()) return;
    static const int signals[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    pid_t job = start_long();
    kill(job, signals[_i]);
    ck_assert_int_eq(cm_program_wait(job), 0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "asked to stop after ") &&
                      strstr(text, "train --resume long --num-devices 2 --oversubscribe\n"),
                  "%s", text);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "");
    cm_program_run(cm_test_folder, "eval --run long --episodes 2 --json", &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
}
END_TEST

/* Starts a run where a program of the shell stands in place of mpirun, and waits until that has begun. */
static pid_t start_with(const char *mpirun) {
    char script[512], path[PATH_MAX], *before = strdup(getenv("PATH"));
    snprintf(script, sizeof script, "#!/bin/sh\n%s\n", mpirun);
    snprintf(path, sizeof path, "%s/mpirun", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, script, strlen(script)), CM_OK);
    ck_assert_int_eq(chmod(path, 0755), 0);
    snprintf(path, sizeof path, "%s:%s", cm_test_folder, before);
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    pid_t job = cm_program_start(cm_test_folder, SMALL "--num-devices 2 --run early");
    ck_assert_int_eq(setenv("PATH", before, 1), 0);
    free(before);
    snprintf(path, sizeof path, "%s/begun", cm_test_folder);
    for (int i = 0; i < 10000 && access(path, F_OK) != 0; i++) usleep(1000);
    return job;
}

/* It is still to find its feet. */
START_TEST(a_request_to_stop_before_the_ranks_begin_is_answered) {
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with(": > begun\nexec sleep 20");
    kill(job, signals[_i]);
    ck_assert_int_eq(cm_program_wait(job), 128 + signals[_i]);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    const char *line = strstr(text, "cumind: asked to stop before the ranks had begun: nothing has changed\n");
    ck_assert_msg(line && (signals[_i] == SIGINT || line == text), "%s", text);
}
END_TEST

/* mpirun drops it between its own start and that of the ranks. */
START_TEST(a_request_to_stop_that_the_launcher_drops_is_made_again) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with("trap : USR1\n: > begun\nsleep 1\nexec sleep 20");
    const double start = cm_clock_seconds();
    kill(job, SIGTERM);
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGTERM);
    ck_assert_double_lt(cm_clock_seconds() - start, 9.0); /* of silence it would be killed */
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "cumind: asked to stop before the ranks had begun: nothing has changed\n");
}
END_TEST

/* mpirun would die of it when its ranks have ended. */
START_TEST(a_request_to_stop_that_the_ranks_have_heard_is_not_made_again) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with("heard=0\ntrap 'heard=1' USR1\n: > begun\nwhile [ $heard = 0 ]; do sleep 0.1; done\n"
                           "echo '" CM_LAUNCH_HEARD "' >&2\ntrap - USR1\nsleep 1\necho final");
    kill(job, SIGTERM);
    ck_assert_int_eq(cm_program_wait(job), 0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_str_eq(text, "final\n");
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* Whatever the launcher makes of it. */
START_TEST(a_second_request_is_what_ended_the_job) {
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with("trap '' USR1\ntrap 'exit 1' TERM\n: > begun\nwhile :; do sleep 0.1; done");
    kill(job, SIGINT);
    usleep(300000); /* sooner would be the same wish */
    kill(job, SIGINT);
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGINT);
}
END_TEST

/* What they have printed is no lie. */
START_TEST(a_request_to_stop_while_ranks_end_does_not_say_that_none_had_begun) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with("echo final\n: > begun\nexec sleep 20");
    kill(job, SIGTERM);
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGTERM);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_str_eq(text, "final\n");
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* It takes no notice of signals, and what it has started keeps its outputs open. */
START_TEST(a_launcher_that_does_not_answer_is_killed) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with("trap '' TERM USR1\n: > begun\nsleep 20 &\nsleep 20");
    kill(job, SIGTERM);
    if (_i) {
        usleep(300000); /* sooner would be the same wish */
        kill(job, SIGTERM);
    }
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGTERM);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "cumind: mpirun does not answer: it and its ranks were killed\n");
}
END_TEST

static pid_t parent_of(pid_t process) {
    char path[64], text[1024];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d", (int)process);
    cm_program_file(path, "stat", text, sizeof text);
    ck_assert_int_eq(sscanf(strrchr(text, ')'), ") %*c %d", &parent), 1);
    return parent;
}

/* The value of a variable of a process, "" if it has none; at most 255 bytes. */
static void variable_of(pid_t process, const char *name, char value[256]) {
    static char text[1 << 16];
    char path[64], start[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = '\0';
    value[0] = '\0';
    const size_t length = (size_t)snprintf(start, sizeof start, "%s=", name);
    for (const char *at = text; at < text + size; at += strlen(at) + 1)
        if (strncmp(at, start, length) == 0) snprintf(value, 256, "%s", at + length);
}

static int count_in(const char *folder) {
    int count = 0;
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));) count += entry->d_name[0] != '.';
    if (all) closedir(all);
    return count;
}

static void await_end(pid_t process) {
    for (int i = 0; i < 1000 && kill(process, 0) == 0; i++) usleep(10000);
    ck_assert_int_ne(kill(process, 0), 0);
}

/* What it and they share is no more, either: segments of memory, and its files. */
START_TEST(ranks_end_with_a_launcher_that_is_killed) {
    char text[4096], shared[2][256];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_long(), rank = cm_program_find_rank(job, 1);
    ck_assert_int_gt(rank, 0);
    variable_of(rank, "OMPI_MCA_btl_vader_backing_directory", shared[0]);
    variable_of(rank, "OMPI_MCA_orte_tmpdir_base", shared[1]);
    for (int i = 0; i < 2; i++) ck_assert_msg(count_in(shared[i]) > 0, "\"%s\" is empty", shared[i]);
    kill(parent_of(rank), SIGKILL);
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGKILL);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "cumind: mpirun was ended by signal 9 (Killed), and the ranks with it\n");
    await_end(rank);
    for (int i = 0; i < 2; i++) ck_assert_int_ne(access(shared[i], F_OK), 0);
}
END_TEST

/* One that waits for ever, whatever it is asked, as Open MPI's does that is asked to end amid its start. */
START_TEST(a_launcher_ends_with_its_command_and_the_next_job_removes_their_folders) {
    static const char *const variable[] = {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_orte_tmpdir_base"};
    char text[4096], shared[2][256];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_with("trap '' TERM\necho $$ > made && mv made begun\nexec sleep 60");
    cm_program_file(cm_test_folder, "begun", text, sizeof text);
    const pid_t launcher = (pid_t)strtol(text, NULL, 10);
    ck_assert_int_gt(launcher, 0);
    for (int i = 0; i < 2; i++) variable_of(launcher, variable[i], shared[i]);
    kill(job, SIGKILL);
    ck_assert_int_eq(cm_program_wait(job), 128 + SIGKILL);
    await_end(launcher);
    ck_assert_int_eq(cm_program_wait(start_with("exit 0")), 0);
    for (int i = 0; i < 2; i++) ck_assert_int_ne(access(shared[i], F_OK), 0);
}
END_TEST

/* Its lock says that it is at work. */
START_TEST(a_job_leaves_the_folders_of_another_alone) {
    char shared[256];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_long(), rank = cm_program_find_rank(job, 1);
    variable_of(rank, "OMPI_MCA_btl_vader_backing_directory", shared);
    ck_assert_int_eq(cm_program_wait(start_with("exit 0")), 0);
    ck_assert_msg(count_in(shared) > 0, "\"%s\" is empty", shared);
    kill(job, SIGINT);
    ck_assert_int_eq(cm_program_wait(job), 0);
}
END_TEST

static void await_state(pid_t process, bool is_stopped) {
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%d", (int)process);
    for (int i = 0; i < 2000; i++, usleep(10000)) {
        cm_program_file(path, "stat", text, sizeof text);
        if ((strstr(text, ") T ") != NULL) == is_stopped) return;
    }
    ck_abort_msg("%s", text);
}

/* As ctrl-Z in a shell, and `fg`. */
START_TEST(a_stopped_job_of_ranks_works_no_more_until_it_goes_on) {
    int state;
    if (!cm_program_has_mpi()) return;
    const pid_t job = start_long(), rank = cm_program_find_rank(job, 1);
    ck_assert_int_eq(kill(job, SIGTSTP), 0);
    ck_assert_int_eq(waitpid(job, &state, WUNTRACED), job);
    ck_assert(WIFSTOPPED(state));
    await_state(rank, true);
    ck_assert_int_eq(kill(job, SIGCONT), 0);
    await_state(rank, false);
    kill(job, SIGINT);
    ck_assert_int_eq(cm_program_wait(job), 0);
}
END_TEST

START_TEST(one_rank_that_is_asked_to_stop_stops_all) {
    char text[65536];
    if (!cm_program_has_mpi()) return;
    pid_t job = start_long();
    kill(cm_program_find_rank(job, 1), SIGTERM);
    ck_assert_int_eq(cm_program_wait(job), 0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "asked to stop after "), "%s", text);
}
END_TEST
int main(void) {
    Suite *suite = suite_create("job_ends");
    TCase *tc = tcase_create("job_ends");
    tcase_add_checked_fixture(tc, cm_program_folder_for_ranks, cm_test_folder_remove);
    tcase_set_timeout(tc, 25);
    tcase_add_test(tc, a_killed_rank_ends_the_job_promptly_and_is_named);
    tcase_add_loop_test(tc, a_request_to_stop_ends_and_saves_all_ranks, 0, 5);
    tcase_add_loop_test(tc, a_request_to_stop_before_the_ranks_begin_is_answered, 0, 3);
    tcase_add_test(tc, a_request_to_stop_that_the_launcher_drops_is_made_again);
    tcase_add_test(tc, a_request_to_stop_that_the_ranks_have_heard_is_not_made_again);
    tcase_add_test(tc, a_second_request_is_what_ended_the_job);
    tcase_add_test(tc, a_request_to_stop_while_ranks_end_does_not_say_that_none_had_begun);
    tcase_add_loop_test(tc, a_launcher_that_does_not_answer_is_killed, 0, 2);
    tcase_add_test(tc, ranks_end_with_a_launcher_that_is_killed);
    tcase_add_test(tc, a_launcher_ends_with_its_command_and_the_next_job_removes_their_folders);
    tcase_add_test(tc, a_job_leaves_the_folders_of_another_alone);
    tcase_add_test(tc, a_stopped_job_of_ranks_works_no_more_until_it_goes_on);
    tcase_add_test(tc, one_rank_that_is_asked_to_stop_stops_all);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
