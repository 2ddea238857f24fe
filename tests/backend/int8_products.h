/* The tests of products in 8 bits against ref, of any backend. Who includes this says first how one is opened, and
 * closed:
 *
 *     static bool open_with(pair *p, int number);   false: there is none of this number; nothing is open then
 *     static void close_with(pair *p);
 */
#ifndef TESTS_BACKEND_INT8_PRODUCTS_H
#define TESTS_BACKEND_INT8_PRODUCTS_H

#include "backend/pair.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Whole numbers from -127 to 127, the ends more often, one of them in every row. */
static void make_whole(pair *p, const cm_tensor *t) {
    float *data = t->data;
    const size_t row = (size_t)t->stride;
    for (size_t i = 0; i < pair_elements(t); i++) {
        const float x = roundf(pair_random(p) * 200.0f);
        data[i] = x > 127.0f || i % row == 0 ? 127.0f : x < -127.0f ? -127.0f : x;
    }
}

static void compare_whole(pair *p, cm_call *call, int x, int weight) {
    call->attr.compute = CM_I8;
    call->attr.range = 127.0f;
    make_whole(p, &call->t[x]);
    make_whole(p, &call->t[weight]);
    pair_run(p, call, 1, 0.0);
    pair_free(call);
}

START_TEST(dense_sums_of_8_bits_are_exact) {
    static const int rows[] = {1, 2, 5, 6, 13, 32}, inputs[] = {1, 2, 3, 4, 7, 16, 33, 130, 1000},
                     outputs[] = {1, 8, 16, 21, 48, 64, 70};
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < COUNT(rows); i++)
        for (int j = 0; j < COUNT(inputs); j++)
            for (int k = 0; k < COUNT(outputs); k++) {
                if (inputs[j] > 130 && (rows[i] > 6 || outputs[k] > 21)) continue;
                cm_call call = {.op = CM_OP_dense};
                call.t[CM_T_dense_y] = pair_matrix(&p, rows[i], outputs[k], 3);
                call.t[CM_T_dense_x] = pair_matrix(&p, rows[i], inputs[j], 5);
                call.t[CM_T_dense_weight] = pair_matrix(&p, outputs[k], inputs[j], 0);
                compare_whole(&p, &call, CM_T_dense_x, CM_T_dense_weight);
            }
    close_with(&p);
}
END_TEST

/* B, H, W, C, O, k, stride */
static const int layers[][7] = {
    {2, 6, 7, 3, 8, 3, 1},   {1, 9, 9, 17, 5, 3, 1},   {2, 6, 7, 48, 48, 3, 1},  {2, 6, 7, 48, 8, 1, 1},
    {1, 15, 15, 3, 4, 3, 2}, {2, 8, 6, 64, 70, 3, 1},  {2, 4, 5, 2, 3, 5, 1},    {3, 1, 1, 4, 4, 3, 1},
    {2, 4, 1, 16, 13, 3, 1}, {1, 5, 4, 130, 17, 1, 2}, {26, 6, 7, 16, 16, 3, 1}, {1, 16, 15, 32, 20, 3, 1},
};

static int half_up(int n, int by) { return (n + by - 1) / by; }

static void make_layer(pair *p, const int *l, cm_call *call, int x, int weight) {
    call->attr.stride = l[6];
    call->t[0] = pair_tensor(p, 4, (int[]){l[0], half_up(l[1], l[6]), half_up(l[2], l[6]), l[4]}, 0);
    call->t[x] = pair_tensor(p, 4, (int[]){l[0], l[1], l[2], l[3]}, 0);
    call->t[weight] = pair_tensor(p, 4, (int[]){l[4], l[5], l[5], l[3]}, 0);
}

START_TEST(convolution_sums_of_8_bits_are_exact) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < COUNT(layers); i++) {
        cm_call call = {.op = CM_OP_conv2d};
        make_layer(&p, layers[i], &call, CM_T_conv2d_x, CM_T_conv2d_weight);
        compare_whole(&p, &call, CM_T_conv2d_x, CM_T_conv2d_weight);
    }
    close_with(&p);
}
END_TEST

