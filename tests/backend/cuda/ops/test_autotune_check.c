/* Which results of ways to compute count as the same. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ops/autotune_check.h"
#include "support/main.h"

enum { N = 40, ODD = 17 };

static cm_backend *backend;
static cm_stream *stream;
static const cm_dtype types[] = {CM_F32, CM_BF16, CM_F16};

static void set_up(void) {
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(backend, &stream), CM_OK);
}

static void tear_down(void) {
    cm_stream_close(stream);
    cm_backend_close(backend);
}

static float get(const void *numbers, cm_dtype type, int i) {
    return type == CM_F32 ? ((const float *)numbers)[i] : cm_widen(((const uint16_t *)numbers)[i], type);
}

static void put(void *numbers, cm_dtype type, int i, float x) {
    if (type == CM_F32) {
        ((float *)numbers)[i] = x;
    } else {
        ((uint16_t *)numbers)[i] = cm_to_half(x, type);
    }
}

START_TEST(numbers_are_the_same_every_time_and_differ) {
    float a[N], b[N];
    ck_assert_int_eq(cm_autotune_check_fill(stream, a, types[_i], N), CM_OK);
    ck_assert_int_eq(cm_autotune_check_fill(stream, b, types[_i], N), CM_OK);
    for (int i = 0; i < N; i++) {
        ck_assert_float_eq(get(a, types[_i], i), get(b, types[_i], i));
        ck_assert_float_le(fabsf(get(a, types[_i], i)), 1.0f);
        if (i > 0) ck_assert_float_ne(get(a, types[_i], i), get(a, types[_i], i - 1));
    }
}
END_TEST

/* No number is left out where more are wanted than are drawn, and nothing after the last is written. */
START_TEST(many_numbers_are_all_written) {
    enum { MANY = 2500000 };
    const cm_dtype type = types[_i];
    float *numbers = malloc((MANY + 1) * sizeof *numbers), first[N];
    ck_assert_ptr_nonnull(numbers);
    for (int i = 0; i <= MANY; i++) put(numbers, type, i, 3.0f);
    ck_assert_int_eq(cm_autotune_check_fill(stream, numbers, type, MANY), CM_OK);
    ck_assert_int_eq(cm_autotune_check_fill(stream, first, type, N), CM_OK);
    int beyond = 0;
    for (int i = 0; i < MANY; i++) beyond += fabsf(get(numbers, type, i)) > 1.0f;
    ck_assert_int_eq(beyond, 0);
    for (int i = 0; i < N; i++) ck_assert_float_eq(get(numbers, type, i), get(first, type, i));
    ck_assert_float_eq(get(numbers, type, MANY), 3.0f);
    free(numbers);
}
END_TEST

/* Of numbers that are made of some of their own type. */
static cm_status agree(cm_autotune_check_results *results, const void *data, cm_dtype type, size_t n, bool first) {
    const cm_autotune_check_numbers numbers = {data, type, type, n};
    return cm_autotune_check_agree(results, stream, &numbers, first);
}

/* The largest number is 8: so a 64th of it is 0.125, a 1,024th 0.0078. */
static cm_status changed_by(cm_dtype type, float change) {
    cm_autotune_check_results results = {NULL, NULL};
    float numbers[N];
    for (int i = 0; i < N; i++) put(numbers, type, i, i == 3 ? -8.0f : 0.25f);
    ck_assert_int_eq(agree(&results, numbers, type, N, true), CM_OK);
    ck_assert_int_eq(agree(&results, numbers, type, N, false), CM_OK);
    put(numbers, type, ODD, 0.25f + change);
    cm_status status = agree(&results, numbers, type, N, false);
    cm_autotune_check_free(&results);
    return status;
}

START_TEST(rounding_is_no_difference_and_more_is) {
    const bool wide = types[_i] == CM_F32;
    ck_assert_int_eq(changed_by(types[_i], wide ? 0x1p-8f : 0x1p-4f), CM_OK);
    ck_assert_int_eq(changed_by(types[_i], wide ? 0x1p-6f : 0x1p-2f), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), wide ? "its result number 17 is 0.265625, not 0.25 (the largest is 8)"
                                              : "its result number 17 is 0.5, not 0.25 (the largest is 8)");
    ck_assert_int_eq(changed_by(types[_i], NAN), CM_ERR_DEVICE);
}
END_TEST

