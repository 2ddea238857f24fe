#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/von_mises.h"
#include "core/von_mises_internal.h"
#include "support/main.h"

enum { DRAWS = 6000, CONCENTRATIONS = 12 };
static const double concentrations[CONCENTRATIONS] = {0.0, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 8.0, 50.0, 1e3, 1e5, 1e6};

static cm_key test_key(uint64_t instance) { return cm_key_make(50, CM_RNG_TEST, instance); }

/* `count` draws around one mu with one kappa, in double. */
static void draw_d(uint64_t instance, double mu, double kappa, size_t count, double *out) {
    const cm_von_mises_draws_d draws = {.key = test_key(instance),
                                        .count = count,
                                        .mu = &mu,
                                        .kappa = &kappa,
                                        .one_mu = true,
                                        .one_kappa = true,
                                        .out = out};
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &draws), CM_OK);
}

static void draw_f(uint64_t instance, double mu, double kappa, size_t count, double *out) {
    float *narrow = calloc(count, sizeof *narrow), center = (float)mu, concentration = (float)kappa;
    const cm_von_mises_draws_f draws = {.key = test_key(instance),
                                        .count = count,
                                        .mu = &center,
                                        .kappa = &concentration,
                                        .one_mu = true,
                                        .one_kappa = true,
                                        .out = narrow};
    ck_assert_int_eq(cm_von_mises_batch_f(NULL, &draws), CM_OK);
    for (size_t i = 0; i < count; i++) out[i] = (double)narrow[i];
    free(narrow);
}

typedef void (*draw_function)(uint64_t instance, double mu, double kappa, size_t count, double *out);
static const draw_function precisions[] = {draw_d, draw_f};

/* ---- the distribution ---- */

START_TEST(entropy_mean_cosine_and_density_are_those_of_the_specification) {
    static const double rows[][2] = {{1, .446390}, {5, .893383}, {10, .948600}, {50, .989949}};
    static const double logs[][2] = {{1, .235914}, {5, 3.304682}, {10, 7.942972}, {50, 47.127576}};
    for (int i = 0; i < 4; i++) {
        const double kappa = rows[i][0], log_i0 = -log(2.0 * M_PI) - cm_von_mises_log_density(M_PI / 2, 0.0, kappa);
        ck_assert_double_eq_tol(cm_von_mises_mean_cosine(kappa), rows[i][1], 6e-7);
        ck_assert_double_eq_tol(log_i0, logs[i][1], 6e-7);
    }
    ck_assert_double_eq_tol(cm_von_mises_entropy(2.0), 1.2663213, 6e-8);
    ck_assert_double_eq_tol(cm_von_mises_entropy(8.0), .4140974, 6e-8);
    ck_assert_double_eq_tol(cm_von_mises_entropy(0.0), log(2.0 * M_PI), 1e-15);
}
END_TEST

/* At 20 one series follows the other; A' = 1 - A / kappa - A^2 (spec learning 11.3). */
START_TEST(series_agree_where_they_meet_and_with_the_slope) {
    const double h = 1e-4, kappa = 20.0, a = cm_von_mises_mean_cosine(kappa);
    const double slope = (cm_von_mises_mean_cosine(kappa + h) - cm_von_mises_mean_cosine(kappa - h)) / (2.0 * h);
    ck_assert_double_eq_tol(slope, 1.0 - a / kappa - a * a, 1e-10);
    const double below = cm_von_mises_log_density(0.0, 0.0, nextafter(kappa, 0.0));
    ck_assert_double_eq_tol(below, cm_von_mises_log_density(0.0, 0.0, kappa), 2e-14);
    ck_assert_double_eq_tol(cm_von_mises_mean_versine(1e6), 5.00000125e-7, 1e-18); /* 1/(2k) + 1/(8k^2) */
    ck_assert_double_eq_tol(cm_von_mises_entropy(1e6), 0.5 * log(2.0 * M_PI * exp(1.0) / 1e6), 1e-6);
}
END_TEST

