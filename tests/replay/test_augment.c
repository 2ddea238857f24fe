/* Augmentation against pictures that are padded and cut in plain arrays; how its draws are spread; which rows share
 * one. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/augment.h"
#include "support/main.h"

enum { HEIGHT = 6, WIDTH = 7, CHANNELS = 2, SIZE = HEIGHT * WIDTH * CHANNELS, ROWS = 24, UNROLL = 3, MOST = 40 };

static cm_rng fixed(uint64_t number) { return cm_rng_init(cm_key_make(7, CM_RNG_TEST, number), 0); }

/* Pads by `shift` pixels that repeat the borders, and cuts at offset (shift + down, shift + right). */
static void pad_and_cut(const cm_augmentation *a, cm_augment_draw d, const float *picture, float *out) {
    static float padded[(MOST + 2 * MOST) * (MOST + 2 * MOST) * 4];
    const int s = a->shift, h = a->height, w = a->width, c = a->channels, wide = w + 2 * s;
    for (int y = 0; y < h + 2 * s; y++) {
        for (int x = 0; x < wide; x++) {
            const int from_y = y < s ? 0 : y - s >= h ? h - 1 : y - s, from_x = x < s ? 0 : x - s >= w ? w - 1 : x - s;
            for (int i = 0; i < c; i++) padded[(y * wide + x) * c + i] = picture[(from_y * w + from_x) * c + i];
        }
    }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w * c; x++)
            out[y * w * c + x] = padded[((y + s + d.down) * wide + s + d.right) * c + x] * d.factor;
}

START_TEST(a_picture_is_padded_with_its_borders_cut_and_multiplied) {
    static float picture[MOST * MOST * 4], want[MOST * MOST * 4];
    cm_rng rng = fixed((uint64_t)_i);
    const cm_augmentation a = {.height = 1 + (int)cm_rng_below(&rng, 12),
                               .width = 1 + (int)cm_rng_below(&rng, 12),
                               .channels = 1 + (int)cm_rng_below(&rng, 4),
                               .shift = (int)cm_rng_below(&rng, 16), /* more than the picture has, too */
                               .intensity = 0.05};
    const size_t size = (size_t)(a.height * a.width * a.channels);
    for (int n = 0; n < 40; n++) {
        for (size_t i = 0; i < size; i++) picture[i] = cm_rng_uniform(&rng);
        const cm_augment_draw d = cm_augment_next(&a, &rng);
        ck_assert_int_le(abs(d.down), a.shift);
        ck_assert_int_le(abs(d.right), a.shift);
        pad_and_cut(&a, d, picture, want);
        cm_augment_picture(&a, d, picture);
        ck_assert_mem_eq(picture, want, size * sizeof *want);
    }
}
END_TEST

START_TEST(borders_repeat_as_worked_by_hand) {
    float picture[6] = {1, 2, 3, 4, 5, 6}; /* rows 1 2 3 and 4 5 6 */
    const cm_augmentation a = {.height = 2, .width = 3, .channels = 1, .shift = 4};
    cm_augment_picture(&a, (cm_augment_draw){1, -1, 0.5f}, picture);
    const float want[6] = {2, 2, 2.5f, 2, 2, 2.5f};
    ck_assert_mem_eq(picture, want, sizeof want);
}
END_TEST

START_TEST(offset_4_without_intensity_is_the_identity) {
    float picture[SIZE], before[SIZE];
    cm_rng rng = fixed(0);
    const cm_augmentation a = {HEIGHT, WIDTH, CHANNELS, 4, 0.0};
    for (int i = 0; i < SIZE; i++) before[i] = picture[i] = cm_rng_uniform(&rng);
    ck_assert_float_eq(cm_augment_next(&a, &rng).factor, 1.0f);
    cm_augment_picture(&a, (cm_augment_draw){0, 0, 1.0f}, picture);
    ck_assert_mem_eq(picture, before, sizeof before);
}
END_TEST

/* 81 offsets, each within 4 sigma (of 81 one in 16,000 lies outside); a normal number clipped at 2 has the standard
 * deviation .9595, times .05 .048. */
START_TEST(offsets_are_even_and_factors_have_mean_1_and_deviation_048) {
    enum { DRAWS = 81000 };
    const cm_augmentation a = {84, 84, 4, 4, 0.05};
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
    const cm_batch_config config = {
        .rows = rows, .consistency = true, .bootstrap = true, .seed = 3, .first_row = first_row};
    cm_batch *batch;
    ck_assert_int_eq(cm_batch_create(replay, &config, &batch), CM_OK);
    ck_assert_int_eq(cm_replay_sample(replay, update, 0.4, batch), CM_OK);
    return batch;
}

