/* Updates that a GPU replays as graphs, with branches for the gradients of parameters and one launch for each fused
 * segment, against the same calls one by one in their order. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/unrolled.h"

enum { UPDATES = 6 /* one runs eagerly, one is captured, the others replayed */ };

static float *update(cm_backend *backend, int kind, cm_dtype type, bool is_eager, size_t *count) {
    backend->is_eager = is_eager;
    backend->is_unfused = true;
    return cm_test_updates(backend, kind, type, UPDATES, count);
}

static void compare(cm_backend *backend, int kind, cm_dtype type) {
    size_t count;
    float *in_order = update(backend, kind, type, true, &count);
    const uint64_t before = backend->kind->replays(backend).graphs;
    float *replayed = update(backend, kind, type, false, &count);
    ck_assert_uint_ge(backend->kind->replays(backend).graphs - before, UPDATES - 1);
    ck_assert_msg(memcmp(in_order, replayed, count * sizeof *in_order) == 0, "kind %d, %s: other bits", kind,
                  cm_dtype_name(type));
    free(in_order);
    free(replayed);
}

/* A backend, or NULL where there is no GPU, which the first test says. */
static cm_backend *open_cuda(int test) {
    cm_backend *backend;
    if (cm_backend_open("cuda", &backend) != CM_ERR_ABSENT) return backend;
    if (test == 0) printf("SKIP cuda updates: %s\n", cm_error_message());
    return NULL;
}

/* Of a kind of network. */
START_TEST(replayed_updates_give_the_bits_of_calls_in_order) {
    cm_backend *backend = open_cuda(_i);
    if (!backend) return;
    compare(backend, _i, CM_F32);
    if (backend->native[CM_BF16]) compare(backend, _i, CM_BF16);
    cm_backend_close(backend);
}
END_TEST

/* ---- segments ---- */

enum { ROWS = 37 };

static void compare_segments(cm_backend *backend, int kind, cm_dtype type, float tolerance) {
    cm_test_unrolled want, got;
    cm_test_unrolled_open(&want, backend, kind, type, ROWS);
    cm_test_unrolled_open(&got, backend, kind, type, ROWS);
    backend->is_eager = true;
    cm_test_unrolled_run(&want);
    backend->is_eager = backend->is_unfused = false;
    for (int i = 0; i < UPDATES; i++) cm_test_unrolled_run(&got);
    cm_test_unrolled_compare(&got, &want, tolerance);
    cm_test_unrolled_close(&got);
    cm_test_unrolled_close(&want);
}

/* Of a kind of network. */
START_TEST(replayed_segments_leave_what_their_calls_leave) {
    cm_backend *backend = open_cuda(_i);
    if (!backend) return;
    compare_segments(backend, _i, CM_F32, 1e-3f);
    if (backend->native[CM_BF16]) compare_segments(backend, _i, CM_BF16, 5e-2f);
    cm_backend_close(backend);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/recorded");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, replayed_updates_give_the_bits_of_calls_in_order, 0, CM_TEST_UPDATE_KINDS);
    suite_add_tcase(suite, tests);
    TCase *segments = tcase_create("segments"); /* scripts/gpu_sanitize runs them under compute-sanitizer */
    tcase_set_timeout(segments, 120);
    tcase_add_loop_test(segments, replayed_segments_leave_what_their_calls_leave, 0, CM_TEST_UPDATE_KINDS);
    suite_add_tcase(suite, segments);
    return cm_test_main(suite);
}
