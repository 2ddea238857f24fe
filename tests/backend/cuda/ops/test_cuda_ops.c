/* The operations of the cuda backend on the CPU, against ref: all its host code and kernels but those of the vendors.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/ops/columns.h"
#include "backend/cuda/ops/dense.h"
#include "backend/cuda/ops/optimizer.h"
#include "backend/cuda/ops/weights.h"
#include "backend/sampling.h"
#include "core/log.h"
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
START_TEST(every_kernel_equals_ref_and_writes_nothing_else) {
    op_bench_compare(&bench, (cm_op)_i);
    ck_assert_int_gt(bench.calls, 3);
}
END_TEST

START_TEST(a_convolution_and_its_norm_in_one_launch_equal_ref) {
    cuda_cpu_whole = true;
    op_bench_compare(&bench, CM_OP_conv2d_norm);
    ck_assert_int_gt(bench.calls, 3);
    op_bench_change_weights(&bench);
}
END_TEST

/* Numbers that 16 bits hold: activations of them give the bits that float32 does. */
START_TEST(points_of_16_bits_are_those_of_float32) {
    enum { POINTS = 6, CHANNELS = 136, OUTPUTS = 3 };
    static _Alignas(16) float x[POINTS * CHANNELS], weight[OUTPUTS * CHANNELS];
    static _Alignas(16) uint16_t half[POINTS * CHANNELS];
    const cm_dtype type = _i ? CM_F16 : CM_BF16;
    float bias[OUTPUTS] = {0.5f, -1.0f, 2.0f}, y[2][POINTS * OUTPUTS];
    for (int i = 0; i < OUTPUTS * CHANNELS; i++) weight[i] = (float)(i * 5 % 23 - 11) / 8.0f;
    for (int i = 0; i < POINTS * CHANNELS; i++) {
        x[i] = (float)(i * 7 % 31 - 15) / 4.0f;
        half[i] = cm_to_half(x[i], type);
    }
    for (int i = 0; i < 2; i++) {
        cm_call call = {.op = CM_OP_conv2d, .attr = {.compute = type, .stride = 1}};
        call.t[CM_T_conv2d_y] = cm_tensor_make(y[i], CM_F32, 4, (const int[]){2, 1, 3, OUTPUTS});
        call.t[CM_T_conv2d_x] =
            cm_tensor_make(i ? (void *)half : x, i ? type : CM_F32, 4, (const int[]){2, 1, 3, CHANNELS});
        call.t[CM_T_conv2d_weight] = cm_tensor_make(weight, CM_F32, 4, (const int[]){OUTPUTS, 1, 1, CHANNELS});
        call.t[CM_T_conv2d_bias] = cm_tensor_1d(bias, CM_F32, OUTPUTS);
        ck_assert_msg(cm_call_eager(bench.stream, &call) == CM_OK, "%s", cm_error_message());
    }
    for (int p = 0; p < POINTS * OUTPUTS; p++) {
        float sum = bias[p % OUTPUTS];
        for (int c = 0; c < CHANNELS; c++) sum += x[p / OUTPUTS * CHANNELS + c] * weight[p % OUTPUTS * CHANNELS + c];
        ck_assert_float_eq_tol(y[0][p], sum, 1e-3f);
        ck_assert_float_eq(y[1][p], y[0][p]);
    }
}
END_TEST

/* Each such layer says so. */
static bool count_line(void *count, cm_log_level level, const char *line) {
    ck_assert(level == CM_INFO && strstr(line, "a launch of their own: no product with an end"));
    ++*(int *)count;
    return true;
}

/* y[2, 2] += x weight^T + bias. */
static void add_layer(cm_stream *stream, float y[4]) {
    float x[6] = {1, 2, 3, -4, 5, 6}, weight[6] = {1, -1, 2, 3, 0, 1}, bias[2] = {10, -20};
    for (int i = 0; i < 4; i++) y[i] = 100.0f * (float)(i + 1);
    cm_call call = {.op = CM_OP_dense, .attr = {.accumulate = 1u << CM_T_dense_y}};
    call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, 2, 2);
    call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, 2, 3);
    call.t[CM_T_dense_weight] = cm_tensor_2d(weight, CM_F32, 2, 3);
    call.t[CM_T_dense_bias] = cm_tensor_1d(bias, CM_F32, 2);
    ck_assert_int_eq(cm_call_eager(stream, &call), CM_OK);
}

