/* A run takes no memory after its second iteration: a long run allocates no more than a short one, but for the few
 * pieces that the files of its last checkpoint need (they depend on how many episodes there are). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "support/folder.h"
#include "support/main.h"

/* Every allocation of this program is counted, unless a sanitizer has its own allocator. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { COUNTED = 0 };
static long allocations;
#else
enum { COUNTED = 1 };
static long allocations;
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static void count(void) { __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED); }
void *malloc(size_t bytes) { return count(), __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return count(), __libc_calloc(n, bytes); }
void *realloc(void *block, size_t bytes) { return count(), __libc_realloc(block, bytes); }
void *aligned_alloc(size_t align, size_t bytes) { return count(), __libc_memalign(align, bytes); }
#endif

/* Allocations between opening a run of `iterations` iterations and its end. Nothing is saved or evaluated on the way.
 */
static long run_and_count(int iterations, const char *overlap) {
    char steps[64], directory[80];
    snprintf(steps, sizeof steps, "env_steps=%d", iterations * 256);
    const char *const settings[] = {steps,
                                    overlap,
                                    "min_memory_steps=256",
                                    "replay_ratio=2",
                                    "checkpoint_updates=0",
                                    "final_evaluation_episodes=0",
                                    "evaluation_interval=0",
                                    "threads=2",
                                    "log_interval=3600",
                                    "memory_steps=700"};
    cm_configuration configuration;
    cm_config *config;
    cm_run *run;
    cm_run_result result;
    cm_test_folder_make();
    snprintf(directory, sizeof directory, "%s/run", cm_test_folder);
    ck_assert_msg(cm_configuration_load(NULL, settings, 10, &configuration, &config) == CM_OK, "%s",
                  cm_error_message());
    cm_progress_style style = {.file = 2, .quiet = true};
    cm_progress *progress;
    ck_assert(cm_progress_create(&style, &progress) == CM_OK);
    cm_run_request request = {.config = config,
                              .configuration = &configuration,
                              .directory = directory,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .progress = progress};
    ck_assert_msg(cm_run_open(&request, &run) == CM_OK, "%s", cm_error_message());
    long before = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
    ck_assert_msg(cm_run_train(run, &result) == CM_OK, "%s", cm_error_message());
    long taken = __atomic_load_n(&allocations, __ATOMIC_RELAXED) - before;
    ck_assert_int_eq(result.iterations, iterations);
    cm_run_close(run);
    cm_progress_destroy(progress);
    cm_config_destroy(config);
    cm_test_folder_remove();
    return taken;
}

START_TEST(twenty_four_more_iterations_allocate_less_than_once_each) {
    static const char *const overlap[] = {"overlap=off", "overlap=on"};
    if (!COUNTED) {
        printf("SKIP allocations: a sanitizer has its own allocator\n");
        return;
    }
    run_and_count(3, overlap[_i]); /* what libraries take once */
    long six = run_and_count(6, overlap[_i]), thirty = run_and_count(30, overlap[_i]);
    ck_assert_msg(labs(thirty - six) < 24, "6 iterations: %ld allocations, 30 iterations: %ld", six, thirty);
    ck_assert_int_gt(six, 0); /* the checkpoint at the end */
}
END_TEST

int main(void) {
    cm_log_set_level(CM_WARNING);
    Suite *suite = suite_create("steady state");
    TCase *tc = tcase_create("memory");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, twenty_four_more_iterations_allocate_less_than_once_each, 0, 2);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
