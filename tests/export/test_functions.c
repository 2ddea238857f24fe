/* What is exported is what a search sees: the functions of every kind of network against the inference passes. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/examples.h"
#include "export/torch.h"
#include "support/infer_bench.h"
#include "support/main.h"

enum { ROWS = 5 };
static const float tolerance = 1e-5f; /* of the larger of 1 and the number */

static infer_bench bench;
static cm_export_examples examples;
static cm_export_network exported;

static void open_bench(int network, bool decodes) {
    cm_backend *ref;
    ck_assert_int_eq(cm_backend_open("ref", &ref), CM_OK);
    infer_bench_open(&bench, ref, infer_network(network));
    exported = (cm_export_network){
        bench.network.network,
        {cm_network_parameters(bench.network.network), bench.network.parameters, bench.network.state},
        {.decodes = decodes}};
}

static void close_bench(void) {
    cm_backend *ref = bench.backend;
    infer_bench_close(&bench);
    cm_backend_close(ref);
}

static void expect_same(const char *function, const char *port, const float *want, int columns) {
    const float *got = cm_export_examples_find(&examples, function, port);
    ck_assert_msg(got != NULL, "%s has no %s", function, port);
    for (int i = 0; i < ROWS * columns; i++)
        ck_assert_msg(fabsf(got[i] - want[i]) <= tolerance * fmaxf(1.0f, fabsf(want[i])),
                      "%s.%s: number %d is %g, a search has %g", function, port, i, (double)got[i], (double)want[i]);
}

static const float *given(const char *function, const char *port) {
    const float *numbers = cm_export_examples_find(&examples, function, port);
    ck_assert_msg(numbers != NULL, "%s has no %s", function, port);
    return numbers;
}

static void check_root(cm_inference *inference, const cm_inference_arrays *a) {
    const int actions = cm_network_get_config(exported.network)->actions;
    memcpy(a->observation, given("initial_inference", "observation"),
           sizeof(float) * ROWS * (size_t)cm_network_observation_size(exported.network));
    for (int i = 0; i < ROWS; i++) a->root_slots[i] = i;
    ck_assert_int_eq(cm_inference_root(inference), CM_OK);
    expect_same("initial_inference", "policy_logits", a->root_policy, actions);
    expect_same("initial_inference", "value", a->root_value, 1);
}

static void check_afterstate(cm_inference *inference, const cm_inference_arrays *a) {
    for (int i = 0; i < ROWS; i++) {
        a->after_parent_slots[i] = i;
        a->after_child_slots[i] = ROWS + i;
        a->after_actions[i] = (int32_t)given("afterstate_inference", "action")[i];
    }
    ck_assert_int_eq(cm_inference_afterstate(inference), CM_OK);
    expect_same("afterstate_inference", "code_logits", a->after_codes, INFER_CODES);
    expect_same("afterstate_inference", "value", a->after_value, 1);
}

static void check_step(cm_inference *inference, const cm_inference_arrays *a, int parents) {
    const cm_network_config *c = cm_network_get_config(exported.network);
    if (a->codes) memset(a->codes, 0, sizeof(float) * ROWS * INFER_CODES);
    for (int i = 0; i < ROWS; i++) {
        a->parent_slots[i] = parents + i;
        a->child_slots[i] = 2 * ROWS + i;
        if (a->codes) {
            a->codes[i * INFER_CODES + (int)given("recurrent_inference", "code")[i]] = 1.0f;
        } else {
            a->actions[i] = (int32_t)given("recurrent_inference", "action")[i];
        }
    }
    ck_assert_int_eq(cm_inference_recurrent(inference), CM_OK);
    expect_same("recurrent_inference", "policy_logits", a->policy, c->actions);
    expect_same("recurrent_inference", "value", a->value, 1);
    if (c->prefix_horizon == 0) expect_same("recurrent_inference", "reward", a->reward, 1);
}

