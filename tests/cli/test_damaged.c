/* Files of a run that are JSON, but not what was written: what commands that only look at runs say of them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output result;

static void write_file(const char *run, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", cm_test_folder, run, name);
    ck_assert_msg(cm_file_write(path, text, strlen(text)) == CM_OK, "%s", cm_error_message());
}

/* What a run is known by. */
static void write_run(const char *run) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, run);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    write_file(run, "config.json", "{\"Game\": {\"env_name\": \"catch\"},\n \"Other\": {\"seed\": 7}}\n");
    write_file(run, "lock", "");
    write_file(run, "metrics.jsonl",
               "{\"iteration\": 1, \"env_steps\": 64, \"mean_return\": 3}\n"
               "{\"iteration\": 2, \"env_steps\": 128, \"mean_return\": 4}\n");
}

static void begin_all(void) {
    cm_test_folder_make();
    write_run("runs/a");
    write_run("runs/z");
}

static void expect_ok(const char *arguments) {
    cm_program_run(cm_test_folder, arguments, &result);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

#define MEND  "; mend it, or bring back a copy of it\n"
#define AGAIN "; train --resume with this run makes it again\n"
#define LOST  "; the steps of this run are not known\n"

static const struct {
    const char *name, *text, *says; /* after the run's folder */
} cases[] = {
    {"config.json", "[1,2]", "config.json:1: must be an object, got an array" MEND},
    {"config.json", "{}", "config.json: env_name: missing" MEND},
    {"config.json", "{\"Game\": [1]}", "config.json: env_name: missing" MEND},
    {"config.json", "{\"Game\": {\n\"env_name\": 5}}", "config.json:2: env_name: must be a string, got a number" MEND},
    {"config.json", "{\"Game\": {\"env_name\": \"catch\", \"seed\": \"7\"}}",
     "config.json:1: seed: must be a number, got a string" MEND},
    {"config.json", "{\"Game\": {\"env_name\": \"catch\",\n\"seed\": 1e300}}",
     "config.json:2: seed: must be an integer in [0, 9007199254740992], got 1."},
    {"result.json", "[]", "result.json:1: must be an object, got an array" AGAIN},
    {"result.json", "{\n\"mean\": [500]}", "result.json:2: mean: must be a number, got an array" AGAIN},
    {"metrics.jsonl", "{\"iteration\": 1}\n[1, 2]\n", "metrics.jsonl:2: must be an object, got an array\n"},
    {"metrics.jsonl", "{\"iteration\": 1}\n{\"mean_return\": \"4\"}\n",
     "metrics.jsonl:2: mean_return: must be a number, got a string\n"},
};

START_TEST(a_file_of_another_type_is_said_and_the_other_runs_are_listed) {
    char says[256], path[256];
    snprintf(path, sizeof path, "%s/runs/m", cm_test_folder);
    if (cm_file_is_directory(path)) ck_assert_int_eq(cm_directory_remove(path), CM_OK);
    write_run("runs/m");
    write_file("runs/m", cases[_i].name, cases[_i].text);
    snprintf(says, sizeof says, "runs/m/%s", cases[_i].says);
    expect_ok("runs runs");
    cm_program_expect_line(result.err, says);
    static const char *const rows[] = {" runs/a\n", " runs/m\n", " runs/z\n"};
    for (int i = 0; i < 3; i++) ck_assert_msg(strstr(result.out, rows[i]) != NULL, "%s", result.out);
    expect_ok("runs runs --json");
    cm_program_expect_line(result.err, says);
}
END_TEST

/* Asked for where the metrics tell nothing. */
START_TEST(a_checkpoint_of_another_type_is_said) {
    static const char *const states[][2] = {
        {"[]", "s/checkpoints/00000003/state.json:1: must be an object, got an array" LOST},
        {"{\"updates\": 3,\n \"env_steps\": true}",
         "s/checkpoints/00000003/state.json:2: env_steps: must be a number, got true or false" LOST}};
    write_run("s/checkpoints/00000003");
    write_run("s");
    write_file("s", "metrics.jsonl", "3\n");
    for (int i = 0; i < 2; i++) {
        write_file("s", "checkpoints/00000003/state.json", states[i][0]);
        expect_ok("runs s");
        ck_assert_msg(strstr(result.err, states[i][1]) != NULL, "%s", result.err);
        ck_assert_msg(strstr(result.err, "s/metrics.jsonl:1: must be an object, got a number\n") != NULL, "%s",
                      result.err);
    }
}
END_TEST

START_TEST(a_line_of_metrics_of_another_type_is_not_drawn_around) {
    write_run("p");
    write_file("p", "metrics.jsonl", "{\"env_steps\": 64, \"mean_return\": 3}\n\"\"\n");
    cm_program_run(cm_test_folder, "plot p --table", &result);
    cm_program_expect_error(&result, 1,
                            "a damaged line of metrics, which may be removed: p/metrics.jsonl:2: must be an object, "
                            "got a string\n");
    write_file("p", "metrics.jsonl", "{\"env_steps\": 64, \"mean_return\": 3}\n{\"env_steps\": null}\n");
    cm_program_run(cm_test_folder, "plot p --table", &result);
    cm_program_expect_error(&result, 1, "p/metrics.jsonl:2: env_steps: must be a number, got null\n");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/damaged");
    TCase *tests = tcase_create("damaged");
    suite_add_tcase(suite, tests);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_loop_test(tests, a_file_of_another_type_is_said_and_the_other_runs_are_listed, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tests, a_checkpoint_of_another_type_is_said);
    tcase_add_test(tests, a_line_of_metrics_of_another_type_is_not_drawn_around);
    return cm_test_main(suite);
}
