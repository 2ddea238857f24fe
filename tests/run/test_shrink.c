/* Runs whose plan of memory does not fit as it is configured: planes are recomputed, to the same bits; with auto_fit an
 * update is made of smaller batches. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "run/run_internal.h"
#include "support/folder.h"
#include "support/main.h"

typedef struct job {
    cm_configuration configuration;
    cm_config *config;
    cm_progress *progress;
    cm_run *run;
    FILE *said;
} job;

/* A run of that name with settings, by blanks, besides. */
static cm_status open_job(job *j, const char *name, bool resume, const char *settings) {
    static const char common[] =
        "env_name=tictactoe family=resnet num_blocks=2 conv_channels=16 head_hidden=8 num_unroll_steps=2 threads=1 "
        "num_simulations=2 min_memory_steps=32 num_envs=2 batch_size=16 memory_steps=200 updates=2 "
        "evaluation_interval=0 "
        "final_evaluation_episodes=0 log_level=error";
    char text[1024], directory[160];
    const char *list[48];
    int count = 0;
    *j = (job){.said = tmpfile()};
    ck_assert_ptr_nonnull(j->said);
    const cm_progress_style style = {.file = fileno(j->said), .verbose = true};
    snprintf(text, sizeof text, "%s %s", common, settings);
    for (char *rest = text, *word = strtok_r(rest, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        list[count++] = word;
    snprintf(directory, sizeof directory, "%s/%s", cm_test_folder, name);
    ck_assert_msg(cm_configuration_load(NULL, list, count, &j->configuration, &j->config) == CM_OK, "%s",
                  cm_error_message());
    ck_assert_int_eq(cm_progress_create(&style, &j->progress), CM_OK);
    const cm_run_request request = {.config = j->config,
                                    .configuration = &j->configuration,
                                    .directory = directory,
                                    .resume = resume,
                                    .checkpoint = CM_CHECKPOINT_LATEST,
                                    .progress = j->progress};
    return cm_run_open(&request, &j->run);
}

static void close_job(job *j) {
    cm_run_close(j->run);
    cm_progress_destroy(j->progress);
    cm_config_destroy(j->config);
    fclose(j->said);
}

static void expect_said(const job *j, const char *line) {
    char text[4096];
    rewind(j->said);
    text[fread(text, 1, sizeof text - 1, j->said)] = '\0';
    ck_assert_msg(strstr(text, line) != NULL, "%s\nlacks: %s", text, line);
}

/* Trains to the end; the bytes that the run planned for. */
static size_t train(job *j, char hash[CM_HASH_HEX]) {
    cm_memory_row rows[CM_RUN_PLAN_ROWS];
    cm_run_result result;
    int count = 0;
    const size_t bytes = cm_run_memory(j->run, rows, &count);
    ck_assert_msg(cm_run_train(j->run, &result) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(result.updates, j->configuration.run.updates);
    memcpy(hash, result.hash, CM_HASH_HEX);
    return bytes;
}

static cm_status open_limited(job *j, const char *name, size_t bytes, const char *more) {
    char settings[160];
    snprintf(settings, sizeof settings, "memory_limit=%zu %s", bytes, more);
    return open_job(j, name, false, settings);
}

START_TEST(a_plan_that_does_not_fit_recomputes_and_learns_the_same_bits) {
    char kept[CM_HASH_HEX], again[CM_HASH_HEX];
    job j;
    ck_assert_int_eq(open_job(&j, "kept", false, ""), CM_OK);
    const size_t bytes = train(&j, kept);
    close_job(&j);
    ck_assert_msg(open_limited(&j, "again", bytes - 1, "") == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(j.configuration.trainer.recompute, CM_RECOMPUTE_BLOCKS);
    expect_said(&j, "          fitted: recompute=blocks, activations of ");
    ck_assert_uint_lt(train(&j, again), bytes);
    close_job(&j);
    ck_assert_str_eq(kept, again);
}
END_TEST

START_TEST(with_auto_fit_an_update_is_made_of_smaller_batches) {
    char hash[CM_HASH_HEX];
    job j;
    ck_assert_int_eq(open_job(&j, "full", false, "recompute=full"), CM_OK);
    const size_t bytes = train(&j, hash);
    close_job(&j);
    ck_assert_int_eq(open_limited(&j, "refused", bytes - 1, ""), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "Device.memory_limit: the run needs "));
    close_job(&j);
    ck_assert_msg(open_limited(&j, "divided", bytes - 1, "auto_fit=true") == CM_OK, "%s", cm_error_message());
    ck_assert_int_lt(j.configuration.trainer.batch_size, 16);
    ck_assert_int_eq(j.configuration.trainer.batch_size * j.configuration.trainer.gradient_accumulation, 16);
    expect_said(&j, "gradient_accumulation=");
    ck_assert_uint_lt(train(&j, hash), bytes);
    const int batch = j.configuration.trainer.batch_size;
    close_job(&j);
    char settings[96];
    snprintf(settings, sizeof settings, "recompute=full auto_fit=true batch_size=%d gradient_accumulation=%d updates=3",
             batch, 16 / batch);
    ck_assert_msg(open_job(&j, "divided", true, settings) == CM_OK, "%s", cm_error_message());
    train(&j, hash);
    close_job(&j);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/shrink");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, a_plan_that_does_not_fit_recomputes_and_learns_the_same_bits);
    tcase_add_test(tests, with_auto_fit_an_update_is_made_of_smaller_batches);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