/* 127 everywhere, negative if `negative`, or where row and column of a place add up to an odd number if `in_turn`. */
static void make_ends(const cm_tensor *t, bool negative, bool in_turn) {
    float *data = t->data;
    const size_t channels = (size_t)t->dim[3], width = (size_t)t->dim[2];
    for (size_t i = 0; i < pair_elements(t); i++) {
        const size_t place = i / channels % ((size_t)t->dim[1] * width);
        data[i] = negative != (in_turn && (place / width + place % width) % 2) ? -127.0f : 127.0f;
    }
}

/* The largest numbers that there are, all of one sign, and with signs in turn, with which sums of the transformed tiles
 * of the second layer are beyond 32 bits. The layers after it have as many channels as tiles of 4 x 4 and 3 x 4 places
 * can have on a CPU, and more than those of 4 x 4 can. */
START_TEST(convolutions_of_the_ends_of_8_bits_are_exact) {
    static const int ends[][7] = {
        {5, 6, 7, 48, 16, 3, 1},  {1, 9, 9, 512, 16, 3, 1}, {1, 8, 8, 224, 16, 3, 1}, {1, 6, 7, 912, 16, 3, 1},
        {1, 8, 8, 240, 16, 3, 1}, {1, 6, 7, 928, 16, 3, 1}, {1, 7, 7, 224, 32, 3, 1},
    };
    pair p;
    if (!open_with(&p, _i)) return;
    for (int variant = 0; variant < 3 * COUNT(ends); variant++) {
        cm_call call = {.op = CM_OP_conv2d, .attr = {.compute = CM_I8, .range = 127.0f}};
        make_layer(&p, ends[variant / 3], &call, CM_T_conv2d_x, CM_T_conv2d_weight);
        make_ends(&call.t[CM_T_conv2d_x], false, variant % 3 == 2);
        make_ends(&call.t[CM_T_conv2d_weight], variant % 3 == 0, variant % 3 == 2);
        pair_run(&p, &call, 1, 0.0);
        pair_free(&call);
    }
    close_with(&p);
}
END_TEST

START_TEST(dense_in_8_bits_equals_ref_with_bias_action_and_relu) {
    enum { B = 9, IN = 37, OUT = 29, ACTIONS = 3 };
    pair p;
    if (!open_with(&p, _i)) return;
    for (int variant = 0; variant < 8; variant++) {
        cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 0.8f, .actions = ACTIONS}};
        call.attr.activation = variant & 1 ? CM_ACT_RELU : CM_ACT_NONE;
        call.attr.encoding = variant & 4 ? CM_ENCODE_SCALED : CM_ENCODE_ONEHOT;
        const int columns = !(variant & 2) ? 0 : variant & 4 ? 1 : ACTIONS;
        call.t[CM_T_dense_y] = pair_matrix(&p, B, OUT, 0);
        call.t[CM_T_dense_x] = pair_matrix(&p, B, IN, 2);
        call.t[CM_T_dense_weight] = pair_matrix(&p, OUT, IN + columns, 1);
        if (variant & 1) call.t[CM_T_dense_bias] = pair_vector(&p, OUT);
        if (columns) call.t[CM_T_dense_action] = pair_actions(&p, B, ACTIONS);
        pair_run(&p, &call, 1, 1e-6);
        pair_free(&call);
    }
    close_with(&p);
}
END_TEST

START_TEST(convolution_and_norm_in_8_bits_equal_ref) {
    pair p;
    if (!open_with(&p, _i)) return;
    for (int i = 0; i < COUNT(layers); i++)
        for (int variant = 0; variant < 2; variant++) {
            cm_call call = {.op = CM_OP_conv2d_norm, .attr = {.compute = CM_I8, .range = 1.0f, .epsilon = 1e-5f}};
            call.attr.activation = variant ? CM_ACT_RELU : CM_ACT_NONE;
            make_layer(&p, layers[i], &call, CM_T_conv2d_norm_x, CM_T_conv2d_norm_weight);
            for (int t = CM_T_conv2d_norm_scale; t <= CM_T_conv2d_norm_variance; t++)
                call.t[t] = pair_vector(&p, layers[i][4]);
            float *variance = call.t[CM_T_conv2d_norm_variance].data;
            for (int c = 0; c < layers[i][4]; c++) variance[c] = fabsf(variance[c]) + 0.1f;
            const cm_tensor *y = &call.t[CM_T_conv2d_norm_y];
            if (variant) call.t[CM_T_conv2d_norm_residual] = pair_tensor(&p, 4, y->dim, 0);
            pair_run(&p, &call, 1, 2e-6);
            pair_free(&call);
        }
    close_with(&p);
}
END_TEST

