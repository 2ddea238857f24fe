/* Pictures resized by areas, against numbers of OpenCV's INTER_AREA (docs/spec/atari.md 2). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "env/area.h"
#include "support/main.h"

enum { HEIGHT = 210, WIDTH = 160 };

/* CRC-32 with polynomial EDB88320, as zlib has it. */
static uint32_t crc_of(const uint8_t *bytes, size_t count) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static int gray_at(int y, int x) { return (7 * y + 13 * x) % 256; }

static void draw_gray(uint8_t *out) {
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) *out++ = (uint8_t)gray_at(y, x);
}

static void draw_rgb(uint8_t *out) {
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            *out++ = (uint8_t)gray_at(y, x);
            *out++ = (uint8_t)(y * x % 256);
            *out++ = (uint8_t)((255 - y + 2 * x) & 255);
        }
    }
}

static cm_area *area_of(int height, int width, int channels, int rows, int columns) {
    cm_area *area;
    ck_assert_msg(cm_area_create(height, width, channels, rows, columns, &area) == CM_OK, "%s", cm_error_message());
    return area;
}

static long sum_of(const uint8_t *bytes, size_t count) {
    long sum = 0;
    for (size_t i = 0; i < count; i++) sum += bytes[i];
    return sum;
}

static const struct {
    int side;
    uint8_t row[8], inner, last;
    long sum;
    uint32_t crc;
} grays[] = {
    {96, {10, 30, 51, 75, 95, 116, 140, 160}, 82, 192, 1174541, 0x45dd0c6f},
    {84, {12, 36, 61, 86, 111, 135, 160, 185}, 169, 190, 899261, 0x055086b9},
    {64, {19, 50, 84, 115, 149, 180, 214, 205}, 130, 183, 522017, 0xfbdc6655},
};

START_TEST(gray_pictures_are_opencvs_to_the_bit) {
    static uint8_t picture[HEIGHT * WIDTH], out[96 * 96];
    const int side = grays[_i].side;
    cm_area *area = area_of(HEIGHT, WIDTH, 1, side, side);
    draw_gray(picture);
    cm_area_resize(area, picture, NULL, out);
    ck_assert_mem_eq(out, grays[_i].row, 8);
    ck_assert_int_eq(out[10 * side + 20], grays[_i].inner);
    ck_assert_int_eq(out[side * side - 1], grays[_i].last);
    ck_assert_int_eq(sum_of(out, (size_t)side * (size_t)side), grays[_i].sum);
    ck_assert_uint_eq(crc_of(out, (size_t)side * (size_t)side), grays[_i].crc);
    cm_area_destroy(area);
}
END_TEST

static const struct {
    int side;
    uint8_t first[3], inner[3];
    long sum;
    uint32_t crc;
} colours[] = {
    {96, {10, 0, 162}, {82, 165, 44}, 3524724, 0x9bb61bb5},
    {84, {12, 0, 158}, {169, 175, 50}, 2698630, 0x94619395},
    {64, {19, 1, 142}, {130, 165, 67}, 1566519, 0x9b48092a},
};

START_TEST(coloured_pictures_are_opencvs_to_the_bit) {
    static uint8_t picture[HEIGHT * WIDTH * 3], out[96 * 96 * 3];
    const int side = colours[_i].side;
    const size_t bytes = 3 * (size_t)side * (size_t)side;
    cm_area *area = area_of(HEIGHT, WIDTH, 3, side, side);
    draw_rgb(picture);
    cm_area_resize(area, picture, NULL, out);
    ck_assert_mem_eq(out, colours[_i].first, 3);
    ck_assert_mem_eq(out + 3 * (10 * side + 20), colours[_i].inner, 3);
    ck_assert_int_eq(sum_of(out, bytes), colours[_i].sum);
    ck_assert_uint_eq(crc_of(out, bytes), colours[_i].crc);
    cm_area_destroy(area);
}
END_TEST