START_TEST(layers_whose_products_take_no_bias_and_no_relu_equal_ref) {
    float got[4], want[4];
    int lines = 0;
    cuda_cpu_bare = true;
    setenv("CUMIND_LOG_PLANS", "1", 1);
    cm_log_set_hook(count_line, &lines);
    op_bench_compare(&bench, CM_OP_dense);
    op_bench_change_weights(&bench);
    add_layer(bench.stream, got);
    add_layer(bench.ref_stream, want);
    ck_assert_mem_eq(got, want, sizeof want);
    cm_log_set_hook(NULL, NULL);
    unsetenv("CUMIND_LOG_PLANS");
    ck_assert_int_gt(lines, 10);
    ck_assert_int_lt(lines, bench.calls);
}
END_TEST

START_TEST(outputs_take_the_place_of_gradients) { op_bench_compare_aliased(&bench); }
END_TEST

START_TEST(clip_renews_the_loss_scale) { op_bench_scale_losses(&bench); }
END_TEST

START_TEST(clip_finds_what_is_not_finite_wherever_it_stands) { op_bench_find_flaws(&bench); }
END_TEST

START_TEST(changed_weights_count_after_repack) { op_bench_change_weights(&bench); }
END_TEST

/* ---- 16-bit copies ---- */

enum { OUTPUTS = 3, INPUTS = 5, ENCODING = 2, BEFORE = 4, SPLIT = 14, PARAMETERS = 64 };

static const cm_dtype half[] = {CM_BF16, CM_F16};

/* A layer [OUTPUTS, INPUTS + ENCODING] in the middle of the parameters, prepared in a type: its weight has a copy. */
static void prepare_layer(cm_dtype type, float *parameters, float *x, float *y, int32_t *action) {
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = type, .actions = ENCODING}};
    call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, 1, OUTPUTS);
    call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, 1, INPUTS);
    call.t[CM_T_dense_weight] = cm_tensor_2d(parameters + BEFORE, CM_F32, OUTPUTS, INPUTS + ENCODING);
    call.t[CM_T_dense_action] = cm_tensor_1d(action, CM_I32, 1);
    ck_assert_int_eq(cm_call_prepare(bench.stream, &call), CM_OK);
}

static void compare_copy(const float *parameters, const cm_half_copy *copy) {
    ck_assert_int_eq(copy->stride, 8);
    ck_assert_int_eq(copy->first, BEFORE);
    for (int o = 0; o < OUTPUTS; o++)
        for (int i = 0; i < copy->stride; i++) {
            const float x = parameters[BEFORE + o * (INPUTS + ENCODING) + i];
            const uint16_t want = i < INPUTS ? cm_to_half(x, copy->type) : 0;
            ck_assert_msg(copy->to[o * copy->stride + i] == want, "[%d, %d] is %x, want %x", o, i,
                          copy->to[o * copy->stride + i], want);
        }
}

START_TEST(an_optimizer_step_renews_the_copies_of_weights) {
    float parameters[PARAMETERS], first[PARAMETERS], second[PARAMETERS], gradient[PARAMETERS], x[INPUTS], y[OUTPUTS];
    int32_t action = 0;
    cm_half_copy copies[CM_COPIES];
    for (int i = 0; i < PARAMETERS; i++)
        parameters[i] = 0.37f * (float)i, first[i] = second[i] = 0.0f, gradient[i] = 1.0f + (float)i;
    prepare_layer(half[_i], parameters, x, y, &action);
    ck_assert_int_eq(cm_weights_within(bench.stream, parameters, PARAMETERS, copies), 1);
    ck_assert_int_eq(copies[0].type, half[_i]);
    compare_copy(parameters, &copies[0]);
    ck_assert_int_eq(cm_weights_within(bench.stream, parameters, BEFORE, copies), 0);
    for (int sgd = 0; sgd < 2; sgd++) {
        cm_call step = {.op = sgd ? CM_OP_sgd_step : CM_OP_adam_step,
                        .attr = {.learning_rate = 0.5, .correction1 = 1.0, .correction2 = 1.0, .gradient_scale = 1.0}};
        float *const tensors[4] = {parameters, first, sgd ? gradient : second, gradient};
        for (int from = 0; from < PARAMETERS; from += SPLIT) { /* two ranges that share the weight */
            int count = from ? PARAMETERS - SPLIT : SPLIT;
            for (int t = 0; t < 4 - sgd; t++) step.t[t] = cm_tensor_1d(tensors[t] + from, CM_F32, count);
            ck_assert_int_eq(cm_call_eager(bench.stream, &step), CM_OK);
            if (from) break;
        }
        ck_assert_int_eq(cm_weights_within(bench.stream, parameters, PARAMETERS, copies), 1);
        compare_copy(parameters, &copies[0]);
    }
    ck_assert_float_lt(parameters[1], 0.0f);
}
END_TEST

