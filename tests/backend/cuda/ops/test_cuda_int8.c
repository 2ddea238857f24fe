/* Layers in 8 bits of the cuda backend's operations: the whole numbers that ref makes. */
#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/ops/ops.h"
#include "backend/pair.h"

static cm_backend cuda;

static bool open_with(pair *p, int number) {
    (void)number;
    memset(p, 0, sizeof *p);
    p->random = 1;
    cuda_cpu_open(&cuda);
    p->cpu = &cuda;
    CHECK_OK(cm_backend_open("ref", &p->ref));
    CHECK_OK(cm_stream_open(p->ref, &p->reference));
    CHECK_OK(cm_stream_open(p->cpu, &p->stream));
    return true;
}

static void close_with(pair *p) {
    cm_stream_close(p->reference);
    cm_stream_close(p->stream);
    cm_backend_close(p->ref);
    cuda_cpu_close(&cuda);
}

#include "backend/int8_products.h"

/* A layer's numbers, its product, and no more. */
START_TEST(a_layer_in_8_bits_is_two_launches) {
    pair p;
    ck_assert(open_with(&p, 0));
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 1.0f, .activation = CM_ACT_RELU}};
    call.t[CM_T_dense_y] = pair_matrix(&p, 3, 5, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 3, 7, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 5, 7, 0);
    call.t[CM_T_dense_bias] = pair_vector(&p, 5);
    CHECK_OK(cm_call_prepare(p.stream, &call));
    const int before = cuda_cpu_launches;
    CHECK_OK(cm_call_run(p.stream, &call));
    ck_assert_int_eq(cuda_cpu_launches - before, 2);
    pair_free(&call);
    close_with(&p);
}
END_TEST

START_TEST(an_action_out_of_range_makes_nan_in_its_row) {
    enum { B = 3, OUT = 4, ACTIONS = 2 };
    pair p;
    ck_assert(open_with(&p, 0));
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 1.0f, .actions = ACTIONS}};
    call.t[CM_T_dense_y] = pair_matrix(&p, B, OUT, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, B, 6, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, OUT, 6 + ACTIONS, 0);
    call.t[CM_T_dense_action] = pair_actions(&p, B, ACTIONS);
    ((int32_t *)call.t[CM_T_dense_action].data)[1] = ACTIONS;
    CHECK_OK(cm_call_eager(p.stream, &call));
    for (int i = 0; i < B * OUT; i++) ck_assert(isnan(((float *)call.t[CM_T_dense_y].data)[i]) == (i / OUT == 1));
    pair_free(&call);
    close_with(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("int8");
    add_int8_products(tests, 1);
    tcase_add_test(tests, a_layer_in_8_bits_is_two_launches);
    tcase_add_test(tests, an_action_out_of_range_makes_nan_in_its_row);
    return pair_main("cuda int8", tests);
}
