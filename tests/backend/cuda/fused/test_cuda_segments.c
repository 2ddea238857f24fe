/* Fused segments in passes that train: one launch for many calls, which leaves what these leave, whatever the
 * network, the rows and the type; and which calls make a fused segment. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/fused/row_range.h"
#include "backend/cuda/fused/segments.h"
#include "backend/cuda/ops/ops.h"
#include "support/infer_bench.h"
#include "support/main.h"
#include "support/unrolled.h"

enum { WIDE = 7 /* a kind, that takes long */ };

static const struct {
    cm_dtype type;
    float tolerance; /* of the largest number of a tensor */
} types[] = {{CM_F32, 1e-4f}, {CM_BF16, 5e-2f}, {CM_F16, 1e-2f}};

/* ---- a backend that runs passes as a GPU does, without capturing them ---- */

static cm_backend_class segmenting_class(void) {
    cm_backend_class class = cuda_cpu_class;
    class.run_list = cuda_cpu_run_segments;
    return class;
}

/* ---- whole unrolls ---- */

/* Launches of an unroll on a backend of a class. */
static int unroll(cm_test_unrolled *u, cm_backend *backend, int kind, cm_dtype type, int rows) {
    cm_test_unrolled_open(u, backend, kind, type, rows);
    const int before = cuda_cpu_launches;
    cm_test_unrolled_run(u);
    return cuda_cpu_launches - before;
}

/* Which launch for all calls of a segment is the fastest: of weights in the device's memory, or in the block's. */
enum { GLOBAL = 1, SHARED = CUDA_CPU_LAST };

static const struct {
    int rows, multiprocessors; /* those are too few for tiles of 8 rows in the last one */
} shapes[] = {{1, 132}, {16, 132}, {37, 4}};

/* An unroll in segments against one in calls. */
static void compare_unrolls(int kind, int type, int rows) {
    cm_backend_class segmenting = segmenting_class();
    cm_test_unrolled want, got;
    cm_backend apart, fused;
    segmenting.prepare_list = cuda_cpu_prepare_segments;
    cuda_cpu_open(&apart), cuda_cpu_open(&fused);
    fused.kind = &segmenting;
    cuda_cpu_segments = 0;
    const int many = unroll(&want, &apart, kind, types[type].type, rows);
    ck_assert_int_eq(cuda_cpu_segments, 0);
    const int few = unroll(&got, &fused, kind, types[type].type, rows);
    ck_assert_int_gt(cuda_cpu_segments, 0);
    ck_assert_int_lt(few, many);
    if (kind == 0) { /* states, heads, and both backwards */
        ck_assert_int_eq(cuda_cpu_segments, 4);
        ck_assert_int_lt(few, many / 2);
    }
    cm_test_unrolled_compare(&got, &want, types[type].tolerance);
    cm_test_unrolled_close(&got), cm_test_unrolled_close(&want);
    cuda_cpu_close(&apart), cuda_cpu_close(&fused);
}

START_TEST(a_segment_leaves_what_its_calls_leave) {
    const int kind = _i / 3, type = _i % 3, count = sizeof shapes / sizeof *shapes;
    cuda_cpu_unmeasured = true;
    for (int shape = kind == WIDE ? count - 1 : 0; shape < count; shape++) {
        cuda_cpu_winner = (kind + shape) % 2 ? GLOBAL : SHARED;
        cuda_cpu_limits.multiprocessors = shapes[shape].multiprocessors;
        compare_unrolls(kind, type, shapes[shape].rows);
    }
}
END_TEST

/* When a pass is created nothing that it touches is of use yet. */
START_TEST(segments_of_training_are_measured_when_a_pass_is_created) {
    cuda_cpu_segments = 0;
    compare_unrolls(0, 0, 16);
    ck_assert_int_eq(strncmp(cuda_cpu_chosen.key, "segment of training of rows", 27), 0);
    ck_assert_int_gt(cuda_cpu_chosen.launches[0], 3);
    for (int i = 1; i < 3; i++) ck_assert_int_eq(cuda_cpu_chosen.launches[i], 1);
}
END_TEST

static void count_nothing(const char *kernel) { (void)kernel; }