enum { LAYERS = CM_COPIES + 7, CAPACITY = 5 * 12 };

/* Layer i: 1 to 5 rows of 2 to 12 columns of a piece of its own. */
static cm_tensor layer_at(float *parameters, int i) {
    return cm_tensor_2d(parameters + (size_t)i * CAPACITY, CM_F32, 1 + i % 5, 2 + i % 11);
}

/* More copies than one launch renews, of several shapes and both types. */
START_TEST(all_copies_of_a_block_are_renewed) {
    static float parameters[LAYERS * CAPACITY], x[12], y[5];
    for (int i = 0; i < LAYERS; i++) {
        cm_call call = {.op = CM_OP_dense, .attr = {.compute = half[i % 2]}};
        call.t[CM_T_dense_weight] = layer_at(parameters, i);
        call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, 1, call.t[CM_T_dense_weight].dim[0]);
        call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, 1, call.t[CM_T_dense_weight].dim[1]);
        ck_assert_int_eq(cm_call_prepare(bench.stream, &call), CM_OK);
    }
    for (int i = 0; i < LAYERS * CAPACITY; i++) parameters[i] = 0.31f * (float)(i + 1);
    ck_assert_int_eq(cm_backend_repack(bench.backend, parameters, sizeof parameters, NULL), CM_OK);
    for (int i = 0; i < LAYERS; i++) {
        const cm_tensor weight = layer_at(parameters, i);
        const float *values = weight.data;
        cm_half_copy copy[CM_COPIES];
        ck_assert_int_eq(cm_weights_within(bench.stream, values, CAPACITY, copy), 1);
        for (int r = 0; r < weight.dim[0]; r++)
            for (int c = 0; c < copy->stride; c++) {
                const float value = c < weight.dim[1] ? values[r * weight.dim[1] + c] : 0.0f;
                ck_assert_uint_eq(copy->to[r * copy->stride + c], cm_to_half(value, half[i % 2]));
            }
    }
}
END_TEST

/* Launches that it takes to renew the copies of weights in parameters[PARAMETERS]. */
static int launches_to_renew(float *parameters) {
    const int before = cuda_cpu_launches;
    ck_assert_int_eq(cm_stream_repack(bench.stream, parameters, PARAMETERS * sizeof *parameters, NULL), CM_OK);
    return cuda_cpu_launches - before;
}

static void optimizer_step(float *parameters, float *momentum, float *gradient, int first, int count) {
    cm_call step = {.op = CM_OP_sgd_step, .attr = {.learning_rate = 0.5, .gradient_scale = 1.0}};
    float *const tensors[3] = {parameters, momentum, gradient};
    for (int t = 0; t < 3; t++) step.t[t] = cm_tensor_1d(tensors[t] + first, CM_F32, count);
    ck_assert_int_eq(cm_call_eager(bench.stream, &step), CM_OK);
}

START_TEST(copies_that_an_optimizer_step_has_renewed_are_not_renewed_again) {
    float parameters[PARAMETERS] = {0}, momentum[PARAMETERS] = {0}, gradient[PARAMETERS] = {0}, x[INPUTS], y[OUTPUTS];
    int32_t action = 0;
    prepare_layer(CM_BF16, parameters, x, y, &action);
    ck_assert_int_eq(launches_to_renew(parameters), 1);
    optimizer_step(parameters, momentum, gradient, 0, PARAMETERS);
    ck_assert_int_eq(launches_to_renew(parameters), 0);
    ck_assert_int_eq(launches_to_renew(parameters),
                     1); /* to ask for it without a step means that something has changed */
    optimizer_step(parameters, momentum, gradient, 0, SPLIT);
    optimizer_step(parameters, momentum, gradient, SPLIT, PARAMETERS - SPLIT);
    ck_assert_int_eq(launches_to_renew(parameters), 0);
    optimizer_step(parameters, momentum, gradient, 0, SPLIT);
    ck_assert_int_eq(launches_to_renew(parameters), 1);
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
    const cm_tensor *y = &run.call.t[0];
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
        poison_index(CM_OP_action_numbers, "action", wrong);
        poison_index(CM_OP_embedding_add, "action", wrong);
        poison_index(CM_OP_gather_rows, "rows", wrong);
        poison_index(CM_OP_bootstrap, "rows", wrong);
    }
}
END_TEST

