/* Updates that a GPU replays as graphs, with branches for the gradients of parameters, against the same calls one by
 * one in their order. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/updates.h"

enum { UPDATES = 6 /* one runs eagerly, one is captured, the others replayed */ };

static float *update(cm_backend *backend, int kind, cm_dtype type, bool is_eager, size_t *count) {
    backend->is_eager = is_eager;
    return cm_test_updates(backend, kind, type, UPDATES, count);
}

static void compare(cm_backend *backend, int kind, cm_dtype type) {
    size_t count;
    float *in_order = update(backend, kind, type, true, &count);
    const uint64_t before = backend->kind->replays(backend).recordings;
    float *replayed = update(backend, kind, type, false, &count);
    ck_assert_uint_ge(backend->kind->replays(backend).recordings - before, UPDATES - 1);
    ck_assert_msg(memcmp(in_order, replayed, count * sizeof *in_order) == 0, "kind %d, %s: other bits", kind,
                  cm_dtype_name(type));
    free(in_order);
    free(replayed);
}

/* Of a kind of network. */
START_TEST(replayed_updates_give_the_bits_of_calls_in_order) {
    cm_backend *backend;
    if (cm_backend_open("cuda", &backend) == CM_ERR_ABSENT) {
        if (_i == 0) printf("SKIP cuda updates: %s\n", cm_error_message());
        return;
    }
    compare(backend, _i, CM_F32);
    if (backend->native[CM_BF16]) compare(backend, _i, CM_BF16);
    cm_backend_close(backend);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trainer/recorded");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, replayed_updates_give_the_bits_of_calls_in_order, 0, CM_TEST_UPDATE_KINDS);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
