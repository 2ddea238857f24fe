/* The bytes of an ONNX file, read field by field. */
#include <check.h>
#include <string.h>

#include "export/onnx_file.h"
#include "support/main.h"

/* A message, or the bytes of a field. */
typedef struct span {
    const unsigned char *at, *end;
} span;

static uint64_t read_varint(span *in) {
    uint64_t value = 0;
    for (int shift = 0; in->at < in->end; shift += 7) {
        const unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

/* The next field: its number, and its bytes or its integer; false at the end. */
static bool read_field(span *in, uint32_t *number, span *bytes, uint64_t *integer) {
    if (in->at >= in->end) return false;
    const uint64_t key = read_varint(in);
    *number = (uint32_t)(key >> 3);
    switch (key & 7) {
    case 0: *integer = read_varint(in); return true;
    case 5: in->at += 4; return true;
    default: break;
    }
    ck_assert_int_eq(key & 7, 2);
    const uint64_t size = read_varint(in);
    ck_assert_uint_le(size, (uint64_t)(in->end - in->at));
    *bytes = (span){in->at, in->at + size};
    in->at += size;
    return true;
}

/* Field `wanted` of a message, the one of index `index`; fails the test if it has none. */
static span field(span in, uint32_t wanted, int index) {
    uint32_t number;
    uint64_t integer;
    span bytes;
    while (read_field(&in, &number, &bytes, &integer))
        if (number == wanted && index-- == 0) return bytes;
    ck_abort_msg("no field %u", wanted);
    return in;
}

static uint64_t integer_of(span in, uint32_t wanted, int index) {
    uint32_t number;
    uint64_t integer = 0;
    span bytes;
    while (read_field(&in, &number, &bytes, &integer))
        if (number == wanted && index-- == 0) return integer;
    ck_abort_msg("no field %u", wanted);
    return 0;
}

static int count(span in, uint32_t wanted) {
    uint32_t number;
    uint64_t integer;
    span bytes;
    int fields = 0;
    while (read_field(&in, &number, &bytes, &integer)) fields += number == wanted;
    return fields;
}

static void expect_text(span bytes, const char *text) {
    ck_assert_msg((size_t)(bytes.end - bytes.at) == strlen(text) && memcmp(bytes.at, text, strlen(text)) == 0,
                  "%.*s in place of %s", (int)(bytes.end - bytes.at), (const char *)bytes.at, text);
}

static cm_onnx_graph *graph;
static cm_json_doc *facts;
static cm_proto file;
static span model;
static const float weights[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
static const char told[] = "{\"run\": \"a run\", \"actions\": 3, \"names\": [\"left\", \"right\"]}";

/* y = relu(x weight^T), with a constant that is not used. */
static void begin(void) {
    ck_assert_int_eq(cm_onnx_graph_create("tiny", &graph), CM_OK);
    const cm_onnx_value x = cm_onnx_input(graph, &(cm_onnx_port){"x", CM_ONNX_FLOAT, 2, {CM_ONNX_BATCH, 3}});
    const cm_onnx_value w =
        cm_onnx_array(graph, &(cm_onnx_port){"layer.weight", CM_ONNX_FLOAT, 2, {2, 3}}, weights, true);
    const cm_onnx_value sum = CM_ONNX(graph, Gemm, x, w);
    cm_onnx_set_int(graph, "transB", 1);
    const cm_onnx_value y = CM_ONNX(graph, Relu, sum);
    cm_onnx_ints(graph, (const int64_t[]){-1, 4}, 2);
    cm_onnx_output(graph, y, &(cm_onnx_port){"y", CM_ONNX_FLOAT, 2, {CM_ONNX_BATCH, 2}});
    ck_assert_int_eq(cm_json_parse(told, sizeof told - 1, "facts", &facts), CM_OK);
    const cm_onnx_about about = {"1.2.3", cm_json_root(facts)};
    ck_assert_int_eq(cm_onnx_write(graph, &about, &file), CM_OK);
    model = (span){file.bytes, file.bytes + file.size};
}

static void end(void) {
    cm_onnx_graph_destroy(graph);
    cm_json_free(facts);
    cm_proto_free(&file);
}

START_TEST(a_model_says_its_versions_and_facts) {
    ck_assert_uint_eq(integer_of(model, 1, 0), 8); /* ir_version */
    expect_text(field(model, 2, 0), "cumind");
    expect_text(field(model, 3, 0), "1.2.3");
    const span opset = field(model, 8, 0);
    expect_text(field(opset, 1, 0), "");
    ck_assert_uint_eq(integer_of(opset, 2, 0), CM_ONNX_OPSET);
    ck_assert_int_eq(count(model, 14), 3);
    expect_text(field(field(model, 14, 0), 1, 0), "run");
    expect_text(field(field(model, 14, 0), 2, 0), "a run");
    expect_text(field(field(model, 14, 1), 2, 0), "3");
    expect_text(field(field(model, 14, 2), 2, 0), "[\"left\", \"right\"]");
}
END_TEST

START_TEST(a_graph_has_its_nodes_in_order_with_their_attributes) {
    const span g = field(model, 7, 0);
    expect_text(field(g, 2, 0), "tiny");
    ck_assert_int_eq(count(g, 1), 2);
    const span gemm = field(g, 1, 0), relu = field(g, 1, 1);
    expect_text(field(gemm, 4, 0), "Gemm");
    expect_text(field(gemm, 1, 0), "x");
    expect_text(field(gemm, 1, 1), "layer.weight");
    expect_text(field(gemm, 2, 0), "gemm_0");
    const span attribute = field(gemm, 5, 0);
    expect_text(field(attribute, 1, 0), "transB");
    ck_assert_uint_eq(integer_of(attribute, 3, 0), 1);
    ck_assert_uint_eq(integer_of(attribute, 20, 0), 2); /* INT */
    expect_text(field(relu, 4, 0), "Relu");
    expect_text(field(relu, 2, 0), "y");
}
END_TEST

START_TEST(a_batch_is_a_dimension_with_a_name) {
    const span g = field(model, 7, 0), x = field(g, 11, 0), tensor = field(field(x, 2, 0), 1, 0);
    expect_text(field(x, 1, 0), "x");
    ck_assert_uint_eq(integer_of(tensor, 1, 0), 1); /* float32 */
    const span shape = field(tensor, 2, 0);
    ck_assert_int_eq(count(shape, 1), 2);
    expect_text(field(field(shape, 1, 0), 2, 0), "batch");
    ck_assert_uint_eq(integer_of(field(shape, 1, 1), 1, 0), 3);
    expect_text(field(field(g, 12, 0), 1, 0), "y");
}
END_TEST

START_TEST(weights_are_float32_in_their_order) {
    const span g = field(model, 7, 0), array = field(g, 5, 0), ints = field(g, 5, 1);
    expect_text(field(array, 8, 0), "layer.weight");
    ck_assert_uint_eq(integer_of(array, 1, 0), 2);
    ck_assert_uint_eq(integer_of(array, 1, 1), 3);
    ck_assert_uint_eq(integer_of(array, 2, 0), 1);
    const span raw = field(array, 9, 0);
    ck_assert_int_eq(raw.end - raw.at, sizeof weights);
    ck_assert_int_eq(memcmp(raw.at, weights, sizeof weights), 0);
    ck_assert_uint_eq(integer_of(ints, 2, 0), 7); /* int64 */
    ck_assert_int_eq(field(ints, 9, 0).end - field(ints, 9, 0).at, 16);
}
END_TEST

START_TEST(weights_of_8_bits_are_a_byte_each) {
    static const uint8_t numbers[6] = {1, 255, 128, 129, 127, 192};
    const cm_onnx_about about = {"1", cm_json_root(facts)};
    cm_onnx_bytes(graph, &(cm_onnx_port){"small.weight", CM_ONNX_UINT8, 2, {3, 2}}, numbers);
    const cm_onnx_value zero = cm_onnx_zero_points(graph, 0);
    ck_assert_int_eq(cm_onnx_zero_points(graph, 0), zero);
    ck_assert_int_ne(cm_onnx_zero_points(graph, 3), zero);
    ck_assert_int_eq(cm_onnx_write(graph, &about, &file), CM_OK);
    const span g = field((span){file.bytes, file.bytes + file.size}, 7, 0);
    const span array = field(g, 5, 2), scalar = field(g, 5, 3), row = field(g, 5, 4);
    expect_text(field(array, 8, 0), "small.weight");
    ck_assert_uint_eq(integer_of(array, 2, 0), 2); /* uint8 */
    ck_assert_uint_eq(integer_of(array, 1, 1), 2);
    ck_assert_int_eq(field(array, 9, 0).end - field(array, 9, 0).at, sizeof numbers);
    ck_assert_int_eq(memcmp(field(array, 9, 0).at, numbers, sizeof numbers), 0);
    ck_assert_int_eq(count(scalar, 1), 0);
    ck_assert_uint_eq(*(const uint8_t *)field(scalar, 9, 0).at, 128);
    ck_assert_uint_eq(integer_of(row, 1, 0), 3);
    ck_assert_int_eq(field(row, 9, 0).end - field(row, 9, 0).at, 3);
}
END_TEST

START_TEST(the_first_error_of_a_graph_is_that_of_its_file) {
    cm_onnx_graph_fail(graph, "the first");
    cm_onnx_graph_fail(graph, "the second");
    ck_assert_int_eq(CM_ONNX(graph, Relu, 0), CM_NO_VALUE);
    const cm_onnx_about about = {"1", cm_json_root(facts)};
    ck_assert_int_eq(cm_onnx_write(graph, &about, &file), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "the first");
}
END_TEST

START_TEST(arrays_of_one_name_and_equal_constants_are_one) {
    const cm_onnx_port port = {"layer.weight", CM_ONNX_FLOAT, 2, {2, 3}};
    const int values = graph->values;
    cm_onnx_array(graph, &port, weights, true);
    ck_assert_int_eq(graph->values, values);
    ck_assert_int_eq(cm_onnx_filled(graph, 4, 1.0f), cm_onnx_filled(graph, 4, 1.0f));
    ck_assert_int_ne(cm_onnx_filled(graph, 4, 1.0f), cm_onnx_filled(graph, 4, 0.0f));
    ck_assert_str_eq(graph->value[cm_onnx_filled(graph, 4, 0.0f)].name, "constants.zeros_4");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("export/onnx_file");
    TCase *tests = tcase_create("files");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_model_says_its_versions_and_facts);
    tcase_add_test(tests, a_graph_has_its_nodes_in_order_with_their_attributes);
    tcase_add_test(tests, a_batch_is_a_dimension_with_a_name);
    tcase_add_test(tests, weights_are_float32_in_their_order);
    tcase_add_test(tests, weights_of_8_bits_are_a_byte_each);
    tcase_add_test(tests, the_first_error_of_a_graph_is_that_of_its_file);
    tcase_add_test(tests, arrays_of_one_name_and_equal_constants_are_one);
    return cm_test_main(suite);
}
