/* cumind plot: which runs and numbers it shows, drawn and as tables. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "run/metrics.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output result;

static void write_file(const char *run, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", cm_test_folder, run, name);
    ck_assert_msg(cm_file_write(path, text, strlen(text)) == CM_OK, "%s", cm_error_message());
}

/* What plot knows a run by. */
static void write_run(const char *run, const char *metrics) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, run);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    write_file(run, "config.json", "{}\n");
    write_file(run, "lock", "");
    write_file(run, "metrics.jsonl", metrics);
}

#define ROW(steps, seconds, numbers) "{\"env_steps\": " #steps ", \"seconds\": " #seconds ", " numbers "}\n"

static void begin_all(void) {
    cm_test_folder_make();
    write_run("runs/a/1", ROW(100, 1, "\"mean_return\": 3")
                              ROW(200, 2, "\"mean_return\": 4, \"eval_return\": 10, \"value_loss\": 0.5")
                                  ROW(300, 3, "\"mean_return\": 6, \"eval_return\": 30, \"value_loss\": 0.25"));
    write_run("runs/a/2", ROW(200, 2, "\"mean_return\": 5, \"eval_return\": 20, \"value_loss\": 1.5"));
    write_run("runs/b", ROW(200, 4, "\"mean_return\": 7, \"eval_return\": -5, \"value_loss\": 1e-5")
                            ROW(300, 6, "\"mean_return\": 8, \"eval_return\": 500, \"value_loss\": 2e-5"));
    write_run("new", ROW(100, 1, "\"mean_return\": 3"));
}

static void expect_output(const char *arguments, const char *output) {
    cm_program_run(cm_test_folder, arguments, &result);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
    ck_assert_str_eq(result.out, output);
}

static void expect_refusal(const char *arguments, const char *message) {
    cm_program_run(cm_test_folder, arguments, &result);
    ck_assert_int_eq(result.status, 2);
    ck_assert_msg(strstr(result.err, message) != NULL, "%s: %s", arguments, result.err);
}

START_TEST(a_folder_of_several_runs_is_their_mean_and_range) {
    expect_output("plot runs/a runs/b --table", "| env steps | runs/a, 2 runs | runs/b |\n"
                                                "|---|---|---|\n"
                                                "| 200 | 15 (10 to 20) | -5 |\n"
                                                "| 300 | 30 (30 to 30; 1 of 2) | 500 |\n");
}
END_TEST

START_TEST(any_number_is_shown_over_any_measure_of_progress) {
    expect_output("plot runs/b runs/a/1 --over seconds --metric value_loss --table", "| seconds | runs/b | runs/a/1 |\n"
                                                                                     "|---|---|---|\n"
                                                                                     "| 2 | - | 0.5 |\n"
                                                                                     "| 3 | - | 0.25 |\n"
                                                                                     "| 4 | 1e-05 | - |\n"
                                                                                     "| 6 | 2e-05 | - |\n");
    expect_output("plot runs/b --metric value_loss --metric mean_return --table",
                  "| env steps | value_loss | mean_return |\n"
                  "|---|---|---|\n"
                  "| 200 | 1e-05 | 7 |\n"
                  "| 300 | 2e-05 | 8 |\n");
    expect_output("plot runs/a runs/b --metric value_loss --metric mean_return --table --rows 1",
                  "| env steps | runs/a value_loss, 2 runs | runs/b value_loss | runs/a mean_return, 2 runs | runs/b "
                  "mean_return |\n"
                  "|---|---|---|---|---|\n"
                  "| 300 | 0.25 (0.25 to 0.25; 1 of 2) | 2e-05 | 6 (6 to 6; 1 of 2) | 8 |\n");
}
END_TEST

