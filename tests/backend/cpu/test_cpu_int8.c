/* Products in 8 bits: every instruction set makes the whole numbers that ref makes. */
#include "backend/check.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/int8_bytes.h"
#include "backend/pair.h"

enum { TABLES = CM_INT8_KERNELS + 2 };

/* A pair whose cpu backend has the kernels of this number, the last two of which are words of bytes on any processor;
 * false: this processor has fewer. */
static bool open_with(pair *p, int number) {
    const cm_int8_kernels *usable[TABLES];
    int count;
    cm_int8_usable(usable, &count);
    usable[count++] = &int8_bytes;
    usable[count++] = &int8_tiled;
    if (number >= count) return false;
    pair_open(p);
    ((cm_cpu *)p->cpu->state)->int8 = usable[number];
    return true;
}

static void close_with(pair *p) { pair_close(p); }

#include "backend/int8_products.h"

static void refuse(cm_call *call, const char *why) {
    ck_assert_int_eq(cm_call_check(call), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), why) != NULL, "%s", cm_error_message());
}

START_TEST(calls_in_8_bits_are_checked) {
    pair p;
    pair_open(&p);
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 1.0f}};
    call.t[CM_T_dense_y] = pair_matrix(&p, 2, 3, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 2, 4, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 3, 4, 0);
    CHECK_OK(cm_call_check(&call));
    const float bad[] = {0.0f, -1.0f, INFINITY, NAN};
    for (int i = 0; i < COUNT(bad); i++) {
        call.attr.range = bad[i];
        refuse(&call, "attr.range must be above 0");
    }
    call.attr.range = 1.0f;
    call.attr.accumulate = 1u << CM_T_dense_y;
    refuse(&call, "attr.accumulate must be 0");
    call.attr.accumulate = 0;
    cm_call backward = {.op = CM_OP_dense_backward, .attr = {.compute = CM_I8, .range = 1.0f}};
    backward.t[CM_T_dense_backward_dy] = call.t[CM_T_dense_y];
    backward.t[CM_T_dense_backward_x] = call.t[CM_T_dense_x];
    backward.t[CM_T_dense_backward_weight] = call.t[CM_T_dense_weight];
    refuse(&backward, "attr.compute must be float32, bfloat16 or float16");
    pair_free(&call);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("int8");
    add_int8_products(tests, TABLES);
    tcase_add_test(tests, calls_in_8_bits_are_checked);
    return pair_main("cpu int8", tests);
}
