/* metrics.jsonl as it grows, is cut, replaced, damaged and long. */
#include <math.h>

#include "client.h"
#include "serve/follow.h"

static cm_follow follow;
static char run[64];

static void begin(void) {
    cm_test_folder_make();
    snprintf(run, sizeof run, "%s/run", cm_test_folder);
    ck_assert_int_eq(cm_follow_begin(&follow), CM_OK);
}

static void end(void) {
    cm_follow_free(&follow);
    cm_test_folder_remove();
}

static void read_all(void) {
    do cm_follow_read(&follow, run);
    while (follow.is_behind);
}

START_TEST(lines_come_when_they_are_whole) {
    ck_assert(!cm_follow_read(&follow, run)); /* no folder yet */
    put_file("run/metrics.jsonl", "{\"iteration\": 1, \"env_steps\": 10}\n{\"iteration\": 2, \"env_");
    ck_assert(cm_follow_read(&follow, run));
    ck_assert_int_eq(follow.count, 1);
    ck_assert(!cm_follow_read(&follow, run));
    add_to_file("run/metrics.jsonl", "steps\": 20}\n");
    ck_assert(cm_follow_read(&follow, run));
    ck_assert_int_eq(follow.count, 2);
    ck_assert_int_eq(follow.rows[1].env_steps, 20);
    ck_assert(isnan(follow.rows[1].mean_return));
    ck_assert_uint_eq(follow.generation, 0);
}
END_TEST

START_TEST(a_file_that_was_cut_or_replaced_is_read_again) {
    cm_metrics last;
    put_file("run/metrics.jsonl", "{\"iteration\": 1}\n{\"iteration\": 2}\n");
    read_all();
    put_file("run/metrics.jsonl", "{\"iteration\": 7}\n{\"iteration\": 8}\n{\"iteration\": 9}\n"); /* another file */
    ck_assert(cm_follow_read(&follow, run));
    ck_assert_int_eq(follow.count, 3);
    ck_assert_int_eq(follow.rows[0].iteration, 7);
    ck_assert_uint_eq(follow.generation, 1);
    char path[128];
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    ck_assert_int_eq(truncate(path, 17), 0);
    ck_assert(cm_follow_read(&follow, run));
    ck_assert_int_eq(follow.count, 1);
    ck_assert_uint_eq(follow.generation, 2);
    ck_assert(cm_follow_last(run, &last));
    ck_assert_int_eq(last.iteration, 7);
}
END_TEST

START_TEST(damaged_and_endless_lines_are_left_out) {
    static char line[3 << 20];
    cm_metrics last;
    memset(line, 'x', sizeof line - 1);
    put_file("run/metrics.jsonl", "{\"iteration\": 1}\nnothing\n{\"iteration\": -4}\n[1]\n{\"iteration\": 2}\n");
    add_to_file("run/metrics.jsonl", line);
    read_all();
    ck_assert_int_eq(follow.count, 2);
    ck_assert_int_eq(follow.damaged, 4);
    ck_assert(!cm_follow_last(run, &last));
    add_to_file("run/metrics.jsonl", "\n{\"iteration\": 3}\n");
    read_all();
    ck_assert_int_eq(follow.count, 3);
    ck_assert_int_eq(follow.rows[2].iteration, 3);
    ck_assert_int_eq(follow.damaged, 4);
    ck_assert(cm_follow_last(run, &last));
    ck_assert_int_eq(last.iteration, 3);
}
END_TEST

/* 100,000 lines, one of 1,000 with an evaluation: what stays is in order, and has all of these, and the time of all. */
START_TEST(long_files_are_thinned_but_for_evaluations) {
    static char text[6 << 20];
    size_t used = 0;
    for (int i = 1; i <= 100000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "{\"iteration\": %d, \"time_saving\": 0.5%s}\n", i,
                                 i % 1000 == 0 ? ", \"eval_return\": 3.5" : "");
    put_file("run/metrics.jsonl", text);
    read_all();
    ck_assert_int_le(follow.count, CM_FOLLOW_ROWS);
    ck_assert_int_ge(follow.count, CM_FOLLOW_ROWS / 4);
    int evaluations = 0;
    double saving = follow.left_out[CM_TIME_SAVING];
    for (int i = 0; i < follow.count; i++) {
        saving += follow.rows[i].time[CM_TIME_SAVING];
        ck_assert(isnan(follow.rows[i].time[CM_TIME_ACTING]));
        ck_assert(i == 0 || follow.rows[i].iteration > follow.rows[i - 1].iteration);
        evaluations += isfinite(follow.rows[i].eval_return);
    }
    ck_assert_int_eq(evaluations, 100);
    ck_assert_double_eq(saving, 50000.0);
    ck_assert_int_eq(follow.lines, 100000);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("follow");
    TCase *tests = tcase_create("follow");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, lines_come_when_they_are_whole);
    tcase_add_test(tests, a_file_that_was_cut_or_replaced_is_read_again);
    tcase_add_test(tests, damaged_and_endless_lines_are_left_out);
    tcase_add_test(tests, long_files_are_thinned_but_for_evaluations);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
