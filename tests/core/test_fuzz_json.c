/* The fuzzer of JSON on deterministic changes of two texts: every input ends in a document that writes and reads back,
 * or in an error. */
#include "fuzz/fuzz_json.c" /* the oracle of one input */

#include <check.h>

#include "fuzz/mutate.h"
#include "support/main.h"

static const char small[] =
    "{\"a\": [1, -2.5e3, 0.1, true, false, null], \"b\": {\"c\": \"x\\u00e9\\ud83d\\ude00\\n\", \"d\": {}},\n"
    " \"\\\"k\\\\\": [[[]]], \"e\": 1E-7}";

START_TEST(changed_texts_never_break_the_reader) { mutate_run(small, sizeof small - 1, 60000); }
END_TEST

START_TEST(every_single_byte_in_every_place_is_survived) {
    char text[sizeof small];
    for (size_t at = 0; at + 1 < sizeof small; at++)
        for (int byte = 0; byte < 256; byte++) {
            memcpy(text, small, sizeof small);
            text[at] = (char)byte;
            LLVMFuzzerTestOneInput((const uint8_t *)text, sizeof small - 1);
        }
}
END_TEST

START_TEST(every_beginning_of_a_text_is_refused) {
    cm_json_doc *doc;
    for (size_t size = 0; size + 1 < sizeof small; size++) {
        ck_assert_int_eq(cm_json_parse(small, size, "cut", &doc), CM_ERR_INPUT);
        ck_assert_ptr_null(strchr(cm_error_message(), '\n'));
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fuzz of JSON");
    TCase *c = tcase_create("fuzz");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, changed_texts_never_break_the_reader);
    tcase_add_test(c, every_single_byte_in_every_place_is_survived);
    tcase_add_test(c, every_beginning_of_a_text_is_refused);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
