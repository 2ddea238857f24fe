#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"

static cm_json_doc *parse(const char *text) {
    cm_json_doc *doc = NULL;
    cm_status status = cm_json_parse(text, strlen(text), "t.json", &doc);
    ck_assert_msg(status == CM_OK, "%s: %s", text, cm_error_message());
    return doc;
}

static void assert_refused(const char *text, size_t size, const char *message) {
    cm_json_doc *doc = NULL;
    ck_assert_msg(cm_json_parse(text, size, "t.json", &doc) == CM_ERR_INPUT, "accepted: %s", text);
    ck_assert_ptr_null(doc);
    ck_assert_msg(strstr(cm_error_message(), message) != NULL, "%s: got \"%s\", want \"%s\"", text, cm_error_message(),
                  message);
    ck_assert_ptr_null(strchr(cm_error_message(), '\n'));
}

START_TEST(values_of_every_kind_are_read_with_their_lines) {
    cm_json_doc *doc = parse("\n{\"a\": [1, -2.5e3,\n 0.1],\n \"b\": {\"c\": null, \"d\": true},\n\"e\": "
                             "\"x\\u00e9\\ud83d\\ude00\\n\",\r\n\"f\":false}\n");
    const cm_json *root = cm_json_root(doc), *a = cm_json_get(root, "a"), *b = cm_json_get(root, "b");
    ck_assert_int_eq(cm_json_type(root), CM_JSON_OBJECT);
    ck_assert_int_eq(cm_json_size(root), 4);
    ck_assert_int_eq(cm_json_line(root), 2);
    ck_assert_int_eq(cm_json_size(a), 3);
    const cm_json *x = cm_json_first(a);
    ck_assert_double_eq(cm_json_number(x, 0), 1.0);
    ck_assert_ptr_null(cm_json_key(x));
    x = cm_json_next(x);
    ck_assert_double_eq(cm_json_number(x, 0), -2500.0);
    ck_assert_int_eq(cm_json_line(x), 2);
    x = cm_json_next(x);
    ck_assert_double_eq(cm_json_number(x, 0), 0.1);
    ck_assert_int_eq(cm_json_line(x), 3);
    ck_assert_ptr_null(cm_json_next(x));
    ck_assert_int_eq(cm_json_type(cm_json_get(b, "c")), CM_JSON_NULL);
    ck_assert(cm_json_is_true(cm_json_get(b, "d")) && !cm_json_is_true(cm_json_get(root, "f")));
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "e")), "x\xc3\xa9\xf0\x9f\x98\x80\n");
    ck_assert_int_eq(cm_json_line(cm_json_get(root, "e")), 5);
    ck_assert_str_eq(cm_json_key(b), "b");
    ck_assert_ptr_null(cm_json_get(root, "B"));
    ck_assert_ptr_null(cm_json_get(a, "a"));
    ck_assert_ptr_null(cm_json_string(a));
    ck_assert_double_eq(cm_json_number(b, 7.0), 7.0);
    cm_json_free(doc);
}
END_TEST

