/* Passes of an inference as one kernel: what ref gives, whatever the network, the rows and the type; and passes that
 * stay many launches. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/planner.h"
#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/fused/row_kernel.h"
#include "support/infer_bench.h"
#include "support/main.h"
#include "support/tree_cpu.h"

enum { MOST_ROWS = 37 };

static const int row_counts[] = {1, 16, MOST_ROWS};
static const struct {
    cm_dtype type;
    float tolerance; /* of the largest number of an output */
} types[] = {{CM_F32, 2e-5f}, {CM_BF16, 3e-2f}, {CM_F16, 4e-3f}};

static cm_backend cuda;
static infer_bench bench;

static void open_all(cm_network_config config) {
    cuda_cpu_open(&cuda);
    cuda_cpu_limits = (cm_ops_limits){132, 227 << 10, true};
    infer_bench_open(&bench, &cuda, config);
}

static void close_all(void) {
    infer_bench_close(&bench);
    cuda_cpu_close(&cuda);
}

static cm_inference *infer(int rows, cm_dtype type) {
    cm_inference *made = infer_bench_make(&bench, false, rows, type);
    infer_bench_fill(&bench, made, 0);
    return made;
}

static int launches_of(cm_status (*pass)(cm_inference *), cm_inference *inference) {
    const int before = cuda_cpu_launches;
    ck_assert_msg(pass(inference) == CM_OK, "%s", cm_error_message());
    return cuda_cpu_launches - before;
}

/* In tiles of half as many rows where there are multiprocessors for all of them. */
START_TEST(one_launch_gives_what_ref_does) {
    const int type = _i / INFER_NETWORKS;
    open_all(infer_network(_i % INFER_NETWORKS));
    for (size_t r = 0; r < sizeof row_counts / sizeof *row_counts; r++) {
        cuda_cpu_limits.multiprocessors = (_i + (int)r) % 2 ? 132 : 1;
        infer_bench_run(&bench, row_counts[r], types[type].type, types[type].tolerance);
        cm_inference *inference = infer(row_counts[r], types[type].type);
        ck_assert_int_eq(launches_of(cm_inference_root, inference), 1);
        ck_assert_int_eq(launches_of(cm_inference_recurrent, inference), 1);
        if (cm_inference_get(inference)->after_codes)
            ck_assert_int_eq(launches_of(cm_inference_afterstate, inference), 1);
        cm_inference_destroy(inference);
    }
    close_all();
}
END_TEST

/* ---- what stays many launches ---- */

static cm_network_config resnet_config(void) {
    cm_network_config c = infer_network(INFER_CUMIND);
    c.observation_ndim = 3;
    c.observation[0] = c.observation[1] = 4;
    c.observation[2] = 2;
    c.channels = 8;
    return c;
}

static void expect_many(cm_network_config config, cm_dtype type) {
    open_all(config);
    cm_inference *inference = infer(MOST_ROWS, type);
    ck_assert_int_gt(launches_of(cm_inference_recurrent, inference), 3);
    cm_inference_destroy(inference);
    close_all();
}

static int launches_with(cm_ops_limits limits, cm_dtype type, int rows) {
    cuda_cpu_limits = limits;
    cm_inference *inference = infer(rows, type);
    const int launches = launches_of(cm_inference_recurrent, inference);
    cm_inference_destroy(inference);
    return launches;
}

START_TEST(networks_that_are_not_of_rows_or_too_deep_stay_many_launches) {
    cm_network_config resnet = resnet_config(), deep = infer_network(INFER_PLAIN);
    resnet.family = CM_FAMILY_RESNET;
    resnet.norm = CM_NORM_BATCH;
    resnet.head_channels = 2;
    resnet.head_hidden = 8;
    expect_many(resnet, CM_F32);
    deep.trunk_layers = CM_ROW_STEPS / 2;
    expect_many(deep, CM_F32);
    open_all(resnet_config()); /* of family cumind only the root has NHWC activations */
    cm_inference *inference = infer(2, CM_BF16);
    ck_assert_int_gt(launches_of(cm_inference_root, inference), 3);
    ck_assert_int_eq(launches_of(cm_inference_recurrent, inference), 1);
    cm_inference_destroy(inference);
    close_all();
}
END_TEST

