/* Layers in 8 bits as ONNX has them, against backend/int8.h. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "backend/int8.h"
#include "export/translate.h"
#include "support/main.h"

static cm_onnx_graph *graph;
static cm_translation translation;

static void begin(void) {
    ck_assert_int_eq(cm_onnx_graph_create("tiny", &graph), CM_OK);
    translation = (cm_translation){.graph = graph};
}

static void end(void) { cm_onnx_graph_destroy(graph); }

static const cm_onnx_info *input_of(const cm_onnx_node *node, int place) { return &graph->value[node->in[place]]; }

static const cm_onnx_node *expect_node(cm_onnx_value value, const char *type) {
    const cm_onnx_node *node = cm_onnx_node_of(graph, value);
    ck_assert_ptr_nonnull(node);
    ck_assert_str_eq(node->type, type);
    return node;
}

/* A row with a tie, one of zeros, one that is smaller than any step. */
START_TEST(a_weight_is_numbers_times_a_step_of_each_row) {
    static const float data[12] = {1.0f, -2.0f, 0.5f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1e-38f, 0.0f, 0.0f, -1e-37f};
    static const uint8_t want[12] = {192, 1, 160, 128, 128, 128, 128, 128, 128, 128, 128, 128};
    const cm_onnx_port port = {"layer.weight", CM_ONNX_FLOAT, 2, {3, 4}};
    const cm_onnx_node *node = expect_node(cm_translate_int8_weight(&translation, &port, data), "DequantizeLinear");
    const cm_onnx_info *numbers = input_of(node, 0), *steps = input_of(node, 1), *zeros = input_of(node, 2);
    ck_assert_str_eq(numbers->name, "layer.weight");
    ck_assert_str_eq(steps->name, "layer.weight.step");
    ck_assert_int_eq(numbers->type, CM_ONNX_UINT8);
    ck_assert_int_eq(memcmp(numbers->bytes, want, sizeof want), 0);
    ck_assert_float_eq(steps->floats[0], cm_int8_step(2.0f));
    for (int r = 1; r < 3; r++) ck_assert(steps->floats[r] > 0.0f && isfinite(steps->floats[r]));
    ck_assert_uint_eq(zeros->count, 3);
    for (int r = 0; r < 3; r++) ck_assert_uint_eq(zeros->bytes[r], 128);
    ck_assert_str_eq(node->attribute[0].name, "axis");
    ck_assert_int_eq(node->attribute[0].ints[0], 0);
    ck_assert_int_eq(cm_onnx_graph_finish(graph), CM_OK);
}
END_TEST

/* What QuantizeLinear and DequantizeLinear make of a number (onnx/docs/Operators.md), and Max before them. */
static float computed(float x, float least, float step) {
    const float number = fminf(fmaxf(rintf(fmaxf(x, least) / step) + 128.0f, 0.0f), 255.0f);
    return (number - 128.0f) * step;
}

START_TEST(an_input_is_what_a_layer_reads) {
    const cm_attr attr = {.compute = CM_I8, .range = 2.0f};
    const float step = cm_int8_step(2.0f), inverse = cm_int8_inverse(2.0f);
    const cm_onnx_value x = cm_onnx_input(graph, &(cm_onnx_port){"x", CM_ONNX_FLOAT, 2, {CM_ONNX_BATCH, 3}});
    const cm_onnx_node *back = expect_node(cm_translate_int8_input(&translation, &attr, x), "DequantizeLinear");
    const cm_onnx_node *to = expect_node(back->in[0], "QuantizeLinear"), *bound = expect_node(to->in[0], "Max");
    ck_assert_int_eq(bound->in[0], x);
    ck_assert_int_eq(input_of(to, 2)->type, CM_ONNX_UINT8);
    ck_assert_uint_eq(input_of(to, 2)->bytes[0], 128);
    ck_assert_float_eq(input_of(to, 1)->floats[0], step);
    ck_assert_float_eq(input_of(back, 1)->floats[0], step);
    for (float v = -3.0f; v <= 3.0f; v += 0.0371f)
        ck_assert_float_eq_tol(computed(v, input_of(bound, 1)->floats[0], step), (float)cm_int8_of(v, inverse) * step,
                               1e-6f);
}
END_TEST

START_TEST(what_is_not_below_0_needs_no_bound_and_floats_stay) {
    const cm_attr bits = {.compute = CM_I8, .range = 2.0f}, floats = {.compute = CM_F32, .range = 2.0f};
    const cm_onnx_value x = cm_onnx_input(graph, &(cm_onnx_port){"x", CM_ONNX_FLOAT, 2, {CM_ONNX_BATCH, 3}});
    const cm_onnx_value relu = CM_ONNX(graph, Relu, x);
    const cm_onnx_node *back = expect_node(cm_translate_int8_input(&translation, &bits, relu), "DequantizeLinear");
    ck_assert_int_eq(expect_node(back->in[0], "QuantizeLinear")->in[0], relu);
    ck_assert_int_eq(cm_translate_int8_input(&translation, &floats, x), x);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("export/int8");
    TCase *tests = tcase_create("int8");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_weight_is_numbers_times_a_step_of_each_row);
    tcase_add_test(tests, an_input_is_what_a_layer_reads);
    tcase_add_test(tests, what_is_not_below_0_needs_no_bound_and_floats_stay);
    return cm_test_main(suite);
}