START_TEST(what_is_not_json_is_refused_with_its_line) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.json:1: expected a value, found the end of the text; {} is an empty object"},
        {"  \n ", "t.json:2: expected a value"},
        {"{", "expected a key"},
        {"{\"a\"}", "expected ':'"},
        {"{\"a\":1,}", "expected a key in double quotes, found '}'; JSON has no comma behind the last entry"},
        {"[1,\n]", "t.json:2: expected a value, found ']'; JSON has no comma behind the last entry"},
        {"{\"a\":}", "expected a value, found '}'"},
        {"[1 2]", "expected ',' or ']', found '2'"},
        {"{\"a\":1 \"b\":2}", "expected ',' or '}'"},
        {"{a:1}", "expected a key"},
        {"{'a':1}", "expected a key in double quotes, found '''; JSON has double quotes only"},
        {"[01]", "start with 0"},
        {"[-01]", "start with 0"},
        {"[+1]", "expected a value, found '+'"},
        {"[.5]", "expected a value"},
        {"[1.]", "expected a digit behind the point"},
        {"[1e]", "expected a digit in the exponent"},
        {"[-]", "expected a digit"},
        {"[NaN]", "expected a value, found 'N'; JSON has finite numbers only"},
        {"[Infinity]", "expected a value, found 'I'; JSON has finite numbers only"},
        {"[-Infinity]", "expected a digit"},
        {"[0x10]", "expected ',' or ']'"},
        {"[1e999]", "t.json:1: a number is too large"},
        {"[1234567890123456789012345678901234567890123456789012345678901]", "more than 60 characters"},
        {"[True]", "expected a value, found 'T'; write true"},
        {"[1 # one\n]", "expected ',' or ']', found '#'; JSON has no comments"},
        {"[nul]", "expected a value"},
        {"[truex]", "expected ',' or ']'"},
        {"1 2", "expected the end of the text behind the value"},
        {"{}\n\n x", "t.json:3: expected the end"},
        {"[\"a\nb\"]", "does not end on its line"},
        {"[\"a\tb\"]", "control character"},
        {"[\"abc", "a string does not end"},
        {"[\"\\x\"]", "unknown escape"},
        {"[\"\\u12g4\"]", "four hexadecimal digits"},
        {"[\"\\u0000\"]", "\\u0000"},
        {"[\"\\ud800\"]", "surrogate"},
        {"[\"\\ud800\\u0041\"]", "surrogate"},
        {"[\"\\udc00\\ud800\"]", "surrogate"},
        {"[\"\xc3\"]", "UTF-8"},
        {"[\"\xc0\xaf\"]", "UTF-8"},
        {"[\"\xed\xa0\x80\"]", "UTF-8"},
        {"[\"\xf4\x90\x80\x80\"]", "UTF-8"},
        {"[\"\xff\"]", "UTF-8"},
        {"\xef\xbb\xbf{}", "byte order mark"},
        {"// comment\n{}", "expected a value, found '/'; JSON has no comments"},
        {"{\"a\":1,\n\"b\":2,\n\"\\u0061\":3}", "t.json:3: the key \"a\" stands twice"},
        {"{\"x\":{\"a\":1,\"a\":1}}", "stands twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].message);
    assert_refused("[1\0]", 4, "found byte 0x00");
    assert_refused("[1]\0", 4, "expected the end of the text");
    assert_refused("[\"a\0b\"]", 7, "control character");
}
END_TEST

START_TEST(nesting_of_64_is_accepted_and_65_is_refused) {
    char text[160];
    for (int depth = CM_JSON_DEPTH; depth <= CM_JSON_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        if (depth <= CM_JSON_DEPTH) {
            cm_json_free(parse(text));
        } else {
            assert_refused(text, strlen(text), "nested too deeply");
        }
    }
    size_t huge = 1 << 20;
    char *brackets = malloc(huge);
    memset(brackets, '[', huge);
    assert_refused(brackets, huge, "nested too deeply");
    free(brackets);
}
END_TEST

START_TEST(integers_are_checked_for_fraction_range_and_exactness) {
    cm_json_doc *doc =
        parse("{\"i\": 7, \"f\": 7.5, \"w\": 7.0, \"big\": 1e300, \"e\": 9007199254740992, \"s\": \"7\", \"a\": []}");
    const cm_json *root = cm_json_root(doc);
    int64_t i;
    double x;
    const char *s;
    ck_assert_int_eq(cm_json_need_int(root, "i", 0, 7, &i), CM_OK);
    ck_assert_int_eq(i, 7);
    ck_assert_int_eq(cm_json_need_int(root, "w", 0, 9, &i), CM_OK);
    ck_assert_int_eq(cm_json_need_int(root, "e", 0, INT64_MAX, &i), CM_OK);
    ck_assert_int_eq(i, 9007199254740992);
    ck_assert_int_eq(cm_json_need_int(root, "i", 8, 9, &i), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "i: must be an integer in [8, 9], got 7");
    ck_assert_int_eq(cm_json_need_int(root, "f", 0, 9, &i), CM_ERR_INPUT);
    ck_assert_int_eq(cm_json_need_int(root, "big", 0, INT64_MAX, &i), CM_ERR_INPUT);
    ck_assert_int_eq(cm_json_need_int(root, "s", 0, 9, &i), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "s: must be a number, got a string");
    ck_assert_int_eq(cm_json_need_int(root, "none", 0, 9, &i), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "none: missing");
    ck_assert_int_eq(cm_json_need_number(root, "f", &x), CM_OK);
    ck_assert_double_eq(x, 7.5);
    ck_assert_int_eq(cm_json_need_string(root, "s", &s), CM_OK);
    ck_assert_str_eq(s, "7");
    ck_assert_int_eq(cm_json_need_string(root, "i", &s), CM_ERR_INPUT);
    const cm_json *node;
    ck_assert_int_eq(cm_json_need(root, "a", CM_JSON_OBJECT, &node), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "a: must be an object, got an array");
    cm_json_free(doc);
}
END_TEST