START_TEST(a_device_that_cannot_takes_many_launches) {
    const cm_ops_limits able = {132, 227 << 10, true};
    cm_ops_limits old = able, small = able;
    old.multiplies_16_bits = false;
    small.block_bytes = 4 << 10;
    open_all(infer_network(INFER_PLAIN));
    ck_assert_int_eq(launches_with(able, CM_BF16, 1), 1);
    ck_assert_int_gt(launches_with(old, CM_BF16, 1), 3);
    ck_assert_int_gt(launches_with(old, CM_F16, 1), 3);
    ck_assert_int_eq(launches_with(old, CM_F32, 1), 1);
    ck_assert_int_gt(launches_with(small, CM_BF16, 1), 3);
    cuda.is_unfused = true;
    ck_assert_int_gt(launches_with(able, CM_BF16, 1), 3);
    close_all();
}
END_TEST

/* ---- where many launches are faster ---- */

/* The recurrent pass of so many rows, which is created last. */
static void measure(int rows, cm_dtype type, cuda_cpu_autotuning *out) {
    cm_inference_destroy(infer(rows, type));
    *out = cuda_cpu_chosen;
}

START_TEST(the_faster_one_is_taken) {
    open_all(infer_network(INFER_PLAIN));
    for (int winner = 0; winner < 2; winner++) {
        cuda_cpu_winner = winner;
        cm_inference *inference = infer(MOST_ROWS, CM_F32);
        const int launches = launches_of(cm_inference_recurrent, inference);
        ck_assert_int_eq(launches, cuda_cpu_chosen.launches[winner]);
        cm_inference_destroy(inference);
    }
    ck_assert_int_eq(cuda_cpu_chosen.launches[1], 1);
    ck_assert_int_gt(cuda_cpu_chosen.launches[0], 3);
    cuda_cpu_winner = CUDA_CPU_LAST;
    close_all();
}
END_TEST

/* Of memory that is full of zeros every row would be gathered from the first one and scattered to it. */
START_TEST(what_is_measured_has_rows_of_its_own) {
    open_all(infer_network(INFER_PLAIN));
    cm_inference *inference = infer_bench_make(&bench, false, MOST_ROWS, CM_BF16);
    const cm_inference_arrays on_device = cm_inference_on_device(inference);
    for (int i = 0; i < MOST_ROWS; i++) {
        ck_assert_int_eq(on_device.root_slots[i], i);
        ck_assert_int_eq(on_device.parent_slots[i], i);
        ck_assert_int_eq(on_device.child_slots[i], i);
    }
    cm_inference_destroy(inference);
    close_all();
}
END_TEST

START_TEST(what_was_measured_is_known_by_rows_steps_and_types) {
    cuda_cpu_autotuning a, b;
    open_all(infer_network(INFER_PLAIN));
    measure(16, CM_BF16, &a), measure(16, CM_BF16, &b);
    ck_assert_str_eq(a.key, b.key); /* addresses do not count */
    measure(17, CM_BF16, &b);
    ck_assert_str_ne(a.key, b.key);
    measure(16, CM_F16, &b);
    ck_assert_str_ne(a.key, b.key);
    close_all();
    cm_network_config wider = infer_network(INFER_PLAIN);
    wider.hidden++;
    open_all(wider);
    measure(16, CM_BF16, &b);
    ck_assert_str_ne(a.key, b.key);
    close_all();
}
END_TEST

/* ---- what changes between runs ---- */

