/* Runs that a test trains in its own process, below its folder. */
#ifndef TESTS_SUPPORT_TRAINING_H
#define TESTS_SUPPORT_TRAINING_H

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "run/run.h"
#include "support/folder.h"

/* Trains the run `name` with settings[count], or goes on with it, until its end or until `stop` (NULL: never) is
 * asked. A limit on time counts from `began`; 0: from now on. Errors: those of cm_run_open and cm_run_train. */
static inline cm_status try_run_from(double began, const char *name, bool resume, const char *const *settings,
                                     int count, const cm_stop *stop, cm_run_result *result) {
    char directory[160];
    cm_configuration configuration;
    cm_config *config;
    cm_run *run = NULL;
    cm_progress_style style = {.file = open("/dev/null", O_WRONLY), .json = true};
    cm_progress *progress;
    snprintf(directory, sizeof directory, "%s/%s", cm_test_folder, name);
    ck_assert_msg(cm_configuration_load(NULL, settings, count, &configuration, &config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert(cm_progress_create(&style, &progress) == CM_OK);
    cm_run_request request = {.config = config,
                              .configuration = &configuration,
                              .directory = directory,
                              .resume = resume,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .progress = progress,
                              .began = began,
                              .stop = stop};
    cm_status status = cm_run_open(&request, &run);
    if (status == CM_OK) status = cm_run_train(run, result);
    cm_run_close(run);
    cm_progress_destroy(progress);
    cm_config_destroy(config);
    close(style.file);
    return status;
}

static inline cm_status try_run(const char *name, bool resume, const char *const *settings, int count,
                                const cm_stop *stop, cm_run_result *result) {
    return try_run_from(0.0, name, resume, settings, count, stop, result);
}

/* The same; errors fail the test. */
static inline void train_run(const char *name, bool resume, const char *const *settings, int count, const cm_stop *stop,
                             cm_run_result *result) {
    ck_assert_msg(try_run(name, resume, settings, count, stop, result) == CM_OK, "%s", cm_error_message());
}

#endif
