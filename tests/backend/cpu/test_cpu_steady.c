/* Streams in parallel give the bits of one stream alone, and a prepared call allocates no memory. */
#include <pthread.h>

#include "backend/pair.h"
#include "support/allocations.h"

enum {
    CALLS = 6,
    OWN = 4 /* the others run in oneDNN, which makes a map of the arguments */,
    STREAMS = 4,
    ROUNDS = 20
};

/* A forward and backward pass in little; weights and inputs are shared, outputs are the stream's own. */
static cm_call make_call(pair *p, int index, const cm_call *shared) {
    cm_dtype compute = index % 2 ? CM_BF16 : CM_F32;
    cm_call call = {.attr.compute = compute};
    if (index < 2) {
        call.op = CM_OP_dense;
        call.t[0] = pair_matrix(p, 37, 100, 0);
        call.t[1] = shared ? shared->t[1] : pair_matrix(p, 37, 65, 0);
        call.t[2] = shared ? shared->t[2] : pair_matrix(p, 100, 65, 0);
    } else if (index < 4) {
        call.op = CM_OP_dense_backward;
        call.t[0] = pair_matrix(p, 37, 65, 0);
        call.t[1] = pair_matrix(p, 100, 65, 0);
        call.t[3] = shared ? shared->t[3] : pair_matrix(p, 37, 100, 0);
        call.t[4] = shared ? shared->t[4] : pair_matrix(p, 37, 65, 0);
        call.t[5] = shared ? shared->t[5] : pair_matrix(p, 100, 65, 0);
    } else {
        call.op = CM_OP_conv2d;
        call.attr.stride = 1;
        call.t[0] = pair_tensor(p, 4, (int[]){3, 6, 7, 32}, 0);
        call.t[1] = shared ? shared->t[1] : pair_tensor(p, 4, (int[]){3, 6, 7, 32}, 0);
        call.t[2] = shared ? shared->t[2] : pair_tensor(p, 4, (int[]){32, 3, 3, 32}, 0);
    }
    return call;
}
static int outputs_of(int index) { return index == 2 || index == 3 ? 2 : 1; }

typedef struct lane {
    cm_stream *stream;
    cm_call call[CALLS];
    cm_status status;
} lane;

static void *run_lane(void *context) {
    lane *l = context;
    for (int round = 0; round < ROUNDS && l->status == CM_OK; round++)
        for (int i = 0; i < CALLS && l->status == CM_OK; i++) {
            l->status = round % 5 == 0 ? cm_call_eager(l->stream, &l->call[i]) : cm_call_run(l->stream, &l->call[i]);
        }
    return NULL;
}

static void open_lane(pair *p, lane *l, const lane *first) {
    *l = (lane){0};
    CHECK_OK(cm_stream_open(p->cpu, &l->stream));
    for (int i = 0; i < CALLS; i++) l->call[i] = make_call(p, i, first ? &first->call[i] : NULL);
}

static void close_lane(lane *l, bool owner) {
    cm_stream_close(l->stream);
    for (int i = 0; i < CALLS; i++)
        for (int t = 0; t < CM_CALL_TENSORS; t++)
            if (owner || t < outputs_of(i)) free(l->call[i].t[t].data);
}

START_TEST(streams_in_parallel_give_the_bits_of_one_alone) {
    pair p;
    lane lanes[STREAMS + 1];
    pthread_t threads[STREAMS + 1];
    pair_open(&p);
    for (int i = 0; i <= STREAMS; i++) open_lane(&p, &lanes[i], i ? &lanes[0] : NULL);
    run_lane(&lanes[0]);
    for (int i = 1; i <= STREAMS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, run_lane, &lanes[i]), 0);
    for (int i = 1; i <= STREAMS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i <= STREAMS; i++) {
        ck_assert_int_eq(lanes[i].status, CM_OK);
        for (int c = 0; c < CALLS; c++)
            for (int t = 0; t < outputs_of(c); t++)
                ck_assert_msg(memcmp(lanes[i].call[c].t[t].data, lanes[0].call[c].t[t].data,
                                     cm_tensor_bytes(&lanes[0].call[c].t[t])) == 0,
                              "stream %d, call %d, tensor %d has other bits", i, c, t);
    }
    for (int i = STREAMS; i >= 0; i--) close_lane(&lanes[i], i == 0);
    pair_close(&p);
}
END_TEST

START_TEST(a_prepared_call_allocates_nothing) {
    pair p;
    lane l;
    if (!CM_ALLOCATIONS_COUNTED) {
        printf("SKIP allocations: a sanitizer has its own allocator\n");
        return;
    }
    pair_open(&p);
    open_lane(&p, &l, NULL);
    run_lane(&l);
    cm_status status = CM_OK; /* Check allocates when it checks */
    long before = cm_allocations();
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < OWN; i++) status |= cm_call_run(l.stream, &l.call[i]);
    long of_runs = cm_allocations() - before;
    for (int i = 0; i < OWN; i++) status |= cm_call_eager(l.stream, &l.call[i]);
    for (int i = 0; i < OWN; i++)
        status |= cm_backend_repack(p.cpu, l.call[i].t[2].data, cm_tensor_bytes(&l.call[i].t[2]), NULL);
    long of_all = cm_allocations() - before;
    ck_assert_int_eq(status, CM_OK);
    ck_assert_int_gt(before, 0); /* preparing does */
    ck_assert_int_eq(of_runs, 0);
    ck_assert_int_eq(of_all, 0);
    close_lane(&l, true);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("steady");
    tcase_add_test(tests, streams_in_parallel_give_the_bits_of_one_alone);
    tcase_add_test(tests, a_prepared_call_allocates_nothing);
    return pair_main("cpu steady", tests);
}
