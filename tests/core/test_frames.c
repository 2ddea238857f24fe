/* Stacks of bytes equal stacks of the numbers that they stand for, whatever their shape. */
#include "core/frames.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "support/main.h"

enum { MOST = 8 };

static const struct {
    size_t cells, channels;
    int count;
} shapes[] = {{1, 1, 2},   {7056, 1, 4}, {5000, 1, 3}, {9216, 3, 4}, {1025, 3, 2},   {1, 3, 4},
              {100, 4, 4}, {100, 10, 8}, {1, 4097, 2}, {1, 1024, 4}, {2048, 1, MOST}};

/* Arrays as long as they must be, so that a sanitizer sees whatever is read or written beyond. */
typedef struct frames {
    cm_frames_shape shape;
    uint8_t *byte[MOST];
    float *number[MOST];
    float *stack, *expected;
    const uint8_t *bytes[MOST];
    const float *numbers[MOST];
} frames;

static void draw_frames(frames *f, int row, float unit) {
    cm_rng rng = cm_rng_init(cm_key_make(7, CM_RNG_TEST, (uint64_t)row), 0);
    const size_t size = shapes[row].cells * shapes[row].channels, whole = size * (size_t)shapes[row].count;
    f->shape = (cm_frames_shape){shapes[row].count, size, shapes[row].channels};
    f->stack = calloc(whole, sizeof *f->stack);
    f->expected = calloc(whole, sizeof *f->expected);
    for (int k = 0; k < f->shape.count; k++) {
        f->bytes[k] = f->byte[k] = malloc(size);
        f->numbers[k] = f->number[k] = malloc(size * sizeof(float));
        for (size_t i = 0; i < size; i++) {
            f->byte[k][i] = (uint8_t)cm_rng_below(&rng, 256);
            f->number[k][i] = (float)f->byte[k][i] * unit;
        }
    }
}

static void free_frames(frames *f) {
    for (int k = 0; k < f->shape.count; k++) {
        free(f->byte[k]);
        free(f->number[k]);
    }
    free(f->stack);
    free(f->expected);
}

static void must_be_equal(const frames *f) {
    ck_assert_int_eq(memcmp(f->stack, f->expected, f->shape.size * (size_t)f->shape.count * sizeof(float)), 0);
}

START_TEST(bytes_become_the_numbers_that_they_stand_for) {
    const float unit = 1.0f / 255.0f;
    frames f;
    draw_frames(&f, _i, unit);
    cm_frames_stack(&f.shape, f.numbers, 0, f.shape.count, f.expected);
    cm_frames_stack_bytes(&f.shape, f.bytes, unit, 0, f.shape.count, f.stack);
    must_be_equal(&f);
    free_frames(&f);
}
END_TEST

/* The others are left alone. */
START_TEST(some_frames_of_a_stack_are_written) {
    frames f;
    draw_frames(&f, _i, 2.0f);
    for (int k = 0; k < f.shape.count; k++) cm_frames_place(&f.shape, f.number[k], k, f.expected);
    cm_frames_stack_bytes(&f.shape, f.bytes, 2.0f, 1, f.shape.count, f.stack);
    cm_frames_stack_bytes(&f.shape, f.bytes, 2.0f, 0, 1, f.stack);
    must_be_equal(&f);
    for (int k = 0; k < f.shape.count; k++) {
        cm_frames_take(&f.shape, f.stack, k, f.expected);
        ck_assert_int_eq(memcmp(f.expected, f.number[k], f.shape.size * sizeof(float)), 0);
    }
    free_frames(&f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("frames");
    TCase *tc = tcase_create("frames");
    tcase_add_loop_test(tc, bytes_become_the_numbers_that_they_stand_for, 0, (int)(sizeof shapes / sizeof *shapes));
    tcase_add_loop_test(tc, some_frames_of_a_stack_are_written, 0, (int)(sizeof shapes / sizeof *shapes));
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