START_TEST(a_frame_out_of_range_makes_nan_in_its_picture) {
    poison_index(CM_OP_stack_frames, "index", -2);
    poison_index(CM_OP_stack_frames, "index", 3); /* of 3 */
}
END_TEST

/* One by one, and by fours: there is space for the row that is not there. */
START_TEST(scattering_to_a_row_that_is_not_there_writes_nothing) {
    for (int n = 1; n <= 4; n += 3) {
        _Alignas(16) float x[2 * 4] = {1.0f, 2.0f}, y[4 * 4];
        int32_t rows[2] = {3, -1};
        for (int i = 0; i < 4 * 4; i++) y[i] = 7.0f + (float)i;
        cm_call call = {.op = CM_OP_scatter_rows};
        call.t[CM_T_scatter_rows_y] = cm_tensor_2d(y, CM_F32, 3, n);
        call.t[CM_T_scatter_rows_x] = cm_tensor_2d(x, CM_F32, 2, n);
        call.t[CM_T_scatter_rows_rows] = cm_tensor_1d(rows, CM_I32, 2);
        ck_assert_int_eq(cm_call_eager(bench.stream, &call), CM_OK);
        for (int i = 0; i < 4 * 4; i++) ck_assert_float_eq(y[i], 7.0f + (float)i);
    }
}
END_TEST

/* ---- ties ---- */

/* Every third element is a maximum, every fifth a minimum; the lanes that find them are not in order. */
START_TEST(ties_go_to_the_first) {
    static const int lengths[] = {5, 11, 100, 2500};
    static float x[2500], y[2500];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        float saved[3];
        for (int j = 0; j < n; j++) x[j] = j % 3 == 2 ? 2.0f : j % 5 == 1 ? -1.0f : 0.5f;
        cm_call minmax = {.op = CM_OP_minmax}, one_hot = {.op = CM_OP_one_hot};
        minmax.t[CM_T_minmax_x] = one_hot.t[CM_T_one_hot_x] = cm_tensor_2d(x, CM_F32, 1, n);
        minmax.t[CM_T_minmax_y] = one_hot.t[CM_T_one_hot_y] = cm_tensor_2d(y, CM_F32, 1, n);
        minmax.t[CM_T_minmax_saved] = cm_tensor_2d(saved, CM_F32, 1, 3);
        ck_assert_int_eq(cm_call_eager(bench.stream, &minmax), CM_OK);
        ck_assert_float_eq(saved[0], 1.0f);
        ck_assert_float_eq(saved[1], 2.0f);
        ck_assert_int_eq(cm_call_eager(bench.stream, &one_hot), CM_OK);
        for (int j = 0; j < n; j++) ck_assert_float_eq(y[j], j == 2 ? 1.0f : 0.0f);
    }
}
END_TEST

/* ---- rows of fours ---- */

/* y[2, n] of x[2, n], without places of the extremes. */
static void scale_rows(cm_stream *on, float *x, float *y, int n) {
    cm_call minmax = {.op = CM_OP_minmax};
    minmax.t[CM_T_minmax_x] = cm_tensor_2d(x, CM_F32, 2, n);
    minmax.t[CM_T_minmax_y] = cm_tensor_2d(y, CM_F32, 2, n);
    ck_assert_int_eq(cm_call_eager(on, &minmax), CM_OK);
}

