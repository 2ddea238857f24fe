/* dense of the cpu backend: equal to ref at all sizes around the edges of its blocks. */
#include "backend/pair.h"

static const int rows[] = {1, 3, 7, 8, 13, 64}, inputs[] = {1, 2, 15, 33, 130},
                 outputs[] = {1, 16, 21, 33, 64, 70, 192};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

typedef struct variant {
    cm_dtype compute;
    bool relu, bias, accumulate, action;
    cm_encoding encoding;
    int gap;
} variant;

static const variant variants[] = {
    {.compute = CM_F32, .bias = true, .relu = true},
    {.compute = CM_F32, .gap = 5, .accumulate = true},
    {.compute = CM_F32, .gap = 1, .action = true, .bias = true},
    {.compute = CM_F32, .action = true, .encoding = CM_ENCODE_SCALED, .relu = true},
    {.compute = CM_BF16, .bias = true, .relu = true},
    {.compute = CM_BF16, .gap = 3, .action = true, .accumulate = true},
    {.compute = CM_BF16, .action = true, .encoding = CM_ENCODE_SCALED, .bias = true},
};

enum { ACTIONS = 3 };
static int columns_of(const variant *v) { return !v->action ? 0 : v->encoding == CM_ENCODE_SCALED ? 1 : ACTIONS; }
static cm_attr attr_of(const variant *v) {
    return (cm_attr){.compute = v->compute, .encoding = v->encoding, .actions = v->action ? ACTIONS : 0};
}

static void forward(pair *p, const variant *v, int b, int in, int out) {
    cm_call call = {.op = CM_OP_dense, .attr = attr_of(v)};
    call.attr.activation = v->relu ? CM_ACT_RELU : CM_ACT_NONE;
    call.attr.accumulate = v->accumulate ? 1u << CM_T_dense_y : 0;
    call.t[CM_T_dense_y] = pair_matrix(p, b, out, v->gap);
    call.t[CM_T_dense_x] = pair_matrix(p, b, in, v->gap);
    call.t[CM_T_dense_weight] = pair_matrix(p, out, in + columns_of(v), v->gap);
    if (v->bias) call.t[CM_T_dense_bias] = pair_vector(p, out);
    if (v->action) call.t[CM_T_dense_action] = pair_actions(p, b, ACTIONS);
    pair_run(p, &call, 1, 2e-6);
    pair_free(&call);
}

START_TEST(dense_equals_ref_at_all_block_edges) {
    pair p;
    pair_open(&p);
    for (int i = 0; i < COUNT(rows); i++)
        for (int j = 0; j < COUNT(inputs); j++)
            for (int k = 0; k < COUNT(outputs); k++) forward(&p, &variants[_i], rows[i], inputs[j], outputs[k]);
    pair_close(&p);
}
END_TEST

static void backward(pair *p, const variant *v, int b, int in, int out) {
    cm_call call = {.op = CM_OP_dense_backward, .attr = attr_of(v)};
    call.attr.accumulate = v->accumulate ? 7u : 0;
    call.t[CM_T_dense_backward_dx] = pair_matrix(p, b, in, v->gap);
    call.t[CM_T_dense_backward_dweight] = pair_matrix(p, out, in + columns_of(v), 0);
    if (v->bias) call.t[CM_T_dense_backward_dbias] = pair_vector(p, out);
    call.t[CM_T_dense_backward_dy] = pair_matrix(p, b, out, v->gap);
    call.t[CM_T_dense_backward_x] = pair_matrix(p, b, in, v->gap);
    call.t[CM_T_dense_backward_weight] = pair_matrix(p, out, in + columns_of(v), 0);
    if (v->action) call.t[CM_T_dense_backward_action] = pair_actions(p, b, ACTIONS);
    pair_run(p, &call, 3, 3e-6);
    pair_free(&call);
}

START_TEST(dense_backward_equals_ref_at_all_block_edges) {
    pair p;
    pair_open(&p);
    for (int i = 0; i < COUNT(rows); i++)
        for (int j = 0; j < COUNT(inputs); j++)
            for (int k = 0; k < COUNT(outputs); k++) backward(&p, &variants[_i], rows[i], inputs[j], outputs[k]);
    pair_close(&p);
}
END_TEST

START_TEST(dense_backward_makes_only_the_gradients_that_are_asked_for) {
    pair p;
    pair_open(&p);
    for (int mask = 0; mask < 8; mask++) {
        cm_call call = {.op = CM_OP_dense_backward, .attr = {.compute = mask % 2 ? CM_BF16 : CM_F32}};
        if (mask & 1) call.t[CM_T_dense_backward_dx] = pair_matrix(&p, 9, 20, 0);
        if (mask & 2) call.t[CM_T_dense_backward_dweight] = pair_matrix(&p, 17, 20, 0);
        if (mask & 4) call.t[CM_T_dense_backward_dbias] = pair_vector(&p, 17);
        call.t[CM_T_dense_backward_dy] = pair_matrix(&p, 9, 17, 0);
        call.t[CM_T_dense_backward_x] = pair_matrix(&p, 9, 20, 0);
        call.t[CM_T_dense_backward_weight] = pair_matrix(&p, 17, 20, 0);
        pair_run(&p, &call, 3, 3e-6);
        pair_free(&call);
    }
    pair_close(&p);
}
END_TEST

START_TEST(dense_shows_a_nan_and_relu_does_not_hide_it) {
    pair p;
    pair_open(&p);
    cm_call call = {.op = CM_OP_dense, .attr = {.activation = CM_ACT_RELU}};
    call.t[CM_T_dense_y] = pair_matrix(&p, 10, 33, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 10, 20, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 33, 20, 0);
    ((float *)call.t[CM_T_dense_x].data)[3 * 20] = NAN;
    pair_run(&p, &call, 1, 2e-6);
    const float *y = call.t[CM_T_dense_y].data;
    ck_assert(isnan(y[3 * 33]) && isnan(y[3 * 33 + 32]) && !isnan(y[2 * 33]) && !isnan(y[4 * 33]));
    pair_free(&call);
    pair_close(&p);
}
END_TEST

START_TEST(dense_refuses_an_action_out_of_range) {
    pair p;
    pair_open(&p);
    cm_call call = {.op = CM_OP_dense, .attr = {.actions = ACTIONS}};
    call.t[CM_T_dense_y] = pair_matrix(&p, 4, 8, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 4, 5, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 8, 5 + ACTIONS, 0);
    call.t[CM_T_dense_action] = pair_actions(&p, 4, ACTIONS);
    CHECK_OK(cm_call_eager(p.stream, &call));
    for (int bad = -1; bad <= ACTIONS; bad += ACTIONS + 1) {
        ((int32_t *)call.t[CM_T_dense_action].data)[2] = bad;
        ck_assert_int_eq(cm_call_run(p.stream, &call), CM_ERR_INPUT);
    }
    pair_free(&call);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("dense");
    tcase_add_loop_test(tests, dense_equals_ref_at_all_block_edges, 0, COUNT(variants));
    tcase_add_loop_test(tests, dense_backward_equals_ref_at_all_block_edges, 0, COUNT(variants));
    tcase_add_test(tests, dense_backward_makes_only_the_gradients_that_are_asked_for);
    tcase_add_test(tests, dense_shows_a_nan_and_relu_does_not_hide_it);
    tcase_add_test(tests, dense_refuses_an_action_out_of_range);
    return pair_main("cpu dense", tests);
}