static const cm_augmentation usual = {HEIGHT, WIDTH, CHANNELS, 2, 0.05};

/* Finds the offset that made `picture` of `before`, by its inner pixel, and checks all the rest of it. */
static cm_augment_draw find(const float *before, const float *picture) {
    float want[SIZE];
    const int inner = (2 * WIDTH + 3) * CHANNELS; /* (2, 3), which no border reaches */
    for (int i = 0; i < 25; i++) {
        cm_augment_draw d = {i / 5 - 2, i % 5 - 2, 1.0f};
        const float *from = before + ((2 + d.down) * WIDTH + 3 + d.right) * CHANNELS;
        int same = 0;
        d.factor = picture[inner] / from[0];
        if (fabsf(d.factor - 1.0f) > 0.1001f) continue;
        pad_and_cut(&usual, d, before, want);
        for (int k = 0; k < SIZE; k++) same += fabsf(want[k] - picture[k]) < 1e-5f;
        if (same == SIZE) return d;
    }
    ck_abort_msg("no offset makes the picture");
}

START_TEST(a_sample_has_one_draw_for_its_picture_and_one_for_all_later_ones) {
    cm_replay *replay = make_replay();
    cm_batch *plain = draw(replay, ROWS, 0, 5), *batch = draw(replay, ROWS, 0, 5);
    int apart = 0, offsets = 0;
    cm_batch_augment(&usual, batch);
    for (int row = 0; row < ROWS; row++) {
        const cm_augment_draw now = find(plain->observation + row * SIZE, batch->observation + row * SIZE);
        cm_augment_draw later = now;
        for (int k = 0; k < UNROLL && plain->consistency_mask[row * UNROLL + k] > 0.0f; k++) {
            const size_t at = (size_t)(row * UNROLL + k) * SIZE;
            const cm_augment_draw d = find(plain->target_observations + at, batch->target_observations + at);
            if (k > 0) ck_assert(d.down == later.down && d.right == later.right);
            if (k > 0) ck_assert_float_eq_tol(d.factor, later.factor, 1e-5f);
            later = d;
        }
        apart += now.down != later.down || now.right != later.right;
        offsets |= 1 << ((now.down + 2) * 5 + now.right + 2);
    }
    ck_assert_int_gt(apart, ROWS / 2);
    ck_assert_int_gt(__builtin_popcount((unsigned)offsets), 8);
    ck_assert_mem_eq(batch->bootstrap_observations, plain->bootstrap_observations,
                     sizeof(float) * ROWS * (UNROLL + 1) * SIZE);
    cm_batch_destroy(plain);
    cm_batch_destroy(batch);
    cm_replay_destroy(replay);
}
END_TEST

START_TEST(draws_follow_from_seed_row_and_update_alone) {
    cm_replay *replay = make_replay();
    cm_batch *whole = draw(replay, ROWS, 0, 5), *again = draw(replay, ROWS, 0, 5), *half;
    const size_t picture = SIZE * sizeof(float);
    cm_batch_augment(&usual, whole);
    cm_batch_augment(&usual, again);
    ck_assert_mem_eq(whole->observation, again->observation, ROWS * picture);
    ck_assert_mem_eq(whole->target_observations, again->target_observations, ROWS * UNROLL * picture);
    half = draw(replay, ROWS / 2, ROWS / 2, 5); /* the second rank's, with the pictures of the whole batch */
    cm_batch_destroy(again);
    again = draw(replay, ROWS, 0, 5);
    memcpy(half->observation, again->observation + ROWS / 2 * SIZE, ROWS / 2 * picture);
    cm_batch_augment(&usual, half);
    ck_assert_mem_eq(half->observation, whole->observation + ROWS / 2 * SIZE, ROWS / 2 * picture);
    again->update = 6;
    cm_batch_augment(&usual, again);
    ck_assert(memcmp(again->observation, whole->observation, ROWS * picture) != 0);
    cm_batch_destroy(half);
    cm_batch_destroy(whole);
    cm_batch_destroy(again);
    cm_replay_destroy(replay);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("augment");
    TCase *tests = tcase_create("augment");
    tcase_add_loop_test(tests, a_picture_is_padded_with_its_borders_cut_and_multiplied, 0, 30);
    tcase_add_test(tests, borders_repeat_as_worked_by_hand);
    tcase_add_test(tests, offset_4_without_intensity_is_the_identity);
    tcase_add_test(tests, offsets_are_even_and_factors_have_mean_1_and_deviation_048);
    tcase_add_test(tests, a_sample_has_one_draw_for_its_picture_and_one_for_all_later_ones);
    tcase_add_test(tests, draws_follow_from_seed_row_and_update_alone);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