START_TEST(arrays_are_flattened_and_their_length_is_checked) {
    cm_json_doc *doc = parse("{\"m\": [[1, 2], [3, 4.5]], \"i\": [1, 2, 70000], \"s\": [1, \"2\"]}");
    const cm_json *m = cm_json_get(cm_json_root(doc), "m"), *i = cm_json_get(cm_json_root(doc), "i");
    float f[4];
    double d[4];
    int32_t n[3];
    ck_assert_uint_eq(cm_json_count_numbers(m), 4);
    ck_assert_int_eq(cm_json_floats(m, "m", 4, f), CM_OK);
    ck_assert_float_eq(f[3], 4.5f);
    ck_assert_int_eq(cm_json_doubles(m, "m", 4, d), CM_OK);
    ck_assert_double_eq(d[2], 3.0);
    ck_assert_int_eq(cm_json_doubles(m, "m", 3, d), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "m: must have 3 numbers, got more");
    ck_assert_int_eq(cm_json_doubles(m, "m", 5, d), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "m: must have 5 numbers, got 4");
    ck_assert_int_eq(cm_json_ints(i, "i", 3, 0, 70000, n), CM_OK);
    ck_assert_int_eq(n[2], 70000);
    ck_assert_int_eq(cm_json_ints(i, "i", 3, 0, 69999, n), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "i[2]: must be an integer in [0, 69999], got 70000");
    ck_assert_int_eq(cm_json_ints(m, "m", 4, 0, 9, n), CM_ERR_INPUT);
    ck_assert_int_eq(cm_json_floats(cm_json_get(cm_json_root(doc), "s"), "s", 2, f), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "s[1]: must be a number, got a string");
    ck_assert_int_eq(cm_json_floats(NULL, "x", 2, f), CM_ERR_INPUT);
    cm_json_free(doc);
}
END_TEST

/* Expectations printed by Python's repr. */
START_TEST(doubles_are_printed_as_python_prints_them) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {1e-06, "1e-06"},
        {0.0001, "0.0001"},
        {0.001, "0.001"},
        {0.997, "0.997"},
        {1.25, "1.25"},
        {1.0, "1.0"},
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {-2.5, "-2.5"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e22, "1e+22"},
        {1e-5, "1e-05"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {100.0, "100.0"},
        {0.00012345, "0.00012345"},
        {1.0 / 3, "0.3333333333333333"},
        {-1.5e-7, "-1.5e-07"},
        {9007199254740993.0, "9007199254740992.0"},
    };
    char text[40];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_json_format_double(cases[i].value, text);
        ck_assert_str_eq(text, cases[i].text);
    }
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) { /* any bits read back */
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value;
        memcpy(&value, &state, sizeof value);
        if (!isfinite(value)) continue;
        cm_json_format_double(value, text);
        ck_assert_double_eq(strtod(text, NULL), value);
    }
}
END_TEST