/* Later nothing may run to be measured. */
START_TEST(segments_of_training_are_estimated_when_a_list_first_runs) {
    const cm_backend_class segmenting = segmenting_class();
    cm_test_unrolled u;
    cm_backend cuda;
    cuda_cpu_open(&cuda);
    cuda.kind = &segmenting;
    cuda_cpu_told = count_nothing;
    cuda_cpu_segments = 0;
    unroll(&u, &cuda, _i ? WIDE : 0, CM_F32, 37);
    if (_i) ck_assert_int_lt(cuda_cpu_segments, 4); /* wide layers in float32 are not worth it */
    if (!_i) ck_assert_int_eq(cuda_cpu_segments, 4);
    ck_assert_int_eq(cuda_cpu_chosen.key[0], 0);
    cuda_cpu_told = NULL;
    cm_test_unrolled_close(&u);
    cuda_cpu_close(&cuda);
}
END_TEST

/* Inferences in fused segments, against ref. */
typedef struct inferring {
    cm_backend_class kind;
    cm_backend cuda;
    infer_bench bench;
} inferring;

static void open_inferring(inferring *i, int network) {
    i->kind = segmenting_class();
    cuda_cpu_open(&i->cuda);
    i->cuda.kind = &i->kind;
    infer_bench_open(&i->bench, &i->cuda, infer_network(network));
    cuda_cpu_segments = 0;
}

static void close_inferring(inferring *i) {
    infer_bench_close(&i->bench);
    cuda_cpu_close(&i->cuda);
}

/* What infers is one launch where that was measured to be faster; else segments of it may be. */
START_TEST(a_pass_that_is_not_one_launch_has_segments_and_equals_ref) {
    inferring i;
    open_inferring(&i, INFER_PLAIN);
    cuda_cpu_passes_lose = true;
    cm_inference *inference = infer_bench_make(&i.bench, false, 16, CM_F32);
    infer_bench_fill(&i.bench, inference, 0);
    ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
    const int before = cuda_cpu_launches, each = cuda_cpu_chosen.launches[0]; /* of what was measured last */
    ck_assert_int_eq(strncmp(cuda_cpu_chosen.key, "segment of rows", 15), 0);
    ck_assert_int_gt(each, 3);
    ck_assert_int_eq(cuda_cpu_chosen.launches[1], 1);
    ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
    ck_assert_int_eq(cuda_cpu_launches - before, 4); /* states gathered; dynamics; scattered; what they say */
    cm_inference_destroy(inference);
    cuda_cpu_segments = 0;
    for (int type = 0; type < 3; type++) infer_bench_run(&i.bench, 17, types[type].type, types[type].tolerance);
    ck_assert_int_gt(cuda_cpu_segments, 0);
    cuda_cpu_passes_lose = false;
    close_inferring(&i);
}
END_TEST

/* Where calls are faster they stay calls. */
START_TEST(segments_of_an_inference_are_measured) {
    inferring i;
    open_inferring(&i, INFER_PLAIN);
    cuda_cpu_winner = 0;
    infer_bench_run(&i.bench, 17, CM_F32, types[0].tolerance);
    ck_assert_int_eq(cuda_cpu_segments, 0);
    cuda_cpu_winner = CUDA_CPU_LAST;
    close_inferring(&i);
}
END_TEST

/* Nor do draws end more than a fused segment. */
START_TEST(segments_around_draws_give_what_ref_does) {
    inferring i;
    open_inferring(&i, _i);
    i.bench.draws = 4;
    infer_bench_run(&i.bench, 17, CM_F32, types[0].tolerance);
    ck_assert_int_gt(cuda_cpu_segments, 0);
    close_inferring(&i);
}
END_TEST

/* The LSTM of value prefixes is no step: what is in front of it and after it may be, whose rows it reads and makes. */
START_TEST(segments_around_an_lstm_give_what_ref_does) {
    const int network = INFER_NETWORKS + _i / 3, type = _i % 3;
    inferring i;
    open_inferring(&i, network);
    infer_bench_run(&i.bench, 17, types[type].type, types[type].tolerance);
    ck_assert(cuda_cpu_segments > 0 || network == INFER_PREFIX_NHWC); /* NHWC activations are no rows */
    close_inferring(&i);
}
END_TEST