/* The probability of [from, to]: Gauss's rule of two points on parts of a tenth of the standard deviation. */
static double probability(double from, double to, double kappa) {
    const int parts = 1 + (int)((to - from) * 10.0 * sqrt(1.0 + kappa));
    const double width = (to - from) / parts, offset = width / (2.0 * sqrt(3.0));
    double sum = 0.0;
    for (int i = 0; i < parts; i++) {
        const double middle = from + (i + 0.5) * width, s = sin(0.5 * (middle - offset)),
                     t = sin(0.5 * (middle + offset));
        sum += exp(-2.0 * kappa * s * s) + exp(-2.0 * kappa * t * t);
    }
    return 0.5 * sum * width * exp(cm_von_mises_log_density(0.0, 0.0, kappa));
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* sqrt(n) times the largest distance between the draws' distribution and the exact one. */
static double kolmogorov(double *draws, double kappa) {
    double below = 0.0, last = -M_PI, distance = 0.0;
    qsort(draws, DRAWS, sizeof *draws, compare_doubles);
    for (int i = 0; i < DRAWS; i++) {
        below += probability(last, draws[i], kappa);
        distance = fmax(distance, fmax(below - (double)i / DRAWS, (i + 1.0) / DRAWS - below));
        last = draws[i];
    }
    ck_assert_double_eq_tol(below + probability(last, M_PI, kappa), 1.0, 1e-4);
    return sqrt(DRAWS) * distance;
}

/* exp(-2 * 2.3^2) * 2: a case fails by chance with probability 5e-5, and the key is fixed. */
START_TEST(draws_have_the_exact_distribution) {
    static double draws[DRAWS];
    for (int c = 0; c < CONCENTRATIONS; c++) {
        precisions[_i](10 + c, 0.0, concentrations[c], DRAWS, draws);
        const double distance = kolmogorov(draws, concentrations[c]);
        ck_assert_msg(distance < 2.3, "kappa %g: %g", concentrations[c], distance);
    }
}
END_TEST

/* Within five standard errors; the variance of 1 - cos is at most 1/2 and 0.6 / kappa^2. */
START_TEST(draws_have_the_mean_cosine_and_no_mean_sine) {
    static double draws[DRAWS];
    for (int c = 0; c < CONCENTRATIONS; c++) {
        const double kappa = concentrations[c], mu = 0.7;
        double versine = 0.0, sine = 0.0;
        precisions[_i](30 + c, mu, kappa, DRAWS, draws);
        for (int i = 0; i < DRAWS; i++) {
            const double deviation = draws[i] - (double)(_i ? (float)mu : mu), half = sin(0.5 * deviation);
            versine += 2.0 * half * half / DRAWS, sine += sin(deviation) / DRAWS;
        }
        const double error = 5.0 / sqrt(DRAWS), wide = sqrt(0.5);
        ck_assert_double_eq_tol(versine, cm_von_mises_mean_versine(kappa), error * fmin(wide, 0.78 / kappa));
        ck_assert_double_eq_tol(sine, 0.0, error * fmin(wide, 1.0 / sqrt(kappa)));
    }
}
END_TEST

/* Of the specification; five standard errors are 0.018. */
START_TEST(attempts_are_accepted_as_often_as_the_specification_says) {
    static const double rows[][2] = {{.001, 1.0}, {.1, .998}, {1, .868}, {4, .705}, {50, .663}, {1000, .657}};
    for (int i = 0; i < 6; i++) {
        const cm_von_mises_d v = cm_von_mises_of_d(rows[i][0]);
        int accepted = 0;
        for (uint32_t try = 0; try < 20000; try++) {
            const uint32_t counter[4] = {try, 7, 0, 0};
            uint32_t word[4];
            double cosine, sine;
            cm_philox(counter, test_key(5), word);
            cm_von_mises_place_d(word, &cosine, &sine);
            accepted += cm_von_mises_accepts_d(cm_von_mises_y_d(v.low, v.high, cosine), word + 2);
        }
        ck_assert_double_eq_tol(accepted / 20000.0, rows[i][1], 0.018);
    }
}
END_TEST

/* ---- one by one, by threads, by instruction sets ---- */

enum { MANY = 9001 }; /* three tasks, and a block that is not full */

static void fill_arguments(double *mu, double *kappa) {
    for (int i = 0; i < MANY; i++) {
        mu[i] = 0.002 * i - 9.0;
        kappa[i] = concentrations[i % CONCENTRATIONS];
    }
}

START_TEST(a_batch_draws_what_each_stream_does_by_any_number_of_threads) {
    static double mu[MANY], kappa[MANY], out[MANY];
    fill_arguments(mu, kappa);
    for (int threads = 1; threads <= 4; threads += threads) {
        cm_pool *pool;
        ck_assert_int_eq(cm_pool_create(threads, &pool), CM_OK);
        const cm_von_mises_draws_d draws = {
            .key = test_key(1), .first = 70, .count = MANY, .mu = mu, .kappa = kappa, .out = out};
        memset(out, 0, sizeof out);
        ck_assert_int_eq(cm_von_mises_batch_d(pool, &draws), CM_OK);
        for (uint64_t i = 0; i < MANY; i++) {
            cm_rng rng = cm_rng_init(test_key(1), 70 + i);
            ck_assert_double_eq(out[i], cm_von_mises_draw_d(&rng, mu[i], kappa[i]));
        }
        cm_pool_destroy(pool);
    }
}
END_TEST

START_TEST(float32_batches_draw_what_each_stream_does) {
    static double mu[MANY], kappa[MANY];
    static float center[MANY], concentration[MANY], out[MANY];
    fill_arguments(mu, kappa);
    for (int i = 0; i < MANY; i++) center[i] = (float)mu[i], concentration[i] = (float)kappa[i];
    const cm_von_mises_draws_f draws = {
        .key = test_key(2), .count = MANY, .mu = center, .kappa = concentration, .out = out};
    ck_assert_int_eq(cm_von_mises_batch_f(NULL, &draws), CM_OK);
    for (uint64_t i = 0; i < MANY; i++) {
        cm_rng rng = cm_rng_init(test_key(2), i);
        ck_assert_float_eq(out[i], cm_von_mises_draw_f(&rng, center[i], concentration[i]));
    }
}
END_TEST

START_TEST(every_instruction_set_draws_the_same_bits) {
    static double mu[MANY], kappa[MANY], best[MANY], other[MANY];
    static float center[MANY], concentration[MANY], best_f[MANY], other_f[MANY];
    int count;
    const cm_von_mises_loops *const *loops = cm_von_mises_usable(&count);
    fill_arguments(mu, kappa);
    for (int i = 0; i < MANY; i++) center[i] = (float)mu[i], concentration[i] = (float)kappa[i];
    cm_von_mises_draws_d d = {.key = test_key(3), .count = MANY, .mu = mu, .kappa = kappa, .out = best};
    cm_von_mises_draws_f f = {.key = test_key(3), .count = MANY, .mu = center, .kappa = concentration, .out = best_f};
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &d), CM_OK);
    ck_assert_int_eq(cm_von_mises_batch_f(NULL, &f), CM_OK);
    d.out = other, f.out = other_f;
    for (int set = 0; set < count; set++) {
        memset(other, 0, sizeof other), memset(other_f, 0, sizeof other_f);
        for (size_t i = 0; i < 9000; i += 200) loops[set]->block_d(&d, i, 200), loops[set]->block_f(&f, i, 200);
        ck_assert_msg(memcmp(best, other, 9000 * sizeof *best) == 0, "%s", loops[set]->name);
        ck_assert_msg(memcmp(best_f, other_f, 9000 * sizeof *best_f) == 0, "%s", loops[set]->name);
    }
}
END_TEST

