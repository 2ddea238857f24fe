/* Actions drawn for a search: what is drawn, how often, and that it depends on the seed alone. */
#include "backend/sampling.h"

#include <check.h>
#include <stdlib.h>

#include "support/main.h"

enum { MOST = 64 };

/* Draws, and gives how often each action came. Checks what holds of every draw. */
static void draw(const float *p, cm_policy_form form, const float *seed, int draws, int *times) {
    float list[MOST], logits[MOST];
    int all = 0, last = -1;
    const int actions = cm_policy_actions(form);
    cm_sampling_draw(p, form, seed, draws, list, logits);
    for (int a = 0; a < actions; a++) times[a] = 0;
    for (int i = 0; i < draws; i++) {
        if (logits[i] == -FLT_MAX) {
            ck_assert_float_eq(list[i], 0.0f);
            continue;
        }
        ck_assert_int_gt((int)list[i], last); /* ascending, and in front of those that are not there */
        ck_assert(i == 0 || logits[i - 1] > -FLT_MAX);
        last = (int)list[i];
        ck_assert_int_lt(last, actions);
        times[last] = (int)lrintf(expf(logits[i]) * (float)draws);
        ck_assert_int_gt(times[last], 0);
        all += times[last];
    }
    ck_assert_int_eq(all, draws);
}

static void seed_of(uint64_t number, float *seed) { cm_sampling_seed(cm_key_make(number, CM_RNG_TEST, 1), seed); }

START_TEST(every_action_is_drawn_by_its_probability) {
    enum { DRAWS = 10, ROUNDS = 4000, ACTIONS = 7 };
    static const float p[ACTIONS] = {0.0f, 0.02f, 0.4f, 0.0f, 0.25f, 0.33f, 0.0f};
    double sum[ACTIONS] = {0};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        float seed[CM_SAMPLING_SEED];
        int times[ACTIONS];
        seed_of(round, seed);
        draw(p, cm_policy_form_of(ACTIONS, 1), seed, DRAWS, times);
        for (int a = 0; a < ACTIONS; a++) {
            ck_assert(fabs((double)times[a] - (double)(DRAWS * p[a])) < 2.0);
            ck_assert(p[a] > 0.0f || times[a] == 0);
            sum[a] += times[a];
        }
    }
    for (int a = 0; a < ACTIONS; a++) { /* a count varies by at most 1/2, so its mean by 0.008: five times that */
        double mean = sum[a] / ROUNDS;
        ck_assert_msg(fabs(mean - (double)(DRAWS * p[a])) < 0.04, "action %d: %g in the mean", a, mean);
    }
}
END_TEST

/* Three numbers: actions as often as the product of their probabilities says, and of each number each value always
 * within two of its share. */
START_TEST(numbers_are_drawn_by_themselves_and_put_together_at_random) {
    enum { DRAWS = 12, ROUNDS = 20000, VALUES = 3, NUMBERS = 3, ACTIONS = 27 };
    static const float p[NUMBERS * VALUES] = {0.5f, 0.2f, 0.3f, 0.0f, 0.6f, 0.4f, 0.1f, 0.1f, 0.8f};
    const cm_policy_form form = {.numbers = NUMBERS, .values = VALUES};
    double sum[ACTIONS] = {0};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        float seed[CM_SAMPLING_SEED];
        int times[ACTIONS], of_value[NUMBERS * VALUES] = {0};
        seed_of(round, seed);
        draw(p, form, seed, DRAWS, times);
        for (int a = 0; a < ACTIONS; a++) {
            sum[a] += times[a];
            for (int d = 0; d < NUMBERS; d++) of_value[d * VALUES + cm_policy_number(form, a, d)] += times[a];
        }
        for (int i = 0; i < NUMBERS * VALUES; i++) {
            ck_assert(fabs((double)of_value[i] - (double)(DRAWS * p[i])) < 2.0);
            ck_assert(p[i] > 0.0f || of_value[i] == 0);
        }
    }
    for (int a = 0; a < ACTIONS; a++) { /* the count of 12 draws varies by less than 1.8, its mean by less than 0.013 */
        const double pi = (double)(p[a / 9] * p[VALUES + a / 3 % 3] * p[2 * VALUES + a % 3]), mean = sum[a] / ROUNDS;
        ck_assert_msg(fabs(mean - DRAWS * pi) < 0.05, "action %d: %g in the mean, not %g", a, mean, DRAWS * pi);
    }
}
END_TEST

/* Of 2^24 actions, the most there may be, every one is exact. */
START_TEST(the_last_of_all_actions_can_be_drawn) {
    float p[8 * 8] = {0}, seed[CM_SAMPLING_SEED], list[4], logits[4];
    for (int d = 0; d < 8; d++) p[8 * d + 7] = 1.0f;
    seed_of(8, seed);
    cm_sampling_draw(p, cm_policy_form_of(CM_POLICY_ACTIONS, 8), seed, 4, list, logits);
    ck_assert(list[0] == 16777215.0f && logits[0] == 0.0f && logits[1] == -FLT_MAX);
}
END_TEST

START_TEST(an_action_that_has_all_the_probability_is_drawn_every_time) {
    static const float p[4] = {0.0f, 0.0f, 1.0f, 0.0f};
    float seed[CM_SAMPLING_SEED];
    int times[4];
    seed_of(3, seed);
    draw(p, cm_policy_form_of(4, 1), seed, 20, times);
    ck_assert_int_eq(times[2], 20);
}
END_TEST