/* As many columns as take whole vectors and the rest of one. NaN is the lower end. */
START_TEST(numbers_beyond_the_range_are_its_ends) {
    enum { ROWS = 6, COLUMNS = 55 };
    static const float beyond[ROWS] = {1e30f, INFINITY, -1e30f, -INFINITY, NAN, 0.0f},
                       number[ROWS] = {127.0f, 127.0f, -127.0f, -127.0f, -127.0f, 2.0f};
    pair p;
    if (!open_with(&p, _i)) return;
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 127.0f}};
    call.t[CM_T_dense_y] = pair_matrix(&p, ROWS, 1, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, ROWS, COLUMNS, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 1, COLUMNS, 0);
    float *x = call.t[CM_T_dense_x].data, *weight = call.t[CM_T_dense_weight].data;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = beyond[i / COLUMNS];
    for (int k = 0; k < COLUMNS; k++) weight[k] = 127.0f, x[(ROWS - 1) * COLUMNS + k] = k % 2 ? 2.5f : 1.5f;
    pair_run(&p, &call, 1, 0.0);
    for (int i = 0; i < ROWS; i++)
        ck_assert_float_eq(((const float *)call.t[CM_T_dense_y].data)[i], COLUMNS * number[i] * 127.0f);
    pair_free(&call);
    close_with(&p);
}
END_TEST

START_TEST(weights_of_8_bits_follow_their_floats) {
    pair p;
    if (!open_with(&p, _i)) return;
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 127.0f}};
    call.t[CM_T_dense_y] = pair_matrix(&p, 1, 1, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 1, 1, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 1, 1, 0);
    float *x = call.t[CM_T_dense_x].data, *weight = call.t[CM_T_dense_weight].data, *y = call.t[CM_T_dense_y].data;
    *x = 3.0f, *weight = 127.0f;
    CHECK_OK(cm_call_prepare(p.stream, &call));
    CHECK_OK(cm_call_run(p.stream, &call));
    ck_assert_float_eq(*y, 381.0f);
    *weight = -127.0f;
    CHECK_OK(cm_backend_repack(p.cpu, weight, sizeof *weight, NULL));
    CHECK_OK(cm_call_run(p.stream, &call));
    ck_assert_float_eq(*y, -381.0f);
    *weight = 0.0f;
    CHECK_OK(cm_backend_repack(p.cpu, weight, sizeof *weight, NULL));
    CHECK_OK(cm_call_run(p.stream, &call));
    ck_assert_float_eq(*y, 0.0f);
    pair_free(&call);
    close_with(&p);
}
END_TEST

/* For the numbers below `count`. */
static inline void add_int8_products(TCase *tests, int count) {
    tcase_add_loop_test(tests, dense_sums_of_8_bits_are_exact, 0, count);
    tcase_add_loop_test(tests, convolution_sums_of_8_bits_are_exact, 0, count);
    tcase_add_loop_test(tests, convolutions_of_the_ends_of_8_bits_are_exact, 0, count);
    tcase_add_loop_test(tests, dense_in_8_bits_equals_ref_with_bias_action_and_relu, 0, count);
    tcase_add_loop_test(tests, convolution_and_norm_in_8_bits_equal_ref, 0, count);
    tcase_add_loop_test(tests, numbers_beyond_the_range_are_its_ends, 0, count);
    tcase_add_loop_test(tests, weights_of_8_bits_follow_their_floats, 0, count);
}

#endif