START_TEST(one_mu_and_one_kappa_stand_for_all_and_first_moves_on) {
    static double mu[MANY], kappa[MANY], each[MANY], one[MANY];
    for (int i = 0; i < MANY; i++) mu[i] = 2.5, kappa[i] = 3.0;
    cm_von_mises_draws_d draws = {.key = test_key(4), .count = MANY, .mu = mu, .kappa = kappa, .out = each};
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &draws), CM_OK);
    draw_d(4, 2.5, 3.0, MANY, one);
    ck_assert_mem_eq(each, one, sizeof each);
    draws.first = (uint64_t)5 << 32, draws.count = 3;
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &draws), CM_OK);
    cm_rng far = cm_rng_init(test_key(4), ((uint64_t)5 << 32) + 2);
    ck_assert_double_eq(each[2], cm_von_mises_draw_d(&far, 2.5, 3.0));
    draws.first = 1000, draws.count = 17;
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &draws), CM_OK);
    ck_assert_mem_eq(each, one + 1000, 17 * sizeof *each);
    draws.count = 0;
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &draws), CM_OK);
}
END_TEST

/* ---- ends of the ranges ---- */

START_TEST(angles_stay_in_minus_pi_to_pi_for_any_mu) {
    static const double centers[] = {0.0, M_PI, -M_PI, 3.1415925, 100.0, -1e9, 1e300};
    static double draws[1000];
    for (int m = 0; m < 7; m++)
        for (int k = 0; k < CONCENTRATIONS; k++)
            for (int p = 0; p < 2; p++) {
                if (p == 1 && fabs(centers[m]) > 1e38) continue;
                precisions[p](60, centers[m], concentrations[k], 1000, draws);
                for (int i = 0; i < 1000; i++) ck_assert(draws[i] >= -M_PI && draws[i] < M_PI);
            }
}
END_TEST