/* Equal probabilities, and a draw for each: all of them come, and come once. */
START_TEST(equal_parts_have_one_draw_each) {
    float p[16], seed[CM_SAMPLING_SEED];
    int times[16];
    for (int a = 0; a < 16; a++) p[a] = 0.0625f;
    seed_of(4, seed);
    draw(p, cm_policy_form_of(16, 1), seed, 16, times);
    for (int a = 0; a < 16; a++) ck_assert_int_eq(times[a], 1);
}
END_TEST

START_TEST(no_probability_at_all_is_action_0) {
    static const float p[3] = {0};
    float seed[CM_SAMPLING_SEED];
    int times[3];
    seed_of(5, seed);
    draw(p, cm_policy_form_of(3, 1), seed, 4, times);
    ck_assert_int_eq(times[0], 4);
}
END_TEST

START_TEST(what_is_no_number_shows_in_the_logits) {
    const float p[3] = {0.5f, NAN, 0.5f};
    float seed[CM_SAMPLING_SEED], list[4], logits[4];
    seed_of(6, seed);
    cm_sampling_draw(p, cm_policy_form_of(3, 1), seed, 4, list, logits);
    for (int i = 0; i < 4; i++) ck_assert(isnan(logits[i]));
    for (int i = 0; i < 4; i++) ck_assert(list[i] >= 0.0f && list[i] < 3.0f);
}
END_TEST

/* An angle in steps of a 256th of a bin. The mean cosine of what is drawn around a bin is that of the von Mises
 * distribution, to five standard errors; every draw counts for what the bin's neighbours and itself are. */
START_TEST(angles_are_drawn_around_their_bins) {
    enum { DRAWS = 16, ROUNDS = 1000, BINS = 16, STEPS = 256 };
    const double a_step = 2.0 * CM_PI_D / (BINS * STEPS);
    const cm_policy_form form = {.numbers = 1, .values = BINS, .angles = 1, .steps = STEPS, .spread = 0.5f};
    const int bin = _i == 0 ? 0 : BINS - 1;
    float p[BINS] = {0};
    double cosine = 0.0, sine = 0.0;
    p[bin] = 1.0f;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        float seed[CM_SAMPLING_SEED], list[DRAWS], logits[DRAWS];
        seed_of(round, seed);
        cm_sampling_draw(p, form, seed, DRAWS, list, logits);
        for (int i = 0; i < DRAWS && logits[i] > -FLT_MAX; i++) {
            const int times = (int)lrintf(expf(logits[i]) * (float)DRAWS);
            ck_assert(list[i] >= 0.0f && list[i] < (float)(BINS * STEPS));
            cosine += times * cos(a_step * ((double)list[i] - bin * STEPS));
            sine += times * sin(a_step * ((double)list[i] - bin * STEPS));
        }
    }
    const double kappa = pow(BINS / (2.0 * CM_PI_D * 0.5), 2.0), n = DRAWS * ROUNDS;
    ck_assert_msg(fabs(cosine / n - cm_von_mises_mean_cosine(kappa)) < 5.0 / (kappa * sqrt(n)), "%g", cosine / n);
    ck_assert_msg(fabs(sine / n) < 5.0 / sqrt(kappa * n), "%g", sine / n);
}
END_TEST

START_TEST(angles_without_spread_are_bins) {
    const float spread = _i ? 1e-30f : 0.0f;
    const cm_policy_form form = {.numbers = 2, .values = 8, .angles = 2, .steps = 100, .spread = spread};
    float p[16], seed[CM_SAMPLING_SEED], list[20], logits[20];
    for (int i = 0; i < 16; i++) p[i] = 0.125f;
    seed_of(2, seed);
    cm_sampling_draw(p, form, seed, 20, list, logits);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(cm_policy_number(form, (int)list[i], 1) % 100, 0);
        ck_assert(i == 0 || logits[i] == -FLT_MAX || list[i] > list[i - 1]);
    }
}
END_TEST

START_TEST(nodes_have_seeds_of_their_own) {
    float seed[CM_SAMPLING_SEED], below[8][CM_SAMPLING_SEED], again[CM_SAMPLING_SEED];
    seed_of(7, seed);
    for (int i = 0; i < 8; i++) {
        cm_sampling_below(seed, i, below[i]);
        for (int k = 0; k < CM_SAMPLING_SEED; k++)
            ck_assert(below[i][k] >= 0.0f && below[i][k] < 0x1p24f && below[i][k] == truncf(below[i][k]));
        for (int j = 0; j < i; j++) ck_assert(memcmp(below[i], below[j], sizeof below[i]) != 0);
    }
    cm_sampling_below(seed, 3, again);
    ck_assert_mem_eq(again, below[3], sizeof again);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/sampling");
    TCase *tests = tcase_create("draws");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, every_action_is_drawn_by_its_probability);
    tcase_add_test(tests, numbers_are_drawn_by_themselves_and_put_together_at_random);
    tcase_add_test(tests, the_last_of_all_actions_can_be_drawn);
    tcase_add_test(tests, an_action_that_has_all_the_probability_is_drawn_every_time);
    tcase_add_test(tests, equal_parts_have_one_draw_each);
    tcase_add_test(tests, no_probability_at_all_is_action_0);
    tcase_add_test(tests, what_is_no_number_shows_in_the_logits);
    tcase_add_loop_test(tests, angles_are_drawn_around_their_bins, 0, 2);
    tcase_add_loop_test(tests, angles_without_spread_are_bins, 0, 2);
    tcase_add_test(tests, nodes_have_seeds_of_their_own);
    return cm_test_main(suite);
}
