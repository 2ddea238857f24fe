/* metrics.jsonl: whole lines, read back as written, cut back when a run resumes. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/file.h"
#include "run/metrics.h"
#include "support/folder.h"
#include "support/main.h"

static char path[CM_TEST_PATH + 16];
static cm_dir dir;

static bool cannot_cut; /* files */

int ftruncate(int file, off_t size) {
    if (cannot_cut) errno = EIO;
    return cannot_cut ? -1 : (int)syscall(SYS_ftruncate, file, size);
}

static void begin(void) {
    cannot_cut = false;
    cm_test_folder_make();
    snprintf(path, sizeof path, "%s/metrics.jsonl", cm_test_folder);
    ck_assert_int_eq(cm_dir_open(&dir, cm_test_folder), CM_OK);
}

static void end(void) {
    cm_dir_close(&dir);
    cm_test_folder_remove();
}

static cm_status open_metrics(cm_metrics_file *file, int64_t keep, int64_t last) {
    return cm_metrics_open(file, &dir, "metrics.jsonl", keep, last);
}

static cm_metrics sample(int i) {
    cm_metrics m = cm_metrics_empty();
    m.iteration = i, m.env_steps = 256 * i, m.updates = 64 * i;
    m.mean_return = 1.5 * i;
    return m;
}

static void write_rows(cm_metrics_file *file, int from, int to) {
    for (int i = from; i <= to; i++) {
        cm_metrics m = sample(i);
        ck_assert_int_eq(cm_metrics_write(file, &m), CM_OK);
    }
}

START_TEST(rows_read_back_and_absent_numbers_stay_absent) {
    cm_metrics_file file;
    cm_metrics *rows;
    int count;
    ck_assert_int_eq(open_metrics(&file, -1, 9), CM_OK);
    write_rows(&file, 1, 5);
    cm_metrics_close(&file);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(count, 5);
    ck_assert_int_eq(rows[4].env_steps, 1280);
    ck_assert_double_eq(rows[2].mean_return, 4.5);
    ck_assert(isnan(rows[2].eval_return));
    free(rows);
}
END_TEST

START_TEST(resume_cuts_the_file_back_to_the_checkpoint) {
    cm_metrics_file file;
    cm_metrics *rows;
    int count;
    ck_assert_int_eq(open_metrics(&file, -1, 9), CM_OK);
    write_rows(&file, 1, 3);
    int64_t at = file.lines.bytes;
    write_rows(&file, 4, 9);
    cm_metrics_close(&file);
    ck_assert_int_eq(open_metrics(&file, at, 3), CM_OK);
    write_rows(&file, 40, 40);
    cm_metrics_close(&file);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    ck_assert_int_eq(count, 4);
    ck_assert_int_eq(rows[3].iteration, 40);
    free(rows);
}
END_TEST

/* Files as a run of 3 iterations may find them whose checkpoint, of the 2nd, knows of 34 bytes or thinks so. */
START_TEST(lines_that_the_checkpoint_does_not_know_go_by_their_iteration) {
    static const struct {
        const char *text;
        int64_t keep;
        int kept; /* lines */
    } cases[] = {
        {"{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iteration\": 3}\n", 34, 2},
        {"{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iteration\": 3}\n", 40, 2}, /* one was removed */
        {"{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iteration\": 3}\n", 51, 2}, /* and was as long */
        {"{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iteration\": 3}\n", 90, 2},
        {"{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iteration\": 3}\n", 25, 2}, /* it has grown */
        {"{\"iteration\": 1}\n{\"iteration\": 2}\n{\"iter", 40, 2},
        {"{\"iteration\": 1}\n{\"iteration\": 2", 34, 1},
        {"{\"iter", 34, 0},
        {"", 34, 0},
    };
    cm_metrics_file file;
    cm_metrics *rows;
    int count;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(cm_file_write(path, cases[i].text, strlen(cases[i].text)), CM_OK);
        ck_assert_int_eq(open_metrics(&file, cases[i].keep, 2), CM_OK);
        ck_assert_int_eq(file.lines.bytes, 17 * cases[i].kept);
        write_rows(&file, 3, 3);
        cm_metrics_close(&file);
        ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%zu: %s", i, cm_error_message());
        ck_assert_int_eq(count, cases[i].kept + 1);
        ck_assert_int_eq(rows[count - 1].iteration, 3);
        free(rows);
    }
}
END_TEST

START_TEST(unfinished_last_line_is_ignored_and_a_bad_line_is_named) {
    cm_metrics *rows;
    int count;
    ck_assert_int_eq(cm_file_write(path, "{\"iteration\": 1}\n{\"iter", 23), CM_OK);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    ck_assert_int_eq(count, 1);
    free(rows);
    ck_assert_int_eq(cm_file_write(path, "{\"iteration\": 1}\n{\"iter\n", 24), CM_OK);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_ERR_IO); /* no mistake of the caller */
    ck_assert_msg(strstr(cm_error_message(), "a damaged line of metrics, which may be removed: ") == cm_error_message(),
                  "%s", cm_error_message());
    ck_assert_msg(strstr(cm_error_message(), ":2: ") != NULL, "%s", cm_error_message());
}
END_TEST

