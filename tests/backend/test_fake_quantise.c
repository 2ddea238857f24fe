/* Fake quantisation makes exactly the numbers of products in 8 bits; its gradient is that of the straight-through
 * estimator with clipping. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "backend/int8.h"
#include "backend/tape/tape.h"
#include "core/rng.h"
#include "support/main.h"

enum { ROWS = 70, INPUTS = 19, OUTPUTS = 11 };

typedef struct bench {
    cm_backend *backend;
    cm_stream *stream;
    float x[ROWS * INPUTS], weight[OUTPUTS * INPUTS], rounded_x[ROWS * INPUTS], rounded_weight[OUTPUTS * INPUTS];
    float y[ROWS * OUTPUTS], want[ROWS * OUTPUTS], most[CM_INT8_PARTS];
} bench;

static const char *const backends[] = {"ref", "cpu"};

static void open_bench(bench *b, const char *backend) {
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    ck_assert_int_eq(cm_backend_open(backend, &b->backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(b->backend, &b->stream), CM_OK);
    for (int i = 0; i < ROWS * INPUTS; i++) b->x[i] = cm_rng_normal(&rng);
    for (int i = 0; i < OUTPUTS * INPUTS; i++) b->weight[i] = cm_rng_normal(&rng);
}

static void close_bench(bench *b) {
    cm_stream_close(b->stream);
    cm_backend_close(b->backend);
}

static void run(bench *b, cm_call *call) {
    ck_assert_msg(cm_call_eager(b->stream, call) == CM_OK, "%s", cm_error_message());
}

static void fake(bench *b, float range) {
    cm_call call = {.op = CM_OP_fake_quantise};
    call.t[CM_T_fake_quantise_y] = cm_tensor_2d(b->rounded_x, CM_F32, ROWS, INPUTS);
    call.t[CM_T_fake_quantise_most] = cm_tensor_1d(b->most, CM_F32, CM_INT8_PARTS);
    call.t[CM_T_fake_quantise_x] = cm_tensor_2d(b->x, CM_F32, ROWS, INPUTS);
    call.t[CM_T_fake_quantise_range] = cm_tensor_1d(&range, CM_F32, 1);
    run(b, &call);
}

static void fake_weight(bench *b) {
    cm_call call = {.op = CM_OP_fake_quantise_rows};
    call.t[CM_T_fake_quantise_rows_y] = cm_tensor_2d(b->rounded_weight, CM_F32, OUTPUTS, INPUTS);
    call.t[CM_T_fake_quantise_rows_x] = cm_tensor_2d(b->weight, CM_F32, OUTPUTS, INPUTS);
    run(b, &call);
}

static void multiply(bench *b, float *x, float *weight, cm_dtype compute, float range, float *y) {
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = compute, .range = range}};
    call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, ROWS, OUTPUTS);
    call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, ROWS, INPUTS);
    call.t[CM_T_dense_weight] = cm_tensor_2d(weight, CM_F32, OUTPUTS, INPUTS);
    run(b, &call);
}

/* With ranges whose steps are exact and such that are not; x / range is a half, a whole number, or beyond. */
START_TEST(a_number_is_what_products_in_8_bits_read) {
    static const float ranges[] = {1.0f, 127.0f, 0.37f, 3e-5f, 1e6f};
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const float range = ranges[k], step = cm_int8_step(range);
        for (int i = -520; i <= 520; i++) {
            const float x = 0.25f * (float)i * step, got = cm_int8_fake(x, range);
            ck_assert(got == (float)cm_int8_of(x, cm_int8_inverse(range)) * step);
            ck_assert_int_eq(cm_int8_of(got, cm_int8_inverse(range)), cm_int8_of(x, cm_int8_inverse(range)));
            ck_assert(fabsf(got) <= 1.000001f * range);
            ck_assert_int_eq(cm_int8_passes(x, range), fabsf(x) <= range);
        }
    }
}
END_TEST

