/* Runs whose files were changed, torn or refused by the disk between two processes. */
#include <sys/wait.h>

#include "run/metrics.h"
#include "runs.h"

/* ---- metrics ---- */

static void path_of(const char *run, const char *file, char path[160]) {
    snprintf(path, 160, "%s/%s/%s", cm_test_folder, run, file);
}

/* Iterations of the rows of metrics, as in " 1 2 3". */
static void expect_iterations(const char *run, const char *wanted) {
    char path[160], found[256] = "";
    cm_metrics *rows;
    int count;
    path_of(run, "metrics.jsonl", path);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    for (int i = 0, used = 0; i < count; i++)
        used += snprintf(found + used, sizeof found - (size_t)used, " %lld", (long long)rows[i].iteration);
    ck_assert_str_eq(found, wanted);
    free(rows);
}

static void expect_warned_of_metrics(const char *iteration) {
    cm_program_expect_line(result.err, "metrics.jsonl: was changed or torn behind the run's back: its whole lines");
    cm_program_expect_line(result.err, iteration);
}

START_TEST(a_torn_last_line_of_metrics_goes_before_a_run_goes_on) {
    char path[160];
    expect_ok("train --quiet --run torn" SMALL);
    path_of("torn", "metrics.jsonl", path);
    char *text;
    size_t size;
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    ck_assert_int_eq(truncate(path, (off_t)size - 30), 0);
    free(text);
    expect_ok("train --quiet --resume torn --env-steps 1536");
    expect_warned_of_metrics(" up to iteration 4 are kept");
    expect_iterations("torn", " 1 2 3 5 6");
    expect_ok("plot --run torn");
    expect_ok("train --quiet --resume torn --env-steps 1792");
    ck_assert_str_eq(result.err, "");
}
END_TEST

/* The checkpoint remembers a byte that lies within a line by then, here of an iteration that is acted again. */
START_TEST(a_line_of_metrics_that_was_removed_by_hand_costs_no_other) {
    char path[160], *text;
    size_t size;
    expect_ok("train --quiet --run edited --set keep_checkpoints=9" SMALL);
    path_of("edited", "metrics.jsonl", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
    memmove(second, third, strlen(third) + 1);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
    free(text);
    expect_ok("train --quiet --resume edited --checkpoint 64 --overwrite --env-steps 1280");
    expect_warned_of_metrics(" up to iteration 3 are kept");
    expect_iterations("edited", " 1 3 4 5");
}
END_TEST

START_TEST(a_run_whose_metrics_cannot_be_read_is_listed_by_its_checkpoint) {
    char path[160];
    expect_ok("train --quiet --run unread" SMALL);
    path_of("unread", "metrics.jsonl", path);
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs("half a line\n", file);
    ck_assert_int_eq(fclose(file), 0);
    expect_exit("plot --run unread", 1, "a damaged line of metrics, which may be removed: unread/metrics.jsonl:5: ");
    expect_ok("runs unread --json");
    cm_program_expect_line(result.err, "a damaged line of metrics");
    ck_assert_double_eq(number_in("env_steps"), 1024);
    ck_assert_double_eq(number_in("updates"), 128);
    path_of("unread", "checkpoints", path);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
    expect_ok("runs unread --json");
    ck_assert_msg(strstr(result.out, "\"env_steps\": null") != NULL, "%s", result.out);
    expect_ok("runs unread");
    ck_assert_msg(strstr(result.out, "\nCartPole-v1   42 ") != NULL, "%s", result.out);
}
END_TEST

/* ---- the configuration ---- */

/* Puts `after` in place of `before`, of the same length, in a run's config.json. */
static void edit_configuration(const char *run, const char *before, const char *after) {
    char path[160], *text;
    size_t size;
    path_of(run, "config.json", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    char *at = strstr(text, before);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(strlen(before), strlen(after));
    memcpy(at, after, strlen(after));
    ck_assert_int_eq(cm_file_write(path, text, size), CM_OK);
    free(text);
}

START_TEST(what_is_fixed_for_a_run_and_was_edited_is_named_by_every_reader) {
    static const char edited[] =
        "cumind: other/config.json: Self-Play.discount is fixed for a run: this one was trained with 0.997, and its "
        "config.json has 0.993 by now; put it back, or start a new run (--init-from takes its weights along)\n";
    static const char *const lines[] = {"eval --run other --episodes 1", "inspect --run other",
                                        "eval --run other --episodes 1 --set discount=0.997",
                                        "train --quiet --resume other"};
    expect_ok("train --quiet --run other" SMALL);
    edit_configuration("other", "\"discount\": 0.997", "\"discount\": 0.993");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect_exit(lines[i], 2, "");
        ck_assert_str_eq(result.err, edited);
    }
    edit_configuration("other", "\"discount\": 0.993", "\"discount\": 0.997");
    expect_ok("eval --run other --episodes 1 --set discount=0.993"); /* asked for, for this once */
    expect_ok("train --quiet --resume other");
}
END_TEST

/* ---- folders ---- */

static void expect_there(const char *name, bool is_there) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_msg(cm_file_exists(path) == is_there, "%s", name);
}