START_TEST(changed_weights_count) {
    open_all(infer_network(INFER_PLAIN));
    cm_inference *got = infer(MOST_ROWS, CM_BF16), *want = infer_bench_make(&bench, true, MOST_ROWS, CM_BF16);
    const size_t count = cm_network_parameters(bench.network.network)->parameters;
    float *parameters = (float *)(void *)bench.parameters.block.base;
    infer_bench_fill(&bench, want, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cm_inference_root(got), CM_OK);
        ck_assert_int_eq(cm_inference_root(want), CM_OK);
        infer_bench_compare(&bench, got, want, 3e-2f, true);
        for (size_t k = 0; k < count; k++)
            parameters[k] = bench.network.parameters[k] = parameters[k] * (k % 2 ? 1.5f : -0.5f);
        ck_assert_int_eq(cm_stream_repack(bench.stream, parameters, count * sizeof(float), NULL), CM_OK);
    }
    cm_inference_destroy(got);
    cm_inference_destroy(want);
    close_all();
}
END_TEST

enum { WIDTH = 6, HIDDEN = 12, OUTPUTS = 5, ROWS = 21 };

/* A pass by hand, of what the networks above do not have: the columns of a layer, among them a norm's residual, and a
 * one-hot row. */
typedef struct small {
    float parameters[(HIDDEN + OUTPUTS + 2) * WIDTH], input[2][ROWS * WIDTH];
    cm_tape *tape;
    cm_pass *pass;
    cm_var result;
} small;

static cm_var weight(cm_tape *tape, int outputs, int inputs, size_t offset) {
    cm_param p = {.ndim = 2, .dim = {outputs, inputs}, .offset = offset, .count = (size_t)(outputs * inputs)};
    return cm_tape_param(tape, &p);
}

static cm_var record_small(cm_tape *tape) {
    const int dim[2] = {ROWS, WIDTH};
    cm_param scale = {.ndim = 1, .dim = {WIDTH}, .offset = (HIDDEN + OUTPUTS) * WIDTH, .count = WIDTH}, shift = scale;
    shift.offset += WIDTH;
    cm_var x = cm_tape_input(tape, CM_F32, 2, dim);
    cm_var y = cm_tape_dense(tape, x, weight(tape, HIDDEN, WIDTH, 0), CM_NO_VAR, NULL, CM_ACT_NONE);
    cm_var bent = cm_tape_activation(tape, y, CM_ACT_TANH);
    cm_norm_vars norm = {cm_tape_param(tape, &scale), cm_tape_param(tape, &shift), cm_tape_constant(tape, WIDTH, 0.3f),
                         cm_tape_constant(tape, WIDTH, 2.5f), cm_tape_columns(tape, bent, 1, WIDTH)};
    cm_var normal = cm_tape_fixed_norm(tape, cm_tape_columns(tape, bent, 5, WIDTH), &norm, CM_ACT_RELU);
    cm_var hot = cm_tape_one_hot(tape, cm_tape_columns(tape, y, 3, WIDTH));
    cm_var sum = cm_tape_add(tape, normal, hot, CM_ACT_NONE);
    cm_var last = weight(tape, OUTPUTS, WIDTH, HIDDEN * WIDTH);
    return cm_tape_dense(tape, sum, last, CM_NO_VAR, NULL, CM_ACT_RELU);
}

static void open_small(small *s, cm_stream *stream) {
    for (size_t i = 0; i < sizeof s->parameters / sizeof(float); i++) s->parameters[i] = sinf((float)i);
    for (int i = 0; i < 2 * ROWS * WIDTH; i++) s->input[i / (ROWS * WIDTH)][i % (ROWS * WIDTH)] = cosf(0.7f * (float)i);
    ck_assert_int_eq(cm_tape_create(false, CM_F32, &s->tape), CM_OK);
    s->result = record_small(s->tape);
    cm_tape_result(s->tape, s->result);
    ck_assert_int_eq(cm_tape_finish(s->tape), CM_OK);
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = s->parameters, [CM_MEM_INPUT] = s->input[0]};
    ck_assert_int_eq(cm_pass_create(s->tape, stream, base, &s->pass), CM_OK);
}

static const float *run_small(small *s, int input) {
    cm_pass_bind(s->pass, CM_MEM_INPUT, s->input[input]);
    ck_assert_int_eq(input ? cm_pass_launch(s->pass) : cm_pass_forward(s->pass), CM_OK);
    ck_assert_int_eq(cm_pass_fetch(s->pass), CM_OK);
    return cm_pass_result(s->pass, s->result);
}

