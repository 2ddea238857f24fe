/* The registry of backends, what ops.def says about operations, and the argument checks. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/check.h"
#include "support/main.h"
#include "support/op_cases.h"

static float storage[4096];
static int32_t integers[64];

static cm_tensor f32(int ndim, int a, int b, int c, int d) {
    int dim[CM_MAX_DIMS] = {a, b, c, d};
    return cm_tensor_make(storage, CM_F32, ndim, dim);
}

static cm_tensor i32(int n) { return cm_tensor_1d(integers, CM_I32, n); }

static cm_call dense_call(void) {
    cm_call call = {.op = CM_OP_dense, .attr = {.actions = 2}};
    call.t[CM_T_dense_y] = f32(2, 32, 64, 1, 1);
    call.t[CM_T_dense_x] = f32(2, 32, 128, 1, 1);
    call.t[CM_T_dense_weight] = f32(2, 64, 130, 1, 1);
    call.t[CM_T_dense_action] = i32(32);
    return call;
}

static void assert_refused(const cm_call *call, const char *message) {
    ck_assert_int_eq(cm_call_check(call), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), message);
}

START_TEST(backends_are_opened_by_name) {
    cm_backend *backend;
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert_str_eq(backend->kind->name, "ref");
    ck_assert_ptr_nonnull(cm_backend_describe(backend));
    cm_backend_close(backend);
    ck_assert_int_eq(cm_backend_open("cpu", &backend), CM_OK);
    /* "machine   " and ", 16 threads, bfloat16" are in the same line of 80 columns */
    ck_assert_uint_le(strlen(cm_backend_describe(backend)), 80 - 10 - 22);
    cm_backend_close(backend);
    ck_assert_int_eq(cm_backend_open("auto", &backend), CM_OK);
    cm_backend_close(backend);
    cm_backend_close(NULL);
    cm_stream_close(NULL);
}
END_TEST

START_TEST(an_unknown_backend_names_the_known_ones) {
    cm_backend *backend;
    ck_assert_int_eq(cm_backend_open("tpu", &backend), CM_ERR_INPUT);
    ck_assert_ptr_null(backend);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "unknown backend \"tpu\"; known: auto, cuda"));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "ref"));
}
END_TEST

START_TEST(rows_give_names_types_and_what_is_optional) {
    char name[CM_OP_NAME_BYTES];
    ck_assert_str_eq(cm_op_name(CM_OP_dense), "dense");
    ck_assert_int_eq(cm_op_tensor_count(CM_OP_dense), 6);
    ck_assert_int_eq(cm_op_tensor_count(CM_OP_lstm_backward), 15);
    ck_assert_str_eq(cm_op_tensor_name(CM_OP_dense, CM_T_dense_weight, name), "weight");
    ck_assert_str_eq(cm_op_tensor_name(CM_OP_dense, CM_T_dense_action, name), "action");
    ck_assert_str_eq(cm_op_tensor_name(CM_OP_dense, 6, name), "");
    ck_assert(cm_op_tensor_optional(CM_OP_dense, CM_T_dense_bias));
    ck_assert(!cm_op_tensor_optional(CM_OP_dense, CM_T_dense_weight));
    ck_assert_int_eq(cm_op_tensor_dtype(CM_OP_dense, CM_T_dense_action), CM_I32);
    ck_assert_int_eq(cm_op_tensor_dtype(CM_OP_dense, CM_T_dense_bias), CM_F32);
    ck_assert_int_eq(cm_op_tensor_dtype(CM_OP_dense, CM_T_dense_half_x), CM_BF16);
    ck_assert_int_eq(cm_op_tensor_dtype(CM_OP_stack_frames, CM_T_stack_frames_frames), CM_U8);
    ck_assert(cm_op_tensor_written(CM_OP_dense, CM_T_dense_y) && !cm_op_tensor_written(CM_OP_dense, CM_T_dense_x));
    ck_assert(cm_op_tensor_written(CM_OP_adam_step, CM_T_adam_step_second));
}
END_TEST

START_TEST(every_tensor_of_every_operation_has_a_shape) {
    for (int op = 0; op < CM_OP_COUNT; op++) {
        ck_assert_int_ge(cm_op_tensor_count((cm_op)op), 2);
        for (int i = 0; i < cm_op_tensor_count((cm_op)op); i++) {
            char name[CM_OP_NAME_BYTES], other[CM_OP_NAME_BYTES];
            const char *shape = cm_op_tensor_shape((cm_op)op, i), *end = strchr(shape, ']');
            cm_op_tensor_name((cm_op)op, i, name);
            ck_assert_msg(end && end > shape, "%s: %s has no shape", cm_op_name((cm_op)op), name);
            ck_assert_str_eq(end + 1, cm_op_tensor_accumulates((cm_op)op, i) ? "+" : "");
            snprintf(other, sizeof other, "%.*s", (int)(end - shape - 1), shape + 1);
            ck_assert_msg(*shape != '=' || op_tensor((cm_op)op, other) >= 0, "%s: no %s", cm_op_name((cm_op)op), other);
        }
    }
}
END_TEST

