/* Packed weights: how long they stay as they are, their users, and that preparing is enough to have them right. */
#include "backend/pair.h"

#include "backend/cpu/cpu.h"
#include "core/pool.h"

enum { ROWS = 4, IN = 20, OUT = 24 };
static float weight[OUT * IN], x[ROWS * IN], y[ROWS * OUT];

static cm_call dense_call(cm_dtype compute) {
    cm_call call = {.op = CM_OP_dense, .attr.compute = compute};
    call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, ROWS, OUT);
    call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, ROWS, IN);
    call.t[CM_T_dense_weight] = cm_tensor_2d(weight, CM_F32, OUT, IN);
    return call;
}

/* x of ones and a weight of `value`: every element of y is IN * value. */
static void fill(float value) {
    for (int i = 0; i < OUT * IN; i++) weight[i] = value;
    for (int i = 0; i < ROWS * IN; i++) x[i] = 1.0f;
}

static float result(cm_stream *stream, const cm_call *call) {
    CHECK_OK(cm_call_run(stream, call));
    for (int i = 1; i < ROWS * OUT; i++)
        if (y[i] != y[0]) ck_abort_msg("y[%d] is %g, y[0] is %g", i, (double)y[i], (double)y[0]);
    return y[0];
}

START_TEST(packed_weights_stay_until_repack_and_then_follow) {
    pair p;
    cm_pool *pool;
    pair_open(&p);
    CHECK_OK(cm_pool_create(2, &pool));
    fill(1.0f);
    cm_call call = dense_call(_i ? CM_BF16 : CM_F32);
    CHECK_OK(cm_call_prepare(p.stream, &call));
    ck_assert_float_eq(result(p.stream, &call), IN);
    fill(2.0f);
    ck_assert_float_eq(result(p.stream, &call), IN);
    CHECK_OK(cm_backend_repack(p.cpu, x, sizeof x, NULL)); /* another block */
    ck_assert_float_eq(result(p.stream, &call), IN);
    CHECK_OK(cm_backend_repack(p.cpu, weight, sizeof weight, NULL));
    ck_assert_float_eq(result(p.stream, &call), 2 * IN);
    fill(3.0f);
    CHECK_OK(cm_backend_repack(p.cpu, weight, sizeof weight, pool));
    ck_assert_float_eq(result(p.stream, &call), 3 * IN);
    cm_pool_destroy(pool);
    pair_close(&p);
}
END_TEST

START_TEST(preparing_again_sees_another_weight_at_the_same_address) {
    pair p;
    pair_open(&p);
    for (int version = 1; version < 4; version++) {
        fill((float)version);
        cm_call call = dense_call(CM_F32);
        CHECK_OK(cm_call_prepare(p.stream, &call));
        ck_assert_float_eq(result(p.stream, &call), (float)(version * IN));
    }
    pair_close(&p);
}
END_TEST

START_TEST(streams_share_one_pack_and_the_last_one_takes_it_along) {
    pair p;
    cm_stream *other;
    pair_open(&p);
    CHECK_OK(cm_stream_open(p.cpu, &other));
    const cm_cpu *cpu = p.cpu->state;
    fill(1.0f);
    cm_call call = dense_call(CM_F32), same = call, wide = dense_call(CM_BF16);
    CHECK_OK(cm_call_prepare(p.stream, &call));
    CHECK_OK(cm_call_prepare(other, &same));
    ck_assert_int_eq(cpu->pack_count, 1);
    CHECK_OK(cm_call_prepare(other, &wide));
    ck_assert_int_eq(cpu->pack_count, p.cpu->native[CM_BF16] ? 2 : 1);
    cm_stream_close(other);
    ck_assert_int_eq(cpu->pack_count, 1);
    ck_assert_float_eq(result(p.stream, &call), IN);
    pair_close(&p);
}
END_TEST

