/* The operations of the cuda backend on the CPU, against ref: all its host code and kernels but those of the vendors.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/columns.h"
#include "backend/cuda/optimiser.h"
#include "backend/cuda/weights.h"
#include "cuda_cpu.h"
#include "support/main.h"
#include "support/op_bench.h"

static cm_backend cuda;
static op_bench bench;

static void open_both(void) {
    cuda_cpu_open(&cuda);
    bench = (op_bench){.backend = &cuda};
    ck_assert_int_eq(cm_backend_open("ref", &bench.ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(bench.backend, &bench.stream), CM_OK);
    ck_assert_int_eq(cm_stream_open(bench.ref, &bench.ref_stream), CM_OK);
}

static void close_both(void) {
    cm_stream_close(bench.stream);
    cm_stream_close(bench.ref_stream);
    cm_backend_close(bench.ref);
    cuda_cpu_close(&cuda);
}

/* Among it: the items of a kernel may run in any order (lanes.h). */
START_TEST(every_kernel_equals_ref_and_writes_nothing_else) { op_bench_compare_all(&bench); }
END_TEST

START_TEST(outputs_take_the_place_of_gradients) { op_bench_compare_aliased(&bench); }
END_TEST

START_TEST(changed_weights_count_after_repack) { op_bench_change_weights(&bench); }
END_TEST

/* ---- bfloat16 copies ---- */

enum { OUTPUTS = 3, INPUTS = 5, ENCODING = 2, BEFORE = 4, PARAMETERS = 64 };

/* A layer [OUTPUTS, INPUTS + ENCODING] in the middle of the parameters, prepared in bfloat16: its weight has a copy. */
static void prepare_layer(float *parameters, float *x, float *y, int32_t *action) {
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_BF16, .actions = ENCODING}};
    call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, 1, OUTPUTS);
    call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, 1, INPUTS);
    call.t[CM_T_dense_weight] = cm_tensor_2d(parameters + BEFORE, CM_F32, OUTPUTS, INPUTS + ENCODING);
    call.t[CM_T_dense_action] = cm_tensor_1d(action, CM_I32, 1);
    ck_assert_int_eq(cm_call_prepare(bench.stream, &call), CM_OK);
}

static void compare_copy(const float *parameters, const cm_copy *copy) {
    ck_assert_int_eq(copy->stride, 8);
    ck_assert_int_eq(copy->first, BEFORE);
    for (int o = 0; o < OUTPUTS; o++)
        for (int i = 0; i < copy->stride; i++) {
            uint16_t want = i < INPUTS ? cm_bf16_from_float(parameters[BEFORE + o * (INPUTS + ENCODING) + i]) : 0;
            ck_assert_msg(copy->to[o * copy->stride + i] == want, "[%d, %d] is %x, want %x", o, i,
                          copy->to[o * copy->stride + i], want);
        }
}

START_TEST(an_optimiser_step_renews_the_copies_of_weights) {
    float parameters[PARAMETERS], first[PARAMETERS], second[PARAMETERS], gradient[PARAMETERS], x[INPUTS], y[OUTPUTS];
    int32_t action = 0;
    cm_copy copies[CM_COPIES];
    for (int i = 0; i < PARAMETERS; i++)
        parameters[i] = 0.37f * (float)i, first[i] = second[i] = 0.0f, gradient[i] = 1.0f + (float)i;
    prepare_layer(parameters, x, y, &action);
    ck_assert_int_eq(cm_weights_within(bench.stream, parameters, PARAMETERS, copies), 1);
    compare_copy(parameters, &copies[0]);
    ck_assert_int_eq(cm_weights_within(bench.stream, parameters + BEFORE + 1, PARAMETERS - BEFORE - 1, copies), 0);
    for (int sgd = 0; sgd < 2; sgd++) {
        cm_call step = {.op = sgd ? CM_OP_sgd_step : CM_OP_adam_step,
                        .attr = {.learning_rate = 0.5, .correction1 = 1.0, .correction2 = 1.0, .gradient_scale = 1.0}};
        step.t[0] = cm_tensor_1d(parameters, CM_F32, PARAMETERS);
        step.t[1] = cm_tensor_1d(first, CM_F32, PARAMETERS);
        step.t[2] = cm_tensor_1d(sgd ? gradient : second, CM_F32, PARAMETERS);
        if (!sgd) step.t[3] = cm_tensor_1d(gradient, CM_F32, PARAMETERS);
        ck_assert_int_eq(cm_call_eager(bench.stream, &step), CM_OK);
        ck_assert_int_eq(cm_weights_within(bench.stream, parameters, PARAMETERS, copies), 1);
        compare_copy(parameters, &copies[0]);
    }
    ck_assert_float_lt(parameters[1], 0.0f);
}
END_TEST

