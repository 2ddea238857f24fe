/* Base64: the examples of RFC 4648, whole and in parts. */
#include "core/base64.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"

static const struct example {
    const char *bytes, *digits;
} examples[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"},
                {"\xff\xfe\xfb", "//77"}};

START_TEST(examples_are_written_whole_and_cut_in_two) {
    const size_t size = strlen(examples[_i].bytes);
    for (size_t cut = 0; cut <= size; cut++) {
        char *text = NULL;
        size_t length = 0;
        cm_base64 writer = {.out = open_memstream(&text, &length)};
        cm_base64_put(&writer, examples[_i].bytes, cut);
        cm_base64_put(&writer, examples[_i].bytes + cut, size - cut);
        cm_base64_end(&writer);
        ck_assert_int_eq(fclose(writer.out), 0);
        ck_assert_str_eq(text, examples[_i].digits);
        free(text);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("base64");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, examples_are_written_whole_and_cut_in_two, 0, sizeof examples / sizeof *examples);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
