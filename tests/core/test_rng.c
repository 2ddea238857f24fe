#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/rng.h"
#include "support/main.h"

/* Random123, kat_vectors: philox4x32 with 10 rounds. */
START_TEST(philox_matches_the_published_vectors) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        cm_key key = {{cases[i].key[0], cases[i].key[1]}};
        uint32_t out[4];
        cm_philox(cases[i].counter, key, out);
        for (int j = 0; j < 4; j++) ck_assert_uint_eq(out[j], cases[i].out[j]);
    }
}
END_TEST

static cm_key test_key(uint64_t instance) { return cm_key_make(42, CM_RNG_TEST, instance); }
static uint64_t word(cm_key key) { return (uint64_t)key.word[0] << 32 | key.word[1]; }

static int compare_words(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void assert_distinct(uint64_t *words, size_t n) {
    qsort(words, n, sizeof *words, compare_words);
    for (size_t i = 1; i < n; i++) ck_assert_uint_ne(words[i - 1], words[i]);
}

START_TEST(same_seed_gives_the_same_five_keys) {
    for (uint64_t i = 0; i < 5; i++) {
        const uint64_t first = word(cm_key_fold_in(cm_key_make(42, CM_RNG_TEST, 0), i));
        ck_assert_uint_eq(first, word(cm_key_fold_in(cm_key_make(42, CM_RNG_TEST, 0), i)));
        ck_assert_uint_ne(first, word(cm_key_fold_in(cm_key_make(43, CM_RNG_TEST, 0), i)));
    }
}
END_TEST

START_TEST(hundred_successive_keys_are_distinct) {
    cm_key key = test_key(0);
    uint64_t words[100];
    for (int i = 0; i < 100; i++) {
        words[i] = word(cm_key_fold_in(key, 1));
        key = cm_key_fold_in(key, 0);
    }
    assert_distinct(words, 100);
}
END_TEST

START_TEST(seeds_purposes_instances_and_data_give_distinct_keys) {
    enum { SEEDS = 10, PURPOSES = CM_RNG_TEST + 1, INSTANCES = 50 };
    static uint64_t words[SEEDS * PURPOSES * INSTANCES * 2];
    size_t n = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int purpose = 0; purpose < PURPOSES; purpose++)
            for (uint64_t instance = 0; instance < INSTANCES; instance++) {
                cm_key key = cm_key_make(seed << 30, (cm_purpose)purpose, instance << 31);
                words[n++] = word(key);
                words[n++] = word(cm_key_fold_in(key, 7));
            }
    assert_distinct(words, n);
}
END_TEST

START_TEST(streams_of_different_steps_share_no_block) {
    enum { STEPS = 200, WORDS = 12 };
    static uint64_t words[STEPS * WORDS / 2];
    size_t n = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        cm_rng rng = cm_rng_init(test_key(2), step << 20);
        for (int i = 0; i < WORDS / 2; i++) {
            uint64_t high = cm_rng_bits(&rng);
            words[n++] = high << 32 | cm_rng_bits(&rng);
        }
    }
    assert_distinct(words, n);
}
END_TEST

/* --- distributions: moments within 5 standard errors, Kolmogorov-Smirnov at about 1e-6 --- */

enum { DRAWS = 100000 };
static double sample[DRAWS];

static void assert_moments(const char *what, double mean, double variance, double kurtosis) {
    double m = 0.0, v = 0.0;
    for (int i = 0; i < DRAWS; i++) m += sample[i] / DRAWS;
    for (int i = 0; i < DRAWS; i++) v += (sample[i] - m) * (sample[i] - m) / (DRAWS - 1);
    ck_assert_msg(fabs(m - mean) < 5.0 * sqrt(variance / DRAWS), "%s: mean %g, want %g", what, m, mean);
    ck_assert_msg(fabs(v - variance) < 5.0 * variance * sqrt((kurtosis - 1.0) / DRAWS), "%s: variance %g, want %g",
                  what, v, variance);
}

/* Largest distance of the empirical from the true distribution function, times sqrt(n); above 2.7 once in a million. */
static void assert_distribution(const char *what, double (*cdf)(double)) {
    qsort(sample, DRAWS, sizeof *sample, compare_doubles);
    double distance = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        const double f = cdf(sample[i]), steps[2] = {fabs(f - (double)i / DRAWS), fabs(f - (i + 1.0) / DRAWS)};
        for (int k = 0; k < 2; k++)
            if (!(steps[k] <= distance)) distance = steps[k];
    }
    ck_assert_msg(distance * sqrt(DRAWS) < 2.7, "%s: KS distance %g sqrt(n)", what, distance * sqrt(DRAWS));
}

