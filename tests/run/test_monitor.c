/* monitor.csv: what Stable-Baselines3 reads, cut back when a run goes on, whatever the file holds. */
#include "run/monitor.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/clock.h"
#include "core/log.h"
#include "support/folder.h"
#include "support/main.h"

static cm_dir dir;
static char path[64], text[1 << 16];
static cm_monitor monitor;

static void begin(void) {
    cm_log_set_level(CM_ERROR);
    cm_test_folder_make();
    snprintf(path, sizeof path, "%s/monitor.csv", cm_test_folder);
    ck_assert_int_eq(cm_dir_open(&dir, cm_test_folder), CM_OK);
    monitor.rows.file = -1;
}

static void end(void) {
    cm_monitor_close(&monitor);
    cm_dir_close(&dir);
    cm_test_folder_remove();
}

static void open_at(double seconds) {
    cm_monitor_close(&monitor);
    ck_assert_msg(cm_monitor_open(&monitor, &dir, "catch", seconds) == CM_OK, "%s", cm_error_message());
}

/* The lines behind the header. */
static const char *rows(void) {
    char *whole;
    size_t size;
    ck_assert_int_eq(cm_file_read(path, sizeof text - 1, &whole, &size), CM_OK);
    memcpy(text, whole, size + 1);
    free(whole);
    const char *titles = strchr(text, '\n');
    ck_assert(text[0] == '#' && titles && strncmp(titles + 1, "r,l,t\n", 6) == 0);
    return titles + 7;
}

static void put(double total, int64_t length, double seconds) {
    const cm_episode episode = {total, length};
    cm_monitor_write(&monitor, &episode, 1, seconds);
    ck_assert_int_eq(monitor.lost, 0);
}

START_TEST(header_and_rows_are_those_of_the_monitor_of_stable_baselines3) {
    static const cm_episode episodes[] = {{21.0, 21}, {0.0, 0}, {-0.1234567, 500}, {1e300, 1}, {1e9 / 3.0, 7}};
    double start;
    char env[32];
    open_at(0.0);
    cm_monitor_write(&monitor, episodes, 5, 1.5);
    ck_assert_str_eq(rows(), "21.0,21,1.5\n-0.123457,500,1.5\n1.000000000e+300,1,1.5\n333333333.333333,7,1.5\n");
    ck_assert_int_eq(sscanf(text, "#{\"t_start\": %lf, \"env_id\": \"%31[^\"]\"}\n", &start, env), 2);
    ck_assert_double_eq_tol(start, cm_clock_unix(), 60.0);
    ck_assert_str_eq(env, "catch");
}
END_TEST

START_TEST(more_episodes_than_fit_one_write_are_all_there) {
    static cm_episode episodes[3000];
    int count = 0;
    for (int i = 0; i < 3000; i++) episodes[i] = (cm_episode){i, i % 3};
    open_at(0.0);
    cm_monitor_write(&monitor, episodes, 3000, 12.25);
    for (const char *at = rows(); *at; at = strchr(at, '\n') + 1, count++) {
        const double expected = 3 * (count / 2) + count % 2 + 1;
        ck_assert_double_eq(strtod(at, NULL), expected);
    }
    ck_assert_int_eq(count, 2000);
}
END_TEST

START_TEST(a_run_that_goes_on_drops_the_episodes_behind_its_checkpoint) {
    open_at(0.0);
    put(1.0, 1, 0.5);
    put(2.0, 2, 1.0);
    put(3.0, 3, 1.000001);
    put(4.0, 4, 7.0);
    open_at(1.0);
    ck_assert_str_eq(rows(), "1.0,1,0.5\n2.0,2,1.0\n");
    put(5.0, 5, 2.0);
    ck_assert_str_eq(rows(), "1.0,1,0.5\n2.0,2,1.0\n5.0,5,2.0\n");
    open_at(0.0);
    ck_assert_str_eq(rows(), "");
}
END_TEST

