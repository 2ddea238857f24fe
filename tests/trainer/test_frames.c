/* Updates of pictures that come as their frames equal those of the same pictures made by plain loops, to the bit. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "support/main.h"
#include "support/updates.h"

enum { B = CM_TEST_UPDATE_ROWS, K = 3, A = 4, SIDE = 5, COUNT = 2, CELLS = SIDE * SIDE, PICTURE = CELLS * COUNT };
enum { EACH = COUNT + K + 1 }; /* one more than are used */

static uint8_t bytes[B * EACH * CELLS];
static float floats[B * EACH * CELLS]; /* the same numbers */
static int32_t index_of[B * (K + 1) * COUNT], shift[B * 4], actions[B * K];
static float factor[B * 2], observation[B * PICTURE], later[B * K * PICTURE];
static float numbers[B * (K + 1)], ones[B * (K + 1)], policy[B * (K + 1) * A];

static int within(int at) { return at < 0 ? 0 : at < SIDE ? at : SIDE - 1; }

/* o_{t+k} of a row. */
static void make_picture(int row, int k, float *out) {
    const int32_t *of = index_of + (row * (K + 1) + k) * COUNT, *by = shift + 4 * row + (k ? 2 : 0);
    for (int i = 0; i < PICTURE; i++) {
        const int y = within(i / COUNT / SIDE + by[0]), x = within(i / COUNT % SIDE + by[1]);
        const int frame = row * EACH + of[i % COUNT];
        out[i] = *of < 0 ? 0.0f : floats[frame * CELLS + y * SIDE + x] * factor[2 * row + (k > 0)];
    }
}

/* Row 1 begins an episode, row 2 ends one. */
static void fill(float unit) {
    cm_rng rng = cm_rng_init(cm_key_make(9, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < B * EACH * CELLS; i++) {
        bytes[i] = (uint8_t)cm_rng_below(&rng, 256);
        floats[i] = (float)bytes[i] * (unit > 0.0f ? unit : 0.01f);
    }
    for (int i = 0; i < B * 4; i++) shift[i] = (int)cm_rng_below(&rng, 5) - 2;
    for (int i = 0; i < B * 2; i++) factor[i] = 0.9f + 0.2f * cm_rng_uniform(&rng);
    for (int i = 0; i < B * (K + 1) * COUNT; i++) {
        const int row = i / COUNT / (K + 1), k = i / COUNT % (K + 1), place = k + i % COUNT;
        index_of[i] = row == 1 ? (place ? place - 1 : 0) : row == 2 && k > 1 ? -1 : place;
    }
    for (int i = 0; i < B * (K + 1); i++) numbers[i] = cm_rng_normal(&rng), ones[i] = 1.0f;
    for (int i = 0; i < B * (K + 1) * A; i++) policy[i] = i % A == i / A % A ? 0.5f : 0.25f;
    for (int i = 0; i < B * K; i++) actions[i] = i % A;
    for (int row = 0; row < B; row++) {
        make_picture(row, 0, observation + row * PICTURE);
        for (int k = 1; k <= K; k++) make_picture(row, k, later + (row * K + k - 1) * PICTURE);
    }
}

static int each = EACH; /* frames that a row is said to have */

/* Parameters after two updates, or after the first, where it is to end in an error, the caller's; *count of them. */
static float *learn_until(const cm_network_config *c, const cm_trainer_options *o, cm_trainer_frames frames,
                          cm_status end, size_t *count) {
    const bool is_whole = frames.count == 0; /* the other ones are then not there */
    const cm_train_batch batch = {
        .frames = {each, frames.unit > 0.0f ? (const void *)bytes : floats, index_of, shift, factor},
        .observation = is_whole ? observation : NULL,
        .actions = actions,
        .target_value = numbers,
        .target_reward = numbers,
        .target_policy = policy,
        .value_mask = ones,
        .reward_mask = ones,
        .policy_mask = ones,
        .consistency_mask = ones,
        .target_observations = is_whole ? later : NULL};
    cm_backend *backend;
    cm_network *network;
    cm_trainer *trainer;
    cm_pool *pool;
    cm_train_report report;
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_msg(cm_network_create(c, &network) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_pool_create(2, &pool), CM_OK);
    cm_trainer_config config = {.network = network, .backend = backend, .pool = pool, .options = o, .batch = B};
    config.unroll = K, config.seed = 1, config.total_updates = 100, config.frames = frames;
    ck_assert_msg(cm_trainer_create(&config, &trainer) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < (end == CM_OK ? 2 : 1); i++)
        ck_assert_msg(cm_trainer_update(trainer, &batch, &report) == end, "%s", cm_error_message());
    *count = cm_network_parameters(network)->parameters;
    float *parameters = malloc(*count * sizeof *parameters);
    ck_assert_ptr_nonnull(parameters);
    memcpy(parameters, cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE), *count * sizeof *parameters);
    cm_trainer_destroy(trainer);
    cm_pool_destroy(pool);
    cm_network_destroy(network);
    cm_backend_close(backend);
    return parameters;
}