/* A step on the way to them has rounded to 16 bits. */
START_TEST(numbers_in_32_bits_are_as_exact_as_what_they_are_made_of) {
    cm_autotune_check_results results = {NULL, NULL};
    float data[N];
    const cm_autotune_check_numbers numbers = {data, CM_F32, types[_i], N};
    for (int i = 0; i < N; i++) data[i] = 8.0f;
    ck_assert_int_eq(cm_autotune_check_agree(&results, stream, &numbers, true), CM_OK);
    data[ODD] += 0x1p-4f;
    ck_assert_int_eq(cm_autotune_check_agree(&results, stream, &numbers, false),
                     types[_i] == CM_F32 ? CM_ERR_DEVICE : CM_OK);
    cm_autotune_check_free(&results);
}
END_TEST

/* All of half a million; of more the first, the last and some between. */
START_TEST(of_very_many_numbers_some_everywhere_are_compared) {
    enum { ALL = 1 << 19, MORE = 3000001 };
    static const struct {
        int n, at;
        bool seen;
    } rows[] = {{ALL, ALL / 2 + 1, true}, {MORE, 0, true},          {MORE, MORE - 1, true},
                {MORE, 1, true},          {MORE, 419209 + 7, true}, {MORE, 419209 - 1, false}};
    const cm_dtype type = types[_i];
    float *numbers = calloc(MORE, sizeof *numbers);
    ck_assert_ptr_nonnull(numbers);
    for (int i = 0; i < MORE; i++) put(numbers, type, i, 1.0f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_autotune_check_results results = {NULL, NULL};
        char says[64];
        ck_assert_int_eq(agree(&results, numbers, type, (size_t)rows[i].n, true), CM_OK);
        put(numbers, type, rows[i].at, 3.0f);
        cm_status status = agree(&results, numbers, type, (size_t)rows[i].n, false);
        put(numbers, type, rows[i].at, 1.0f);
        cm_autotune_check_free(&results);
        ck_assert_msg(status == (rows[i].seen ? CM_ERR_DEVICE : CM_OK), "row %zu", i);
        snprintf(says, sizeof says, "its result number %d is 3, not 1", rows[i].at);
        if (rows[i].seen) ck_assert_msg(strstr(cm_error_message(), says) != NULL, "%s", cm_error_message());
    }
    free(numbers);
}
END_TEST

START_TEST(nothing_is_compared_with_zeros_or_what_is_not_finite) {
    static const float firsts[] = {0.0f, NAN, INFINITY};
    for (int f = 0; f < 3; f++) {
        cm_autotune_check_results results = {NULL, NULL};
        float numbers[N] = {0.0f};
        put(numbers, types[_i], 2, firsts[f]);
        ck_assert_int_eq(agree(&results, numbers, types[_i], N, true), CM_OK);
        put(numbers, types[_i], 5, 3.0f);
        ck_assert_int_eq(agree(&results, numbers, types[_i], N, false), CM_OK);
        cm_autotune_check_free(&results);
    }
}
END_TEST

START_TEST(a_nan_is_found_and_no_number_is_one) {
    float numbers[N] = {0.0f};
    put(numbers, types[_i], 0, 0.0f);
    put(numbers, types[_i], 1, 2.0f);
    ck_assert_int_eq(cm_autotune_check_expect_nan(stream, numbers, types[_i]), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "it makes 0 of NaN, which no check would see again");
    ck_assert_int_eq(cm_autotune_check_put_nan(stream, numbers, types[_i]), CM_OK);
    ck_assert_int_eq(cm_autotune_check_expect_nan(stream, numbers, types[_i]), CM_OK);
    ck_assert_float_eq(get(numbers, types[_i], 1), 2.0f);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_trial");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, numbers_are_the_same_every_time_and_differ, 0, 3);
    tcase_add_loop_test(tests, many_numbers_are_all_written, 0, 3);
    tcase_add_loop_test(tests, rounding_is_no_difference_and_more_is, 0, 3);
    tcase_add_loop_test(tests, numbers_in_32_bits_are_as_exact_as_what_they_are_made_of, 0, 3);
    tcase_add_loop_test(tests, of_very_many_numbers_some_everywhere_are_compared, 0, 3);
    tcase_add_loop_test(tests, nothing_is_compared_with_zeros_or_what_is_not_finite, 0, 3);
    tcase_add_loop_test(tests, a_nan_is_found_and_no_number_is_one, 0, 3);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