/* Rows above and below zero; NaN in front takes its row along, further on it does not. */
START_TEST(rows_of_fours_are_scaled_as_ref_does_and_so_is_nan) {
    enum { MOST = 4100 };
    static _Alignas(16) float x[2 * MOST], got[2 * MOST], want[2 * MOST];
    static const int lengths[] = {4, 12, 24, 2500, MOST};
    for (int k = 0; k < 15; k++) {
        const int n = lengths[k / 3], nan = k % 3;
        for (int i = 0; i < 2 * n; i++) x[i] = (i < n ? 3.0f : -3.0f) + sinf(1.7f * (float)i);
        if (nan) x[nan - 1] = NAN;
        scale_rows(bench.stream, x, got, n);
        scale_rows(bench.ref_stream, x, want, n);
        for (int i = 0; i < 2 * n; i++)
            if (!(fabsf(got[i] - want[i]) <= 1e-6f) && !(isnan(got[i]) && isnan(want[i])))
                ck_abort_msg("element %d of rows of %d: %g, not %g", i, n, (double)got[i], (double)want[i]);
        ck_assert(isnan(got[n - 1]) == (nan == 1) && !isnan(got[2 * n - 1]));
    }
}
END_TEST

/* Rows of fours that are no eights, and others. */
START_TEST(rows_in_16_bits_end_in_zeros) {
    enum { ROWS = 3, COLUMNS = 16 };
    static _Alignas(16) float x[ROWS * COLUMNS];
    static _Alignas(16) uint16_t to[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = 0.37f * (float)(i + 1);
    for (int n = 9; n <= COLUMNS; n++) {
        const cm_call call = {.op = CM_OP_conv2d};
        cm_dense_args args = {
            .x = {x, n}, .n = n, .to = to, .half_stride = COLUMNS, .columns = COLUMNS, .type = CM_BF16};
        memset(to, 0xff, sizeof to);
        ck_assert_int_eq(cm_half_run(bench.stream, &call, &args, ROWS), CM_OK);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const int row = i / COLUMNS, column = i % COLUMNS;
            ck_assert_uint_eq(to[i], column < n ? cm_to_half(x[row * n + column], CM_BF16) : 0);
        }
    }
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

/* out[columns] = 1 for each, to be added to or not. */
static void sum_columns(int rows, int columns, bool add) {
    const int step = columns + 2;
    float *x = calloc((size_t)rows * (size_t)step, sizeof *x), *out = calloc((size_t)columns + 1, sizeof *out);
    ck_assert(x && out);
    for (int i = 0; i < rows * step; i++) x[i] = i % step < columns ? (float)(i % 7) - 2.5f : NAN;
    for (int c = 0; c <= columns; c++) out[c] = 1.0f;
    cm_call call = {.op = CM_OP_dense_backward};
    cm_column_sums sums = {{x, step}, rows, columns, out, add};
    ck_assert_int_eq(cm_ops_reserve(bench.stream, cm_column_sums_bytes(rows, columns)), CM_OK);
    ck_assert_int_eq(cm_column_sums_run(bench.stream, &call, &sums, cm_ops_workspace(bench.stream)), CM_OK);
    for (int c = 0; c < columns; c++) {
        double want = add ? 1.0 : 0.0;
        for (int r = 0; r < rows; r++) want += (double)x[r * step + c];
        ck_assert_msg(fabs((double)out[c] - want) < 1e-3, "%d rows, column %d: %g, want %g", rows, c, (double)out[c],
                      want);
    }
    ck_assert_float_eq(out[columns], 1.0f);
    free(x);
    free(out);
}

START_TEST(columns_of_few_and_of_many_rows_are_summed) {
    static const int rows[] = {1, 5, 16, 17, 256, 257, 4096, 4097, 5001};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sum_columns(rows[i], 3, false);
        sum_columns(rows[i], 20, true);
    }
}
END_TEST

