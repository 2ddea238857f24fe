#include <check.h>
#include <math.h>

#include "core/elementary.h"
#include "support/main.h"

enum { POINTS = 20000 };
static const double pi_4 = 0.78539816339744830962, tan_pi_8 = 0.41421356237309504880;

/* The i-th of POINTS + 1 numbers from low to high. */
static double point(double low, double high, int i) { return low + (high - low) * i / POINTS; }

/* |got - exact| in units of the last place of a number of that size, with 53 or 24 bits. */
static double ulps(double got, double exact, int bits) {
    int exponent;
    (void)frexp(exact, &exponent);
    return fabs(got - exact) / ldexp(1.0, exponent - bits);
}

static double larger(double a, double b) { return a > b ? a : b; }

START_TEST(float64_functions_are_right_to_two_units_of_the_last_place) {
    double sine = 0.0, cosine = 0.0, tangent = 0.0;
    for (int i = 0; i <= POINTS; i++) {
        const double x = point(-pi_4, pi_4, i), t = point(-tan_pi_8, tan_pi_8, i);
        if (x != 0.0) sine = larger(sine, ulps(cm_short_sin_d(x), sin(x), 53));
        cosine = larger(cosine, ulps(cm_short_cos_d(x), cos(x), 53));
        if (t != 0.0) tangent = larger(tangent, ulps(cm_short_atan_d(t), atan(t), 53));
    }
    ck_assert_msg(sine <= 2.0 && cosine <= 2.0 && tangent <= 2.0, "%g %g %g", sine, cosine, tangent);
}
END_TEST

START_TEST(float32_functions_are_right_to_two_units_of_the_last_place) {
    double sine = 0.0, cosine = 0.0, tangent = 0.0;
    for (int i = 0; i <= POINTS; i++) {
        const float x = (float)point(-pi_4, pi_4, i), t = (float)point(-tan_pi_8, tan_pi_8, i);
        if (x != 0.0f) sine = larger(sine, ulps((double)cm_short_sin_f(x), sin((double)x), 24));
        cosine = larger(cosine, ulps((double)cm_short_cos_f(x), cos((double)x), 24));
        if (t != 0.0f) tangent = larger(tangent, ulps((double)cm_short_atan_f(t), atan((double)t), 24));
    }
    ck_assert_msg(sine <= 2.0 && cosine <= 2.0 && tangent <= 2.0, "%g %g %g", sine, cosine, tangent);
}
END_TEST

START_TEST(exponentials_have_a_relative_error_below_1e_14_and_3e_7) {
    double error_d = 0.0, error_f = 0.0;
    for (int i = 0; i <= POINTS; i++) {
        const double wide = point(-699.0, 1.0, i), x = (double)(float)point(-86.0, 1.0, i);
        error_d = larger(error_d, fabs(cm_short_exp_d(wide) / exp(wide) - 1.0));
        error_f = larger(error_f, fabs((double)cm_short_exp_f((float)x) / exp(x) - 1.0));
    }
    ck_assert_msg(error_d < 1e-14, "%g", error_d);
    ck_assert_msg(error_f < 3e-7, "%g", error_f);
}
END_TEST

START_TEST(exponentials_of_very_negative_numbers_stay_tiny_and_positive) {
    ck_assert(cm_short_exp_d(-2e30) == cm_short_exp_d(-700.0) && cm_short_exp_d(-700.0) < 1e-303);
    ck_assert(cm_short_exp_f(-2e30f) == cm_short_exp_f(-87.0f) && cm_short_exp_f(-87.0f) < 2e-38f);
    ck_assert(cm_short_exp_d(-700.0) > 0.0 && cm_short_exp_f(-87.0f) > 0.0f);
    ck_assert(cm_short_exp_d(0.0) == 1.0 && cm_short_exp_f(0.0f) == 1.0f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("elementary");
    TCase *accuracy = tcase_create("accuracy");
    tcase_add_test(accuracy, float64_functions_are_right_to_two_units_of_the_last_place);
    tcase_add_test(accuracy, float32_functions_are_right_to_two_units_of_the_last_place);
    tcase_add_test(accuracy, exponentials_have_a_relative_error_below_1e_14_and_3e_7);
    tcase_add_test(accuracy, exponentials_of_very_negative_numbers_stay_tiny_and_positive);
    suite_add_tcase(suite, accuracy);
    return cm_test_main(suite);
}