/* Random pictures whose rows repeat, some of them. */
static void draw_random(uint8_t *out, int rows, size_t row, cm_rng *rng) {
    for (int y = 0; y < rows; y++, out += row) {
        if (y > 0 && cm_rng_below(rng, 2)) {
            memcpy(out, out - row, row);
            continue;
        }
        for (size_t i = 0; i < row; i++) out[i] = (uint8_t)cm_rng_below(rng, 256);
    }
}

START_TEST(a_pixel_alone_is_that_of_the_whole_picture) {
    static const int sides[][5] = {{210, 160, 3, 96, 96}, {210, 160, 1, 84, 84}, {17, 23, 2, 5, 23},
                                   {64, 64, 3, 64, 64},   {50, 31, 1, 1, 1},     {210, 160, 3, 100, 33}};
    const int *s = sides[_i], channels = s[2];
    const size_t row = (size_t)s[1] * (size_t)channels;
    uint8_t *one = malloc((size_t)s[0] * row), *other = malloc((size_t)s[0] * row);
    uint8_t *out = calloc((size_t)(s[3] * s[4]), (size_t)channels);
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_EVALUATE, (uint64_t)_i), 0);
    cm_area *area = area_of(s[0], s[1], channels, s[3], s[4]);
    for (int two = 0; two < 2; two++) {
        const uint8_t *second = two ? other : NULL;
        draw_random(one, s[0], row, &rng);
        draw_random(other, s[0], row, &rng);
        cm_area_resize(area, one, second, out);
        for (int p = 0; p < s[3] * s[4]; p++)
            for (int c = 0; c < channels; c++)
                ck_assert_int_eq(out[p * channels + c], cm_area_pixel(cm_area_rows(area), cm_area_columns(area),
                                                                      channels, one, second, p / s[4], p % s[4], c));
    }
    cm_area_destroy(area);
    free(one), free(other), free(out);
}
END_TEST

START_TEST(a_picture_of_the_same_size_stays_as_it_is) {
    static uint8_t picture[HEIGHT * WIDTH], out[HEIGHT * WIDTH];
    cm_area *area = area_of(HEIGHT, WIDTH, 1, HEIGHT, WIDTH);
    draw_gray(picture);
    cm_area_resize(area, picture, NULL, out);
    ck_assert_mem_eq(out, picture, sizeof picture);
    cm_area_destroy(area);
}
END_TEST

START_TEST(sums_go_to_the_nearest_byte_halves_to_even) {
    ck_assert_int_eq(cm_area_round(0.5f), 0);
    ck_assert_int_eq(cm_area_round(1.5f), 2);
    ck_assert_int_eq(cm_area_round(126.5f), 126);
    ck_assert_int_eq(cm_area_round(126.50001f), 127);
    ck_assert_int_eq(cm_area_round(255.00002f), 255);
}
END_TEST

START_TEST(larger_pictures_are_refused) {
    cm_area *area;
    ck_assert_int_eq(cm_area_create(210, 160, 3, 211, 96, &area), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "210 to 211 rows: pictures only become smaller, from at most 512");
    ck_assert_int_eq(cm_area_create(210, 160, 3, 96, 0, &area), CM_ERR_INPUT);
    ck_assert_int_eq(cm_area_create(210, 160, 0, 96, 96, &area), CM_ERR_INPUT);
    ck_assert_ptr_null(area);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("area");
    TCase *c = tcase_create("area");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, gray_pictures_are_opencvs_to_the_bit, 0, 3);
    tcase_add_loop_test(c, coloured_pictures_are_opencvs_to_the_bit, 0, 3);
    tcase_add_loop_test(c, a_pixel_alone_is_that_of_the_whole_picture, 0, 6);
    tcase_add_test(c, a_picture_of_the_same_size_stays_as_it_is);
    tcase_add_test(c, sums_go_to_the_nearest_byte_halves_to_even);
    tcase_add_test(c, larger_pictures_are_refused);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