/* A panel is 32 rows of OUT; what compares a pack with its weight stays. */
START_TEST(backend_counts_packs_and_scratch_that_it_holds) {
    enum { PACK = 32 * IN * sizeof(float) };
    pair p;
    cm_stream *other;
    pair_open(&p);
    CHECK_OK(cm_stream_open(p.cpu, &other));
    fill(1.0f);
    cm_call call = dense_call(CM_F32), same = call, conv = {.op = CM_OP_conv2d, .attr = {.stride = 1}};
    conv.t[CM_T_conv2d_y] = pair_tensor(&p, 4, (int[]){2, 8, 8, 16}, 0);
    conv.t[CM_T_conv2d_x] = pair_tensor(&p, 4, (int[]){2, 8, 8, 16}, 0);
    conv.t[CM_T_conv2d_weight] = pair_tensor(&p, 4, (int[]){16, 3, 3, 16}, 0);
    ck_assert_uint_eq(cm_backend_held(p.ref) + cm_backend_held(p.cpu), 0);
    CHECK_OK(cm_call_prepare(p.stream, &call));
    ck_assert_uint_eq(cm_backend_held(p.cpu), PACK);
    CHECK_OK(cm_call_prepare(other, &same));
    ck_assert_uint_eq(cm_backend_held(p.cpu), 2 * PACK);
    CHECK_OK(cm_call_prepare(other, &conv));
    const cm_cpu *cpu = p.cpu->state;
    ck_assert_uint_gt(cpu->scratch_bytes, 0);
    ck_assert_uint_ge(cm_backend_held(p.cpu), 2 * PACK + cpu->scratch_bytes + 16 * 9 * 16 * sizeof(float));
    cm_stream_close(other);
    ck_assert_uint_eq(cm_backend_held(p.cpu), 2 * PACK);
    pair_free(&conv);
    pair_close(&p);
}
END_TEST

START_TEST(convolutions_follow_a_repack) {
    pair p;
    pair_open(&p);
    cm_call call = {.op = CM_OP_conv2d, .attr = {.stride = 1, .compute = _i ? CM_BF16 : CM_F32}};
    call.t[CM_T_conv2d_y] = pair_tensor(&p, 4, (int[]){2, 3, 4, 5}, 0);
    call.t[CM_T_conv2d_x] = pair_tensor(&p, 4, (int[]){2, 3, 4, 7}, 0);
    call.t[CM_T_conv2d_weight] = pair_tensor(&p, 4, (int[]){5, 3, 3, 7}, 0);
    CHECK_OK(cm_call_prepare(p.stream, &call));
    float *w = call.t[CM_T_conv2d_weight].data, first[2 * 3 * 4 * 5];
    CHECK_OK(cm_call_run(p.stream, &call));
    memcpy(first, call.t[CM_T_conv2d_y].data, sizeof first);
    for (int i = 0; i < 5 * 9 * 7; i++) w[i] *= 2.0f;
    CHECK_OK(cm_call_run(p.stream, &call));
    ck_assert(memcmp(first, call.t[CM_T_conv2d_y].data, sizeof first) == 0);
    CHECK_OK(cm_backend_repack(p.cpu, w, 5 * 9 * 7 * sizeof *w, NULL));
    CHECK_OK(cm_call_run(p.stream, &call));
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        ck_assert_float_eq(((float *)call.t[CM_T_conv2d_y].data)[i], 2.0f * first[i]);
    pair_free(&call);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("packs");
    tcase_add_loop_test(tests, packed_weights_stay_until_repack_and_then_follow, 0, 2);
    tcase_add_test(tests, preparing_again_sees_another_weight_at_the_same_address);
    tcase_add_test(tests, streams_share_one_pack_and_the_last_one_takes_it_along);
    tcase_add_test(tests, backend_counts_packs_and_scratch_that_it_holds);
    tcase_add_loop_test(tests, convolutions_follow_a_repack, 0, 2);
    return pair_main("cpu packs", tests);
}