START_TEST(blocks_that_move_are_followed) {
    static small got, want;
    const int order[] = {0, 1, 1, 0};
    open_all(infer_network(INFER_PLAIN));
    open_small(&got, bench.stream);
    open_small(&want, bench.ref_stream);
    for (int i = 0; i < 4; i++) {
        const int before = cuda_cpu_launches;
        const float *is = run_small(&got, order[i]), *should = run_small(&want, order[i]);
        for (int k = 0; k < ROWS * OUTPUTS; k++) ck_assert_float_eq_tol(is[k], should[k], 1e-5f);
        ck_assert_int_eq(cuda_cpu_launches, before + 1);
    }
    cm_pass_destroy(got.pass), cm_pass_destroy(want.pass);
    cm_tape_destroy(got.tape), cm_tape_destroy(want.tape);
    close_all();
}
END_TEST

START_TEST(calls_that_are_no_pass_of_rows_any_more_are_an_error) {
    float x[ROWS * WIDTH] = {1.0f}, y[ROWS * WIDTH] = {0.0f}, work[1];
    const int dim[2] = {ROWS, WIDTH};
    cm_call call = {.op = CM_OP_activation, .attr = {.activation = CM_ACT_TANH}};
    cm_call_list calls = {
        .calls = &call, .count = 1, .work = work, .work_bytes = sizeof work, .infers = true, .version = 1};
    cm_row_kernel *fused = NULL;
    call.t[CM_T_activation_x] = cm_tensor_make(x, CM_F32, 2, dim);
    call.t[CM_T_activation_y] = cm_tensor_make(y, CM_F32, 2, dim);
    open_all(infer_network(INFER_PLAIN));
    ck_assert_int_eq(cm_row_kernel_create(bench.stream, &calls, &fused), CM_OK);
    ck_assert_ptr_nonnull(fused);
    ck_assert_int_eq(cm_row_kernel_run(bench.stream, &calls, fused), CM_OK);
    ck_assert_float_eq_tol(y[0], tanhf(1.0f), 1e-6f);
    call.t[CM_T_activation_x].dim[0]--;
    calls.version++;
    for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_row_kernel_run(bench.stream, &calls, fused), CM_ERR_STATE);
    ck_assert_str_eq(cm_error_message(), "a fused row-wise kernel: it cannot be made with the new addresses");
    cm_row_kernel_free(fused);
    close_all();
}
END_TEST

/* ---- numbers out of range ---- */

enum { BAD = 18 };

/* Row BAD alone is NaN. */
static void expect_nan(const float *numbers, int columns) {
    for (int i = 0; i < MOST_ROWS * columns; i++)
        ck_assert_msg((bool)isnan(numbers[i]) == (i / columns == BAD), "row %d has %g", i / columns,
                      (double)numbers[i]);
}

START_TEST(numbers_out_of_range_make_nan_in_their_row) {
    const int made[] = {INFER_PLAIN, INFER_ODD, INFER_CUMIND};
    for (int i = 0; i < 6; i++) {
        open_all(infer_network(made[i % 3]));
        cm_inference *inference = infer(MOST_ROWS, i < 3 ? CM_BF16 : CM_F32);
        const cm_inference_arrays *a = cm_inference_get(inference);
        ck_assert_int_eq(cm_inference_root(inference), CM_OK);
        *(i % 2 ? &a->actions[BAD] : &a->parent_slots[BAD]) = i < 3 ? -1 : 1000000;
        ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
        expect_nan(a->policy, cm_network_get_config(bench.network.network)->actions);
        expect_nan(a->reward, 1);
        cm_inference_destroy(inference);
        close_all();
    }
}
END_TEST

START_TEST(a_state_for_a_slot_that_is_not_there_goes_nowhere) {
    open_all(infer_network(INFER_PLAIN));
    cm_inference *inference = infer(MOST_ROWS, CM_F32);
    const cm_inference_arrays *a = cm_inference_get(inference);
    float value[MOST_ROWS];
    ck_assert_int_eq(cm_inference_root(inference), CM_OK);
    ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
    memcpy(value, a->value, sizeof value);
    for (int i = 0; i < MOST_ROWS; i++) a->child_slots[i] = i % 2 ? -1 - i : MOST_ROWS * (INFER_STEPS + 2) + i;
    for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
    ck_assert_mem_eq(value, a->value, sizeof value);
    cm_inference_destroy(inference);
    close_all();
}
END_TEST

