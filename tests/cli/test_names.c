/* Names from outside, with what acts on a terminal in them, are shown as text. */
#include "runs.h"

#define ODD   "odd\033]0;t\a\033[2J\302\23331m\u202e\177"
#define SHOWN "odd\\x1b]0;t\\x07\\x1b[2J\\u009b31m\\u202e\\x7f"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run " ODD
              "/one --config default --set env_name=tictactoe --env-steps 256 --set min_memory_steps=64 "
              "--set hidden_dim=8 --set evaluation_interval=0 --set final_evaluation_episodes=2");
}

static void expect_text(const char *text) {
    for (const char *c = text; *c; c++)
        ck_assert_msg(*c == '\n' || ((unsigned char)*c >= ' ' && *c != '\177'), "a control character in: %s", text);
    ck_assert_msg(!strstr(text, "\302\233") && !strstr(text, "\u202e"), "an invisible character in: %s", text);
}

static void expect_shown(const char *arguments, const char *name) {
    run(arguments);
    expect_text(result.out);
    expect_text(result.err);
    ck_assert_msg(strstr(result.out, name) || strstr(result.err, name), "%s: %s%s", arguments, result.out, result.err);
}

START_TEST(a_folder_is_shown_as_text_by_every_command) {
    static const char *const commands[] = {
        "train --resume " ODD "/one --env-steps 300",
        "train --run " ODD "/one",
        "train --config " ODD,
        "runs " ODD,
        "runs .",
        "plot " ODD "/one " ODD,
        "plot " ODD "/one --svg " ODD ".svg",
        "eval --run " ODD,
        "eval --run " ODD "/one --positions " ODD,
        "play --run " ODD,
        "search --run " ODD "/one --positions " ODD,
        "inspect --run " ODD,
        "ladder " ODD "/one --include random --games 2",
        "test-cases " ODD,
        "benchmark --config " ODD,
        ODD,
        "help " ODD,
        "runs --set env_name=./" ODD ".so --config " ODD,
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) expect_shown(commands[i], "odd\\x1b]0;t\\x07");
}
END_TEST

START_TEST(events_are_json_whatever_the_folder_is_called) {
    cm_json_doc *doc = NULL;
    expect_ok("train --json --run quote\"\\" ODD " --env-steps 64 --set final_evaluation_episodes=2");
    expect_text(result.out);
    for (char *rest, *line = strtok_r(result.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        ck_assert_msg(cm_json_parse(line, strlen(line), "line", &doc) == CM_OK, "%s: %s", cm_error_message(), line);
        const char *run = cm_json_string(cm_json_get(cm_json_root(doc), "run"));
        ck_assert_msg(!run || strcmp(run, "quote\"\\" ODD) == 0, "%s", line);
        cm_json_free(doc);
    }
}
END_TEST

START_TEST(no_value_of_a_key_has_such_a_name) {
    expect_shown("config --set checkpoint_root_dir=" ODD, "control characters");
}
END_TEST

START_TEST(names_in_files_are_shown_as_text) {
    static const char config[] = "{\"Environment\": {\"env_name\": \"odd\\u001b[2J\\u009b\\u202e\"}}";
    char path[128];
    snprintf(path, sizeof path, "%s/files/config.json", cm_test_folder);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    ck_assert_int_eq(cm_file_write(path, config, sizeof config - 1), CM_OK);
    snprintf(path, sizeof path, "%s/files/lock", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    expect_shown("runs files", "odd\\x1b[2J\\u009b\\u202e");
    expect_shown("runs files --json", "odd\\u001b[2J\\u009b\\u202e");
    expect_shown("eval --run files", "control characters");
}
END_TEST

/* Labels of folders, in a picture that a browser shows. */
START_TEST(names_in_a_picture_are_text) {
    char path[128], *text;
    size_t size;
    expect_ok("plot " ODD "/one " ODD " --svg two.svg");
    snprintf(path, sizeof path, "%s/two.svg", cm_test_folder);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    expect_text(text);
    ck_assert_ptr_nonnull(strstr(text, SHOWN));
    free(text);
}
END_TEST

START_TEST(what_python_says_is_shown_as_text) {
    static const char broken[] = "raise Exception('odd\\x1b[2J\\x9b\\u202e')\n";
    char path[128];
    snprintf(path, sizeof path, "%s/broken.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, broken, sizeof broken - 1), CM_OK);
    expect_shown("train --set env_name=broken.py", "odd\\x1b[2J\\u009b\\u202e");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/names");
    TCase *tests = tcase_create("names");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, a_folder_is_shown_as_text_by_every_command);
    tcase_add_test(tests, events_are_json_whatever_the_folder_is_called);
    tcase_add_test(tests, no_value_of_a_key_has_such_a_name);
    tcase_add_test(tests, names_in_files_are_shown_as_text);
    tcase_add_test(tests, names_in_a_picture_are_text);
    tcase_add_test(tests, what_python_says_is_shown_as_text);
    return cm_test_main(suite);
}
