/* The operations of the cuda backend on the CPU, against ref: all its host code and kernels but those of the vendors.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/columns.h"
#include "backend/cuda/weights.h"
#include "cuda_cpu.h"
#include "lanes.h"
#include "support/main.h"
#include "support/op_bench.h"

static cm_backend cuda;
static op_bench bench;

static void open_both(void) {
    lanes_backwards = false;
    cuda_cpu_open(&cuda);
    bench = (op_bench){.backend = &cuda};
    ck_assert_int_eq(cm_backend_open("ref", &bench.ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(bench.backend, &bench.stream), CM_OK);
    ck_assert_int_eq(cm_stream_open(bench.ref, &bench.ref_stream), CM_OK);
}

static void close_both(void) {
    cm_stream_close(bench.stream);
    cm_stream_close(bench.ref_stream);
    cm_backend_close(bench.ref);
    cuda_cpu_close(&cuda);
}

START_TEST(every_kernel_equals_ref_and_writes_nothing_else) { op_bench_compare_all(&bench); }
END_TEST

START_TEST(every_kernel_runs_its_items_in_any_order) {
    lanes_backwards = true;
    op_bench_compare_all(&bench);
}
END_TEST

START_TEST(outputs_take_the_place_of_gradients) { op_bench_compare_aliased(&bench); }
END_TEST

START_TEST(changed_weights_count_after_repack) { op_bench_change_weights(&bench); }
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_ops");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_both, close_both);
    tcase_add_test(tests, every_kernel_equals_ref_and_writes_nothing_else);
    tcase_add_test(tests, every_kernel_runs_its_items_in_any_order);
    tcase_add_test(tests, outputs_take_the_place_of_gradients);
    tcase_add_test(tests, changed_weights_count_after_repack);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