START_TEST(a_dense_call_with_an_action_is_accepted) {
    cm_call call = dense_call();
    ck_assert_int_eq(cm_call_check(&call), CM_OK);
    call.attr.accumulate = 1u << CM_T_dense_y;
    call.attr.activation = CM_ACT_RELU;
    call.attr.compute = CM_BF16;
    ck_assert_int_eq(cm_call_check(&call), CM_OK);
    call.t[CM_T_dense_x].stride = 200; /* a column slice */
    ck_assert_int_eq(cm_call_check(&call), CM_OK);
}
END_TEST

START_TEST(wrong_sizes_are_named) {
    cm_call call = dense_call();
    call.t[CM_T_dense_weight].dim[1] = 131, call.t[CM_T_dense_weight].stride = 131;
    assert_refused(&call, "dense: weight is float32 [64, 131], x is float32 [32, 128]: its second dimension must be "
                          "128 + 2");
    call = dense_call();
    call.t[CM_T_dense_action].data = NULL;
    assert_refused(&call, "dense: weight is float32 [64, 130], x is float32 [32, 128]: its second dimension must be "
                          "128");
    call = dense_call();
    call.t[CM_T_dense_bias] = f32(1, 63, 1, 1, 1);
    assert_refused(&call, "dense: bias is float32 [63], weight is float32 [64, 130]: its first dimension must be 64");
    call.t[CM_T_dense_bias] = f32(2, 64, 1, 1, 1);
    assert_refused(&call, "dense: bias is float32 [64, 1]: it must have 1 dimension");
    cm_call norm = {.op = CM_OP_layer_norm};
    norm.t[CM_T_layer_norm_x] = norm.t[CM_T_layer_norm_y] = f32(3, 2, 3, 4, 1);
    norm.t[CM_T_layer_norm_scale] = norm.t[CM_T_layer_norm_shift] = f32(1, 12, 1, 1, 1);
    ck_assert_int_eq(cm_call_check(&norm), CM_OK);
    norm.t[CM_T_layer_norm_saved] = f32(2, 2, 3, 1, 1);
    assert_refused(&norm, "layer_norm: saved is float32 [2, 3]: its second dimension must be 2 * 1");
    norm.t[CM_T_layer_norm_saved].data = NULL;
    norm.t[CM_T_layer_norm_y] = f32(3, 2, 4, 3, 1);
    assert_refused(&norm, "layer_norm: y is float32 [2, 4, 3], x is float32 [2, 3, 4]: they must have the same shape");
}
END_TEST

START_TEST(a_convolution_rounds_its_output_size_up) {
    cm_call call = {.op = CM_OP_conv2d, .attr = {.stride = 2}};
    call.t[CM_T_conv2d_x] = f32(4, 2, 7, 6, 3);
    call.t[CM_T_conv2d_weight] = f32(4, 5, 3, 3, 3);
    call.t[CM_T_conv2d_y] = f32(4, 2, 4, 3, 5);
    ck_assert_int_eq(cm_call_check(&call), CM_OK);
    call.t[CM_T_conv2d_y] = f32(4, 2, 3, 3, 5);
    assert_refused(&call, "conv2d: y is float32 [2, 3, 3, 5], x is float32 [2, 7, 6, 3]: its second dimension must be "
                          "7 / 2 rounded up");
    call.attr.stride = 0;
    assert_refused(&call, "conv2d: attr.stride must be at least 1");
    call.attr.stride = 1;
    call.t[CM_T_conv2d_weight] = f32(4, 5, 2, 2, 3);
    assert_refused(&call, "conv2d: weight must have an odd number of rows and columns");
}
END_TEST

START_TEST(wrong_tensors_are_named) {
    cm_call call = dense_call();
    call.t[CM_T_dense_x].data = NULL;
    assert_refused(&call, "dense: x is missing");
    call = dense_call();
    call.t[CM_T_dense_action].dtype = CM_F32;
    assert_refused(&call, "dense: action is float32 [32]: it must be int32");
    call = dense_call();
    call.t[CM_T_dense_x].dim[0] = 0;
    assert_refused(&call,
                   "dense: x is float32 [0, 128]: every dimension must be at least 1, those that are not used 1");
    call = dense_call();
    call.t[CM_T_dense_x].stride = 100;
    assert_refused(&call, "dense: x is float32 [32, 128]: its rows are 100 elements apart; that must be 128 or more");
    call = dense_call();
    call.t[CM_T_dense_x].ndim = 5;
    assert_refused(&call, "dense: x is not a tensor");
    call = dense_call();
    call.attr.accumulate = 1u << CM_T_dense_x;
    assert_refused(&call, "dense: tensor 1 (x) cannot be accumulated into");
    call.attr.accumulate = 1u << 20;
    assert_refused(&call, "dense: tensor 20 () cannot be accumulated into");
    call.op = CM_OP_COUNT;
    ck_assert_int_eq(cm_call_check(&call), CM_ERR_INPUT);
}
END_TEST

