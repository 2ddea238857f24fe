/* Axes of pictures: their ticks are round numbers, and their labels tell them apart. */
#include "cli/axis.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"

/* From what a reader can get of all ticks: "0 100k 200k" and the note after a bar. */
static void text_of(const cm_axis *axis, char out[512]) {
    char label[CM_AXIS_LABEL];
    *out = '\0';
    for (int i = 0; i < axis->ticks; i++) {
        cm_axis_label(axis, i, label);
        if (i > 0) strcat(out, " ");
        strcat(out, label);
    }
    if (*axis->note) strcat(strcat(out, " | "), axis->note);
}

static const struct {
    double low, high;
    const char *text;
} cases[] = {
    {0, 500, "0 100 200 300 400 500"},
    {-9.3, 500, "0 100 200 300 400 500"},
    {0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
    {0.02, 0.0205, "0.0200 0.0201 0.0202 0.0203 0.0204 0.0205"},
    {-1, 1, "\u22121.0 \u22120.5 0.0 0.5 1.0"},
    {0, 15872, "0 5k 10k 15k"},
    {0, 1.5e6, "0.0 0.5M 1.0M 1.5M"},
    {1e9, 1e9, "0.96G 0.98G 1.00G 1.02G 1.04G"},
    {0, 3e9, "0.0 0.5G 1.0G 1.5G 2.0G 2.5G 3.0G"},
    {0, 2.5e-5, "0.0 0.5 1.0 1.5 2.0 2.5 | \u00d710\u207b\u2075"},
    {0, 4e13, "0 1 2 3 4 | \u00d710\u00b9\u00b3"},
    {1e9, 1e9 + 10, "0 2 4 6 8 10 | +1000000000"},
    {7, 7, "6.7 6.8 6.9 7.0 7.1 7.2 7.3"},
    {0, 0, "\u22120.4 \u22120.2 0.0 0.2 0.4"},
    {-1.7e308, 1.7e308, "\u22121 0 1 | \u00d710\u00b3\u2070\u2078"},
    {1e308, 1.79e308, "1.0 1.2 1.4 1.6 | \u00d710\u00b3\u2070\u2078"},
    {1.79e308, 1.79e308, "1.72 1.74 1.76 1.78 | \u00d710\u00b3\u2070\u2078"},
    {-1.79e308, -1.79e308, "\u22121.78 \u22121.76 \u22121.74 \u22121.72 | \u00d710\u00b3\u2070\u2078"},
    {0, 5e-324, "\u22120.4 \u22120.2 0.0 0.2 0.4"},
    {-3, -3, "\u22123.15 \u22123.10 \u22123.05 \u22123.00 \u22122.95 \u22122.90 \u22122.85"},
};

START_TEST(ticks_are_round_and_labels_short) {
    char text[512];
    cm_axis axis;
    cm_axis_make(cases[_i].low, cases[_i].high, 0.05, 7, &axis);
    text_of(&axis, text);
    ck_assert_str_eq(text, cases[_i].text);
}
END_TEST

/* Whose distance is beyond the largest number. */
START_TEST(numbers_of_any_size_have_their_place) {
    static const double ends[][2] = {{-1.7976931348623157e308, 1.7976931348623157e308}, {-1e308, 1.5e308}, {-1, 1e308}};
    for (int most = 1; most <= CM_AXIS_TICKS; most++) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            const double low = ends[i][0], high = ends[i][1];
            cm_axis axis;
            cm_axis_make(low, high, 0.05, most, &axis);
            ck_assert(isfinite(axis.low) && isfinite(axis.high) && axis.low <= low && axis.high >= high);
            ck_assert(axis.ticks >= 1 && axis.ticks <= (most > 3 ? most : 3));
            for (int t = 0; t < axis.ticks; t++)
                ck_assert(cm_axis_tick(&axis, t) >= axis.low && cm_axis_tick(&axis, t) <= axis.high);
            ck_assert_double_eq(cm_axis_share(&axis, axis.low), 0.0);
            ck_assert_double_eq(cm_axis_share(&axis, axis.high), 1.0);
            ck_assert_double_eq_tol(cm_axis_share(&axis, axis.low / 2 + axis.high / 2), 0.5, 1e-12);
        }
    }
}
END_TEST

START_TEST(labels_are_ascii_where_they_have_to_be) {
    static const char *const pairs[][2] = {{"\u22120.5k", "-0.5k"},
                                           {"\u00d710\u207b\u00b9\u2075 \u221220", "x10^-15 -20"},
                                           {"+1000000000", "+1000000000"},
                                           {"", ""}};
    char out[CM_AXIS_LABEL];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cm_axis_plain(pairs[i][0], out);
        ck_assert_str_eq(out, pairs[i][1]);
    }
}
END_TEST

/* Over 40 orders of magnitude, at any offset. */
START_TEST(labels_read_back_to_their_ticks) {
    srand(1);
    for (int n = 0; n < 20000; n++) {
        const double size = pow(10.0, rand() % 40 - 20), low = (rand() % 2001 - 1000) * size / 1000.0;
        const double width = size * pow(10.0, -(rand() % 6)) * (1 + rand() % 1000) / 1000.0;
        const int most = 1 + rand() % 12;
        cm_axis axis;
        cm_axis_make(low, low + width, 0.05, most, &axis);
        ck_assert(axis.low <= low && axis.high >= low + width);
        ck_assert_int_ge(axis.ticks, 1);
        ck_assert_int_le(axis.ticks, most);
        if (axis.ticks == 1) continue;
        const double digits = axis.step / pow(10.0, floor(log10(axis.step) + 1e-9));
        ck_assert(fabs(digits - 1) < 1e-6 || fabs(digits - 2) < 1e-6 || fabs(digits - 5) < 1e-6);
        for (int i = 0; i < axis.ticks; i++) {
            char label[CM_AXIS_LABEL];
            const double tick = cm_axis_tick(&axis, i), share = cm_axis_share(&axis, tick);
            cm_axis_label(&axis, i, label);
            const bool is_negative = strncmp(label, "\u2212", 3) == 0;
            const double read =
                axis.offset + (is_negative ? -1.0 : 1.0) * atof(label + (is_negative ? 3 : 0)) * axis.unit;
            ck_assert_msg(fabs(read - tick) <= 1e-3 * axis.step, "%g: %s", tick, label);
            ck_assert(share >= -1e-9 && share <= 1.0 + 1e-9);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/axis");
    TCase *tests = tcase_create("axis");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, ticks_are_round_and_labels_short, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, numbers_of_any_size_have_their_place);
    tcase_add_test(tests, labels_are_ascii_where_they_have_to_be);
    tcase_add_test(tests, labels_read_back_to_their_ticks);
    return cm_test_main(suite);
}
