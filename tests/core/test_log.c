/* The log, the clock, and messages of errors. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "support/folder.h"
#include "support/main.h"

static char path[256];

static const char *in(const char *name) {
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    return path;
}

static void teardown(void) {
    cm_log_close();
    cm_test_folder_remove();
}

static char *content(const char *name) {
    static char *text;
    size_t size;
    ck_assert_int_eq(cm_file_read(in(name), 1 << 24, &text, &size), CM_OK);
    return text;
}

/* Sends stderr to a file of its own; returns what restores it. */
static int capture(void) {
    int saved = dup(STDERR_FILENO), file = open(in("stderr"), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ck_assert_int_ge(dup2(file, STDERR_FILENO), 0);
    close(file);
    return saved;
}

static char *release(int saved) {
    dup2(saved, STDERR_FILENO);
    close(saved);
    return content("stderr");
}

START_TEST(lines_below_the_level_are_not_shown_and_others_name_theirs) {
    int saved = capture();
    cm_log(CM_DEBUG, "hidden");
    cm_log(CM_INFO, "text %d", 1);
    cm_log(CM_WARNING, "text 2");
    cm_log_set_level(CM_DEBUG);
    cm_log(CM_DEBUG, "text 3");
    cm_log_set_level(CM_ERROR);
    cm_log(CM_WARNING, "hidden");
    cm_log(CM_ERROR, "text 4");
    cm_log_set_level(CM_SILENT);
    cm_log(CM_ERROR, "hidden");
    cm_log(CM_SILENT, "hidden");
    cm_log_set_level(CM_INFO);
    char *text = release(saved);
    ck_assert_str_eq(text, "text 1\nwarning: text 2\ndebug: text 3\nerror: text 4\n");
    free(text);
}
END_TEST

START_TEST(file_gets_time_and_level_of_every_line_from_info_on) {
    ck_assert_int_eq(cm_log_open(NULL, in("log.txt")), CM_OK);
    cm_log_set_level(CM_SILENT);
    cm_log(CM_DEBUG, "hidden");
    cm_log(CM_INFO, "a/b = %g", 0.5);
    cm_log(CM_ERROR, "second");
    cm_log_close();
    cm_log_close();
    cm_log(CM_INFO, "after the end");
    ck_assert_int_eq(cm_log_open(NULL, in("log.txt")), CM_OK); /* appends */
    cm_log(CM_WARNING, "third");
    cm_log_set_level(CM_INFO);
    char *text = content("log.txt"), *line = text;
    static const char *const want[] = {"INFO    a/b = 0.5", "ERROR   second", "WARNING third"};
    for (int i = 0; i < 3; i++, line = strchr(line, '\n') + 1) {
        int year, month, day, hour, minute, second, at;
        ck_assert_int_eq(sscanf(line, "%4d-%2d-%2d %2d:%2d:%2d %n", &year, &month, &day, &hour, &minute, &second, &at),
                         6);
        ck_assert_int_eq(strncmp(line + 20, want[i], strlen(want[i])), 0);
        ck_assert_int_eq(line[20 + strlen(want[i])], '\n');
    }
    ck_assert_str_eq(line, "");
    free(text);
}
END_TEST

START_TEST(file_that_cannot_be_opened_is_an_error_and_logging_goes_on) {
    ck_assert_int_eq(cm_log_open(NULL, in("none/log.txt")), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/none/log.txt: cannot open: No such file"));
    ck_assert_int_eq(cm_log_open(NULL, cm_test_folder), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "cannot open: Is a directory"));
    int saved = capture();
    cm_log(CM_INFO, "still here");
    char *text = release(saved);
    ck_assert_str_eq(text, "still here\n");
    free(text);
}
END_TEST

START_TEST(line_stays_one_line_whatever_is_in_it) {
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    int saved = capture();
    cm_log(CM_INFO, "a\nb\x1b[31mc\x7f");
    cm_log(CM_INFO, "%s", longest);
    char *text = release(saved), *second = strchr(text, '\n') + 1;
    ck_assert_int_eq(strncmp(text, "a\\nb\\x1b[31mc\\x7f\n", 18), 0);
    ck_assert_uint_eq(strlen(second), 2048);
    ck_assert_str_eq(second + 2042, "xx...\n");
    free(text);
}
END_TEST

static int seen;

static bool swallow_warnings(void *context, cm_log_level level, const char *line) {
    ck_assert_str_eq(context, "context");
    ck_assert_str_eq(line, level == CM_WARNING ? "swallowed" : "kept");
    seen++;
    return level == CM_WARNING;
}

START_TEST(hook_sees_each_line_and_may_swallow_it) {
    cm_log_set_hook(swallow_warnings, "context");
    int saved = capture();
    cm_log(CM_WARNING, "swallowed");
    cm_log(CM_INFO, "kept");
    cm_log(CM_DEBUG, "below the level");
    cm_log_set_hook(NULL, NULL);
    cm_log(CM_INFO, "unseen");
    char *text = release(saved);
    ck_assert_int_eq(seen, 2);
    ck_assert_str_eq(text, "kept\nunseen\n");
    free(text);
}
END_TEST

START_TEST(lines_that_are_kept_head_the_file_that_is_opened) {
    enum { LINES = 200 };
    cm_log_set_level(CM_SILENT);
    cm_log_keep();
    cm_log(CM_INFO, "dropped");
    cm_log_close();
    cm_log_keep();
    for (int i = 0; i < LINES; i++) cm_log(CM_INFO, "kept %d", i);
    ck_assert(!cm_file_exists(in("log.txt")));
    ck_assert_int_eq(cm_log_open(NULL, in("log.txt")), CM_OK);
    for (int i = LINES; i < 2 * LINES; i++) cm_log(CM_INFO, "kept %d", i);
    cm_log_set_level(CM_INFO);
    char *text = content("log.txt"), *line = text;
    for (int i = 0; i < 2 * LINES; i++, line = strchr(line, '\n') + 1) {
        int number;
        ck_assert_msg(sscanf(line + 20, "INFO kept %d\n", &number) == 1, "%.60s", line);
        ck_assert_int_eq(number, i);
    }
    ck_assert_str_eq(line, "");
    free(text);
}
END_TEST

static void *write_lines(void *number) {
    for (int i = 0; i < 1000; i++) cm_log(CM_INFO, "thread %d line %d of a thousand", *(int *)number, i);
    return NULL;
}

START_TEST(lines_of_four_threads_do_not_mix) {
    pthread_t threads[4];
    int numbers[4] = {0, 1, 2, 3}, count[4] = {0}, lines = 0;
    ck_assert_int_eq(cm_log_open(NULL, in("log.txt")), CM_OK);
    cm_log_set_level(CM_SILENT);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines, &numbers[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    cm_log_set_level(CM_INFO);
    char *text = content("log.txt");
    for (char *line = text; *line; line = strchr(line, '\n') + 1, lines++) {
        int thread, number;
        ck_assert_int_eq(sscanf(line + 20, "INFO thread %d line %d of a thousand", &thread, &number), 2);
        ck_assert_int_eq(number, count[thread]++);
    }
    ck_assert_int_eq(lines, 4000);
    free(text);
}
END_TEST

enum { CAPACITY = 4096 };

/* A log that is full, and a limit that says so. */
static struct rlimit fill_log(void) {
    struct rlimit before, some;
    char *full = calloc(1, CAPACITY);
    ck_assert_int_eq(cm_file_write(in("log.txt"), full, CAPACITY), CM_OK);
    free(full);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    some = (struct rlimit){.rlim_cur = CAPACITY, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &some);
    return before;
}

START_TEST(log_that_cannot_be_written_says_so_once) {
    const struct rlimit before = fill_log();
    ck_assert_int_eq(cm_log_open(NULL, in("log.txt")), CM_OK);
    int saved = capture();
    cm_log(CM_INFO, "one");
    cm_log(CM_INFO, "two");
    setrlimit(RLIMIT_FSIZE, &before);
    char *text = release(saved);
    ck_assert_str_eq(text,
                     "warning: the log file cannot be written: File too large; lines are missing in it\none\ntwo\n");
    free(text);
}
END_TEST

START_TEST(lines_that_are_kept_and_cannot_be_written_are_a_warning) {
    const struct rlimit before = fill_log();
    cm_log_set_level(CM_SILENT);
    cm_log_keep();
    cm_log(CM_INFO, "kept");
    cm_log_set_level(CM_INFO);
    int saved = capture();
    ck_assert_int_eq(cm_log_open(NULL, in("log.txt")), CM_OK);
    cm_log(CM_INFO, "one");
    setrlimit(RLIMIT_FSIZE, &before);
    char *text = release(saved);
    ck_assert_str_eq(text, "warning: the log file cannot be written: File too large; lines are missing in it\none\n");
    free(text);
}
END_TEST

START_TEST(messages_of_errors_gain_their_place_and_stay_one_line) {
    ck_assert_int_eq(cm_fail(CM_ERR_IO, "cannot %s\nthis", "do"), CM_ERR_IO);
    ck_assert_int_eq(cm_fail_in(CM_ERR_IO, "file %d", 3), CM_ERR_IO);
    ck_assert_str_eq(cm_error_message(), "file 3: cannot do\\nthis");
    ck_assert_int_eq(cm_fail(CM_ERR_INPUT, "again: %s", cm_error_message()),
                     CM_ERR_INPUT); /* its own text as argument */
    ck_assert_str_eq(cm_error_message(), "again: file 3: cannot do\\nthis");
    for (int i = 0; i < 2000; i++) (void)cm_fail_in(CM_ERR_IO, "x");
    ck_assert_uint_eq(strlen(cm_error_message()), 1023);
}
END_TEST

START_TEST(clock_goes_forward_and_durations_read_well) {
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{0, "0s"},       {0.4, "0s"},     {12, "12s"},         {59.6, "1m00s"}, {185, "3m05s"},
                 {3600, "1h00m"}, {7620, "2h07m"}, {360000, "100h00m"}, {-5, "0s"},      {1e300, "1166666h40m"}};
    char out[16], stamp[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_clock_format_duration(cases[i].seconds, out);
        ck_assert_str_eq(out, cases[i].text);
    }
    double begin = cm_clock_seconds();
    usleep(2000);
    double passed = cm_clock_seconds() - begin;
    ck_assert(passed >= 0.002 && passed < 10.0);
    cm_clock_stamp(stamp);
    int date, time;
    ck_assert_uint_eq(strlen(stamp), 15);
    ck_assert_int_eq(sscanf(stamp, "%8d-%6d", &date, &time), 2);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("log");
    TCase *c = tcase_create("log");
    tcase_add_checked_fixture(c, cm_test_folder_make, teardown);
    tcase_add_test(c, lines_below_the_level_are_not_shown_and_others_name_theirs);
    tcase_add_test(c, file_gets_time_and_level_of_every_line_from_info_on);
    tcase_add_test(c, file_that_cannot_be_opened_is_an_error_and_logging_goes_on);
    tcase_add_test(c, line_stays_one_line_whatever_is_in_it);
    tcase_add_test(c, hook_sees_each_line_and_may_swallow_it);
    tcase_add_test(c, lines_that_are_kept_head_the_file_that_is_opened);
    tcase_add_test(c, lines_that_are_kept_and_cannot_be_written_are_a_warning);
    tcase_add_test(c, lines_of_four_threads_do_not_mix);
    tcase_add_test(c, log_that_cannot_be_written_says_so_once);
    tcase_add_test(c, messages_of_errors_gain_their_place_and_stay_one_line);
    tcase_add_test(c, clock_goes_forward_and_durations_read_well);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