static float *learn(const cm_network_config *c, const cm_trainer_options *o, cm_trainer_frames frames, size_t *count) {
    return learn_until(c, o, frames, CM_OK, count);
}

/* Networks with planes, of which 5 has a consistency loss step by step, 6 (given one) of all steps at once. */
START_TEST(updates_of_frames_are_those_of_whole_pictures) {
    const float unit = _i % 2 ? 1.0f / 255.0f : 0.0f;
    static const int kinds[] = {0, 5, 6};
    cm_network_config c;
    cm_trainer_options o;
    size_t count = 0, others = 0;
    cm_test_update_planes(kinds[_i / 2], &c, &o);
    if (kinds[_i / 2] == 6) {
        c.consistency = true, c.projection_hidden = c.projection_output = 8, c.predictor_hidden = 4;
        o.consistency_weight = 1.0;
    }
    o.chunk_rows = 4; /* and a chunk of two */
    fill(unit);
    float *whole = learn(&c, &o, (cm_trainer_frames){.count = 0}, &count);
    float *frames = learn(&c, &o, (cm_trainer_frames){COUNT, unit}, &others);
    ck_assert_uint_eq(count, others);
    ck_assert_mem_eq(whole, frames, count * sizeof *whole);
    free(whole);
    free(frames);
}
END_TEST

/* Of bytes, of float32, and of float32 that is too large. A frame that no picture shows, the last of a row, is no
 * part of what is said. */
START_TEST(losses_that_are_not_finite_are_told_of_frames_as_of_whole_pictures) {
    const bool is_large = _i == 2;
    const float unit = _i == 0 ? 1.0f / 255.0f : 0.0f;
    cm_network_config c;
    cm_trainer_options o;
    size_t count;
    cm_test_update_planes(5, &c, &o);
    fill(unit);
    for (int i = 0; i < B * EACH * CELLS; i++)
        floats[i] = i / CELLS % EACH == EACH - 1 ? INFINITY : is_large ? 2e6f : floats[i];
    for (int j = 0; j < COUNT; j++) index_of[2 * (K + 1) * COUNT + j] = -1; /* o_t of row 2 is zeros */
    numbers[0] = NAN;
    free(learn_until(&c, &o, (cm_trainer_frames){COUNT, unit}, CM_ERR_NOT_FINITE, &count));
    const char *said = is_large ? "; scale the environment's observations, which are as large as 2e+06"
                                : "; lower learning_rate, or check the environment's rewards";
    ck_assert_msg(strstr(cm_error_message(), said) != NULL, "%s", cm_error_message());
}
END_TEST

/* Of a network with a consistency loss, and of one without, which sees o_t alone. */
START_TEST(rows_with_too_few_frames_are_refused) {
    cm_network_config c;
    cm_trainer_options o;
    size_t count;
    char says[64];
    const int least = _i ? COUNT + K : COUNT;
    cm_test_update_planes(_i ? 5 : 0, &c, &o);
    fill(0.0f);
    each = least;
    free(learn(&c, &o, (cm_trainer_frames){COUNT, 0.0f}, &count));
    each = least - 1;
    free(learn_until(&c, &o, (cm_trainer_frames){COUNT, 0.0f}, CM_ERR_INPUT, &count));
    snprintf(says, sizeof says, "frames: a row of the batch has %d, an update reads %d", least - 1, least);
    ck_assert_str_eq(cm_error_message(), says);
}
END_TEST

START_TEST(frames_that_make_no_picture_of_the_network_are_refused) {
    cm_network_config c;
    cm_trainer_options o;
    cm_network *network;
    cm_backend *backend;
    cm_trainer *trainer;
    cm_pool *pool;
    cm_test_update_planes(0, &c, &o);
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_int_eq(cm_network_create(&c, &network), CM_OK);
    ck_assert_int_eq(cm_pool_create(1, &pool), CM_OK);
    const cm_trainer_config config = {.network = network,
                                      .backend = backend,
                                      .pool = pool,
                                      .options = &o,
                                      .batch = B,
                                      .total_updates = 1,
                                      .frames = {3, 1.0f}};
    ck_assert_int_eq(cm_trainer_create(&config, &trainer), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "frames: 3 of a picture"));
    cm_pool_destroy(pool);
    cm_network_destroy(network);
    cm_backend_close(backend);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/frames");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, updates_of_frames_are_those_of_whole_pictures, 0, 6);
    tcase_add_loop_test(tests, losses_that_are_not_finite_are_told_of_frames_as_of_whole_pictures, 0, 3);
    tcase_add_loop_test(tests, rows_with_too_few_frames_are_refused, 0, 2);
    tcase_add_test(tests, frames_that_make_no_picture_of_the_network_are_refused);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