/* ---- which calls make a fused segment ---- */

enum { ROWS = 20, WIDTH = 8, CALLS = 8 };

static cm_backend backend;
static cm_stream *stream;
static float memory[16][ROWS * WIDTH];
static cm_call calls[CALLS];
static int count;

static void open_calls(void) {
    cuda_cpu_open(&backend);
    cuda_cpu_limits = (cm_ops_limits){132, 227 << 10, true};
    ck_assert_int_eq(cm_stream_open(&backend, &stream), CM_OK);
    memset(calls, 0, sizeof calls);
    count = 0;
    for (int m = 0; m < 16; m++)
        for (int i = 0; i < ROWS * WIDTH; i++) memory[m][i] = sinf((float)(i + 7 * m));
}

static void close_calls(void) {
    cm_stream_close(stream);
    cuda_cpu_close(&backend);
}

/* Columns first .. of rows that a memory begins with. */
static cm_tensor part(int which, int rows, int first, int columns) {
    const int dim[2] = {rows, columns};
    cm_tensor t = cm_tensor_make(memory[which] + first, CM_F32, 2, dim);
    t.stride = WIDTH;
    return t;
}

/* y = tanh(x) */
static cm_call *bend(cm_tensor y, cm_tensor x) {
    cm_call *call = &calls[count++];
    call->op = CM_OP_activation;
    call->attr.activation = CM_ACT_TANH;
    call->t[CM_T_activation_y] = y;
    call->t[CM_T_activation_x] = x;
    return call;
}

static void run_calls(cm_fused_segments *all, const cm_call_list *pass) {
    void *kept = all;
    ck_assert_int_eq(cuda_cpu_class.run_list(stream, pass, false, &kept), CM_OK);
}

