/* Streams of one backend at the same time: every operation prepared and run by several workers gives the bits that one
 * worker gives. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"
#include "support/main.h"
#include "support/op_place.h"

enum { WORKERS = 4, CALLS = 256 };

typedef struct batch {
    cm_backend *backend;
    cm_stream *stream[WORKERS];
    op_run alone[CALLS], together[CALLS];
    int calls;
} batch;

static void add_call(batch *b, const op_case *row, cm_op op) {
    op_variant v = {.absent = -1, .seed = 41, .compute = op_has_products(op) && b->calls % 2 ? CM_BF16 : CM_F32};
    ck_assert_int_lt(b->calls, CALLS);
    op_run_make(&b->alone[b->calls], row, op, v);
    op_run_copy(&b->together[b->calls], &b->alone[b->calls]);
    b->calls++;
}

static cm_status run_call(void *context, int task, int worker) {
    batch *b = context;
    return op_run_eager(b->stream[worker], &b->together[task]);
}

static void compare(const batch *b) {
    for (int i = 0; i < b->calls; i++)
        for (int t = 0; t < CM_CALL_TENSORS; t++) {
            const op_run *alone = &b->alone[i], *together = &b->together[i];
            bool same = !alone->block[t] || memcmp(alone->block[t], together->block[t], alone->block_bytes[t]) == 0;
            char name[CM_OP_NAME_BYTES];
            ck_assert_msg(same, "%s on %s: %s differs with other calls", cm_op_name(alone->call.op),
                          b->backend->kind->name, cm_op_tensor_name(alone->call.op, t, name));
        }
}

static void run_backend(batch *b, cm_pool *pool) {
    for (int i = 0; i < WORKERS; i++) ck_assert_int_eq(cm_stream_open(b->backend, &b->stream[i]), CM_OK);
    for (int i = 0; i < op_case_count; i++) {
        const op_case *row = &op_cases[i];
        add_call(b, row, row->op);
        if (row->backward != row->op) add_call(b, row, row->backward);
    }
    for (int i = 0; i < b->calls; i++) ck_assert_int_eq(op_run_eager(b->stream[0], &b->alone[i]), CM_OK);
    cm_status status = cm_pool_run(pool, b->calls, run_call, b);
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    compare(b);
    for (int i = 0; i < WORKERS; i++) cm_stream_close(b->stream[i]);
    for (int i = 0; i < b->calls; i++) {
        op_run_free(&b->alone[i]);
        op_run_free(&b->together[i]);
    }
}

START_TEST(four_streams_at_once_give_the_bits_of_one) {
    cm_pool *pool;
    ck_assert_int_eq(cm_pool_create(WORKERS, &pool), CM_OK);
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        batch *b = calloc(1, sizeof *b);
        ck_assert_ptr_nonnull(b);
        if (cm_backend_open((*kind)->name, &b->backend) == CM_OK) {
            run_backend(b, pool);
            cm_backend_close(b->backend);
        }
        free(b);
    }
    cm_pool_destroy(pool);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/streams");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, four_streams_at_once_give_the_bits_of_one);
    suite_add_tcase(suite, tests);
    return cm_test_main_in_process(suite);
}
