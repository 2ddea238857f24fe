/* Sums over rows that several calls make are few launches, and the numbers that the calls by themselves make. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/fused/segments.h"
#include "backend/cuda/ops/sums.h"
#include "support/main.h"

enum { ROWS = 37, WIDTH = 12, INPUTS = 8, ACTIONS = 3, COLUMNS = INPUTS + ACTIONS, MOST = 20, MEMORY = ROWS * WIDTH };

static cm_backend backend;
static cm_stream *stream;
static float read[4][MEMORY], made[MOST][3][WIDTH * COLUMNS];
static int32_t actions[ROWS];
static cm_call calls[MOST];

static void open_calls(void) {
    cuda_cpu_open(&backend);
    ck_assert_int_eq(cm_stream_open(&backend, &stream), CM_OK);
    memset(calls, 0, sizeof calls);
    memset(made, 0, sizeof made);
    for (int m = 0; m < 4; m++)
        for (int i = 0; i < MEMORY; i++) read[m][i] = sinf((float)(i + 7 * m));
    for (int r = 0; r < ROWS; r++) actions[r] = r % ACTIONS;
}

static void close_calls(void) {
    cm_stream_close(stream);
    cuda_cpu_close(&backend);
}

static cm_tensor vector(float *data) { return cm_tensor_1d(data, CM_F32, WIDTH); }
static cm_tensor rows_of(float *data, int columns) { return cm_tensor_2d(data, CM_F32, ROWS, columns); }

/* Gradients of scale and shift; odd ones are added to what is there. */
static void put_norm(int i) {
    cm_call *call = &calls[i];
    call->op = CM_OP_layer_norm_backward;
    call->branch = 1;
    call->attr.activation = CM_ACT_RELU;
    if (i % 2) call->attr.accumulate = 1u << CM_T_layer_norm_backward_dscale | 1u << CM_T_layer_norm_backward_dshift;
    *CM_ARG(call, layer_norm_backward, dscale) = vector(made[i][0]);
    *CM_ARG(call, layer_norm_backward, dshift) = vector(made[i][1]);
    *CM_ARG(call, layer_norm_backward, dy) = rows_of(read[i % 3], WIDTH);
    *CM_ARG(call, layer_norm_backward, x) = rows_of(read[1], WIDTH);
    *CM_ARG(call, layer_norm_backward, y) = rows_of(read[2], WIDTH);
    *CM_ARG(call, layer_norm_backward, saved) = rows_of(read[3], 2);
    *CM_ARG(call, layer_norm_backward, scale) = vector(read[0]);
    *CM_ARG(call, layer_norm_backward, shift) = vector(read[1]);
}

/* Gradients of a weight with columns for actions, and of a bias. */
static void put_layer(int i) {
    cm_call *call = &calls[i];
    call->op = CM_OP_dense_backward;
    call->branch = 2;
    call->attr.actions = ACTIONS;
    call->attr.encoding = CM_ENCODE_ONEHOT;
    if (i % 2) call->attr.accumulate = 1u << CM_T_dense_backward_dweight | 1u << CM_T_dense_backward_dbias;
    *CM_ARG(call, dense_backward, dweight) = cm_tensor_2d(made[i][0], CM_F32, WIDTH, COLUMNS);
    *CM_ARG(call, dense_backward, dbias) = vector(made[i][1]);
    *CM_ARG(call, dense_backward, dy) = rows_of(read[i % 3], WIDTH);
    *CM_ARG(call, dense_backward, x) = rows_of(read[1], INPUTS);
    *CM_ARG(call, dense_backward, weight) = cm_tensor_2d(made[i][2], CM_F32, WIDTH, COLUMNS);
    *CM_ARG(call, dense_backward, action) = cm_tensor_1d(actions, CM_I32, ROWS);
}