START_TEST(a_run_that_is_refused_leaves_no_folder_that_was_made_for_it) {
    static const char wrong[] = " --set env_name=connect4 --set evaluation_opponent=somebody";
    char line[256], path[160];
    snprintf(line, sizeof line, "train%s", wrong);
    expect_exit(line, 2, "\"somebody\" is none of ");
    expect_there("checkpoints", false);
    snprintf(path, sizeof path, "%s/mine", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    snprintf(line, sizeof line, "train --run mine//own/runs/a%s", wrong);
    expect_exit(line, 2, "\"somebody\" is none of ");
    expect_there("mine/own", false);
    expect_there("mine", true);
    snprintf(line, sizeof line, "train --run %s/mine/own/a%s", cm_test_folder, wrong);
    expect_exit(line, 2, "\"somebody\" is none of ");
    expect_there("mine/own", false);
    expect_there("mine", true);
}
END_TEST

/* As a kill leaves it: iterations after the newest checkpoint are in the metrics alone. */
START_TEST(what_is_done_again_after_a_kill_is_said) {
    expect_ok("train --quiet --run back" SMALL);
    long long at = 0, count = 0, reached = 0, newest = 0;
    char command[1024], text[64];
    snprintf(command, sizeof command,
             "cd %s && rm -r back/checkpoints/$(ls back/checkpoints | tail -n 1) && "
             "rm -f back/result.json && ls back/checkpoints | tail -n 1 >newest.txt",
             cm_test_folder);
    ck_assert_int_eq(system(command), 0);
    cm_program_file(cm_test_folder, "newest.txt", text, sizeof text);
    newest = strtoll(text, NULL, 10);
    expect_ok("train --resume back --set final_evaluation_episodes=0");
    const char *line = strstr(result.out, "resumed   at update ");
    ck_assert_ptr_nonnull(line);
    ck_assert_msg(
        sscanf(line, "resumed   at update %lld; the %lld updates to %lld, which no checkpoint holds, are done again",
               &at, &count, &reached) == 3,
        "%s", line);
    ck_assert_int_eq(at, newest);
    ck_assert_int_gt(count, 0);
    ck_assert_int_eq(reached, at + count);
    expect_ok("train --resume back --env-steps 1088 --set final_evaluation_episodes=0");
    ck_assert_ptr_nonnull(strstr(result.out, "resumed   at update "));
    ck_assert_ptr_null(strstr(result.out, "done again"));
}
END_TEST

/* ---- the disk ---- */

/* Trains with files of at most so many bytes, as on a full disk; what stderr says of it. */
static const char *train_on_a_full_disk(const char *arguments, int bytes) {
    static char text[4096];
    char command[1024];
    snprintf(command, sizeof command, "cd %s && bash -c 'ulimit -f %d; exec %s %s' 2>err.txt", cm_test_folder,
             bytes / 1024, CM_TEST_PROGRAM, arguments);
    ck_assert_int_eq(WEXITSTATUS(system(command)), 1);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    return text;
}

static void expect_refused_by_the_disk(const char *arguments, int bytes, const char *error) {
    cm_program_expect_line(train_on_a_full_disk(arguments, bytes), error);
}

START_TEST(a_disk_that_is_full_for_events_is_a_warning) {
    const char *text = train_on_a_full_disk("train --quiet --run full" SMALL " --set schedule=constant", 32768);
    const char *warning = strstr(
        text, "No space left on device; make space there, or take another place; the run goes on, without events");
    ck_assert_msg(warning != NULL, "%s", text);
    ck_assert_ptr_nonnull(strstr(warning, "begin again with --resume full"));
}
END_TEST

START_TEST(a_checkpoint_that_the_disk_refuses_says_how_to_go_on_and_from_what) {
    char whole[64], own[64];
    expect_ok("train --quiet --run whole" SMALL " --set schedule=constant");
    expect_refused_by_the_disk("train --quiet --run filled" SMALL " --set schedule=constant --set tensorboard=false",
                               32768,
                               "; when that is mended begin again with --resume filled, which has no checkpoint yet");
    expect_ok("train --quiet --resume filled --env-steps 768");
    expect_refused_by_the_disk("train --quiet --resume filled --env-steps 1024", 32768,
                               "; when that is mended go on with --resume filled; earlier checkpoints are intact");
    expect_ok("train --quiet --resume filled --env-steps 1024");
    hash_of("whole", whole);
    hash_of("filled", own);
    ck_assert_str_eq(own, whole);
}
END_TEST

START_TEST(doctor_on_a_full_disk_says_so_and_leaves_no_folder) {
    static char text[4096];
    char command[256], folder[64] = "", *at;
    snprintf(command, sizeof command, "cd %s && bash -c 'ulimit -f 100; exec %s doctor' >out.txt 2>err.txt",
             cm_test_folder, CM_TEST_PROGRAM);
    ck_assert_int_eq(WEXITSTATUS(system(command)), 1);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "parameters.safetensors: cannot write: File too large; raise the limit") != NULL, "%s",
                  text);
    at = strstr(text, "/tmp/cumind-doctor-");
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at, "%63[^ :]", folder), 1);
    *strstr(folder, "/run/") = '\0';
    ck_assert_msg(!cm_file_exists(folder), "%s", folder);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/changed");
    TCase *tests = tcase_create("changed");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, a_torn_last_line_of_metrics_goes_before_a_run_goes_on);
    tcase_add_test(tests, a_line_of_metrics_that_was_removed_by_hand_costs_no_other);
    tcase_add_test(tests, a_run_whose_metrics_cannot_be_read_is_listed_by_its_checkpoint);
    tcase_add_test(tests, what_is_fixed_for_a_run_and_was_edited_is_named_by_every_reader);
    tcase_add_test(tests, a_run_that_is_refused_leaves_no_folder_that_was_made_for_it);
    tcase_add_test(tests, a_disk_that_is_full_for_events_is_a_warning);
    tcase_add_test(tests, a_checkpoint_that_the_disk_refuses_says_how_to_go_on_and_from_what);
    tcase_add_test(tests, doctor_on_a_full_disk_says_so_and_leaves_no_folder);
    tcase_add_test(tests, what_is_done_again_after_a_kill_is_said);
    return cm_test_main(suite);
}
