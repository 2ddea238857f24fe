#include "core/printable.h"

#include <check.h>
#include <string.h>

#include "core/json.h"
#include "core/utf8.h"
#include "support/main.h"

static const struct {
    const char *text, *shown;
} rows[] = {
    {"", ""},
    {"go9, a b\\c", "go9, a b\\c"},
    {"caf\u00e9 \u4e16 \U0001F600", "caf\u00e9 \u4e16 \U0001F600"},
    {"a\nb\r\tc", "a\\nb\\r\\tc"},
    {"\033[31mred\a\177", "\\x1b[31mred\\x07\\x7f"},
    {"\302\200\302\233\302\237\302\240", "\\u0080\\u009b\\u009f\302\240"}, /* C1, and the first that is none */
    {"\233[2J\xff\xc3", "\\x9b[2J\\xff\\xc3"},                             /* no UTF-8 */
    {"\u202e\u202a\u2066\u2069\u200f\u061c\u2028", "\\u202e\\u202a\\u2066\\u2069\\u200f\\u061c\\u2028"},
    {"\u200d\u2030\u2065\u206a", "\u200d\u2030\u2065\u206a"},
};
enum { ROWS = sizeof rows / sizeof *rows };

START_TEST(what_acts_on_a_terminal_is_an_escape) {
    char out[256], again[256];
    ck_assert_str_eq(cm_printable(rows[_i].text, out, sizeof out), rows[_i].shown);
    ck_assert_str_eq(cm_printable(out, again, sizeof again), out);
    ck_assert_str_eq(CM_PRINTABLE(rows[_i].text), out);
}
END_TEST

START_TEST(pictures_keep_lines_and_colours) {
    char out[64];
    ck_assert_str_eq(cm_printable_lines("\033[1;31mS\033[0m.\n\033[2J\033]0;t\a\n", out, sizeof out),
                     "\033[1;31mS\033[0m.\n\\x1b[2J\\x1b]0;t\\x07\n");
}
END_TEST

START_TEST(what_does_not_fit_is_left_out_whole) {
    char out[64];
    for (size_t size = 1; size <= 10; size++) {
        memset(out, 'x', sizeof out);
        cm_printable("a\u00e9\033b", out, size); /* 1 + 2 + 4 + 1 bytes */
        ck_assert_str_eq(out, size < 2   ? ""
                              : size < 4 ? "a"
                              : size < 8 ? "a\u00e9"
                              : size < 9 ? "a\u00e9\\x1b"
                                         : "a\u00e9\\x1bb");
        ck_assert_int_eq(out[size], 'x');
    }
}
END_TEST

START_TEST(messages_show_it) {
    ck_assert_int_eq(cm_fail(CM_ERR_INPUT, "%s: \302\2332J", "a\nb"), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "a\\nb: \\u009b2J");
    cm_fail_in(CM_ERR_INPUT, "run\033");
    ck_assert_str_eq(cm_error_message(), "run\\x1b: a\\nb: \\u009b2J");
}
END_TEST

/* By the escapes of JSON, which a reader gets the same text from. */
START_TEST(json_has_escapes_of_its_own) {
    cm_json_writer *writer = NULL;
    cm_json_doc *doc = NULL;
    size_t size = 0;
    ck_assert_int_eq(cm_json_writer_create(0, &writer), CM_OK);
    cm_json_put_string(writer, NULL, "\033\177\302\233\u202e\u00e9");
    const char *text = cm_json_writer_text(writer, &size);
    ck_assert_str_eq(text, "\"\\u001b\\u007f\\u009b\\u202e\u00e9\"");
    ck_assert_int_eq(cm_json_parse(text, size, "text", &doc), CM_OK);
    ck_assert_str_eq(cm_json_string(cm_json_root(doc)), "\033\177\302\233\u202e\u00e9");
    cm_json_free(doc);
    cm_json_writer_destroy(writer);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("printable");
    TCase *tests = tcase_create("core");
    tcase_add_loop_test(tests, what_acts_on_a_terminal_is_an_escape, 0, ROWS);
    tcase_add_test(tests, pictures_keep_lines_and_colours);
    tcase_add_test(tests, what_does_not_fit_is_left_out_whole);
    tcase_add_test(tests, messages_show_it);
    tcase_add_test(tests, json_has_escapes_of_its_own);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
