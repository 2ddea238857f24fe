/* Drawings of every environment. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "env/board.h"
#include "env/draw.h"
#include "support/main.h"

static cm_env env;
static cm_scene scene;
static cm_image image;
static char *state, *before;

static void open_env(const char *name) {
    ck_assert_msg(cm_env_open(&env, name, NULL) == CM_OK, "%s", cm_error_message());
    state = calloc(2, env.spec.state_size);
    before = state + env.spec.state_size;
    cm_env_reset(&env, state, 1);
}

static void close_env(void) {
    free(state);
    cm_scene_free(&scene);
    cm_image_free(&image);
    state = NULL;
}

static cm_env_moment step(int action) {
    cm_env_outcome outcome;
    memcpy(before, state, env.spec.state_size);
    ck_assert_msg(cm_env_step(&env, state, action, &outcome) == CM_OK, "%s", cm_error_message());
    return cm_env_moment_of(&env, before, action, state);
}

static void render(const cm_env_moment *moment) {
    ck_assert_msg(cm_env_render(&env, state, moment, 1.0, &image) == CM_OK, "%s", cm_error_message());
}

/* Pixels of a colour, give or take what blending makes of it. */
static int count_pixels(cm_colour colour) {
    int count = 0;
    for (int i = 0; i < image.width * image.height; i++) {
        const uint8_t *p = image.rgb + 3 * i;
        count += abs(p[0] - (int)(colour >> 16 & 255)) < 4 && abs(p[1] - (int)(colour >> 8 & 255)) < 4 &&
                 abs(p[2] - (int)(colour & 255)) < 4;
    }
    return count;
}

/* A value that two different pictures hardly share. */
static uint64_t mix_pixels(void) {
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < 3 * image.width * image.height; i++) sum = (sum ^ image.rgb[i]) * 1099511628211u;
    return sum;
}

static const char *const sizes[] = {"hex2", "hex11",    "hex19",  "go2",    "go9",
                                    "go19", "gomoku15", "glide1", "glide2", "glide6"};

/* Every row, and some sizes: a drawing, 320 wide, which a step changes. A row may leave it out: then it is its text. */
START_TEST(every_environment_has_a_drawing_that_follows_its_state) {
    int rows, changed = 0;
    const cm_env_def *const *registry = cm_env_registry(&rows);
    for (int i = 0; i < rows + (int)(sizeof sizes / sizeof *sizes); i++) {
        cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_EVALUATE, (uint64_t)i), 0);
        open_env(i < rows ? registry[i]->name : sizes[i - rows]);
        cm_env_moment moment = CM_ENV_NO_MOMENT;
        uint64_t last = 0;
        changed = 0;
        for (int k = 0; k < 12; k++) {
            render(&moment);
            ck_assert_int_eq(image.width, 320);
            ck_assert_msg(image.height >= 40 && image.height <= 500, "%s: %d high", env.spec.name, image.height);
            changed += mix_pixels() != last;
            last = mix_pixels();
            const bool has_ended = cm_env_ended(state); /* a small board may be full, or passed on, in two moves */
            if (has_ended) cm_env_reset(&env, state, (uint64_t)k);
            moment = has_ended ? CM_ENV_NO_MOMENT : step(cm_env_random_action(&env, state, &rng));
        }
        ck_assert_msg(changed >= 3, "%s: %d different pictures", env.spec.name, changed);
        close_env();
    }
}
END_TEST

START_TEST(drawing_changes_no_state_and_is_the_same_again) {
    open_env("2048");
    memcpy(before, state, env.spec.state_size);
    render(&CM_ENV_NO_MOMENT);
    const uint64_t first = mix_pixels();
    render(&CM_ENV_NO_MOMENT);
    ck_assert_uint_eq(first, mix_pixels());
    ck_assert_int_eq(memcmp(before, state, env.spec.state_size), 0);
}
END_TEST

START_TEST(last_stone_is_marked) {
    open_env("connect4");
    const cm_env_moment moment = step(3);
    ck_assert_int_eq(moment.cell, 5 * 7 + 3);
    render(&CM_ENV_NO_MOMENT);
    const int red = count_pixels(CM_COLOUR_RED);
    ck_assert_int_gt(red, 500);
    render(&moment);
    ck_assert_int_lt(count_pixels(CM_COLOUR_RED), red - 50);
}
END_TEST

START_TEST(captures_leave_the_mark_on_the_stone_that_was_put) {
    open_env("go3");
    step(1), step(0), step(3); /* the corner is surrounded */
    int32_t cells[9];
    cm_env_board(&env, state, cells);
    ck_assert_int_eq(cells[0], 0);
    ck_assert_int_eq(cm_env_moment_of(&env, before, 3, state).cell, 3);
}
END_TEST

START_TEST(pole_leans_as_its_angle_says) {
    double sum[2] = {0.0, 0.0};
    for (int side = 0; side < 2; side++) {
        open_env("CartPole-v1");
        double *rules = cm_env_rules(state);
        rules[0] = rules[1] = rules[3] = 0.0;
        rules[2] = side == 0 ? -0.2 : 0.2;
        render(&CM_ENV_NO_MOMENT);
        int count = 0;
        for (int y = 0; y < 80; y++)
            for (int x = 0; x < image.width; x++)
                if (image.rgb[3 * (y * image.width + x) + 2] < 128) sum[side] += x, count++;
        ck_assert_int_gt(count, 100);
        sum[side] /= count;
        close_env();
    }
    ck_assert_double_lt(sum[0], 155.0);
    ck_assert_double_gt(sum[1], 165.0);
}
END_TEST