/* ---- searches ---- */

enum { ROOTS = 19, SIMULATIONS = 12, ACTIONS = 5, OBSERVATION = 6 };

/* What a search of all roots gives, and the launches of operations that it takes. */
typedef struct found {
    int32_t visits[ROOTS * ACTIONS];
    float value[ROOTS];
    int launches;
} found;

static void search(bool unfused, found *out) {
    cm_backend_class with_trees = cuda_cpu_class;
    with_trees.search_kernels = &tree_cpu_kernels;
    cuda.kind = &with_trees;
    cuda.is_eager = true; /* nothing is recorded here */
    cuda.is_unfused = unfused;
    cm_planner_config config = {.network = bench.network.network,
                                .backend = &cuda,
                                .parameters = (float *)(void *)bench.parameters.block.base,
                                .compute = CM_F32,
                                .search = cm_search_params_default(CM_POLICY_MUZERO),
                                .discount = 0.9f,
                                .rows = ROOTS};
    config.search.num_simulations = SIMULATIONS;
    cm_planner *planner;
    cm_search_result result = {.visits = out->visits, .value = out->value};
    ck_assert(cm_planner_is_on_device(&config));
    ck_assert_msg(cm_planner_create(&config, &planner) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < ROOTS * OBSERVATION; i++) cm_planner_observations(planner)[i] = sinf((float)i);
    const int before = cuda_cpu_launches;
    ck_assert_msg(cm_planner_run(planner, &(cm_roots){.count = ROOTS, .without_noise = true}, &result) == CM_OK, "%s",
                  cm_error_message());
    out->launches = cuda_cpu_launches - before;
    cm_planner_destroy(planner);
    cuda.kind = &cuda_cpu_class;
}

START_TEST(a_search_on_the_device_launches_one_kernel_for_a_pass) {
    static found fused, unfused;
    open_all(infer_network(INFER_PLAIN));
    search(false, &fused);
    search(true, &unfused);
    ck_assert_int_eq(fused.launches, 1 + SIMULATIONS);
    ck_assert_int_gt(unfused.launches, 5 * fused.launches);
    ck_assert_mem_eq(fused.visits, unfused.visits, sizeof fused.visits);
    for (int i = 0; i < ROOTS; i++) ck_assert_float_eq_tol(fused.value[i], unfused.value[i], 1e-4f);
    close_all();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_row_kernel");
    TCase *wide = tcase_create("float32"), *tests = tcase_create("row_kernel"); /* the first for devices of any age */
    tcase_set_timeout(wide, 60);
    tcase_add_loop_test(wide, one_launch_gives_what_ref_does, 0, INFER_NETWORKS);
    suite_add_tcase(suite, wide);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, one_launch_gives_what_ref_does, INFER_NETWORKS, INFER_NETWORKS * 3);
    tcase_add_test(tests, networks_that_are_not_of_rows_or_too_deep_stay_many_launches);
    tcase_add_test(tests, a_device_that_cannot_takes_many_launches);
    tcase_add_test(tests, the_faster_one_is_taken);
    tcase_add_test(tests, what_is_measured_has_rows_of_its_own);
    tcase_add_test(tests, what_was_measured_is_known_by_rows_steps_and_types);
    tcase_add_test(tests, changed_weights_count);
    tcase_add_test(tests, blocks_that_move_are_followed);
    tcase_add_test(tests, calls_that_are_no_pass_of_rows_any_more_are_an_error);
    tcase_add_test(tests, numbers_out_of_range_make_nan_in_their_row);
    tcase_add_test(tests, a_search_on_the_device_launches_one_kernel_for_a_pass);
    tcase_add_test(tests, a_state_for_a_slot_that_is_not_there_goes_nowhere);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