START_TEST(wrong_attributes_are_named) {
    cm_call call = dense_call();
    call.attr.activation = CM_ACT_TANH;
    assert_refused(&call, "dense: attr.activation must be none or relu");
    call = dense_call();
    call.attr.compute = CM_I32;
    assert_refused(&call, "dense: attr.compute must be float32, bfloat16 or float16");
    call = dense_call();
    call.attr.encoding = CM_ENCODE_BOARD;
    assert_refused(&call, "dense: attr.encoding must be onehot or scaled");
    call = dense_call();
    call.attr.actions = 0;
    assert_refused(&call, "dense: attr.actions must be at least 1");

    cm_call two_hot = {.op = CM_OP_two_hot, .attr.support = {-1, 1, 1, false}};
    two_hot.t[CM_T_two_hot_y] = f32(2, 3, 1, 1, 1), two_hot.t[CM_T_two_hot_value] = f32(1, 3, 1, 1, 1);
    assert_refused(&two_hot, "two_hot: attr.support needs more atoms");
    two_hot.attr.support = (cm_support){1, 1, 5, false};
    assert_refused(&two_hot, "two_hot: attr.support: max must be above min");

    cm_call simnorm = {.op = CM_OP_simnorm, .attr.group = 3};
    simnorm.t[CM_T_simnorm_y] = simnorm.t[CM_T_simnorm_x] = f32(2, 3, 8, 1, 1);
    assert_refused(&simnorm, "simnorm: attr.group must divide the last dimension");

    cm_call minmax = {.op = CM_OP_minmax, .attr.per_channel = true};
    minmax.t[CM_T_minmax_y] = minmax.t[CM_T_minmax_x] = f32(2, 3, 8, 1, 1);
    assert_refused(&minmax, "minmax: attr.per_channel needs [B, H, W, C]");

    cm_call board = {.op = CM_OP_action_encoding, .attr.encoding = CM_ENCODE_BOARD};
    board.t[CM_T_action_encoding_y] = f32(2, 3, 9, 1, 1), board.t[CM_T_action_encoding_x] = f32(2, 3, 8, 1, 1);
    board.t[CM_T_action_encoding_action] = i32(3);
    assert_refused(&board, "action_encoding: attr.encoding board needs [B, H, W, C]");

    cm_call norm = {.op = CM_OP_layer_norm, .attr.groups = 5};
    norm.t[CM_T_layer_norm_x] = norm.t[CM_T_layer_norm_y] = f32(2, 2, 12, 1, 1);
    norm.t[CM_T_layer_norm_scale] = norm.t[CM_T_layer_norm_shift] = f32(1, 12, 1, 1, 1);
    assert_refused(&norm, "layer_norm: attr.groups must divide the size of a row");
}
END_TEST

START_TEST(an_encoding_agrees_in_all_dimensions_but_the_last) {
    cm_call call = {.op = CM_OP_action_encoding, .attr = {.encoding = CM_ENCODE_BOARD}};
    call.t[CM_T_action_encoding_x] = f32(4, 2, 3, 4, 5);
    call.t[CM_T_action_encoding_y] = f32(4, 2, 3, 4, 6);
    call.t[CM_T_action_encoding_action] = i32(2);
    ck_assert_int_eq(cm_call_check(&call), CM_OK);
    call.t[CM_T_action_encoding_y] = f32(4, 2, 4, 3, 6);
    assert_refused(&call, "action_encoding: y is float32 [2, 4, 3, 6], x is float32 [2, 3, 4, 5]: they must agree in "
                          "all dimensions but the last");
    call.t[CM_T_action_encoding_y] = f32(4, 2, 3, 4, 7);
    assert_refused(&call, "action_encoding: y is float32 [2, 3, 4, 7], x is float32 [2, 3, 4, 5]: its fourth dimension "
                          "must be 5 + 1");
}
END_TEST

START_TEST(a_backend_without_the_operation_says_so) {
    static const cm_backend_class empty = {.name = "empty"};
    cm_backend backend = {.kind = &empty};
    cm_stream *stream;
    ck_assert_int_eq(cm_stream_open(&backend, &stream), CM_OK);
    cm_call call = dense_call();
    ck_assert_int_eq(cm_call_eager(stream, &call), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "backend empty has no operation dense");
    ck_assert_str_eq(cm_backend_describe(&backend), "empty");
    ck_assert_int_eq(cm_backend_repack(&backend, storage, sizeof storage, NULL), CM_OK);
    cm_stream_close(stream);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/check");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, backends_are_opened_by_name);
    tcase_add_test(tests, an_unknown_backend_names_the_known_ones);
    tcase_add_test(tests, rows_give_names_types_and_what_is_optional);
    tcase_add_test(tests, every_tensor_of_every_operation_has_a_shape);
    tcase_add_test(tests, a_dense_call_with_an_action_is_accepted);
    tcase_add_test(tests, wrong_sizes_are_named);
    tcase_add_test(tests, a_convolution_rounds_its_output_size_up);
    tcase_add_test(tests, wrong_tensors_are_named);
    tcase_add_test(tests, wrong_attributes_are_named);
    tcase_add_test(tests, an_encoding_agrees_in_all_dimensions_but_the_last);
    tcase_add_test(tests, a_backend_without_the_operation_says_so);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