/* ---- numbers out of range ---- */

/* An action or row number that is out of range makes its row NaN and touches nothing else. */
static void poison_index(cm_op op, const char *index, int32_t wrong) {
    int row = 0;
    while (op_cases[row].op != op || !strstr(op_cases[row].sizes, op == CM_OP_dense ? "B=3" : "")) row++;
    op_run run, before;
    char message[128];
    op_run_make(&run, &op_cases[row], op, (op_variant){.absent = -1, .seed = 5});
    ((int32_t *)run.call.t[op_tensor(op, index)].data)[0] = wrong;
    op_run_copy(&before, &run);
    ck_assert_int_eq(cm_call_eager(bench.stream, &run.call), CM_OK);
    ck_assert_msg(op_run_intact(&run, &before, message), "%s: %s", cm_op_name(op), message);
    const cm_tensor *y = &run.call.t[op_tensor(op, "y")];
    for (int r = 0; r < y->dim[0]; r++) {
        const float *last = (const float *)y->data + (size_t)r * (size_t)y->stride + cm_tensor_row_size(y) - 1;
        ck_assert_msg((r == 0) == (bool)isnan(*last), "%s: row %d of y ends in %g", cm_op_name(op), r, (double)*last);
    }
    op_run_free(&run);
    op_run_free(&before);
}

START_TEST(numbers_out_of_range_make_nan_in_their_row) {
    for (int i = 0; i < 2; i++) {
        int32_t wrong = i ? 1000000 : -1;
        poison_index(CM_OP_dense, "action", wrong);
        poison_index(CM_OP_action_encoding, "action", wrong);
        poison_index(CM_OP_embedding_add, "action", wrong);
        poison_index(CM_OP_gather_rows, "rows", wrong);
    }
}
END_TEST

START_TEST(scattering_to_a_row_that_is_not_there_writes_nothing) {
    float x[2] = {1.0f, 2.0f}, y[3] = {7.0f, 8.0f, 9.0f};
    int32_t rows[2] = {3, -1};
    cm_call call = {.op = CM_OP_scatter_rows};
    call.t[CM_T_scatter_rows_y] = cm_tensor_2d(y, CM_F32, 3, 1);
    call.t[CM_T_scatter_rows_x] = cm_tensor_2d(x, CM_F32, 2, 1);
    call.t[CM_T_scatter_rows_rows] = cm_tensor_1d(rows, CM_I32, 2);
    ck_assert_int_eq(cm_call_eager(bench.stream, &call), CM_OK);
    for (int i = 0; i < 3; i++) ck_assert_float_eq(y[i], 7.0f + (float)i);
}
END_TEST

/* ---- sums over many rows ---- */

START_TEST(chunks_cover_all_rows_and_fit_their_memory) {
    static const struct {
        int64_t rows;
        int columns;
    } sizes[] = {{1, 1}, {16, 3}, {17, 3}, {43008, 128}, {5, 70000}, {1000003, 7}, {70000000, 64}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cm_chunks c = cm_chunks_of(sizes[i].rows, sizes[i].columns, 2);
        ck_assert_int_ge(c.chunk_rows, 16);
        ck_assert_int_ge((int64_t)c.chunks * c.chunk_rows, c.rows);
        ck_assert_int_lt((int64_t)(c.chunks - 1) * c.chunk_rows, c.rows);
        ck_assert_int_le(cm_chunks_items(&c), 65536 + 2 * c.columns);
        ck_assert_uint_eq(cm_chunks_bytes(&c), (size_t)cm_chunks_items(&c) * 2 * sizeof(float));
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_ops");
    TCase *kernels = tcase_create("kernels"), *tests = tcase_create("rest");
    tcase_set_timeout(kernels, 120);
    tcase_add_checked_fixture(kernels, open_both, close_both);
    tcase_add_test(kernels, an_optimiser_step_renews_the_copies_of_weights);
    tcase_add_test(kernels, numbers_out_of_range_make_nan_in_their_row);
    tcase_add_test(kernels, scattering_to_a_row_that_is_not_there_writes_nothing);
    tcase_add_test(kernels, every_kernel_equals_ref_and_writes_nothing_else);
    suite_add_tcase(suite, kernels);
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_both, close_both);
    tcase_add_test(tests, outputs_take_the_place_of_gradients);
    tcase_add_test(tests, changed_weights_count_after_repack);
    tcase_add_test(tests, chunks_cover_all_rows_and_fit_their_memory);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