/* Runs the calls twice, with their sums made together or each by itself; the launches of the second time. */
static int run(int count, bool together) {
    const cm_call_list pass = {.calls = calls, .count = count, .version = 1};
    cm_fused_segments *all = NULL;
    int before = 0;
    for (int i = 0; i < count; i++)
        ck_assert_msg(cm_call_prepare(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    if (together) ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    for (int time = 0; time < 2; time++) {
        void *kept = all;
        before = cuda_cpu_launches;
        ck_assert_int_eq(cuda_cpu_class.run_list(stream, &pass, false, &kept), CM_OK);
    }
    cm_fused_segments_free(all);
    return cuda_cpu_launches - before;
}

/* Expects what the calls make by themselves, and so many launches. */
static void expect(int count, int apart, int together) {
    static float want[MOST][3][WIDTH * COLUMNS];
    ck_assert_int_eq(run(count, false), apart);
    memcpy(want, made, sizeof made);
    memset(made, 0, sizeof made);
    ck_assert_int_eq(run(count, true), together);
    for (int i = 0; i < count; i++)
        for (int part = 0; part < 3; part++)
            for (int k = 0; k < WIDTH * COLUMNS; k++)
                ck_assert_float_eq_tol(made[i][part][k], want[i][part][k], 1e-5f * (1.0f + fabsf(want[i][part][k])));
}

START_TEST(sums_of_norms_are_two_launches) {
    for (int i = 0; i < 5; i++) put_norm(i);
    expect(5, 10, 2);
}
END_TEST

START_TEST(sums_of_layers_leave_their_products) {
    for (int i = 0; i < 4; i++) put_layer(i);
    expect(4, 4 * 4, 4 + 2);
}
END_TEST

START_TEST(more_than_a_launch_takes_are_two_more) {
    for (int i = 0; i < MOST; i++) put_norm(i);
    expect(MOST, 2 * MOST, 4);
}
END_TEST

/* Others may wait for what such a call makes, or write what it reads. */
START_TEST(calls_without_branches_keep_their_sums) {
    for (int i = 0; i < 3; i++) put_norm(i), calls[i].branch = 0;
    expect(3, 6, 6);
}
END_TEST

/* Its sums would read dx, which has taken the place of dy. */
START_TEST(a_norm_that_makes_dx_keeps_its_sums) {
    float dy[MEMORY], want[3][WIDTH * COLUMNS];
    memcpy(dy, read[0], sizeof dy);
    for (int together = 0; together < 2; together++) {
        memcpy(read[0], dy, sizeof dy);
        memset(made, 0, sizeof made);
        put_norm(0);
        *CM_ARG(&calls[0], layer_norm_backward, dx) = *CM_ARG(&calls[0], layer_norm_backward, dy);
        *CM_ARG(&calls[0], layer_norm_backward, scale) = vector(read[2]);
        ck_assert_int_eq(run(1, together), 3);
        if (!together) memcpy(want, made[0], sizeof want);
    }
    ck_assert_mem_eq(made[0], want, sizeof want);
    put_layer(1);
    ck_assert(cm_sums_are_of(&calls[1]));
    *CM_ARG(&calls[1], dense_backward, dx) = rows_of(read[2], INPUTS);
    ck_assert(!cm_sums_are_of(&calls[1]));
}
END_TEST

/* An action of very many: its parts would not fit. */
START_TEST(large_sums_stay_where_they_are) {
    cm_call call = {.op = CM_OP_dense_backward, .branch = 1};
    const int wide = CM_SUMS_EACH / (int)sizeof(float) / WIDTH + 1;
    put_layer(0);
    ck_assert(cm_sums_are_of(&calls[0]));
    call = calls[0];
    CM_ARG(&call, dense_backward, dweight)->dim[1] = INPUTS + wide;
    ck_assert(!cm_sums_are_of(&call));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_sums");
    TCase *tests = tcase_create("sums");
    tcase_add_checked_fixture(tests, open_calls, close_calls);
    tcase_add_test(tests, sums_of_norms_are_two_launches);
    tcase_add_test(tests, sums_of_layers_leave_their_products);
    tcase_add_test(tests, more_than_a_launch_takes_are_two_more);
    tcase_add_test(tests, calls_without_branches_keep_their_sums);
    tcase_add_test(tests, a_norm_that_makes_dx_keeps_its_sums);
    tcase_add_test(tests, large_sums_stay_where_they_are);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