/* A turn of mu is no turn of the draws, and around pi they fall on both sides. */
START_TEST(mu_counts_modulo_a_turn) {
    static double draws[500], turned[500];
    int above = 0;
    draw_d(61, 2.0, 1e4, 500, draws);
    draw_d(61, 2.0 - 1000 * 2.0 * M_PI, 1e4, 500, turned);
    for (int i = 0; i < 500; i++) ck_assert_double_eq_tol(draws[i], turned[i], 1e-12);
    draw_d(61, M_PI, 1e4, 500, draws);
    for (int i = 0; i < 500; i++) {
        above += draws[i] > 0.0;
        ck_assert_double_gt(fabs(draws[i]), M_PI - 0.06);
    }
    ck_assert(above > 150 && above < 350);
}
END_TEST

/* At kappa 1e12 a standard deviation is 1e-6, of which float32 keeps all digits around 0. */
START_TEST(deviations_of_huge_concentrations_keep_their_digits) {
    static double draws[DRAWS];
    for (int p = 0; p < 2; p++) {
        double square = 0.0;
        precisions[p](62, 0.0, 1e12, DRAWS, draws);
        qsort(draws, DRAWS, sizeof *draws, compare_doubles);
        for (int i = 0; i < DRAWS; i++) {
            square += draws[i] * draws[i] * 1e12 / DRAWS;
            ck_assert(i == 0 || draws[i] > draws[i - 1] || p == 1);
        }
        ck_assert_double_eq_tol(square, 1.0, 5.0 * sqrt(2.0 / DRAWS));
    }
}
END_TEST

static void assert_refused(double mu, double kappa, const char *message) {
    double mus[3] = {0.0, 0.0, mu}, kappas[3] = {1.0, 1.0, kappa}, out[3] = {7.0, 7.0, 7.0};
    float mus_f[3] = {0.0f, 0.0f, (float)mu}, kappas_f[3] = {1.0f, 1.0f, (float)kappa}, out_f[3] = {7.0f, 7.0f, 7.0f};
    const cm_von_mises_draws_d d = {.count = 3, .mu = mus, .kappa = kappas, .out = out};
    const cm_von_mises_draws_f f = {.count = 3, .mu = mus_f, .kappa = kappas_f, .out = out_f};
    ck_assert_int_eq(cm_von_mises_batch_d(NULL, &d), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), message);
    ck_assert_int_eq(cm_von_mises_batch_f(NULL, &f), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), message);
    ck_assert(out[0] == 7.0 && out_f[0] == 7.0f);
}

START_TEST(what_is_no_angle_or_no_concentration_is_refused_by_its_place) {
    assert_refused((double)NAN, 1.0, "von Mises: mu[2] is nan; a finite angle in radians is wanted");
    assert_refused((double)INFINITY, 1.0, "von Mises: mu[2] is inf; a finite angle in radians is wanted");
    assert_refused(0.0, (double)NAN, "von Mises: kappa[2] is nan; a concentration from 0 to 1e30 is wanted");
    assert_refused(0.0, (double)INFINITY, "von Mises: kappa[2] is inf; a concentration from 0 to 1e30 is wanted");
    assert_refused(0.0, -0.5, "von Mises: kappa[2] is -0.5; a concentration from 0 to 1e30 is wanted");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("von Mises");
    TCase *distribution = tcase_create("distribution"), *batches = tcase_create("batches"),
          *ends = tcase_create("ends");
    tcase_add_test(distribution, entropy_mean_cosine_and_density_are_those_of_the_specification);
    tcase_add_test(distribution, series_agree_where_they_meet_and_with_the_slope);
    tcase_add_loop_test(distribution, draws_have_the_exact_distribution, 0, 2);
    tcase_add_loop_test(distribution, draws_have_the_mean_cosine_and_no_mean_sine, 0, 2);
    tcase_add_test(distribution, attempts_are_accepted_as_often_as_the_specification_says);
    tcase_add_test(batches, a_batch_draws_what_each_stream_does_by_any_number_of_threads);
    tcase_add_test(batches, float32_batches_draw_what_each_stream_does);
    tcase_add_test(batches, every_instruction_set_draws_the_same_bits);
    tcase_add_test(batches, one_mu_and_one_kappa_stand_for_all_and_first_moves_on);
    tcase_add_test(ends, angles_stay_in_minus_pi_to_pi_for_any_mu);
    tcase_add_test(ends, mu_counts_modulo_a_turn);
    tcase_add_test(ends, deviations_of_huge_concentrations_keep_their_digits);
    tcase_add_test(ends, what_is_no_angle_or_no_concentration_is_refused_by_its_place);
    suite_add_tcase(suite, distribution);
    suite_add_tcase(suite, batches);
    suite_add_tcase(suite, ends);
    return cm_test_main(suite);
}