/* Of a network. The examples of recurrent begin with the states that initial, or afterstate, has made. */
START_TEST(functions_are_the_passes_of_a_search) {
    open_bench(_i, true);
    ck_assert_int_eq(cm_export_examples_make(&examples, &exported, ROWS), CM_OK);
    cm_inference *inference = infer_bench_make(&bench, true, ROWS, CM_F32);
    const cm_inference_arrays *a = cm_inference_get(inference);
    check_root(inference, a);
    if (a->after_codes) check_afterstate(inference, a);
    check_step(inference, a, a->after_codes ? ROWS : 0);
    cm_inference_destroy(inference);
    cm_export_examples_free(&examples);
    close_bench();
}
END_TEST

static double sum_of_states(void) {
    const float *state = given("recurrent_inference", "next_state");
    double sum = 0.0;
    for (int i = 0; i < ROWS * cm_network_state_size(exported.network); i++) sum += (double)state[i];
    return sum;
}

/* Of a network. */
START_TEST(functions_in_8_bits_are_the_passes_of_a_search_in_8_bits) {
    float ranges[256];
    open_bench(_i, true);
    cm_network *network = bench.network.network;
    const cm_param_table *table = cm_network_parameters(network);
    ck_assert_int_lt(table->count, 256);
    for (int i = 0; i < table->count; i++) ranges[i] = table->param[i].ndim >= 2 ? 1.5f : 0.0f;
    ck_assert_int_eq(cm_export_examples_make(&examples, &exported, ROWS), CM_OK);
    const double before = sum_of_states();
    cm_export_examples_free(&examples);
    cm_network_set_ranges(network, ranges);
    ck_assert_int_eq(cm_export_examples_make(&examples, &exported, ROWS), CM_OK);
    ck_assert_double_ne(sum_of_states(), before);
    cm_inference *inference = infer_bench_make(&bench, true, ROWS, CM_F32);
    const cm_inference_arrays *a = cm_inference_get(inference);
    check_root(inference, a);
    if (a->after_codes) check_afterstate(inference, a);
    check_step(inference, a, a->after_codes ? ROWS : 0);
    cm_inference_destroy(inference);
    cm_export_examples_free(&examples);
    close_bench();
}
END_TEST

/* In a network whose state is zeros at a horizon, and whose rewards are differences. */
START_TEST(a_memory_ends_at_the_horizon_and_a_reward_is_what_the_prefix_has_grown_by) {
    open_bench(INFER_PREFIX, true);
    ck_assert_int_eq(cm_export_examples_make(&examples, &exported, 64), CM_OK);
    const int L = cm_network_get_config(exported.network)->lstm, width = 2 * L + 2;
    const float *before = given("recurrent_inference", "memory"), *after = given("recurrent_inference", "next_memory");
    const float *reward = given("recurrent_inference", "reward");
    int ended = 0;
    for (int b = 0; b < 64; b++, before += width, after += width) {
        if (before[2 * L + 1] == 1.0f) { /* the horizon is 2 */
            for (int i = 0; i < width; i++) ck_assert_float_eq(after[i], 0.0f);
            ended++;
        } else {
            ck_assert_float_eq(after[2 * L + 1], 1.0f);
            ck_assert_float_eq_tol(after[2 * L], before[2 * L] + reward[b], 1e-6f);
        }
    }
    ck_assert_int_gt(ended, 8);
    cm_export_examples_free(&examples);
    close_bench();
}
END_TEST

START_TEST(probabilities_of_a_policy_sum_to_1_and_are_the_softmax_of_its_logits) {
    open_bench(INFER_PLAIN, false);
    ck_assert_int_eq(cm_export_examples_make(&examples, &exported, ROWS), CM_OK);
    const float *p = given("policy", "policy");
    const int actions = cm_network_get_config(exported.network)->actions;
    for (int b = 0; b < ROWS; b++) {
        double sum = 0.0;
        for (int a = 0; a < actions; a++) sum += (double)p[b * actions + a];
        ck_assert_double_eq_tol(sum, 1.0, 1e-6);
    }
    ck_assert_ptr_null(cm_export_examples_find(&examples, "initial_inference", "value"));
    ck_assert_ptr_nonnull(cm_export_examples_find(&examples, "initial_inference", "value_logits"));
    cm_export_examples_free(&examples);
    close_bench();
}
END_TEST