START_TEST(a_range_that_is_not_known_leaves_numbers_as_they_are) {
    bench b;
    open_bench(&b, backends[_i]);
    fake(&b, 0.0f);
    ck_assert_mem_eq(b.rounded_x, b.x, sizeof b.x);
    ck_assert(cm_int8_passes(1e9f, 0.0f));
    close_bench(&b);
}
END_TEST

/* A layer in floats on numbers that were rounded is the layer in 8 bits, but for the order of sums. */
START_TEST(a_layer_that_trains_is_the_layer_in_8_bits) {
    const float range = 1.5f; /* some are beyond */
    bench b;
    double largest = 0.0;
    open_bench(&b, backends[_i]);
    fake(&b, range);
    fake_weight(&b);
    multiply(&b, b.rounded_x, b.rounded_weight, CM_F32, 0.0f, b.y);
    multiply(&b, b.x, b.weight, CM_I8, range, b.want);
    for (int i = 0; i < ROWS * OUTPUTS; i++) largest = fmax(largest, fabs((double)b.y[i] - (double)b.want[i]));
    ck_assert_double_lt(largest, 1e-5);
    multiply(&b, b.x, b.weight, CM_F32, 0.0f, b.want);
    for (int i = 0; i < ROWS * OUTPUTS; i++) largest = fmax(largest, fabs((double)b.y[i] - (double)b.want[i]));
    ck_assert_double_gt(largest, 1e-2); /* and not that in floats */
    close_bench(&b);
}
END_TEST

START_TEST(maxima_are_those_of_all_rows) {
    bench b;
    open_bench(&b, backends[_i]);
    b.x[66 * INPUTS + 3] = -9.0f;
    b.x[5 * INPUTS] = 7.0f;
    fake(&b, 1.0f);
    ck_assert(b.most[66 % CM_INT8_PARTS] == 9.0f && b.most[5] == 7.0f);
    ck_assert(cm_int8_range(b.most, CM_INT8_PARTS) == 9.0f);
    close_bench(&b);
}
END_TEST

/* It begins with the first; then a twentieth of the way; what is not finite, and a step that is none, change nothing.
 */
START_TEST(a_range_moves_towards_the_maxima) {
    float most[2 * CM_INT8_PARTS] = {0.5f, [CM_INT8_PARTS] = 4.0f}, range = 0.0f, factor[2] = {1.0f, NAN};
    bench b;
    open_bench(&b, backends[_i]);
    cm_call call = {.op = CM_OP_range_update, .attr = {.scale = 0.05f}};
    call.t[CM_T_range_update_range] = cm_tensor_1d(&range, CM_F32, 1);
    call.t[CM_T_range_update_most] = cm_tensor_2d(most, CM_F32, 2, CM_INT8_PARTS);
    run(&b, &call);
    ck_assert(range == 4.0f);
    most[CM_INT8_PARTS] = 2.0f;
    run(&b, &call);
    ck_assert_float_eq_tol(range, 3.9f, 1e-6f);
    most[3] = INFINITY;
    run(&b, &call);
    ck_assert_float_eq_tol(range, 3.9f, 1e-6f);
    most[3] = 100.0f;
    call.t[CM_T_range_update_factor] = cm_tensor_1d(factor, CM_F32, 2);
    run(&b, &call);
    ck_assert_float_eq_tol(range, 3.9f, 1e-6f);
    close_bench(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/fake_quantise");
    TCase *tests = tcase_create("fake_quantise");
    tcase_add_test(tests, a_number_is_what_products_in_8_bits_read);
    tcase_add_loop_test(tests, a_range_that_is_not_known_leaves_numbers_as_they_are, 0, 2);
    tcase_add_loop_test(tests, a_layer_that_trains_is_the_layer_in_8_bits, 0, 2);
    tcase_add_loop_test(tests, maxima_are_those_of_all_rows, 0, 2);
    tcase_add_loop_test(tests, a_range_moves_towards_the_maxima, 0, 2);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
