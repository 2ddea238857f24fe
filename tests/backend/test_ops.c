/* Every operation on every backend against ref: values, guard bytes, inputs left alone, prepared calls, aliases. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check.h"
#include "core/file.h"
#include "support/main.h"
#include "support/op_bench.h"

/* The backends that open here, each for all tests. */
enum { BACKENDS = 8 };
static op_bench benches[BACKENDS];
static int bench_count;

static void open_backends(void) {
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        ck_assert_int_lt(bench_count, BACKENDS);
        bench_count += op_bench_open(&benches[bench_count], (*kind)->name);
    }
}

static void close_backends(void) {
    while (bench_count > 0) op_bench_close(&benches[--bench_count]);
}

static void on_every_backend(void (*test)(op_bench *b)) {
    for (int i = 0; i < bench_count; i++) test(&benches[i]);
}

/* Of a backend and an operation: one that fails keeps no other from being compared. */
START_TEST(an_operation_equals_ref_and_writes_nothing_else) {
    if (_i / CM_OP_COUNT >= bench_count) return;
    op_bench *b = &benches[_i / CM_OP_COUNT];
    const int before = b->calls;
    op_bench_compare(b, (cm_op)(_i % CM_OP_COUNT));
    ck_assert_int_gt(b->calls, before + 3);
}
END_TEST

START_TEST(every_operation_has_test_sizes) {
    for (int op = 0; op < CM_OP_COUNT; op++) {
        int rows = 0;
        for (int i = 0; i < op_case_count; i++)
            rows += op_cases[i].op == (cm_op)op || op_cases[i].backward == (cm_op)op;
        ck_assert_msg(rows > 0, "%s has no row in tests/support/op_table.c", cm_op_name((cm_op)op));
    }
}
END_TEST

START_TEST(an_output_may_take_the_place_of_its_gradient) { on_every_backend(op_bench_compare_aliased); }
END_TEST

START_TEST(clip_renews_the_loss_scale) { on_every_backend(op_bench_scale_losses); }
END_TEST

START_TEST(clip_finds_what_is_not_finite_wherever_it_stands) { on_every_backend(op_bench_find_flaws); }
END_TEST

START_TEST(a_changed_weight_counts_after_repack) { on_every_backend(op_bench_change_weights); }
END_TEST

/* ---- indices out of range ---- */

START_TEST(ref_refuses_actions_and_rows_out_of_range) {
    static const cm_op with_indices[] = {CM_OP_dense,          CM_OP_dense_backward, CM_OP_action_encoding,
                                         CM_OP_action_numbers, CM_OP_embedding_add,  CM_OP_embedding_add_backward,
                                         CM_OP_gather_rows,    CM_OP_scatter_rows,   CM_OP_bootstrap};
    cm_backend *ref;
    cm_stream *stream;
    ck_assert_int_eq(cm_backend_open("ref", &ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(ref, &stream), CM_OK);
    for (size_t k = 0; k < sizeof with_indices / sizeof *with_indices; k++) {
        cm_op op = with_indices[k];
        int row = 0;
        while (op_cases[row].op != op && op_cases[row].backward != op) row++;
        op_run run;
        op_run_make(&run, &op_cases[row], op, (op_variant){.absent = -1, .seed = 5});
        int index = op_tensor(op, "action") >= 0 ? op_tensor(op, "action") : op_tensor(op, "rows");
        int32_t *first = run.call.t[index].data;
        for (int wrong = 0; wrong < 2; wrong++) {
            *first = wrong ? 1000 : -1;
            ck_assert_int_eq(cm_call_eager(stream, &run.call), CM_ERR_INPUT);
            ck_assert_ptr_nonnull(strstr(cm_error_message(), "[0] is"));
        }
        op_run_free(&run);
    }
    cm_stream_close(stream);
    cm_backend_close(ref);
}
END_TEST

/* Operations of all backends in turn; the first part has all else. */
static Suite *make_suite(int part, int parts) {
    int backends = 0;
    while (cm_backend_classes()[backends]) backends++;
    const int all = backends * CM_OP_COUNT;
    Suite *suite = suite_create("backend/ops");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, open_backends, close_backends);
    tcase_add_loop_test(tests, an_operation_equals_ref_and_writes_nothing_else, all * part / parts,
                        all * (part + 1) / parts);
    suite_add_tcase(suite, tests);
    if (part > 0) return suite;
    tcase_add_test(tests, every_operation_has_test_sizes);
    tcase_add_test(tests, an_output_may_take_the_place_of_its_gradient);
    tcase_add_test(tests, clip_renews_the_loss_scale);
    tcase_add_test(tests, clip_finds_what_is_not_finite_wherever_it_stands);
    tcase_add_test(tests, a_changed_weight_counts_after_repack);
    tcase_add_test(tests, ref_refuses_actions_and_rows_out_of_range);
    return suite;
}

int main(void) { return cm_test_main_in_parts(make_suite, 6); }