static int segments_found(void) {
    const cm_call_list pass = {.calls = calls, .count = count, .version = 1};
    cm_fused_segments *all;
    for (int i = 0; i < count; i++)
        ck_assert_msg(cm_call_prepare(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    const int found = cm_fused_segments_count(all);
    cm_fused_segments_free(all);
    return found;
}

static cm_tensor whole(int which) { return part(which, ROWS, 0, WIDTH); }

START_TEST(a_call_alone_is_no_segment) {
    bend(whole(1), whole(0));
    ck_assert_int_eq(segments_found(), 0);
    bend(whole(2), whole(1));
    ck_assert_int_eq(segments_found(), 1);
}
END_TEST

/* NHWC activations, say: one launch of all the device's lanes for each call is faster. */
START_TEST(rows_of_many_numbers_are_no_segment) {
    enum { WIDE_ROW = 1500 };
    static float wide[3][ROWS * WIDE_ROW];
    for (int i = 0; i < 2; i++) {
        const int dim[2] = {ROWS, WIDE_ROW};
        bend(cm_tensor_make(wide[i + 1], CM_F32, 2, dim), cm_tensor_make(wide[i], CM_F32, 2, dim));
    }
    ck_assert_int_eq(segments_found(), 0);
    for (int i = 0; i < 2; i++) bend(whole(i + 1), whole(i)); /* after them one begins */
    ck_assert_int_eq(segments_found(), 1);
    for (int i = 0; i < 4; i++) calls[i / 2].t[i % 2].dim[1] = WIDE_ROW / 15;
    ck_assert_int_eq(segments_found(), 1); /* one of all four */
    for (int i = 0; i < 2; i++) calls[2].t[i].dim[0]--;
    ck_assert_int_eq(segments_found(), 1); /* of the first two */
}
END_TEST

/* Tiles that no multiprocessor is left for come one after the other. */
START_TEST(many_rows_on_a_small_device_are_no_segment) {
    enum { MANY_ROWS = 1024, NUMBERS = 96 };
    static float many[3][MANY_ROWS * NUMBERS];
    for (int i = 0; i < 2; i++) {
        const int dim[2] = {MANY_ROWS, NUMBERS};
        bend(cm_tensor_make(many[i + 1], CM_F32, 2, dim), cm_tensor_make(many[i], CM_F32, 2, dim));
    }
    ck_assert_int_eq(segments_found(), 1);
    cuda_cpu_limits.multiprocessors = 1;
    ck_assert_int_eq(segments_found(), 0);
}
END_TEST

START_TEST(another_number_of_rows_ends_a_segment) {
    for (int i = 0; i < 2; i++) bend(whole(i + 1), whole(i));
    for (int i = 2; i < 4; i++) bend(part(i + 1, ROWS - 1, 0, WIDTH), part(i, ROWS - 1, 0, WIDTH));
    ck_assert_int_eq(segments_found(), 2);
}
END_TEST

/* A block may have made row r of the first call's result when another makes row r - 1 of the second's of it. */
START_TEST(rows_of_another_block_end_a_segment) {
    cm_tensor moved = part(1, ROWS / 2, 0, WIDTH);
    moved.data = memory[1] + WIDTH;
    bend(part(1, ROWS / 2, 0, WIDTH), part(0, ROWS / 2, 0, WIDTH));
    bend(part(2, ROWS / 2, 0, WIDTH), moved);
    ck_assert_int_eq(segments_found(), 0);
    calls[1].t[CM_T_activation_x].data = memory[3];
    ck_assert_int_eq(segments_found(), 1);
    calls[1].t[CM_T_activation_y] = part(0, ROWS / 2, 0, WIDTH);
    calls[1].t[CM_T_activation_y].data = memory[0] + WIDTH; /* written over what others still read */
    ck_assert_int_eq(segments_found(), 0);
}
END_TEST

static cm_status keep_order(cm_stream *on, const cm_call *call, void *context) {
    int *order = context;
    order[++order[0]] = (int)(call - calls);
    return cm_call_run(on, call);
}

static cm_status stay(cm_stream *on, const cm_call *call, void *context, cm_stream **out) {
    (void)call, (void)context;
    *out = on;
    return CM_OK;
}

START_TEST(calls_with_branches_come_behind_their_segment) {
    const cm_call_list pass = {.calls = calls, .count = 5, .version = 1};
    int order[CALLS + 1] = {0};
    cm_fused_segments *all;
    bend(whole(1), whole(0));
    bend(whole(8), whole(1))->branch = 1;
    bend(whole(2), whole(1));
    bend(whole(9), whole(2))->branch = 2; /* after the last step: in no segment */
    bend(part(3, ROWS - 1, 0, WIDTH), part(2, ROWS - 1, 0, WIDTH));
    for (int i = 0; i < count; i++) ck_assert_int_eq(cm_call_prepare(stream, &calls[i]), CM_OK);
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    ck_assert_int_eq(cm_fused_segments_count(all), 1);
    const int before = cuda_cpu_launches;
    const cm_segment_runner runner = {keep_order, stay, order};
    ck_assert_int_eq(cm_fused_segments_run(all, stream, &pass, &runner), CM_OK);
    ck_assert_int_eq(cuda_cpu_launches - before, 4);
    ck_assert_int_eq(order[0], 3);
    ck_assert_int_eq(order[1], 1);
    ck_assert_int_eq(order[2], 3);
    ck_assert_int_eq(order[3], 4);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        ck_assert_float_eq_tol(memory[2][i], tanhf(tanhf(memory[0][i])), 1e-6f);
        ck_assert_float_eq_tol(memory[9][i], tanhf(memory[2][i]), 1e-6f);
    }
    cm_fused_segments_free(all);
}
END_TEST

/* What its calls leave for each other is written nowhere; addresses that have changed are followed. */
START_TEST(a_whole_pass_is_one_segment) {
    cm_call_list pass = {
        .calls = calls, .count = 2, .work = memory[1], .work_bytes = sizeof memory[1], .infers = true, .version = 1};
    float untouched[ROWS * WIDTH];
    cm_fused_segments *all;
    bend(whole(1), whole(0));
    bend(whole(2), whole(1));
    for (int i = 0; i < count; i++) ck_assert_int_eq(cm_call_prepare(stream, &calls[i]), CM_OK);
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, true, &all), CM_OK);
    ck_assert(cm_fused_segments_is_whole(all));
    ck_assert_int_eq(cm_fused_segments_count(all), 1);
    calls[1].t[CM_T_activation_y] = whole(3);
    pass.version++;
    for (int i = 0; i < ROWS * WIDTH; i++) memory[1][i] = untouched[i] = 9.0f;
    const int before = cuda_cpu_launches;
    run_calls(all, &pass);
    ck_assert_int_eq(cuda_cpu_launches - before, 1);
    ck_assert_mem_eq(memory[1], untouched, sizeof untouched);
    for (int i = 0; i < ROWS * WIDTH; i++) ck_assert_float_eq_tol(memory[3][i], tanhf(tanhf(memory[0][i])), 1e-6f);
    cm_fused_segments_free(all);
}
END_TEST

