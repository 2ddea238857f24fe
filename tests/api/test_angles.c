/* Draws of include/cumind.h: the numbers of core/von_mises.h, by any number of threads, and errors by name. */
#include <check.h>
#include <cumind.h>
#include <math.h>
#include <string.h>

#include "core/von_mises.h"
#include "support/main.h"

enum { N = 70000 }; /* enough for two threads */

static void expect(cumind_status got, cumind_status want, const char *text) {
    ck_assert_msg(got == want && strstr(cumind_error_message(), text), "%d, not %d: %s", (int)got, (int)want,
                  cumind_error_message());
}

static cumind_angles angles_of(size_t n, int threads) {
    return (cumind_angles){
        .seed = 5, .stream = 2, .first = 9, .n = n, .mu_count = 1, .kappa_count = 1, .threads = threads};
}

START_TEST(draws_are_those_of_the_streams_by_any_number_of_threads) {
    static double out[N], kappa[N];
    const double mu = 1.5;
    for (int i = 0; i < N; i++) kappa[i] = 0.01 * i;
    for (int threads = 0; threads <= 2; threads++) {
        cumind_angles angles = angles_of(N, threads);
        angles.kappa_count = N;
        ck_assert_int_eq(cumind_von_mises(&angles, &mu, kappa, out), CUMIND_OK);
        for (int i = 0; i < N; i += 999) {
            cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_ANGLE, 2), 9 + (uint64_t)i);
            ck_assert_double_eq(out[i], cm_von_mises_draw_d(&rng, mu, kappa[i]));
        }
        memset(out, 0, sizeof out);
    }
}
END_TEST

START_TEST(float32_draws_are_those_of_the_streams) {
    const float mu[3] = {-3.0f, 0.0f, 7.0f}, kappa = 4.0f;
    float out[3];
    cumind_angles angles = angles_of(3, 1);
    angles.mu_count = 3;
    ck_assert_int_eq(cumind_von_mises_float(&angles, mu, &kappa, out), CUMIND_OK);
    for (int i = 0; i < 3; i++) {
        cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_ANGLE, 2), 9 + (uint64_t)i);
        ck_assert_float_eq(out[i], cm_von_mises_draw_f(&rng, mu[i], kappa));
    }
}
END_TEST

START_TEST(what_is_missing_or_out_of_range_is_named) {
    double mu = 0.0, kappa = 1.0, out[2] = {7.0, 7.0};
    float mu_f = 0.0f, kappa_f = -1.0f, out_f[2];
    cumind_angles angles = angles_of(2, 1);
    expect(cumind_von_mises(NULL, &mu, &kappa, out), CUMIND_ERR_INPUT, "angles must not be NULL");
    expect(cumind_von_mises(&angles, NULL, &kappa, out), CUMIND_ERR_INPUT, "mu must not be NULL");
    expect(cumind_von_mises(&angles, &mu, NULL, out), CUMIND_ERR_INPUT, "kappa must not be NULL");
    expect(cumind_von_mises(&angles, &mu, &kappa, NULL), CUMIND_ERR_INPUT, "out must not be NULL");
    expect(cumind_von_mises_float(&angles, &mu_f, &kappa_f, out_f), CUMIND_ERR_INPUT,
           "von Mises: kappa[0] is -1; a concentration from 0 to 1e30 is wanted");
    angles.threads = 1025;
    expect(cumind_von_mises(&angles, &mu, &kappa, out), CUMIND_ERR_INPUT, "angles.threads must be 0 .. 1024, got 1025");
    angles.threads = 1, angles.mu_count = 3;
    expect(cumind_von_mises(&angles, &mu, &kappa, out), CUMIND_ERR_INPUT,
           "angles.mu_count must be 1, or angles.n = 2, got 3");
    angles.mu_count = 1, angles.kappa_count = 0;
    expect(cumind_von_mises(&angles, &mu, &kappa, out), CUMIND_ERR_INPUT,
           "angles.kappa_count must be 1, or angles.n = 2, got 0");
    ck_assert(out[0] == 7.0 && out[1] == 7.0);
}
END_TEST

START_TEST(no_draws_are_no_error) {
    double mu = 0.0, kappa = 1.0, out = 7.0;
    cumind_angles angles = angles_of(0, 0);
    ck_assert_int_eq(cumind_von_mises(&angles, &mu, &kappa, &out), CUMIND_OK);
    ck_assert(out == 7.0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("angles of the library");
    TCase *draws = tcase_create("draws");
    tcase_add_test(draws, draws_are_those_of_the_streams_by_any_number_of_threads);
    tcase_add_test(draws, float32_draws_are_those_of_the_streams);
    tcase_add_test(draws, what_is_missing_or_out_of_range_is_named);
    tcase_add_test(draws, no_draws_are_no_error);
    suite_add_tcase(suite, draws);
    return cm_test_main(suite);
}