START_TEST(writer_lays_out_as_python_does_and_its_text_reads_back) {
    cm_json_writer *w;
    size_t size;
    ck_assert_int_eq(cm_json_writer_create(2, &w), CM_OK);
    cm_json_begin_object(w, NULL);
    cm_json_put_string(w, "s", "a\"\\\n\t\x01\xc3\xa9\xff");
    cm_json_put_int(w, "i", -3);
    cm_json_begin_array(w, "shape");
    cm_json_put_int(w, NULL, 4);
    cm_json_put_double(w, NULL, 0.5);
    cm_json_end_array(w);
    cm_json_begin_object(w, "empty");
    cm_json_end_object(w);
    cm_json_put_bool(w, "t", true);
    cm_json_put_null(w, "n");
    cm_json_put_double(w, "nan", (double)NAN);
    cm_json_put_float(w, "f", 0.1f);
    cm_json_put_float(w, "g", FLT_MAX);
    cm_json_end_object(w);
    const char *text = cm_json_writer_text(w, &size);
    ck_assert_str_eq(
        text,
        "{\n  \"s\": \"a\\\"\\\\\\n\\t\\u0001\xc3\xa9\xef\xbf\xbd\",\n  \"i\": -3,\n  \"shape\": [\n    4,\n    0.5\n  "
        "],\n"
        "  \"empty\": {},\n  \"t\": true,\n  \"n\": null,\n  \"nan\": null,\n  \"f\": 0.1,\n  \"g\": 3.4028235e+38\n}");
    ck_assert_uint_eq(size, strlen(text));
    cm_json_free(parse(text));
    cm_json_writer_destroy(w);

    ck_assert_int_eq(cm_json_writer_create(0, &w), CM_OK);
    cm_json_begin_array(w, NULL);
    cm_json_put_int(w, NULL, 1);
    cm_json_begin_object(w, NULL);
    cm_json_put_int(w, "a", 2);
    cm_json_put_int(w, "b", 3);
    cm_json_end_object(w);
    cm_json_end_array(w);
    ck_assert_str_eq(cm_json_writer_text(w, NULL), "[1, {\"a\": 2, \"b\": 3}]");
    cm_json_writer_destroy(w);
    cm_json_writer_destroy(NULL);
}
END_TEST

START_TEST(a_value_is_copied_with_all_that_is_in_it) {
    static const char text[] = "{\"a\": [1, -2.5, true, null, {\"b\": \"c\"}], \"d\": {}, \"e\": []}";
    cm_json_writer *w;
    cm_json_doc *doc;
    ck_assert_int_eq(cm_json_parse(text, sizeof text - 1, "text", &doc), CM_OK);
    ck_assert_int_eq(cm_json_writer_create(0, &w), CM_OK);
    cm_json_put(w, NULL, cm_json_root(doc));
    ck_assert_str_eq(cm_json_writer_text(w, NULL), text);
    cm_json_writer_destroy(w);
    cm_json_free(doc);
}
END_TEST

START_TEST(writer_that_nests_too_deeply_reports_it) {
    cm_json_writer *w;
    ck_assert_int_eq(cm_json_writer_create(0, &w), CM_OK);
    ck_assert_ptr_null(cm_json_writer_text(w, NULL));
    for (int i = 0; i <= CM_JSON_DEPTH; i++) cm_json_begin_array(w, NULL);
    ck_assert_ptr_null(cm_json_writer_text(w, NULL));
    cm_json_writer_destroy(w);
}
END_TEST

START_TEST(file_that_is_missing_or_a_folder_is_one_clear_error) {
    cm_json_doc *doc;
    ck_assert_int_eq(cm_json_read("/nonexistent/x.json", &doc), CM_ERR_IO);
    ck_assert_str_eq(cm_error_message(), "/nonexistent/x.json: cannot open: No such file or directory");
    ck_assert_int_eq(cm_json_read("/tmp", &doc), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "/tmp: not a regular file");
    ck_assert_ptr_null(doc);
    cm_json_free(NULL);
}
END_TEST