START_TEST(returns_of_self_play_are_compared_where_a_run_has_no_evaluation) {
    expect_output("plot new runs/b --table", "| env steps | new | runs/b |\n"
                                             "|---|---|---|\n"
                                             "| 100 | 3 | - |\n"
                                             "| 200 | - | 7 |\n"
                                             "| 300 | - | 8 |\n");
    expect_output("plot new --table", "| env steps | self-play, last 32 episodes |\n|---|---|\n| 100 | 3 |\n");
    expect_output("plot --run runs/b --table", "| env steps | self-play, last 32 episodes | greedy evaluation |\n"
                                               "|---|---|---|\n"
                                               "| 200 | 7 | -5 |\n"
                                               "| 300 | 8 | 500 |\n");
}
END_TEST

START_TEST(pictures_name_their_curves) {
    char svg[1 << 14];
    expect_output("plot runs/a runs/b --svg curves.svg", "written to curves.svg\n");
    cm_program_file(cm_test_folder, "curves.svg", svg, sizeof svg);
    ck_assert_ptr_nonnull(strstr(svg, "runs/a, 2 runs"));
    ck_assert_ptr_nonnull(strstr(svg, "class=\"band"));
    ck_assert_ptr_null(strstr(strstr(svg, "class=\"band") + 1, "class=\"band")); /* one run has no range */
    ck_assert_ptr_nonnull(strstr(svg, "thin: fewer runs")); /* one of the two has ended at 200 steps */
    cm_program_run(cm_test_folder, "plot runs/b runs/a --columns 40 --rows 8", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_int_eq(strncmp(result.out, "eval_return\n", 12), 0);
    ck_assert_ptr_nonnull(strstr(result.out, " runs/a, 2 runs\n"));
}
END_TEST

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) count++;
    return count;
}

START_TEST(numbers_of_different_size_have_axes_of_their_own) {
    static const struct {
        const char *arguments;
        int panels, keys;
    } cases[] = {
        {"plot runs/b --metric mean_return --svg c.svg", 1, 0},
        {"plot runs/b --metric mean_return --metric value_loss --svg c.svg", 2, 0},
        {"plot runs/b runs/a/1 --metric mean_return --metric value_loss --svg c.svg", 2, 1},
        {"plot runs/a/1 --metric value_loss --metric mean_return --metric eval_return --svg c.svg", 3, 0},
        {"plot runs/a --metric mean_return --metric eval_return --svg c.svg", 2, 2},
        {"plot runs/b --svg c.svg", 1, 1}, /* returns belong together */
    };
    static char svg[1 << 16];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_output(cases[i].arguments, "written to c.svg\n");
        cm_program_file(cm_test_folder, "c.svg", svg, sizeof svg);
        ck_assert_msg(count_of(svg, "<g class=\"panel\"") == cases[i].panels, "%s", cases[i].arguments);
        ck_assert_msg(count_of(svg, "<g class=\"key\"") == cases[i].keys, "%s", cases[i].arguments);
    }
    cm_program_run(cm_test_folder, "plot runs/b --metric mean_return --metric value_loss --columns 60", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_int_eq(count_of(result.out, "env steps"), 2);
    ck_assert_int_eq(strncmp(result.out, "mean_return\n", 12), 0);
    ck_assert_ptr_nonnull(strstr(result.out, "\nvalue_loss x10^-5\n"));
}
END_TEST

START_TEST(several_files_are_written_at_once) {
    static char page[1 << 16], svg[1 << 16];
    expect_output("plot runs/b --html c.html --svg d.svg --theme dark", "written to d.svg\nwritten to c.html\n");
    cm_program_file(cm_test_folder, "c.html", page, sizeof page);
    cm_program_file(cm_test_folder, "d.svg", svg, sizeof svg);
    ck_assert_ptr_nonnull(strstr(page, svg));
    ck_assert_ptr_nonnull(strstr(svg, ".paper{fill:#0d1117}"));
    cm_program_run(cm_test_folder, "plot runs/b --svg /nowhere/x.svg", &result);
    ck_assert_int_ne(result.status, 0);
}
END_TEST