START_TEST(a_long_run_has_4096_lines_per_doubling) {
    static const struct {
        int64_t to, lines;
    } cases[] = {{8191, 8191}, {16383, 8191 + 4096}, {32767, 8191 + 2 * 4096}, {1 << 20, 8191 + 7 * 4096 + 1}};
    int64_t lines = 0, tenths = 0, iteration = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        while (iteration < cases[i].to) lines += cm_metrics_is_due(++iteration, 1);
        ck_assert_int_eq(lines, cases[i].lines);
    }
    for (iteration = 1; iteration <= 10 * 16383; iteration++) {
        ck_assert(iteration % 10 == 0 || !cm_metrics_is_due(iteration, 10));
        tenths += cm_metrics_is_due(iteration, 10);
    }
    ck_assert_int_eq(tenths, 8191 + 4096);
    ck_assert(cm_metrics_is_due((int64_t)1 << 60, 1) && !cm_metrics_is_due(((int64_t)1 << 60) + 1, 1));
}
END_TEST

/* More rows than are kept: as evenly as they were, with all evaluations and the newest. */
START_TEST(of_a_long_file_so_many_rows_are_kept) {
    enum { ROWS = 200003, EVALUATED = 400, MOST = 1 << 16 };
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 1; i <= ROWS; i++)
        fprintf(file, "{\"iteration\": %d%s}\n", i, i % EVALUATED == 0 ? ", \"eval_return\": 5" : "");
    ck_assert_int_eq(fclose(file), 0);
    cm_metrics *rows;
    int count, evaluations = 0;
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    ck_assert_int_le(count, MOST);
    ck_assert_int_ge(count, MOST / 2 - 1000);
    for (int i = 0; i < count; i++) {
        evaluations += !isnan(rows[i].eval_return);
        ck_assert_int_le(rows[i].iteration, (i > 0 ? rows[i - 1].iteration : 0) + 8);
    }
    ck_assert_int_eq(evaluations, ROWS / EVALUATED);
    ck_assert_int_eq(rows[count - 1].iteration, ROWS);
    free(rows);
}
END_TEST

/* No machine has the memory for what a stranger calls a line. */
START_TEST(a_line_of_a_megabyte_is_a_damaged_one) {
    enum { BYTES = 1 << 20 };
    cm_metrics_file file;
    cm_metrics *rows;
    int count;
    char *text = malloc(BYTES);
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', BYTES);
    memcpy(text, "{\"iteration\": 1}\n{", 18);
    memcpy(text + BYTES - 18, "}\n{\"iteration\": 2}", 18);
    ck_assert_int_eq(cm_file_write(path, text, BYTES), CM_OK);
    free(text);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "metrics.jsonl:2: a line of more than 65536 bytes") != NULL, "%s",
                  cm_error_message());
    ck_assert_int_eq(open_metrics(&file, -1, 9), CM_OK); /* a run goes on in front of it */
    ck_assert_int_eq(file.lines.bytes, 17);
    cm_metrics_close(&file);
}
END_TEST

/* A line for which there is space for no more than ten bytes. */
static cm_status write_into_ten_bytes(cm_metrics_file *file, const cm_metrics *m) {
    struct rlimit before, some;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    some = (struct rlimit){.rlim_cur = (rlim_t)file->lines.bytes + 10, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &some);
    cm_status status = cm_metrics_write(file, m);
    setrlimit(RLIMIT_FSIZE, &before);
    return status;
}

static void expect_size(int64_t bytes) {
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_size, bytes);
}

START_TEST(full_disk_is_an_error_not_a_half_line) {
    cm_metrics_file file;
    ck_assert_int_eq(open_metrics(&file, -1, 0), CM_OK);
    cm_metrics m = sample(1);
    ck_assert_int_eq(cm_metrics_write(&file, &m), CM_OK);
    ck_assert_int_eq(write_into_ten_bytes(&file, &m), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "metrics.jsonl: cannot write: "));
    ck_assert_ptr_eq(strstr(cm_error_message(), cm_test_folder), cm_error_message());
    expect_size(file.lines.bytes);
    cm_metrics_close(&file);
}
END_TEST

START_TEST(no_line_goes_after_half_of_one_that_could_not_be_taken_off) {
    cm_metrics_file file;
    cm_metrics m = sample(2), *rows;
    int count;
    ck_assert_int_eq(open_metrics(&file, -1, 0), CM_OK);
    write_rows(&file, 1, 1);
    const int64_t bytes = file.lines.bytes;
    cannot_cut = true;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(i ? cm_metrics_write(&file, &m) : write_into_ten_bytes(&file, &m), CM_ERR_IO);
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "metrics.jsonl: cannot remove what was written in part: "));
        ck_assert_int_eq(file.lines.bytes, bytes);
        expect_size(bytes + 10);
    }
    cannot_cut = false;
    write_rows(&file, 3, 3);
    cm_metrics_close(&file);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(rows[1].iteration, 3);
    free(rows);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/metrics");
    TCase *tests = tcase_create("metrics");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, rows_read_back_and_absent_numbers_stay_absent);
    tcase_add_test(tests, resume_cuts_the_file_back_to_the_checkpoint);
    tcase_add_test(tests, lines_that_the_checkpoint_does_not_know_go_by_their_iteration);
    tcase_add_test(tests, unfinished_last_line_is_ignored_and_a_bad_line_is_named);
    tcase_add_test(tests, a_long_run_has_4096_lines_per_doubling);
    tcase_add_test(tests, of_a_long_file_so_many_rows_are_kept);
    tcase_add_test(tests, a_line_of_a_megabyte_is_a_damaged_one);
    tcase_add_test(tests, full_disk_is_an_error_not_a_half_line);
    tcase_add_test(tests, no_line_goes_after_half_of_one_that_could_not_be_taken_off);
    return cm_test_main(suite);
}
