/* How draws of augmentation are spread, and which rows share one. What is done with them: backend/test_stack_frames. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/batch.h"
#include "support/main.h"

enum { HEIGHT = 6, WIDTH = 7, CHANNELS = 2, SIZE = HEIGHT * WIDTH * CHANNELS, ROWS = 24, UNROLL = 3 };

static cm_rng fixed(uint64_t number) { return cm_rng_init(cm_key_make(7, CM_RNG_TEST, number), 0); }

START_TEST(without_intensity_the_factor_is_1) {
    cm_rng rng = fixed(0);
    const cm_augmentation a = {4, 0.0};
    for (int i = 0; i < 100; i++) ck_assert_float_eq(cm_augment_next(&a, &rng).factor, 1.0f);
}
END_TEST

START_TEST(without_a_shift_no_picture_is_moved) {
    cm_rng rng = fixed(0);
    const cm_augmentation a = {0, 0.05};
    for (int i = 0; i < 100; i++) {
        const cm_augment_draw d = cm_augment_next(&a, &rng);
        ck_assert(d.down == 0 && d.right == 0);
    }
}
END_TEST

/* 81 offsets, each within 4 sigma (of 81 one in 16,000 lies outside); a normal number clipped at 2 has the standard
 * deviation .9595, times .05 .048. */
START_TEST(offsets_are_even_and_factors_have_mean_1_and_deviation_048) {
    enum { DRAWS = 81000 };
    const cm_augmentation a = {4, 0.05};
    static int count[9][9];
    double sum = 0.0, squares = 0.0, most = 0.0;
    cm_rng rng = fixed(1);
    memset(count, 0, sizeof count);
    for (int n = 0; n < DRAWS; n++) {
        const cm_augment_draw d = cm_augment_next(&a, &rng);
        const double off = (double)d.factor - 1.0;
        count[d.down + 4][d.right + 4]++;
        sum += off, squares += off * off, most = fmax(most, fabs(off));
    }
    for (int i = 0; i < 81; i++) ck_assert_int_le(abs(count[i / 9][i % 9] - 1000), 4 * 32);
    ck_assert_double_eq_tol(sum / DRAWS, 0.0, 4.0 * 0.048 / sqrt(DRAWS));
    ck_assert_double_eq_tol(sqrt(squares / DRAWS), 0.04797, 0.0005);
    ck_assert_double_eq_tol(most, 0.1, 1e-6);
}
END_TEST

/* ---- batches ---- */

static cm_replay *make_replay(void) {
    const cm_replay_config config = {
        .observation_size = SIZE,
        .actions = 2,
        .environments = 1,
        .bytes = 1 << 20,
        .max_steps = 1000,
        .segment_steps = 100,
        .commit_steps = 100,
        .targets = {.unroll = UNROLL, .td_steps = 3, .discount = 1.0},
    };
    const float policy[2] = {1, 1};
    float picture[SIZE];
    cm_rng rng = fixed(2);
    cm_replay *replay;
    ck_assert_msg(cm_replay_create(&config, &replay) == CM_OK, "%s", cm_error_message());
    for (int t = 0; t < 100; t++) {
        for (int i = 0; i < SIZE; i++) picture[i] = cm_rng_uniform(&rng);
        const cm_replay_step step = {.observation = picture, .policy = policy};
        ck_assert_int_eq(cm_replay_append(replay, 0, &step), CM_OK);
    }
    ck_assert_int_eq(cm_replay_finish(replay, 0, &(cm_replay_end){.observation = picture, .terminated = true}), CM_OK);
    ck_assert_int_eq(cm_replay_commit(replay), CM_OK);
    return replay;
}

static cm_batch *draw(const cm_replay *replay, int rows, uint64_t first_row, uint64_t update) {
    const cm_batch_config config = {.rows = rows,
                                    .consistency = true,
                                    .frames = true,
                                    .augmentation = {2, 0.05},
                                    .seed = 3,
                                    .first_row = first_row};
    cm_batch *batch;
    ck_assert_int_eq(cm_batch_create(replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(replay, update, 0.4, batch), CM_OK);
    return batch;
}

START_TEST(a_sample_has_one_draw_for_its_picture_and_one_for_all_later_ones) {
    cm_replay *replay = make_replay();
    cm_batch *batch = draw(replay, ROWS, 0, 5);
    const cm_batch_frames *f = &batch->frames;
    int apart = 0, offsets = 0;
    for (int row = 0; row < ROWS; row++) {
        const int32_t *now = f->shift + 4 * row, *later = now + 2;
        for (int i = 0; i < 4; i++) ck_assert_int_le(abs(now[i]), 2);
        for (int i = 0; i < 2; i++) ck_assert(fabsf(f->factor[2 * row + i] - 1.0f) <= 0.1001f);
        apart += (now[0] != later[0] || now[1] != later[1]) && f->factor[2 * row] != f->factor[2 * row + 1];
        offsets |= 1 << ((now[0] + 2) * 5 + now[1] + 2);
    }
    ck_assert_int_gt(apart, ROWS / 2);
    ck_assert_int_gt(__builtin_popcount((unsigned)offsets), 8);
    cm_batch_destroy(batch);
    cm_replay_destroy(replay);
}
END_TEST

/* Rows [first, first + rows) of `whole` have the draws of `part`. */
static bool are_equal(const cm_batch *whole, const cm_batch *part, int first) {
    const size_t rows = (size_t)part->config.rows;
    return memcmp(whole->frames.shift + 4 * first, part->frames.shift, rows * 4 * sizeof(int32_t)) == 0 &&
           memcmp(whole->frames.factor + 2 * first, part->frames.factor, rows * 2 * sizeof(float)) == 0;
}

START_TEST(draws_follow_from_seed_row_and_update_alone) {
    cm_replay *replay = make_replay();
    cm_batch *whole = draw(replay, ROWS, 0, 5), *again = draw(replay, ROWS, 0, 5), *next = draw(replay, ROWS, 0, 6);
    cm_batch *half = draw(replay, ROWS / 2, ROWS / 2, 5); /* the second rank's */
    ck_assert(are_equal(whole, again, 0));
    ck_assert(are_equal(whole, half, ROWS / 2));
    ck_assert(!are_equal(whole, next, 0));
    cm_batch_destroy(whole);
    cm_batch_destroy(again);
    cm_batch_destroy(next);
    cm_batch_destroy(half);
    cm_replay_destroy(replay);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("augment");
    TCase *tests = tcase_create("augment");
    tcase_add_test(tests, without_intensity_the_factor_is_1);
    tcase_add_test(tests, without_a_shift_no_picture_is_moved);
    tcase_add_test(tests, offsets_are_even_and_factors_have_mean_1_and_deviation_048);
    tcase_add_test(tests, a_sample_has_one_draw_for_its_picture_and_one_for_all_later_ones);
    tcase_add_test(tests, draws_follow_from_seed_row_and_update_alone);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