START_TEST(help_lists_every_number) {
    int count;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    cm_program_run(cm_test_folder, "help plot", &result);
    const char *list = strstr(result.out, "Numbers (KEY)");
    ck_assert_ptr_nonnull(list);
    for (int i = 0; i < count; i++) {
        char word[64];
        snprintf(word, sizeof word, "%s%s", fields[i].name, i + 1 < count ? "," : ".");
        ck_assert_msg(strstr(list, word) != NULL, "%s is missing", fields[i].name);
    }
}
END_TEST

START_TEST(what_cannot_be_shown_is_said) {
    expect_refusal("plot runs nowhere", "plot: nowhere is no run and holds none");
    expect_refusal("plot runs/b --run runs/b", "plot: runs/b and --run both name a run; leave one out");
    expect_refusal("plot runs/b --metric vlue", "plot: --metric: metrics.jsonl has no number vlue; did you mean "
                                                "value_loss? (cumind help plot lists all)\n");
    expect_refusal("plot runs/b --metric loss", "has no number loss; did you mean total_loss? (");
    expect_refusal("plot runs/b --metric xyz", "has no number xyz; cumind help plot lists all\n");
    expect_refusal("plot runs/b new --metric value_loss", "plot: new has no value_loss yet");
    expect_refusal("plot runs/b new --metric mean_return --metric value_loss", "plot: new has no value_loss yet");
    expect_refusal("plot runs/b --over eval_return", "--over: must be one of env_steps|updates|");
    expect_refusal("plot runs/b --table --svg x.svg", "plot: --table and --svg are two outputs; give one of them");
    expect_refusal("plot runs/b --table --html x.html", "plot: --table and --html are two outputs; give one of them");
    expect_refusal("plot runs/b --svg x.svg --theme grey", "--theme: must be one of auto|light|dark, got \"grey\"");
    expect_refusal("plot new new new new new new new new new new new new new new new new new new new new new",
                   "plot: at most 20 curves at a time");
}
END_TEST

/* Figures that hardly differ have ticks that do; one point has an axis around it. */
START_TEST(axes_of_one_evaluation_have_round_ticks) {
    write_run("alone", ROW(20480, 1, "\"mean_return\": 0.936, \"eval_return\": 0.938"));
    cm_program_run(cm_test_folder, "plot alone --columns 60", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_msg(strstr(result.out, "\n0.9380 |") && strstr(result.out, "\n0.9360 |"), "%s", result.out);
    ck_assert_msg(strstr(result.out, " 19.5k ") && strstr(result.out, " 20.5k "), "%s", result.out);
    write_run("small", ROW(100, 1, "\"value_loss\": -1e-6") ROW(100000, 2, "\"value_loss\": 5e-6"));
    cm_program_run(cm_test_folder, "plot small --metric value_loss --columns 60", &result);
    ck_assert_int_eq(result.status, 0);
    ck_assert_int_eq(strncmp(result.out, "small x10^-6\n     5 |", 21), 0);
    ck_assert_msg(strstr(result.out, "\n    -1 |"), "%s", result.out);
    ck_assert_msg(strstr(result.out, " 20k ") && strstr(result.out, " 100k\n"), "%s", result.out);
}
END_TEST

int main(void) {
    setenv("LC_ALL", "C", 1); /* pictures in ASCII, wherever the tests run */
    Suite *suite = suite_create("cli/plot");
    TCase *tests = tcase_create("plot");
    suite_add_tcase(suite, tests);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, a_folder_of_several_runs_is_their_mean_and_range);
    tcase_add_test(tests, any_number_is_shown_over_any_measure_of_progress);
    tcase_add_test(tests, returns_of_self_play_are_compared_where_a_run_has_no_evaluation);
    tcase_add_test(tests, pictures_name_their_curves);
    tcase_add_test(tests, numbers_of_different_size_have_axes_of_their_own);
    tcase_add_test(tests, several_files_are_written_at_once);
    tcase_add_test(tests, help_lists_every_number);
    tcase_add_test(tests, what_cannot_be_shown_is_said);
    tcase_add_test(tests, axes_of_one_evaluation_have_round_ticks);
    return cm_test_main(suite);
}
