/* Plots of values with intervals. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interval_plot.h"
#include "support/main.h"

static const cm_interval_row rows[3] = {
    {"runs/a/very/long/path/that/does/not/fit", 100, 20}, {"<random>", 0, 10}, {"b&w", -100, 0}};
static const cm_interval_plot plot = {"a title", "Elo", rows, 3};

static int characters(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

START_TEST(lines_of_a_plot_are_never_wider_than_asked) {
    for (int columns = 30; columns < 120; columns++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            char *text;
            int lines = 0;
            ck_assert_int_eq(cm_interval_plot_text(&plot, columns, utf8, &text), CM_OK);
            for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
                ck_assert_msg(characters(line) <= columns, "%d: %s", columns, line);
            }
            ck_assert_int_eq(lines, 5);
            free(text);
        }
    }
}
END_TEST

START_TEST(marks_stand_at_their_values) {
    char *text;
    const cm_interval_row two[2] = {{"a", 50, 50}, {"b", 10, 10}};
    const cm_interval_plot small = {"t", "", two, 2};
    ck_assert_int_eq(cm_interval_plot_text(&small, 3 + 101, false, &text), CM_OK);
    const char *a = strchr(text, '\n') + 1, *b = strchr(a, '\n') + 1;
    ck_assert_int_eq(strncmp(a, "a  --", 5), 0);
    ck_assert_ptr_eq(strchr(a, 'o'), a + 3 + 50);
    ck_assert_int_eq(strcspn(a, "\n"), 3 + 101);
    ck_assert_ptr_eq(strchr(b, 'o'), b + 3 + 10);
    ck_assert_int_eq(strcspn(b, "\n"), 3 + 21);
    free(text);
}
END_TEST

START_TEST(long_labels_keep_their_end) {
    char *text;
    ck_assert_int_eq(cm_interval_plot_text(&plot, 60, false, &text), CM_OK);
    ck_assert_ptr_nonnull(strstr(text, "path/that/does/not/fit"));
    ck_assert_ptr_null(strstr(text, "runs/a/very"));
    free(text);
}
END_TEST

START_TEST(equal_values_without_intervals_are_drawn) {
    char *text;
    const cm_interval_row two[2] = {{"a", 5, 0}, {"b", 5, 0}};
    const cm_interval_plot flat = {"t", "", two, 2};
    ck_assert_int_eq(cm_interval_plot_text(&flat, 40, false, &text), CM_OK);
    ck_assert_ptr_nonnull(strchr(text, 'o'));
    free(text);
}
END_TEST

START_TEST(picture_is_escaped_and_has_a_mark_per_row) {
    char *text;
    int marks = 0;
    ck_assert_int_eq(cm_interval_plot_svg(&plot, &text), CM_OK);
    for (const char *at = text; (at = strstr(at, "<circle")) != NULL; at++) marks++;
    ck_assert_int_eq(marks, 3);
    ck_assert_ptr_nonnull(strstr(text, "&lt;random&gt;"));
    ck_assert_ptr_nonnull(strstr(text, "b&amp;w"));
    ck_assert_ptr_nonnull(strstr(text, ">\u221250<"));
    ck_assert_ptr_nonnull(strstr(text, "prefers-color-scheme:dark"));
    ck_assert_ptr_nonnull(strstr(text, ">runs/a/very/long/path/that/does/not/fit<"));
    free(text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/interval_plot");
    TCase *tests = tcase_create("interval_plot");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, lines_of_a_plot_are_never_wider_than_asked);
    tcase_add_test(tests, marks_stand_at_their_values);
    tcase_add_test(tests, long_labels_keep_their_end);
    tcase_add_test(tests, equal_values_without_intervals_are_drawn);
    tcase_add_test(tests, picture_is_escaped_and_has_a_mark_per_row);
    return cm_test_main(suite);
}
