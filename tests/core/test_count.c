/* Whole numbers as people write them. */
#include <check.h>

#include "core/count.h"
#include "support/main.h"

START_TEST(suffixes_and_exponents_are_whole_numbers) {
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0", 0},         {"20000", 20000},  {"20k", 20000},
                 {"20K", 20000},   {"1.5M", 1500000}, {"2G", 2000000000},
                 {"1e6", 1000000}, {"2.5e3", 2500},   {"1.001M", 1001000},
                 {"8.2k", 8200},   {"-3", -3},        {"-2k", -2000},
                 {"1E+3", 1000},   {"5000e-3", 5},    {"9007199254740992", 9007199254740992}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -1;
        ck_assert_msg(cm_parse_count(cases[i].text, &value), "%s", cases[i].text);
        ck_assert_int_eq(value, cases[i].value);
    }
}
END_TEST

START_TEST(anything_else_is_refused_and_changes_nothing) {
    static const char *const texts[] = {"",        "k",
                                        "x",       "1.5",
                                        "20 k",    " 20",
                                        "20kk",    "20m",
                                        "1e",      "1e6k",
                                        "1e99",    "+5",
                                        "0x10",    "--1",
                                        "1.0001k", ".5k",
                                        "nan",     "inf",
                                        "1,000",   "10000000000000000",
                                        "1-3",     "00000000000000000000000000000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value = 7;
        ck_assert_msg(!cm_parse_count(texts[i], &value), "%s", texts[i]);
        ck_assert_int_eq(value, 7);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/count");
    TCase *tests = tcase_create("counts");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, suffixes_and_exponents_are_whole_numbers);
    tcase_add_test(tests, anything_else_is_refused_and_changes_nothing);
    return cm_test_main(suite);
}