static double uniform_cdf(double x) { return fmin(fmax(x, 0.0), 1.0); }
static double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }
static double gumbel_cdf(double x) { return exp(-exp(-x)); }
static double gamma1_cdf(double x) { return 1.0 - exp(-x); }
static double gamma_half_cdf(double x) { return erf(sqrt(x)); }
static double gamma3_cdf(double x) { return 1.0 - exp(-x) * (1.0 + x + 0.5 * x * x); }

START_TEST(uniform_has_mean_half_variance_a_twelfth_and_stays_below_one) {
    cm_rng rng = cm_rng_init(test_key(3), 0);
    for (int i = 0; i < DRAWS; i++) {
        sample[i] = (double)cm_rng_uniform(&rng);
        ck_assert(sample[i] >= 0.0 && sample[i] < 1.0);
    }
    assert_moments("uniform", 0.5, 1.0 / 12.0, 1.8);
    assert_distribution("uniform", uniform_cdf);
    for (int i = 0; i < DRAWS; i++) sample[i] = cm_rng_uniform_double(&rng);
    assert_moments("uniform double", 0.5, 1.0 / 12.0, 1.8);
    assert_distribution("uniform double", uniform_cdf);
}
END_TEST

START_TEST(below_ten_draws_each_integer_equally_often) {
    int count[10] = {0};
    double chi = 0.0;
    cm_rng rng = cm_rng_init(test_key(4), 0);
    for (int i = 0; i < DRAWS; i++) count[cm_rng_below(&rng, 10)]++;
    for (int i = 0; i < 10; i++) chi += pow(count[i] - DRAWS / 10.0, 2.0) / (DRAWS / 10.0);
    ck_assert_msg(chi < 45.0, "chi-square of 9 degrees %g", chi); /* 1e-6 */
    for (int i = 0; i < 100; i++) ck_assert_uint_eq(cm_rng_below(&rng, 1), 0);
    int high = 0; /* n = 3 * 2^30: a biased method would draw the lower half of a 2^30 block too often */
    for (int i = 0; i < DRAWS; i++) high += cm_rng_below(&rng, 3u << 30) >= 3u << 29;
    ck_assert_msg(abs(high - DRAWS / 2) < 5 * 158, "%d of %d in the upper half", high, DRAWS);
}
END_TEST

START_TEST(pick_draws_each_open_index_equally_often_and_never_another) {
    const uint8_t mask[8] = {0, 1, 0, 0, 1, 1, 0, 1}, none[3] = {0, 0, 0};
    int count[8] = {0};
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < 40000; i++) count[cm_rng_pick(&rng, mask, 8)]++;
    for (int k = 0; k < 8; k++) {
        if (mask[k]) {
            ck_assert_int_le(abs(count[k] - 10000), 400); /* more than 4 deviations */
        } else {
            ck_assert_int_eq(count[k], 0);
        }
    }
    ck_assert_int_eq(cm_rng_pick(&rng, none, 3), 0);
}
END_TEST

START_TEST(normal_has_mean_0_variance_1_and_the_normal_distribution) {
    cm_rng rng = cm_rng_init(test_key(5), 0);
    for (int i = 0; i < DRAWS; i++) sample[i] = (double)cm_rng_normal(&rng);
    assert_moments("normal", 0.0, 1.0, 3.0);
    assert_distribution("normal", normal_cdf);
}
END_TEST

START_TEST(gumbel_has_mean_euler_and_variance_pi_squared_by_6) {
    cm_rng rng = cm_rng_init(test_key(6), 0);
    for (int i = 0; i < DRAWS; i++) sample[i] = (double)cm_rng_gumbel(&rng);
    assert_moments("gumbel", 0.57721566490153286, 1.6449340668482264, 5.4);
    assert_distribution("gumbel", gumbel_cdf);
}
END_TEST

