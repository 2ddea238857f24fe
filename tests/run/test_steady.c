/* A run allocates no memory after its second iteration: a long run allocates no more than a short one, but for the few
 * segments that the files of its last checkpoint need (they depend on how many episodes there are). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/file.h"
#include "core/log.h"
#include "run/checkpoint.h"
#include "run/run.h"
#include "support/allocations.h"
#include "support/folder.h"
#include "support/main.h"

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
    long before = cm_allocations();
    ck_assert_msg(cm_run_train(run, &result) == CM_OK, "%s", cm_error_message());
    long taken = cm_allocations() - before;
    ck_assert_int_eq(result.iterations, iterations);
    cm_run_close(run);
    cm_progress_destroy(progress);
    cm_config_destroy(config);
    cm_test_folder_remove();
    return taken;
}

START_TEST(twenty_four_more_iterations_allocate_less_than_once_each) {
    static const char *const overlap[] = {"overlap=off", "overlap=on"};
    if (!CM_ALLOCATIONS_COUNTED) {
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
