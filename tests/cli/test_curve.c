/* Numbers of runs as curves, and their means. */
#include "cli/curve.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/main.h"

static void write_metrics(const char *lines) {
    char path[64];
    snprintf(path, sizeof path, "%s/metrics.jsonl", cm_test_folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(lines, file);
    ck_assert_int_eq(fclose(file), 0);
}

static cm_status read_curve(const char *x, const char *y, cm_curve *out) {
    return cm_curve_read(cm_test_folder, cm_metrics_find(x), cm_metrics_find(y), out);
}

START_TEST(a_run_has_the_points_that_have_the_number) {
    cm_curve curve;
    write_metrics("{\"env_steps\": 256, \"seconds\": 0.5}\n{\"env_steps\": 512, \"seconds\": 1, \"value_loss\": 2.5}\n"
                  "{\"env_steps\": 768, \"seconds\": 2, \"value_loss\": 1.25}\n");
    ck_assert_int_eq(read_curve("env_steps", "value_loss", &curve), CM_OK);
    ck_assert_int_eq(curve.n, 2);
    ck_assert_double_eq(curve.x[0], 512);
    ck_assert_double_eq(curve.y[1], 1.25);
    ck_assert_int_eq(cm_curve_find(&curve, 768), 1);
    ck_assert_int_eq(cm_curve_find(&curve, 600), -1);
    ck_assert_int_eq(cm_curve_find(&curve, 1000), -1);
    cm_curve_free(&curve);
    ck_assert_int_eq(read_curve("seconds", "env_steps", &curve), CM_OK);
    ck_assert_int_eq(curve.n, 3);
    ck_assert_double_eq(curve.x[0], 0.5);
    ck_assert_double_eq(curve.y[0], 256);
    cm_curve_free(&curve);
}
END_TEST

START_TEST(a_mean_of_the_largest_numbers_is_one) {
    double x[2] = {0, 2}, y[3][2] = {{1.7e308, 1.5e308}, {1.7e308, -1.5e308}, {1.4e308, -1.7e308}};
    cm_curve curves[3], mean;
    double middle[1] = {1}, at[1] = {1e308};
    for (int i = 0; i < 3; i++) curves[i] = (cm_curve){.x = x, .y = y[i], .n = 2, .runs = 1};
    ck_assert_int_eq(cm_curve_mean(curves, 3, &mean), CM_OK);
    ck_assert_double_eq_tol(mean.y[0] / 1e308, 1.6, 1e-12);
    ck_assert_double_eq_tol(mean.y[1] / 1e308, -1.7 / 3, 1e-12);
    cm_curve_free(&mean);
    curves[0] = (cm_curve){.x = middle, .y = at, .n = 1, .runs = 1};
    ck_assert_int_eq(cm_curve_mean(curves, 2, &mean), CM_OK); /* 1 lies between the points of the other */
    ck_assert_double_eq_tol(mean.y[1] / 1e308, 0.55, 1e-12);
    cm_curve_free(&mean);
}
END_TEST

START_TEST(a_damaged_file_is_named) {
    cm_curve curve;
    write_metrics("{\"env_steps\": 256}\n{\"env_steps\": }\n");
    ck_assert_int_eq(read_curve("env_steps", "value_loss", &curve), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "metrics.jsonl:2"));
    cm_curve_free(&curve);
}
END_TEST

START_TEST(there_is_a_number_for_each_row_of_the_table_and_no_other) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    for (int i = 0; i < count; i++) ck_assert_ptr_eq(cm_metrics_find(fields[i].name), &fields[i]);
    ck_assert_ptr_null(cm_metrics_find("loss"));
}
END_TEST

/* One curve from 0 to 20 with points every 10, one from 10 to 40 with points every 15, one without any. */
START_TEST(a_mean_counts_runs_between_their_first_and_last_point) {
    static const char *const files[3] = {
        "{\"env_steps\": 0, \"value_loss\": 0}\n{\"env_steps\": 10, \"value_loss\": 2}\n"
        "{\"env_steps\": 20, \"value_loss\": 8}\n",
        "{\"env_steps\": 10, \"value_loss\": 6}\n{\"env_steps\": 25, \"value_loss\": 12}\n"
        "{\"env_steps\": 40, \"value_loss\": 3}\n",
        "{\"env_steps\": 10}\n"};
    static const double x[5] = {0, 10, 20, 25, 40}, y[5] = {0, 4, 9, 12, 3}, low[5] = {0, 2, 8, 12, 3},
                        high[5] = {0, 6, 10, 12, 3};
    static const int runs_at[5] = {1, 2, 2, 1, 1};
    cm_curve curves[3], mean;
    for (int i = 0; i < 3; i++) {
        write_metrics(files[i]);
        ck_assert_int_eq(read_curve("env_steps", "value_loss", &curves[i]), CM_OK);
        ck_assert_int_eq(curves[i].runs, 1);
    }
    ck_assert_int_eq(cm_curve_mean(curves, 3, &mean), CM_OK);
    ck_assert_int_eq(mean.runs, 3);
    ck_assert_int_eq(mean.n, 5);
    for (int i = 0; i < 5; i++) {
        ck_assert_double_eq(mean.x[i], x[i]);
        ck_assert_double_eq_tol(mean.y[i], y[i], 1e-12);
        ck_assert_double_eq_tol(mean.low[i], low[i], 1e-12);
        ck_assert_double_eq_tol(mean.high[i], high[i], 1e-12);
        ck_assert_int_eq(mean.runs_at[i], runs_at[i]);
    }
    for (int i = 0; i < 3; i++) cm_curve_free(&curves[i]);
    cm_curve_free(&mean);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/curve");
    TCase *tests = tcase_create("curve");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, a_run_has_the_points_that_have_the_number);
    tcase_add_test(tests, a_mean_of_the_largest_numbers_is_one);
    tcase_add_test(tests, a_damaged_file_is_named);
    tcase_add_test(tests, there_is_a_number_for_each_row_of_the_table_and_no_other);
    tcase_add_test(tests, a_mean_counts_runs_between_their_first_and_last_point);
    return cm_test_main(suite);
}