START_TEST(gamma_has_mean_and_variance_of_its_shape) {
    static const struct {
        double shape;
        double (*cdf)(double); /* NULL: moments only */
    } cases[] = {{0.03, NULL}, {0.3, NULL}, {0.5, gamma_half_cdf}, {1.0, gamma1_cdf}, {3.0, gamma3_cdf}, {40.0, NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        cm_rng rng = cm_rng_init(test_key(7), c);
        char what[32];
        snprintf(what, sizeof what, "gamma(%g)", cases[c].shape);
        for (int i = 0; i < DRAWS; i++) sample[i] = cm_rng_gamma(&rng, cases[c].shape);
        assert_moments(what, cases[c].shape, cases[c].shape, 3.0 + 6.0 / cases[c].shape);
        if (cases[c].cdf) assert_distribution(what, cases[c].cdf);
    }
}
END_TEST

START_TEST(dirichlet_sums_to_1_and_each_entry_has_the_moments_of_a_beta) {
    enum { N = 5 };
    const double alpha = 0.3, total = N * alpha;
    cm_rng rng = cm_rng_init(test_key(8), 0);
    float out[N];
    for (int i = 0; i < DRAWS; i++) {
        cm_rng_dirichlet(&rng, alpha, N, out);
        double sum = 0.0;
        for (int a = 0; a < N; a++) sum += (double)out[a];
        ck_assert_double_eq_tol(sum, 1.0, 1e-6);
        sample[i] = (double)out[i % N];
    }
    double mean = 1.0 / N, variance = mean * (1.0 - mean) / (total + 1.0);
    assert_moments("dirichlet entry", mean, variance, 6.0);
}
END_TEST

START_TEST(dirichlet_of_tiny_alpha_never_divides_by_zero) {
    float out[4];
    for (uint64_t step = 0; step < 1000; step++) {
        cm_rng rng = cm_rng_init(test_key(9), step);
        cm_rng_dirichlet(&rng, 1e-6, 4, out);
        double sum = 0.0;
        for (int a = 0; a < 4; a++) sum += (double)out[a];
        ck_assert_double_eq_tol(sum, 1.0, 1e-6);
    }
}
END_TEST

START_TEST(categorical_follows_its_weights_and_never_draws_a_zero) {
    static const float weight[6] = {0.0f, 1.0f, 2.5f, 0.0f, 6.5f, 0.0f};
    int count[6] = {0};
    cm_rng rng = cm_rng_init(test_key(10), 0);
    for (int i = 0; i < DRAWS; i++) count[cm_rng_categorical(&rng, weight, 6)]++;
    double chi = 0.0;
    for (int i = 0; i < 6; i++) {
        double expected = (double)weight[i] / 10.0 * DRAWS;
        if (expected > 0.0) {
            chi += pow(count[i] - expected, 2.0) / expected;
        } else {
            ck_assert_int_eq(count[i], 0);
        }
    }
    ck_assert_msg(chi < 28.0, "chi-square of 2 degrees %g", chi); /* 1e-6 */
}
END_TEST

int main(void) {
    Suite *suite = suite_create("rng");
    TCase *keys = tcase_create("keys"), *numbers = tcase_create("distributions");
    tcase_add_test(keys, philox_matches_the_published_vectors);
    tcase_add_test(keys, same_seed_gives_the_same_five_keys);
    tcase_add_test(keys, hundred_successive_keys_are_distinct);
    tcase_add_test(keys, seeds_purposes_instances_and_data_give_distinct_keys);
    tcase_add_test(keys, streams_of_different_steps_share_no_block);
    tcase_add_test(numbers, uniform_has_mean_half_variance_a_twelfth_and_stays_below_one);
    tcase_add_test(numbers, below_ten_draws_each_integer_equally_often);
    tcase_add_test(numbers, pick_draws_each_open_index_equally_often_and_never_another);
    tcase_add_test(numbers, normal_has_mean_0_variance_1_and_the_normal_distribution);
    tcase_add_test(numbers, gumbel_has_mean_euler_and_variance_pi_squared_by_6);
    tcase_add_test(numbers, gamma_has_mean_and_variance_of_its_shape);
    tcase_add_test(numbers, dirichlet_sums_to_1_and_each_entry_has_the_moments_of_a_beta);
    tcase_add_test(numbers, dirichlet_of_tiny_alpha_never_divides_by_zero);
    tcase_add_test(numbers, categorical_follows_its_weights_and_never_draws_a_zero);
    suite_add_tcase(suite, keys);
    suite_add_tcase(suite, numbers);
    return cm_test_main(suite);
}
