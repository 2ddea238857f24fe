/* The comparison of operations with ref, on a device whose memory the host cannot touch: what test_ops does on a GPU.
 * The arithmetic is that of ref, so what could differ is what is copied, where and when. */
#include <check.h>

#include "backend/classes.h"
#include "support/far.h"
#include "support/main.h"
#include "support/op_bench.h"

/* Its arithmetic is ref's, which rounds as asked. */
static cm_status open_far(cm_backend *backend) {
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) backend->native[type] = true;
    return cm_far_open(backend);
}

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = open_far};

static void against_ref(void (*test)(op_bench *b)) {
    op_bench b;
    ck_assert(op_bench_open(&b, "cuda"));
    ck_assert(!b.backend->device->is_host);
    test(&b);
    op_bench_close(&b);
    ck_assert_uint_gt(cm_far_state.peak, 0);
    ck_assert_uint_eq(cm_far_state.blocks, 0);
}

static cm_op compared;
static void compare_one(op_bench *b) { op_bench_compare(b, compared); }

START_TEST(an_operation_is_compared_where_the_host_cannot_see_the_memory) {
    compared = (cm_op)_i;
    against_ref(compare_one);
}
END_TEST

START_TEST(outputs_may_take_the_place_of_gradients_there) { against_ref(op_bench_compare_aliased); }
END_TEST

START_TEST(weights_may_change_there) { against_ref(op_bench_change_weights); }
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/ops_far");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, an_operation_is_compared_where_the_host_cannot_see_the_memory, 0, CM_OP_COUNT);
    tcase_add_test(tests, outputs_may_take_the_place_of_gradients_there);
    tcase_add_test(tests, weights_may_change_there);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