/* ---- rows without a drawing ---- */

static cm_env_def plain;

static void open_plain(const char *name, bool keeps_board) {
    open_env(name);
    plain = *env.def;
    plain.draw = NULL;
    if (!keeps_board) plain.board = NULL;
    env.def = &plain;
}

START_TEST(board_without_a_drawing_has_squares_and_stones) {
    open_plain("gomoku9", true);
    const cm_env_moment moment = step(40);
    render(&moment);
    ck_assert_int_gt(count_pixels(CM_COLOUR_RED), 100);
    ck_assert_int_gt(count_pixels(CM_COLOUR_SHADE), 20000);
    ck_assert_int_gt(count_pixels(CM_COLOUR_PAPER), 100);
}
END_TEST

START_TEST(grids_of_letters_are_coloured_cells) {
    open_env("minatar_breakout");
    render(&CM_ENV_NO_MOMENT);
    ck_assert_int_gt(count_pixels(CM_COLOUR_RED), 30 * 500); /* three rows of bricks */
    const int paddle = count_pixels(CM_COLOUR_CYAN);
    ck_assert(paddle > 400 && paddle < 900);
    ck_assert_int_gt(count_pixels(CM_COLOUR_INK), 40000);
}
END_TEST

START_TEST(others_are_drawn_as_their_text) {
    open_plain("2048", false);
    cm_env_draw(&env, state, &CM_ENV_NO_MOMENT, &scene);
    ck_assert_uint_eq(scene.shapes, 4);
    char picture[CM_ENV_PICTURE_BYTES];
    cm_env_picture(&env, state, picture, sizeof picture);
    const cm_shape *last = &scene.shape[3];
    ck_assert_int_eq(last->kind, CM_SHAPE_TEXT);
    ck_assert_int_eq(memcmp(scene.byte + last->first, strrchr(strtok(picture, ""), 0) - 1 - last->count, last->count),
                     0);
}
END_TEST

/* A picture of 20 x 24 with three channels: its observation. */
static void observe_pixels(const cm_env_params *params, const void *rules, float *observation) {
    (void)params, (void)rules;
    for (int i = 0; i < 20 * 24; i++)
        observation[3 * i] = 1.0f, observation[3 * i + 1] = 0.6f, observation[3 * i + 2] = (float)(i % 24) / 255.0f;
}

START_TEST(observations_that_are_pictures_are_drawn) {
    open_plain("2048", false);
    plain.observe = observe_pixels;
    env.spec.shape[0] = 20, env.spec.shape[1] = 24, env.spec.shape[2] = 3;
    env.spec.observation_size = 20 * 24 * 3;
    env.spec.observation_unit = 1.0f / 255.0f;
    render(&CM_ENV_NO_MOMENT);
    ck_assert_int_eq(image.width, 320);
    ck_assert_int_eq(image.height, 267);
    ck_assert_int_eq(image.rgb[0], 255);
    ck_assert_int_eq(image.rgb[1], 153);
    ck_assert_int_eq(image.rgb[2], 0);
    ck_assert_int_eq(image.rgb[3 * 319 + 2], 23);
}
END_TEST

static void expect_caption(const cm_env_moment *moment, double total, const char *left, const char *right) {
    cm_env_draw(&env, state, moment, &scene);
    const double height = scene.height;
    cm_env_draw_caption(&env, state, moment, total, &scene);
    ck_assert_double_eq(scene.height, height + 24.0);
    for (int i = 0; i < 2; i++) {
        const cm_shape *s = &scene.shape[scene.shapes - 2 + (size_t)i];
        const char *text = i == 0 ? left : right;
        ck_assert_msg(s->count == strlen(text) && memcmp(scene.byte + s->first, text, s->count) == 0, "%s: not %s",
                      env.spec.name, text);
    }
}

START_TEST(caption_says_what_was_done_and_what_has_come_of_it) {
    open_env("catch");
    expect_caption(&CM_ENV_NO_MOMENT, 0.0, "catch", "return 0");
    cm_env_moment moment = step(2);
    expect_caption(&moment, -1.0, "step 1: right", "return -1");
    close_env();
    open_env("tictactoe");
    moment = step(4);
    expect_caption(&moment, 0.0, "move 1: x b2", "");
    step(0), step(1), step(2);
    moment = step(7);
    expect_caption(&moment, 1.0, "move 5: x b3", "x wins");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("env/draw");
    TCase *tests = tcase_create("draw");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, NULL, close_env);
    tcase_add_test(tests, every_environment_has_a_drawing_that_follows_its_state);
    tcase_add_test(tests, drawing_changes_no_state_and_is_the_same_again);
    tcase_add_test(tests, last_stone_is_marked);
    tcase_add_test(tests, captures_leave_the_mark_on_the_stone_that_was_put);
    tcase_add_test(tests, pole_leans_as_its_angle_says);
    tcase_add_test(tests, board_without_a_drawing_has_squares_and_stones);
    tcase_add_test(tests, grids_of_letters_are_coloured_cells);
    tcase_add_test(tests, others_are_drawn_as_their_text);
    tcase_add_test(tests, observations_that_are_pictures_are_drawn);
    tcase_add_test(tests, caption_says_what_was_done_and_what_has_come_of_it);
    return cm_test_main(suite);
}