START_TEST(episodes_that_find_no_space_are_counted_and_the_header_stands_in_front_of_those_that_do) {
    static const cm_episode episodes[] = {{1.0, 1}, {2.0, 2}, {0.0, 0}, {3.0, 3}};
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    cm_test_limit_files(10);
    open_at(0.0);
    cm_monitor_write(&monitor, episodes, 4, 1.0);
    ck_assert_int_eq(monitor.lost, 3);
    cm_test_limit_files(RLIM_INFINITY);
    cm_monitor_write(&monitor, episodes, 2, 2.0);
    ck_assert_int_eq(monitor.lost, 0);
    ck_assert_str_eq(rows(), "1.0,1,2.0\n2.0,2,2.0\n");
}
END_TEST

/* Contents that no run has left: what is kept of each, and whether a warning says so. */
static const struct {
    const char *content, *kept;
    int warnings;
} contents[] = {
    {"", "", 0},
    {"#{\"t_start\": 1, \"env_id\": \"x\"", "", 0},
    {"#{}\nr,l,t", "", 0},
    {"#{}\nr,l,t\n", "", 0},
    {"#{}\nr,l,t\n1.0,1,0.5", "", 0},
    {"#{}\nr,l,t\n1.0,1,0.5\n2.0,2,0.7\n3.0,3,0.", "1.0,1,0.5\n2.0,2,0.7\n", 0},
    {"#{}\nr,l,t\n1.0,1,0.5\nabc\n2.0,2,0.7\n", "1.0,1,0.5\n", 1},
    {"#{}\nr,l,t\n1.0,1,0.5\n2.0,2,nan\n", "1.0,1,0.5\n", 1},
    {"#{}\nr,l,t\n1.0,1,0.5\n2.0,-2,0.6\n", "1.0,1,0.5\n", 1},
    {"#{}\nr,l,t\n1.0,1,0.5\n2.0,2,0.6,7\n", "1.0,1,0.5\n", 1},
    {"#{}\nr,l\n1.0,1,0.5\n", "", 1},
    {"r,l,t\n1.0,1,0.5\n", "", 1},
    {"\n\n\n", "", 1},
};

static int warnings;
static bool count_warning(void *context, cm_log_level level, const char *line) {
    (void)context, (void)line;
    warnings += level == CM_WARNING;
    return true;
}

START_TEST(whole_rows_of_any_file_are_kept_up_to_the_first_that_is_none) {
    ck_assert_int_eq(cm_file_write(path, contents[_i].content, strlen(contents[_i].content)), CM_OK);
    warnings = 0;
    cm_log_set_level(CM_WARNING);
    cm_log_set_hook(count_warning, NULL);
    open_at(10.0);
    cm_log_set_hook(NULL, NULL);
    ck_assert_str_eq(rows(), contents[_i].kept);
    ck_assert_int_eq(warnings, contents[_i].warnings);
}
END_TEST

START_TEST(a_line_without_an_end_takes_no_memory_and_is_cut_off) {
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    fputs("#{}\nr,l,t\n1.0,1,0.5\n", file);
    for (int i = 0; i < 1 << 20; i++) fputc('1', file);
    ck_assert_int_eq(fclose(file), 0);
    open_at(10.0);
    ck_assert_str_eq(rows(), "1.0,1,0.5\n");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/monitor");
    TCase *tests = tcase_create("monitor");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, header_and_rows_are_those_of_the_monitor_of_stable_baselines3);
    tcase_add_test(tests, more_episodes_than_fit_one_write_are_all_there);
    tcase_add_test(tests, a_run_that_goes_on_drops_the_episodes_behind_its_checkpoint);
    tcase_add_test(tests, episodes_that_find_no_space_are_counted_and_the_header_stands_in_front_of_those_that_do);
    tcase_add_loop_test(tests, whole_rows_of_any_file_are_kept_up_to_the_first_that_is_none, 0,
                        sizeof contents / sizeof *contents);
    tcase_add_test(tests, a_line_without_an_end_takes_no_memory_and_is_cut_off);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