/* Of a network. */
START_TEST(every_function_has_a_graph_and_is_python) {
    cm_onnx_graph *graph[CM_FUNCTION_COUNT];
    char *text = NULL;
    int graphs = 0;
    open_bench(_i, _i % 2 == 0);
    for (cm_function_kind kind = 0; kind < CM_FUNCTION_COUNT; kind++) {
        cm_function f;
        if (!cm_function_exists(exported.network, kind)) continue;
        ck_assert_int_eq(cm_function_open(&f, exported.network, &exported.options, kind, 1), CM_OK);
        cm_status status = cm_function_graph(&f, &exported.options, &exported.weights, &graph[graphs]);
        ck_assert_msg(status == CM_OK, "%s", cm_error_message());
        ck_assert_int_eq(graph[graphs]->inputs, f.inputs);
        ck_assert_int_eq(graph[graphs]->outputs, f.outputs);
        graphs++;
        cm_function_close(&f);
    }
    ck_assert_msg(cm_torch_write(graph, graphs, &text) == CM_OK, "%s", cm_error_message());
    ck_assert_ptr_nonnull(strstr(text, "class Network(Arrays):"));
    ck_assert_ptr_nonnull(strstr(text, "def recurrent_inference(self, "));
    ck_assert_ptr_null(strstr(text, "{0}")); /* the texts of rows were filled in */
    ck_assert(!strstr(text, "eps=") || strstr(text, "eps=1e-05)"));
    free(text);
    while (graphs > 0) cm_onnx_graph_destroy(graph[--graphs]);
    close_bench();
}
END_TEST

/* A tape with an operation that no network has. */
START_TEST(an_operation_without_a_row_is_refused_by_its_name) {
    cm_tape *tape;
    cm_onnx_graph *graph;
    cm_translation t;
    const int dim[2] = {1, 4};
    const cm_export_weights none = {NULL, NULL, NULL};
    ck_assert_int_eq(cm_tape_create(false, CM_F32, &tape), CM_OK);
    const cm_var x = cm_tape_input(tape, CM_F32, 2, dim), y = cm_tape_one_hot(tape, x);
    ck_assert_int_eq(cm_tape_finish(tape), CM_OK);
    ck_assert_int_eq(cm_onnx_graph_create("odd", &graph), CM_OK);
    ck_assert_int_eq(cm_translation_open(&t, tape, &none, graph), CM_OK);
    cm_translate_write(&t, x, cm_onnx_input(graph, &(cm_onnx_port){"x", CM_ONNX_FLOAT, 2, {CM_ONNX_BATCH, 4}}));
    cm_translate_calls(&t);
    ck_assert_int_eq(cm_translate_read(&t, y), CM_NO_VALUE);
    ck_assert_int_eq(cm_onnx_graph_finish(graph), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "odd: operation one_hot of this network cannot be written"));
    cm_translation_close(&t);
    cm_onnx_graph_destroy(graph);
    cm_tape_destroy(tape);
}
END_TEST

START_TEST(channels_turn_and_turn_back) {
    const int dim[4] = {2, 3, 4, 5};
    float from[120], to[120], back[120];
    for (int i = 0; i < 120; i++) from[i] = (float)i;
    cm_channels_first(to, from, dim);
    ck_assert_float_eq(to[((1 * 5 + 2) * 3 + 1) * 4 + 3], from[((1 * 3 + 1) * 4 + 3) * 5 + 2]);
    cm_channels_last(back, to, dim);
    ck_assert_int_eq(memcmp(back, from, sizeof from), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("export/functions");
    TCase *tests = tcase_create("functions");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, functions_are_the_passes_of_a_search, 0, INFER_ALL);
    tcase_add_loop_test(tests, functions_in_8_bits_are_the_passes_of_a_search_in_8_bits, 0, INFER_ALL);
    tcase_add_test(tests, a_memory_ends_at_the_horizon_and_a_reward_is_what_the_prefix_has_grown_by);
    tcase_add_test(tests, probabilities_of_a_policy_sum_to_1_and_are_the_softmax_of_its_logits);
    tcase_add_loop_test(tests, every_function_has_a_graph_and_is_python, 0, INFER_ALL);
    tcase_add_test(tests, an_operation_without_a_row_is_refused_by_its_name);
    tcase_add_test(tests, channels_turn_and_turn_back);
    return cm_test_main(suite);
}