START_TEST(calls_that_cannot_be_one_segment_or_would_be_slower_are_no_whole_one) {
    const cm_call_list pass = {
        .calls = calls, .count = 2, .work = memory[1], .work_bytes = sizeof memory[1], .infers = true, .version = 1};
    cm_fused_segments *all;
    bend(whole(1), whole(0));
    bend(whole(2), whole(1));
    for (int i = 0; i < count; i++) ck_assert_int_eq(cm_call_prepare(stream, &calls[i]), CM_OK);
    cuda_cpu_passes_lose = true;
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, true, &all), CM_OK);
    ck_assert_ptr_null(all);
    cuda_cpu_passes_lose = false;
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK); /* of its parts there may be one */
    ck_assert(!cm_fused_segments_is_whole(all));
    ck_assert_int_eq(cm_fused_segments_count(all), 1);
    cm_fused_segments_free(all);
    calls[1].t[CM_T_activation_x].dim[0] = calls[1].t[CM_T_activation_y].dim[0] = ROWS - 1;
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, true, &all), CM_OK);
    ck_assert_ptr_null(all);
}
END_TEST

/* What a step leaves in shared memory is old where a later one has written over it. */
START_TEST(columns_that_are_written_again_are_read_again) {
    const cm_call_list pass = {.calls = calls, .count = 3, .version = 1};
    cm_fused_segments *all;
    bend(whole(1), whole(0));
    bend(part(1, ROWS, 2, 3), part(4, ROWS, 2, 3));
    bend(whole(2), whole(1));
    ck_assert_int_eq(segments_found(), 1);
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    run_calls(all, &pass);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        const bool again = i % WIDTH >= 2 && i % WIDTH < 5;
        ck_assert_float_eq_tol(memory[2][i], tanhf(tanhf(memory[again ? 4 : 0][i])), 1e-6f);
    }
    cm_fused_segments_free(all);
}
END_TEST

/* Gradients that are added to others, of activations that look at y, or at x. */
static void record_gradients(void) {
    enum { DX = CM_T_activation_backward_dx, LX = CM_T_layer_norm_backward_dx };
    cm_call *cut = &calls[0], *normed = &calls[1], *added = &calls[2], *bent = &calls[3];
    const int width = WIDTH;
    *cut = (cm_call){.op = CM_OP_activation_backward, .attr = {.activation = CM_ACT_RELU, .accumulate = 1u << DX}};
    cut->t[DX] = whole(1);
    cut->t[CM_T_activation_backward_dy] = whole(2);
    cut->t[CM_T_activation_backward_x] = whole(3);
    cut->t[CM_T_activation_backward_y] = whole(4);
    *normed = (cm_call){.op = CM_OP_layer_norm_backward,
                        .attr = {.activation = CM_ACT_GELU_TANH, .accumulate = 1u << LX, .groups = 2}};
    normed->t[LX] = whole(5);
    normed->t[CM_T_layer_norm_backward_dy] = whole(1);
    normed->t[CM_T_layer_norm_backward_x] = whole(3);
    normed->t[CM_T_layer_norm_backward_y] = whole(4);
    normed->t[CM_T_layer_norm_backward_saved] = part(6, ROWS, 0, 4);
    normed->t[CM_T_layer_norm_backward_scale] = cm_tensor_make(memory[7], CM_F32, 1, &width);
    normed->t[CM_T_layer_norm_backward_shift] = cm_tensor_make(memory[8], CM_F32, 1, &width);
    *added = (cm_call){.op = CM_OP_scale_add, .attr = {.scale = 0.5f, .accumulate = 1u << CM_T_scale_add_y}};
    added->t[CM_T_scale_add_y] = whole(9);
    added->t[CM_T_scale_add_x] = whole(5);
    *bent = *cut;
    bent->attr.activation = CM_ACT_TANH;
    bent->t[DX] = whole(10);
    bent->t[CM_T_activation_backward_dy] = whole(9);
    count = 4;
}