/* Collects "value@line " of every line; stops at a negative one. */
static cm_status note_line(void *context, const cm_json *value) {
    char *text = context;
    if (cm_json_number(value, 0.0) < 0.0) return cm_fail(CM_ERR_STATE, "negative");
    sprintf(text + strlen(text), "%g@%d ", cm_json_number(value, 0.0), cm_json_line(value));
    return CM_OK;
}

START_TEST(lines_are_read_one_by_one_with_their_numbers) {
    char path[CM_TEST_PATH], got[64] = "";
    cm_test_file_make(path);
    ck_assert_int_eq(cm_file_write(path, "7\n8\n9", 5), CM_OK);
    ck_assert_int_eq(cm_json_read_lines(path, note_line, got), CM_OK);
    ck_assert_str_eq(got, "7@1 8@2 9@3 ");
    got[0] = '\0';
    ck_assert_int_eq(cm_json_read_growing(path, 8, note_line, got), CM_OK); /* 9 may become 90 */
    ck_assert_str_eq(got, "7@1 8@2 ");
    got[0] = '\0';
    ck_assert_int_eq(cm_file_write(path, "12345678\n123456789\n1\n", 21), CM_OK);
    ck_assert_int_eq(cm_json_read_growing(path, 8, note_line, got), CM_ERR_INPUT);
    ck_assert_str_eq(got, "1.23457e+07@1 ");
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ":2: a line of more than 8 bytes"));
    ck_assert_int_eq(cm_file_write(path, "1\n123456789", 11), CM_OK); /* however far it goes */
    ck_assert_int_eq(cm_json_read_growing(path, 8, note_line, got), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ":2: a line of more than 8 bytes"));
    got[0] = '\0';
    ck_assert_int_eq(cm_file_write(path, "7\n-1\n9\n", 7), CM_OK);
    ck_assert_int_eq(cm_json_read_lines(path, note_line, got), CM_ERR_STATE);
    ck_assert_str_eq(got, "7@1 ");
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ":2: negative"));
    ck_assert_int_eq(cm_file_write(path, "7\n\n9\n", 5), CM_OK);
    ck_assert_int_eq(cm_json_read_lines(path, note_line, got), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ":2: expected a value"));
}
END_TEST

/* A tree takes some 80 bytes for a value, of which two bytes of text may be one. */
START_TEST(values_are_counted_before_memory_is_taken_for_them) {
    static char text[2 * CM_JSON_VALUES + 2];
    cm_json_doc *doc = NULL;
    const size_t fits = 2 * CM_JSON_VALUES - 1; /* of the array itself and all but one of its numbers */
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 2 ? '1' : ',';
    text[0] = '[';
    text[fits - 1] = ']';
    ck_assert_msg(cm_json_parse(text, fits, "t.json", &doc) == CM_OK, "%s", cm_error_message());
    cm_json_free(doc);
    text[fits - 1] = ',', text[fits] = '1', text[fits + 1] = ']';
    ck_assert_int_eq(cm_json_parse(text, fits + 2, "t.json", &doc), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "t.json:1: more than 262144 values");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("json");
    TCase *c = tcase_create("json");
    tcase_add_test(c, values_are_counted_before_memory_is_taken_for_them);
    tcase_add_test(c, values_of_every_kind_are_read_with_their_lines);
    tcase_add_test(c, what_is_not_json_is_refused_with_its_line);
    tcase_add_test(c, nesting_of_64_is_accepted_and_65_is_refused);
    tcase_add_test(c, integers_are_checked_for_fraction_range_and_exactness);
    tcase_add_test(c, arrays_are_flattened_and_their_length_is_checked);
    tcase_add_test(c, doubles_are_printed_as_python_prints_them);
    tcase_add_test(c, writer_lays_out_as_python_does_and_its_text_reads_back);
    tcase_add_test(c, a_value_is_copied_with_all_that_is_in_it);
    tcase_add_test(c, writer_that_nests_too_deeply_reports_it);
    tcase_add_test(c, file_that_is_missing_or_a_folder_is_one_clear_error);
    tcase_add_test(c, lines_are_read_one_by_one_with_their_numbers);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