/* Each angle of each row, through attempts that are refused: the list that the CPU draws by the row's seed. */
START_TEST(von_mises_draws_have_the_bits_of_the_cpu) {
    enum { ROWS = 200, BINS = 16, DRAWS = 20 };
    static float p[ROWS * BINS], seed[ROWS * 2], memory[ROWS * (DRAWS + 2)], logits[ROWS * DRAWS];
    const cm_policy_form form = {
        .numbers = 1, .values = BINS, .angles = 1, .steps = 4096, .spread = 0.25f * (float)(1 + _i)};
    for (int b = 0; b < ROWS; b++) {
        for (int i = 0; i < BINS; i++) p[b * BINS + i] = (float)(1 + (b + i) % BINS) / (BINS * (BINS + 1) / 2);
        cm_sampling_seed(cm_key_make((uint64_t)b, CM_RNG_TEST, 3), seed + 2 * b);
    }
    cm_call call = {.op = CM_OP_sample_actions, .attr = {.form = form}};
    call.t[CM_T_sample_actions_memory] = cm_tensor_2d(memory, CM_F32, ROWS, DRAWS + 2);
    call.t[CM_T_sample_actions_logits] = cm_tensor_2d(logits, CM_F32, ROWS, DRAWS);
    call.t[CM_T_sample_actions_p] = cm_tensor_2d(p, CM_F32, ROWS, BINS);
    call.t[CM_T_sample_actions_seed] = cm_tensor_2d(seed, CM_F32, ROWS, 2);
    ck_assert_msg(cm_call_eager(bench.stream, &call) == CM_OK, "%s", cm_error_message());
    for (int b = 0; b < ROWS; b++) {
        float list[DRAWS], shares[DRAWS];
        cm_sampling_draw(p + b * BINS, form, seed + 2 * b, DRAWS, list, shares);
        ck_assert_mem_eq(list, memory + b * (DRAWS + 2), sizeof list);
    }
}
END_TEST

/* Of bytes, of the same numbers in float32, and in 16 bits: ref's bits, or those rounded. */
START_TEST(stacks_of_frames_have_the_bits_of_ref) {
    enum { FRAMES = 5, H = 4, W = 6, C = 2, COUNT = 4, ROWS = 6, NUMBERS = FRAMES * H * W * C };
    static uint8_t bytes[NUMBERS];
    static float floats[NUMBERS], want[ROWS * H * W * COUNT * C], got[ROWS * H * W * COUNT * C];
    static uint16_t rounded[ROWS * H * W * COUNT * C];
    int32_t index[ROWS * COUNT], shift[ROWS * 2] = {0, 0, 1, 0, 0, -2, 3, 5, -9, 9};
    float factor[ROWS] = {1.0f, 1.03f, 0.9f, 1.1f, 0.97f, 1.0f};
    const cm_dtype type = half[_i];
    const float unit = 1.0f / 255.0f;
    for (int i = 0; i < NUMBERS; i++) bytes[i] = (uint8_t)(i * 37), floats[i] = (float)bytes[i] * unit;
    for (int i = 0; i < ROWS * COUNT; i++) index[i] = i * 3 % FRAMES;
    index[(ROWS - 1) * COUNT] = -1;
    cm_call call = {.op = CM_OP_stack_frames, .attr = {.scale = unit, .compute = type}};
    call.t[CM_T_stack_frames_y] = cm_tensor_make(want, CM_F32, 4, (const int[]){ROWS, H, W, COUNT * C});
    call.t[CM_T_stack_frames_frames] = cm_tensor_make(bytes, CM_U8, 4, (const int[]){FRAMES, H, W, C});
    call.t[CM_T_stack_frames_index] = cm_tensor_2d(index, CM_I32, ROWS, COUNT);
    call.t[CM_T_stack_frames_shift] = cm_tensor_2d(shift, CM_I32, ROWS, 2);
    call.t[CM_T_stack_frames_factor] = cm_tensor_1d(factor, CM_F32, ROWS);
    ck_assert_msg(cm_call_eager(bench.ref_stream, &call) == CM_OK, "%s", cm_error_message());
    for (int of_floats = 0; of_floats < 2; of_floats++) {
        cm_stream *const streams[] = {bench.stream, bench.ref_stream};
        if (of_floats)
            call.t[CM_T_stack_frames_frames] = cm_tensor_make(floats, CM_F32, 4, (const int[]){FRAMES, H, W, C});
        for (int s = 0; s < 2; s++) {
            memset(got, 0xff, sizeof got);
            call.t[CM_T_stack_frames_y].data = got;
            ck_assert_msg(cm_call_eager(streams[s], &call) == CM_OK, "%s", cm_error_message());
            ck_assert_mem_eq(got, want, sizeof want);
        }
        call.t[CM_T_stack_frames_y] = cm_tensor_make(rounded, type, 4, (const int[]){ROWS, H, W, COUNT * C});
        ck_assert_msg(cm_call_eager(bench.stream, &call) == CM_OK, "%s", cm_error_message());
        for (int i = 0; i < ROWS * H * W * COUNT * C; i++) ck_assert_uint_eq(rounded[i], cm_to_half(want[i], type));
        call.t[CM_T_stack_frames_y] = cm_tensor_make(got, CM_F32, 4, (const int[]){ROWS, H, W, COUNT * C});
    }
}
END_TEST