START_TEST(gradients_are_added_to) {
    const cm_call_list pass = {.calls = calls, .count = 4, .version = 1};
    static float before[16][ROWS * WIDTH], apart[16][ROWS * WIDTH];
    cm_fused_segments *all;
    record_gradients();
    ck_assert_int_eq(segments_found(), 1);
    memcpy(before, memory, sizeof memory);
    run_calls(NULL, &pass);
    memcpy(apart, memory, sizeof memory);
    memcpy(memory, before, sizeof memory);
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    run_calls(all, &pass);
    for (int m = 0; m < 16; m++)
        for (int i = 0; i < ROWS * WIDTH; i++) ck_assert_float_eq_tol(memory[m][i], apart[m][i], 1e-5f);
    ck_assert_float_ne(memory[9][0], before[9][0]);
    cm_fused_segments_free(all);
}
END_TEST

/* y = x times the first rows of a weight */
static void put_layer(cm_tensor y, cm_tensor x, int outputs) {
    cm_call *call = &calls[count++];
    call->op = CM_OP_dense;
    call->t[CM_T_dense_y] = y;
    call->t[CM_T_dense_x] = x;
    call->t[CM_T_dense_weight] = part(0, outputs, 0, x.dim[1]);
}

/* Of those that read as many rows of a weight shared memory has a copy, not of one that reads more. */
START_TEST(a_layer_of_more_rows_of_a_weight_reads_no_copy_of_fewer) {
    enum { INPUTS = 8, FEW = 3, MANY = 7 };
    const cm_call_list pass = {.calls = calls, .count = 3, .is_idle = true, .version = 1};
    static float apart[16][ROWS * WIDTH];
    cm_fused_segments *all;
    for (int i = 0; i < 3; i++)
        put_layer(part(2 + i, ROWS, 0, i == 1 ? MANY : FEW), part(1, ROWS, 0, INPUTS), i == 1 ? MANY : FEW);
    ck_assert_int_eq(segments_found(), 1);
    run_calls(NULL, &pass);
    memcpy(apart, memory, sizeof memory);
    cuda_cpu_winner = SHARED;
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    ck_assert_int_eq(cuda_cpu_chosen.launches[2], 1); /* there is one with a copy */
    memset(memory[2], 0, 3 * sizeof *memory);
    run_calls(all, &pass);
    for (int m = 2; m < 5; m++)
        for (int i = 0; i < ROWS * WIDTH; i++)
            if (i % WIDTH < (m == 3 ? MANY : FEW)) ck_assert_float_eq_tol(memory[m][i], apart[m][i], 1e-5f);
    cm_fused_segments_free(all);
}
END_TEST

/* The key by which three layers are measured, each with a weight in a memory. */
static void key_of(const int weight[3], char key[CM_AUTOTUNE_KEY_BYTES]) {
    const cm_call_list pass = {.calls = calls, .count = 3, .is_idle = true, .version = 1};
    cm_fused_segments *all;
    count = 0;
    for (int i = 0; i < 3; i++) {
        put_layer(whole(2 + i), whole(1), WIDTH);
        *CM_ARG(&calls[i], dense, weight) = part(weight[i], WIDTH, 0, WIDTH);
        ck_assert_int_eq(cm_call_prepare(stream, &calls[i]), CM_OK);
    }
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    cm_fused_segments_free(all);
    memcpy(key, cuda_cpu_chosen.key, CM_AUTOTUNE_KEY_BYTES);
}

