/* Pixels of known shapes. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "draw/raster.h"
#include "support/main.h"

enum { SIDE = 40, BLACK = 0x000000, WHITE = 0xffffff };
static const double pi = 3.14159265358979323846;

static cm_scene scene;
static cm_image image;

static void begin(void) { cm_scene_begin(&scene, SIDE, SIDE, WHITE); }
static void end(void) {
    cm_scene_free(&scene);
    cm_image_free(&image);
}

static void render(double scale) { ck_assert_msg(cm_scene_render(&scene, scale, &image) == CM_OK, "%s", "render"); }

static int red_at(int x, int y) { return image.rgb[3 * (y * image.width + x)]; }

/* Pixels that are covered, in part or as a whole: black on white. */
static double covered(int left, int right) {
    double sum = 0.0;
    for (int y = 0; y < image.height; y++)
        for (int x = left; x < right; x++) sum += (255 - red_at(x, y)) / 255.0;
    return sum;
}

START_TEST(rectangle_covers_its_pixels_and_no_other) {
    cm_scene_rectangle(&scene, 3.0, 5.0, 4.0, 2.0, 0.0, 0x123456);
    render(1.0);
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            const bool is_inside = x >= 3 && x < 7 && y >= 5 && y < 7;
            const uint8_t *rgb = image.rgb + 3 * (y * SIDE + x);
            ck_assert_msg(memcmp(rgb, is_inside ? "\x12\x34\x56" : "\xff\xff\xff", 3) == 0, "at %d, %d", x, y);
        }
    }
}
END_TEST

START_TEST(pixel_is_blended_by_the_area_that_is_covered) {
    cm_scene_rectangle(&scene, 0.5, 0.25, 1.0, 0.5, 0.0, BLACK);
    render(1.0);
    ck_assert_int_eq(red_at(0, 0), 191); /* 255 * (1 - 1/4) */
    ck_assert_int_eq(red_at(1, 0), 191);
    ck_assert_int_eq(red_at(2, 0), 255);
    ck_assert_int_eq(red_at(0, 1), 255);
}
END_TEST