/* Operations by the file of their kernels. */
static const struct {
    const char *file;
    cm_op first, last;
} families[] = {{"dense", CM_OP_dense, CM_OP_conv2d_norm},
                {"elementwise", CM_OP_activation, CM_OP_scale_add},
                {"fake_quantise", CM_OP_fake_quantise, CM_OP_range_update},
                {"layer_norm", CM_OP_layer_norm, CM_OP_layer_norm_backward},
                {"batch_norm", CM_OP_batch_norm, CM_OP_batch_norm_update},
                {"minmax", CM_OP_minmax, CM_OP_minmax_backward},
                {"softmax", CM_OP_simnorm, CM_OP_simnorm_backward},
                {"shape", CM_OP_avg_pool, CM_OP_bootstrap},
                {"frames", CM_OP_stack_frames, CM_OP_stack_frames},
                {"softmax", CM_OP_one_hot, CM_OP_log_softmax_backward},
                {"support", CM_OP_value_transform, CM_OP_categorical_loss},
                {"losses", CM_OP_policy_loss, CM_OP_consistency_loss},
                {"lstm", CM_OP_lstm, CM_OP_lstm_backward},
                {"prefix", CM_OP_prefix_step, CM_OP_prefix_step},
                {"sampled", CM_OP_sample_actions, CM_OP_action_numbers},
                {"optimizer", CM_OP_add_into, CM_OP_lerp}};

START_TEST(every_operation_is_of_a_family) {
    int next = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        ck_assert_int_eq(families[i].first, next);
        next = families[i].last + 1;
    }
    ck_assert_int_eq(next, CM_OP_COUNT);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_both, close_both);
    suite_add_tcase(suite, tests);
    return tests;
}

int main(void) {
    Suite *suite = suite_create("backend/cuda_ops");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        tcase_add_loop_test(add_case(suite, families[i].file), every_kernel_equals_ref_and_writes_nothing_else,
                            families[i].first, families[i].last + 1);
    tcase_add_test(add_case(suite, "dense"), columns_of_few_and_of_many_rows_are_summed);
    tcase_add_loop_test(add_case(suite, "optimizer"), an_optimizer_step_renews_the_copies_of_weights, 0, 2);
    tcase_add_test(add_case(suite, "optimizer"), copies_that_an_optimizer_step_has_renewed_are_not_renewed_again);
    tcase_add_test(add_case(suite, "optimizer"), all_copies_of_a_block_are_renewed);
    tcase_add_test(add_case(suite, "optimizer"), clip_renews_the_loss_scale);
    tcase_add_test(add_case(suite, "optimizer"), clip_finds_what_is_not_finite_wherever_it_stands);
    tcase_add_test(add_case(suite, "minmax"), ties_go_to_the_first);
    tcase_add_test(add_case(suite, "minmax"), rows_of_fours_are_scaled_as_ref_does_and_so_is_nan);
    tcase_add_test(add_case(suite, "dense"), rows_in_16_bits_end_in_zeros);
    tcase_add_loop_test(add_case(suite, "dense"), points_of_16_bits_are_those_of_float32, 0, 2);
    tcase_add_test(add_case(suite, "shape"), scattering_to_a_row_that_is_not_there_writes_nothing);
    tcase_add_loop_test(add_case(suite, "frames"), stacks_of_frames_have_the_bits_of_ref, 0, 2);
    tcase_add_test(add_case(suite, "frames"), a_frame_out_of_range_makes_nan_in_its_picture);
    tcase_add_loop_test(add_case(suite, "sampled"), von_mises_draws_have_the_bits_of_the_cpu, 0, 4);
    TCase *tests = add_case(suite, "rest");
    tcase_add_test(tests, every_operation_is_of_a_family);
    tcase_add_test(tests, numbers_out_of_range_make_nan_in_their_row);
    tcase_add_test(tests, a_convolution_and_its_norm_in_one_launch_equal_ref);
    tcase_add_test(tests, layers_whose_products_take_no_bias_and_no_relu_equal_ref);
    tcase_add_test(tests, outputs_take_the_place_of_gradients);
    tcase_add_test(tests, changed_weights_count_after_repack);
    tcase_add_test(tests, chunks_cover_all_rows_and_fit_their_memory);
    return cm_test_main(suite);
}