/* Those of one weight may read a copy in shared memory: what is measured for them is not for others. */
START_TEST(a_key_says_which_layers_share_a_weight) {
    static const int weights[][3] = {{5, 6, 5}, {7, 8, 7}, {5, 6, 7}, {5, 6, 6}, {5, 5, 6}, {5, 5, 5}};
    enum { KEYS = sizeof weights / sizeof *weights };
    char key[KEYS][CM_AUTOTUNE_KEY_BYTES];
    for (int i = 0; i < KEYS; i++) key_of(weights[i], key[i]);
    ck_assert_str_eq(key[0], key[1]); /* addresses alone differ */
    for (int i = 1; i < KEYS; i++)
        for (int j = 1; j < i; j++) ck_assert_str_ne(key[i], key[j]);
}
END_TEST

/* ---- rows in memory ---- */

START_TEST(rows_are_apart_alike_or_crossed) {
    const char *base = (const char *)memory;
    const cm_row_range whole = {base, 32, 32, 4}, left = {base, 32, 12, 4}, right = {base + 12, 32, 20, 4};
    const cm_row_range next = {base + 32, 32, 32, 4}, behind = {base + 128, 32, 32, 4}, wide = {base, 64, 32, 4};
    const cm_row_range across = {base + 20, 32, 20, 4}, none = {0};
    ck_assert_int_eq(cm_row_relate(&whole, &whole), CM_ROWS_ALIKE);
    ck_assert_int_eq(cm_row_relate(&whole, &right), CM_ROWS_ALIKE);
    ck_assert_int_eq(cm_row_relate(&left, &right), CM_ROWS_APART);
    ck_assert_int_eq(cm_row_relate(&right, &left), CM_ROWS_APART);
    ck_assert_int_eq(cm_row_relate(&whole, &next), CM_ROWS_CROSSED);
    ck_assert_int_eq(cm_row_relate(&next, &whole), CM_ROWS_CROSSED);
    ck_assert_int_eq(cm_row_relate(&whole, &behind), CM_ROWS_APART);
    ck_assert_int_eq(cm_row_relate(&whole, &wide), CM_ROWS_CROSSED);
    ck_assert_int_eq(cm_row_relate(&left, &across), CM_ROWS_CROSSED);
    ck_assert_int_eq(cm_row_relate(&whole, &none), CM_ROWS_APART);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_segments");
    TCase *unrolls = tcase_create("unrolls"), *small = tcase_create("calls");
    tcase_set_timeout(unrolls, 60);
    tcase_add_loop_test(unrolls, a_segment_leaves_what_its_calls_leave, 0, CM_TEST_UPDATE_KINDS * 3);
    tcase_add_test(unrolls, segments_of_training_are_measured_when_a_pass_is_created);
    tcase_add_loop_test(unrolls, segments_of_training_are_estimated_when_a_list_first_runs, 0, 2);
    tcase_add_test(unrolls, a_pass_that_is_not_one_launch_has_segments_and_equals_ref);
    tcase_add_test(unrolls, segments_of_an_inference_are_measured);
    tcase_add_loop_test(unrolls, segments_around_draws_give_what_ref_does, INFER_PLAIN, INFER_CHANCE);
    tcase_add_loop_test(unrolls, segments_around_an_lstm_give_what_ref_does, 0, 3 * (INFER_PICTURES - INFER_NETWORKS));
    suite_add_tcase(suite, unrolls);
    tcase_add_checked_fixture(small, open_calls, close_calls);
    tcase_add_test(small, a_call_alone_is_no_segment);
    tcase_add_test(small, rows_of_many_numbers_are_no_segment);
    tcase_add_test(small, many_rows_on_a_small_device_are_no_segment);
    tcase_add_test(small, another_number_of_rows_ends_a_segment);
    tcase_add_test(small, rows_of_another_block_end_a_segment);
    tcase_add_test(small, calls_with_branches_come_behind_their_segment);
    tcase_add_test(small, a_whole_pass_is_one_segment);
    tcase_add_test(small, calls_that_cannot_be_one_segment_or_would_be_slower_are_no_whole_one);
    tcase_add_test(small, columns_that_are_written_again_are_read_again);
    tcase_add_test(small, gradients_are_added_to);
    tcase_add_test(small, a_layer_of_more_rows_of_a_weight_reads_no_copy_of_fewer);
    tcase_add_test(small, a_key_says_which_layers_share_a_weight);
    tcase_add_test(small, rows_are_apart_alike_or_crossed);
    suite_add_tcase(suite, small);
    return cm_test_main(suite);
}