START_TEST(areas_are_those_of_geometry) {
    const double triangle[] = {2.0, 3.0, 33.0, 10.0, 12.0, 37.0};
    const struct {
        double area;
        int kind;
    } rows[] = {{pi * 12.5 * 12.5, 0},
                {4.0 * 25.0 + pi * 2.0 * 2.0, 1},
                {0.5 * (31.0 * 34.0 - 10.0 * 7.0), 2},
                {20.0 * 30.0 - (4.0 - pi) * 25.0, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        if (rows[i].kind == 0) cm_scene_circle(&scene, 20.3, 19.1, 12.5, BLACK);
        if (rows[i].kind == 1) cm_scene_line(&scene, 5.0, 7.0, 25.0, 22.0, 4.0, BLACK);
        if (rows[i].kind == 2) cm_scene_polygon(&scene, triangle, 3, BLACK);
        if (rows[i].kind == 3) cm_scene_rectangle(&scene, 4.5, 5.5, 20.0, 30.0, 5.0, BLACK);
        for (int scale = 1; scale <= 3; scale++) {
            render(scale);
            ck_assert_double_eq_tol(covered(0, image.width) / (scale * scale), rows[i].area, 0.012 * rows[i].area);
        }
    }
}
END_TEST

START_TEST(what_is_outside_is_cut_off) {
    cm_scene_rectangle(&scene, -10.0, -10.0, 15.0, 14.0, 0.0, BLACK);
    cm_scene_circle(&scene, 100.0, 20.0, 30.0, BLACK);
    cm_scene_rectangle(&scene, 38.5, 30.0, 10.0, 100.0, 0.0, BLACK);
    render(1.0);
    ck_assert_double_eq_tol(covered(0, SIDE), 5.0 * 4.0 + 1.5 * 10.0, 0.1);
    ck_assert_int_eq(red_at(4, 3), 0);
    ck_assert_int_eq(red_at(5, 3), 255);
    ck_assert_int_eq(red_at(39, 39), 0);
}
END_TEST

START_TEST(shapes_of_no_finite_place_are_not_drawn) {
    cm_scene_circle(&scene, NAN, 3.0, 5.0, BLACK);
    cm_scene_line(&scene, 1.0, 1.0, INFINITY, 9.0, 2.0, BLACK);
    cm_scene_polygon(&scene, (const double[]){1.0, 1.0, 30.0, NAN, 20.0, 30.0}, 3, BLACK);
    render(1.0);
    for (int i = 0; i < 3 * SIDE * SIDE; i++) ck_assert_int_eq(image.rgb[i], 255);
}
END_TEST

START_TEST(later_shapes_cover_earlier_ones) {
    cm_scene_rectangle(&scene, 0.0, 0.0, 40.0, 40.0, 0.0, 0xff0000);
    cm_scene_ring(&scene, 20.0, 20.0, 10.0, 4.0, 0x00ff00, 0x0000ff);
    render(1.0);
    ck_assert_int_eq(image.rgb[3 * (20 * SIDE + 20) + 2], 255);
    ck_assert_int_eq(image.rgb[3 * (20 * SIDE + 10) + 1], 255);
    ck_assert_int_eq(red_at(2, 2), 255);
}
END_TEST

START_TEST(text_stands_where_its_anchor_says) {
    static const double from[] = {20.0, 20.0 - 3.0 * 10.0 * CM_TEXT_ADVANCE / 2.0, 20.0 - 3.0 * 10.0 * CM_TEXT_ADVANCE};
    double ink[3];
    for (int anchor = 0; anchor < 3; anchor++) {
        begin();
        cm_scene_text(&scene, 20.0, 20.0, 10.0, (cm_anchor)anchor, BLACK, "HHH");
        render(4.0);
        ink[anchor] = covered(0, image.width);
        const int left = (int)(4.0 * from[anchor]), right = left + (int)(4.0 * 3.0 * 10.0 * CM_TEXT_ADVANCE);
        ck_assert_double_eq_tol(covered(left < 0 ? 0 : left, right + 1), ink[anchor], 1e-9);
    }
    ck_assert_double_gt(ink[0], 100.0);
    ck_assert_double_eq_tol(ink[1], ink[0], 0.02 * ink[0]);
    for (int y = 0; y < image.height; y++) /* H has no part below the base line, nor above its height */
        for (int x = 0; x < image.width; x++)
            if (y > 4 * 20 || y < 4 * (20 - 10)) ck_assert_int_eq(red_at(x, y), 255);
}
END_TEST

START_TEST(letters_have_holes_and_differ) {
    double ink[2];
    for (int i = 0; i < 2; i++) {
        begin();
        cm_scene_text(&scene, 4.0, 32.0, 40.0, CM_ANCHOR_START, BLACK, i == 0 ? "O" : "I");
        render(1.0);
        ink[i] = covered(0, SIDE);
        ck_assert_int_eq(red_at(16, 18), i == 0 ? 255 : 0); /* in the middle of the letter */
    }
    ck_assert_double_gt(ink[0], ink[1]);
}
END_TEST

START_TEST(unknown_letters_are_question_marks) {
    uint8_t known[3 * SIDE * SIDE];
    cm_scene_text(&scene, 5.0, 30.0, 20.0, CM_ANCHOR_START, BLACK, "?\?");
    render(1.0);
    memcpy(known, image.rgb, sizeof known);
    begin();
    cm_scene_text(&scene, 5.0, 30.0, 20.0, CM_ANCHOR_START, BLACK, "\xe2\x99\x94\xff"); /* a king, no UTF-8 */
    render(1.0);
    ck_assert_int_eq(memcmp(known, image.rgb, sizeof known), 0);
}
END_TEST

START_TEST(image_is_scaled_up_and_down) {
    static const uint8_t four[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9};
    cm_scene_image(&scene, 0.0, 0.0, SIDE, SIDE, four, 2, 2);
    render(1.0);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            ck_assert_int_eq(
                memcmp(image.rgb + 3 * (y * SIDE + x), four + 3 * (2 * (y >= SIDE / 2) + (x >= SIDE / 2)), 3), 0);
    render(1.0 / SIDE); /* one pixel: the mean */
    ck_assert_int_eq(image.width, 1);
    ck_assert_int_eq(image.rgb[0], 66);
    ck_assert_int_eq(image.rgb[2], 66);
}
END_TEST

START_TEST(size_follows_the_scale_and_has_bounds) {
    cm_scene_begin(&scene, 320.0, 201.0, WHITE);
    render(1.5);
    ck_assert_int_eq(image.width, 480);
    ck_assert_int_eq(image.height, 302);
    ck_assert_int_eq(cm_scene_render(&scene, 30.0, &image), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "a picture of 9600 x 6030 pixels; a side must have 1..8192"));
}
END_TEST

START_TEST(pictures_are_the_same_after_larger_ones) {
    uint8_t small[3 * SIDE * SIDE];
    cm_scene_circle(&scene, 17.0, 21.0, 15.0, BLACK);
    render(1.0);
    memcpy(small, image.rgb, sizeof small);
    for (int i = 0; i < 3; i++) {
        render(i == 1 ? 3.7 : 0.6);
        render(1.0);
        ck_assert_int_eq(memcmp(small, image.rgb, sizeof small), 0);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("draw/raster");
    TCase *tests = tcase_create("raster");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, rectangle_covers_its_pixels_and_no_other);
    tcase_add_test(tests, pixel_is_blended_by_the_area_that_is_covered);
    tcase_add_test(tests, areas_are_those_of_geometry);
    tcase_add_test(tests, what_is_outside_is_cut_off);
    tcase_add_test(tests, shapes_of_no_finite_place_are_not_drawn);
    tcase_add_test(tests, later_shapes_cover_earlier_ones);
    tcase_add_test(tests, text_stands_where_its_anchor_says);
    tcase_add_test(tests, letters_have_holes_and_differ);
    tcase_add_test(tests, unknown_letters_are_question_marks);
    tcase_add_test(tests, image_is_scaled_up_and_down);
    tcase_add_test(tests, size_follows_the_scale_and_has_bounds);
    tcase_add_test(tests, pictures_are_the_same_after_larger_ones);
    return cm_test_main(suite);
}
