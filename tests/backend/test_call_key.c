/* Keys of plans: which calls may share one. */
#include <check.h>

#include "backend/call_key.h"
#include "support/main.h"

static _Alignas(16) float memory[2][64];

/* Of the operation with the most tensors. */
static cm_call make_call(void) {
    cm_call call = {.op = CM_OP_lstm_backward};
    for (int i = 0; i < CM_CALL_TENSORS; i++) call.t[i] = cm_tensor_2d(memory[0], CM_F32, 2, 3);
    return call;
}

static bool shares(const cm_call *other) {
    const uint32_t kept = 1u << CM_T_lstm_backward_weight_hh;
    const cm_call call = make_call();
    const cm_call_key a = cm_call_key_of(&call, kept), b = cm_call_key_of(other, kept);
    return cm_call_key_same(&a, &b);
}

/* Does a call that differs by `change` share the plan of the first one? */
#define EXPECT(shared, change)                                                                                         \
    do {                                                                                                               \
        cm_call call = make_call();                                                                                    \
        call.change;                                                                                                   \
        ck_assert_msg(shares(&call) == (shared), "%s", #change);                                                       \
    } while (0)

START_TEST(other_addresses_and_numbers_of_the_optimizer_need_no_other_plan) {
    EXPECT(true, branch = 1);
    EXPECT(true, attr.learning_rate = 0.5);
    for (int i = 0; i < CM_CALL_TENSORS; i++) EXPECT(i != CM_T_lstm_backward_weight_hh, t[i].data = memory[1]);
}
END_TEST

START_TEST(what_plans_read_of_attributes_tells_calls_apart) {
    EXPECT(false, op = CM_OP_lstm);
    EXPECT(false, attr.activation = CM_ACT_RELU);
    EXPECT(false, attr.compute = CM_BF16);
    EXPECT(false, attr.accumulate = 1u << 14);
    EXPECT(false, attr.encoding = CM_ENCODE_SCALED);
    EXPECT(false, attr.actions = 2);
    EXPECT(false, attr.stride = 2);
    EXPECT(false, attr.horizon = 2);
}
END_TEST

START_TEST(every_tensor_tells_calls_apart) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        EXPECT(false, t[i].data = NULL);
        EXPECT(false, t[i].data = memory[0] + 1); /* another alignment */
        EXPECT(false, t[i].dtype = CM_BF16);
        EXPECT(false, t[i].ndim = 3);
        EXPECT(false, t[i].stride = 4);
        for (int d = 0; d < CM_MAX_DIMS; d++) EXPECT(false, t[i].dim[d] = 5);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/call_key");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, other_addresses_and_numbers_of_the_optimizer_need_no_other_plan);
    tcase_add_test(tests, what_plans_read_of_attributes_tells_calls_apart);
    tcase_add_test(tests, every_tensor_tells_calls_apart);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
