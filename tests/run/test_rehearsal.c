/* What `make gpu-check` runs on a GPU, in small, on one whose memory the host cannot see: programs that take an address
 * of the host for one of the device end here. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

/* A program of the rehearsal with its arguments, and what it has to end with; its output has to contain `part`. One
 * that is a test keeps no log where this one has its own. */
static void run(const char *command, int expected, const char *part) {
    char line[1024], path[512], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/said", cm_test_folder);
    snprintf(line, sizeof line,
             "cd %s && unset CK_LOG_FILE_NAME && LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH TERM=dumb XDG_CACHE_HOME=%s %s/%s "
             ">said 2>&1",
             cm_test_folder, CM_TEST_REHEARSAL, cm_test_folder, CM_TEST_REHEARSAL, command);
    const int status = system(line);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == expected, "%s: status %d: %s", command, status, text);
    ck_assert_msg(strstr(text, part) != NULL, "%s: no `%s` in: %s", command, part, text);
    free(text);
}

static const struct {
    const char *command, *part; /* scripts/gpu_claims reads some of these */
} rows[] = {
    {"cumind benchmark matmul --backend cuda --seconds 0.01", "4096 x 4096 x 4096 on each of 1 threads"},
    {"cumind benchmark inference --backend cuda --batch 8 --seconds 0.01", "% of the matmul speed"},
    {"cumind benchmark train --backend cuda --batch 8 --seconds 0.01 --dtype bfloat16",
     "(batch 8, unroll 5, adamw; cuda, bfloat16)"},
    {"cumind benchmark train --backend cuda --batch 8 --seconds 0.01 --dtype float16", "; cuda, float16)"},
    {"cumind benchmark search --backend cuda --batch 4 --simulations 3 --seconds 0.01",
     "2 actions, muzero, trees on the device; cuda, float32)"},
    {"cumind benchmark act --backend cuda --batch 128 --simulations 2 --hidden 8 --seconds 0.01",
     "env_steps_per_second_at_once"},
    {"cumind benchmark graph --backend cuda --batch 4 --simulations 3 --hidden 8 --seconds 0.01",
     "11 launches_per_simulation"},
    {"cumind benchmark graph --backend cuda --batch 4 --simulations 3 --hidden 8 --seconds 0.01",
     "us_per_update_in_order"},
    {"cumind benchmark train --backend cuda --network configured --batch 2 --hidden 8 --seconds 0.01 "
     "--set consistency_weight=1 --set consistency_hidden=8 --set consistency_output=8 --set consistency_predictor=8",
     "8300 parameters"},
    {"cumind profile catch --backend cuda --seconds 1 --set num_simulations=2 --set hidden_dim=8 --set batch_size=8 "
     "--set num_envs=4 --set consistency_weight=1 --set consistency_hidden=8 --set consistency_output=8 "
     "--set consistency_predictor=8",
     "us_per_update_eager"},
    {"benchmark_gpu --backend cuda --batch 8", "float16: a large matrix product runs at"},
    {"benchmark_gpu --backend cuda --batch 2 --set env_name=connect4 --set family=resnet --set num_blocks=1 "
     "--set conv_channels=8",
     "batch    2:"},
    {"cumind train --backend cuda --seed 1 --env-steps 600 --run run --set num_simulations=4 --set "
     "final_evaluation_episodes=0",
     "% of the plan"},
    {"cumind test-cases " CM_TEST_CASES "/search --backend cuda --quiet", "0 failed"},
    {"test_graphs", "trainer/recorded\n100%: Checks: 20, Failures: 0"}, /* not skipped */
};

START_TEST(programs_run_where_the_host_cannot_see_the_memory) { run(rows[_i].command, 0, rows[_i].part); }
END_TEST

#define SMALL   " --backend cuda --num-devices 2 --set num_simulations=2 --set hidden_dim=16 --set memory_steps=8192 "
#define SCALING "cumind benchmark scaling" SMALL "--set min_memory_steps=256 --updates 4 --seconds 0.01"

#define TRAIN                                                                                                          \
    "cumind train --backend cuda --seed 1 --env-steps 64 --run run --set num_envs=4 --set hidden_dim=8 "               \
    "--set num_simulations=2 --set evaluation_interval=0 --set final_evaluation_episodes=0"
#define TABLE "cumind plot --run run --table --metric "

/* What tests/modules/gpu_nvml.c is to do, and what becomes of the GPU's use in what train says and in its metrics. */
static const struct {
    const char *nvml, *said;
    int has_use, has_memory; /* exit status of a plot of these: there is nothing to plot */
} uses[] = {
    {"", "  GPU 60 %  ", 0, 0},
    {"part",
     "GPU use   gpu_use is left out: NVML does not say how much of the time kernels run: Not Supported, as with", 2, 0},
    {"stranger", "GPU use   is not shown: NVML does not know GPU-01010101-0101-0101-0101-010101010101: Not Found", 2,
     2},
    {"stopped", "GPU use   is not shown: NVML does not start: Driver Not Loaded", 2, 2},
};

/* The last program has said it once. */
static void expect_once(const char *part) {
    char path[512], *text = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/said", cm_test_folder);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    const char *first = strstr(text, part);
    ck_assert_msg(first && !strstr(first + 1, part), "`%s` not once in: %s", part, text);
    free(text);
}

START_TEST(training_shows_the_use_of_the_gpu_and_goes_on_without) {
    setenv("CUMIND_TEST_NVML", uses[_i].nvml, 1);
    run(TRAIN, 0, uses[_i].said);
    expect_once(uses[_i].said);
    run(TABLE "gpu_use", uses[_i].has_use, uses[_i].has_use ? "run has no gpu_use yet" : "| 0.6 |\n");
    run(TABLE "gpu_memory", uses[_i].has_memory, uses[_i].has_memory ? "run has no gpu_memory yet" : "| 0.75 |\n");
    unsetenv("CUMIND_TEST_NVML");
}
END_TEST

/* Two ranks, with tests/modules/nccl.c between their devices, which are one. */
static const struct {
    const char *command;
    int status;
    const char *part;
} rows_of_ranks[] = {
    {"cumind train" SMALL "--oversubscribe --seed 1 --env-steps 600 --run run --set final_evaluation_episodes=0", 0,
     "% of the plan"},
    {SCALING " --oversubscribe", 0, "backend cuda, 1 thread per rank"},
    {SCALING " --oversubscribe --json", 0, "\"backend\": \"cuda\", \"ranks\": 2"},
    {SCALING, 2, "2 ranks, but this machine has 1 GPU for cumind"},
};

/* Open MPI is not instrumented: ThreadSanitizer takes its shared segments for races. */
#ifdef __SANITIZE_THREAD__
enum { FOLLOWED = 0 };
#else
enum { FOLLOWED = 1 };
#endif

START_TEST(ranks_share_a_device) {
    if (!cm_program_has_mpi()) return;
    run(rows_of_ranks[_i].command, rows_of_ranks[_i].status, rows_of_ranks[_i].part);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/rehearsal");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, cm_program_folder_for_ranks, cm_test_folder_remove);
    tcase_add_loop_test(tests, programs_run_where_the_host_cannot_see_the_memory, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_loop_test(tests, training_shows_the_use_of_the_gpu_and_goes_on_without, 0,
                        (int)(sizeof uses / sizeof *uses));
    if (FOLLOWED)
        tcase_add_loop_test(tests, ranks_share_a_device, 0, (int)(sizeof rows_of_ranks / sizeof *rows_of_ranks));
    else
        printf("SKIP ranks: ThreadSanitizer does not follow Open MPI\n");
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
