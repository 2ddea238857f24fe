/* Captured graphs: when work runs eagerly, is captured, updated, replayed; what errors leave behind. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"
#include "support/cuda_fake.h"
#include "support/logged.h"
#include "support/main.h"

static cm_cuda_device *device;
static cm_cuda_stream stream;
static cm_cuda_graph *graph;
static cm_cuda_stream side_streams[2];
static cm_cuda_event *turn;

static void set_up(void) {
    setenv("CUMIND_LOG_PLANS", "1", 1);
    ck_assert_int_eq(cm_cuda_open(cm_fake_driver(), 0, NULL, &device), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &stream), CM_OK);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_cuda_stream_open(device, false, &side_streams[i]), CM_OK);
    turn = NULL;
    graph = NULL;
    log_keep();
}

static void tear_down(void) {
    cm_cuda_graph_destroy(graph);
    cm_cuda_event_destroy(turn);
    for (int i = 0; i < 2; i++) cm_cuda_stream_close(&side_streams[i]);
    cm_cuda_stream_close(&stream);
    cm_cuda_close(device);
    log_show();
    ck_assert_msg(cm_fake.misuse == 0, "misused: %s", cm_fake.misused);
    ck_assert_int_eq(cm_fake.graphs + cm_fake.executables + cm_fake.streams + cm_fake.blocks + cm_fake.contexts, 0);
}

/* Work: `launches` kernels that each add one to *counter. */
typedef struct job {
    int launches, *counter, calls;
    cm_status status; /* what the work ends with, after its launches */
    bool waits;       /* and waits for its stream, which may not be captured */
    int branches;     /* and launches one more on so many side streams, */
    bool leaves;      /* which nothing of its own follows */
} job;

static void add_one(void *counter) { ++*(int *)counter; }

/* A launch on a stream that begins after what `stream` was given, and ends in front of what that is given next. */
static cm_status branch(const job *j, int i) {
    cm_cuda_stream *side = &side_streams[i];
    CM_TRY(cm_cuda_event_record(&turn, &stream));
    CM_TRY(cm_cuda_stream_wait_event(side, turn));
    CM_TRY(cm_cuda_result(device, cm_fake_launch(side->handle, add_one, j->counter), "a kernel"));
    if (j->leaves) return CM_OK;
    CM_TRY(cm_cuda_event_record(&turn, side));
    return cm_cuda_stream_wait_event(&stream, turn);
}

static cm_status work(void *context) {
    job *j = context;
    j->calls++;
    for (int i = 0; i < j->launches; i++)
        CM_TRY(cm_cuda_result(device, cm_fake_launch(stream.handle, add_one, j->counter), "a kernel"));
    for (int i = 0; i < j->branches; i++) CM_TRY(branch(j, i));
    if (j->waits) CM_TRY(cm_cuda_stream_synchronize(&stream));
    return j->status == CM_OK ? CM_OK : cm_fail(j->status, "the work fails");
}

static cm_status run(job *j, uint64_t shapes, uint64_t addresses) {
    cm_cuda_key key = {.name = "a test", .shapes = shapes, .addresses = addresses};
    return cm_cuda_graph_run(&stream, &key, work, j, &graph);
}

START_TEST(work_runs_eagerly_once_is_captured_once_and_then_replayed) {
    int counter = 0;
    job j = {.launches = 3, .counter = &counter};
    for (int i = 1; i <= 10; i++) {
        ck_assert_int_eq(run(&j, 1, 1), CM_OK);
        ck_assert_int_eq(counter, 3 * i); /* every run does the work once, however it is run */
    }
    cm_cuda_graph_counts counts = cm_cuda_graph_count(graph);
    ck_assert_int_eq(j.calls, 2);
    ck_assert_uint_eq(counts.eager, 1);
    ck_assert_uint_eq(counts.captures, 1);
    ck_assert_uint_eq(counts.launches, 9);
    ck_assert_uint_eq(counts.nodes, 3);
    ck_assert_uint_eq(stream.device->graphs_launched, 9);
    ck_assert_uint_eq(stream.device->nodes_launched, 27);
    ck_assert_str_eq(logged, "graph \"a test\": 3 launches captured (first time), made executable\n");
}
END_TEST

START_TEST(lanes_that_begin_and_end_in_the_work_are_captured_with_it) {
    int counter = 0;
    job j = {.launches = 3, .counter = &counter, .branches = 2};
    for (int i = 1; i <= 4; i++) {
        ck_assert_int_eq(run(&j, 1, 1), CM_OK);
        ck_assert_int_eq(counter, 5 * i);
    }
    ck_assert_int_eq(j.calls, 2);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).launches, 3);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).nodes, 5);
    ck_assert_int_eq(cm_cuda_stream_synchronize(&side_streams[1]), CM_OK); /* it captures no more */
}
END_TEST

START_TEST(a_lane_that_nothing_follows_is_no_part_of_a_graph) {
    int counter = 0;
    job j = {.launches = 1, .counter = &counter, .branches = 2, .leaves = true};
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(run(&j, 1, 1), CM_OK); /* eagerly, with a warning */
        ck_assert_int_eq(counter, 3 * i);
    }
    ck_assert_uint_eq(cm_cuda_graph_count(graph).launches, 0);
    ck_assert(strstr(logged, "it runs eagerly this time") != NULL);
}
END_TEST

START_TEST(changed_addresses_are_captured_again_and_updated_in_place) {
    int counter = 0, other = 0;
    job j = {.launches = 2, .counter = &counter};
    for (int i = 0; i < 3; i++) ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    j.counter = &other;
    for (int i = 0; i < 3; i++) ck_assert_int_eq(run(&j, 1, 2), CM_OK);
    ck_assert_int_eq(counter, 6);
    ck_assert_int_eq(other, 6);
    cm_cuda_graph_counts counts = cm_cuda_graph_count(graph);
    ck_assert_uint_eq(counts.eager, 1);
    ck_assert_uint_eq(counts.captures, 2);
    ck_assert_uint_eq(counts.updates, 1);
    ck_assert_uint_eq(counts.instantiations, 1);
    ck_assert(strstr(logged, "graph \"a test\": 2 launches captured (addresses changed), updated in place\n") != NULL);
}
END_TEST

START_TEST(a_changed_shape_runs_eagerly_and_is_captured_again_with_a_line_each) {
    int counter = 0;
    job j = {.launches = 2, .counter = &counter};
    for (int i = 0; i < 2; i++) ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    j.launches = 5;
    ck_assert_int_eq(run(&j, 2, 1), CM_OK);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).eager, 2);
    ck_assert_int_eq(run(&j, 2, 1), CM_OK);
    ck_assert_int_eq(counter, 2 * 2 + 2 * 5);
    cm_cuda_graph_counts counts = cm_cuda_graph_count(graph);
    ck_assert_uint_eq(counts.updates, 0);
    ck_assert_uint_eq(counts.instantiations, 2);
    ck_assert_uint_eq(counts.nodes, 5);
    ck_assert_str_eq(logged, "graph \"a test\": 2 launches captured (first time), made executable\n"
                             "graph \"a test\": shapes changed, it runs eagerly and is captured again\n"
                             "graph \"a test\": 5 launches captured (shapes changed), made executable again\n");
}
END_TEST

START_TEST(a_workspace_that_moved_is_a_new_capture) {
    int counter = 0;
    job j = {.launches = 1, .counter = &counter};
    for (int i = 0; i < 3; i++) ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_reserve(&stream, 4096), CM_OK);
    ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).captures, 2);
    ck_assert_int_eq(counter, 4);
}
END_TEST

START_TEST(work_that_fails_ends_its_capture_keeps_its_message_and_may_be_tried_again) {
    int counter = 0;
    job j = {.launches = 1, .counter = &counter};
    ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    j.status = CM_ERR_INPUT;
    ck_assert_int_eq(run(&j, 1, 1), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "graph \"a test\": the work fails"); /* which is not the capture's fault */
    ck_assert_int_eq(cm_fake.graphs, 0);
    j.status = CM_OK;
    ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).launches, 1);
    ck_assert_int_eq(counter, 2);
    ck_assert_int_eq(cm_fake_calls("capture_begin"), 2);
}
END_TEST

/* A capture that comes to nothing: because the work waits, here. */
START_TEST(what_cannot_be_captured_runs_eagerly_and_after_three_captures_without_another) {
    int counter = 0;
    job j = {.launches = 1, .counter = &counter};
    ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    j.waits = true;
    for (int i = 2; i <= 6; i++) {
        ck_assert_int_eq(run(&j, 1, 1), CM_OK);
        ck_assert_int_eq(counter, i);
        ck_assert_int_eq(cm_fake.graphs, 0);
    }
    ck_assert_int_eq(cm_fake_calls("capture_begin"), 3);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).eager, 6);
    ck_assert(strncmp(logged, "graph \"a test\": waiting for the GPU", 35) == 0);
    ck_assert(strstr(logged, "; it runs eagerly this time\n") != NULL);
    ck_assert(strstr(logged, "; it runs eagerly from now on\n") != NULL);
    j.waits = false; /* of other shapes it is tried again */
    for (int i = 0; i < 2; i++) ck_assert_int_eq(run(&j, 2, 1), CM_OK);
    ck_assert_int_eq(counter, 8);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).launches, 1);
}
END_TEST

/* Another thread may have disturbed it. */
START_TEST(a_capture_that_comes_to_nothing_once_is_tried_again) {
    int counter = 0;
    job j = {.launches = 1, .counter = &counter};
    ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    for (int i = 0; i < 4; i++) {
        j.waits = true;
        ck_assert_int_eq(run(&j, 1, (uint64_t)i), CM_OK);
        j.waits = false;
        ck_assert_int_eq(run(&j, 1, (uint64_t)i), CM_OK);
    }
    ck_assert_int_eq(counter, 9);
    ck_assert_uint_eq(cm_cuda_graph_count(graph).launches, 4);
    ck_assert(strstr(logged, "from now on") == NULL);
}
END_TEST

START_TEST(a_lost_gpu_is_no_reason_to_run_eagerly) {
    int counter = 0;
    job j = {.launches = 1, .counter = &counter};
    ck_assert_int_eq(run(&j, 1, 1), CM_OK);
    cm_fake.fail = "launch", cm_fake.fail_at = 0, cm_fake.fail_times = 1, cm_fake.fail_result = CM_CU_ILLEGAL_ADDRESS;
    ck_assert_int_eq(run(&j, 1, 1), CM_ERR_DEVICE);
    cm_fake.fail = NULL;
    ck_assert_int_eq(counter, 1);
    ck_assert(strstr(cm_error_message(), "is lost") != NULL);
}
END_TEST

static cm_status alloc_memory(void *context) {
    cm_buffer buffer;
    ++*(int *)context;
    CM_TRY(cm_buffer_create(&buffer, &device->base, 64, "a test"));
    cm_buffer_destroy(&buffer);
    return CM_OK;
}

/* It would wait for the device. */
START_TEST(a_thread_that_takes_memory_while_it_captures_is_told_so_and_does_it_eagerly) {
    const cm_cuda_key key = {.name = "a test", .shapes = 1, .addresses = 1};
    int calls = 0;
    for (int i = 0; i < 5; i++) ck_assert_int_eq(cm_cuda_graph_run(&stream, &key, alloc_memory, &calls, &graph), CM_OK);
    ck_assert_int_eq(calls, 5 + 3); /* three captures came to nothing */
    ck_assert_uint_eq(cm_cuda_graph_count(graph).eager, 5);
    ck_assert(strstr(logged, "graph \"a test\": a test: not while this thread captures a graph; it runs eagerly this "
                             "time\n") != NULL);
    ck_assert_int_eq(cm_fake.blocks + cm_fake.graphs, 0);
}
END_TEST

/* Each call of the driver fails once at each place where a capture makes it: only what was captured cannot be done
 * otherwise. */
START_TEST(a_driver_that_refuses_at_any_point_of_a_capture_leaves_nothing_open) {
    static const char *const names[] = {"capture_begin", "capture_end", "graph_nodes", "exec_create",
                                        "exec_update",   "exec_launch", "launch"};
    static const int results[] = {1, CM_CU_OUT_OF_MEMORY, 801 /* not supported */, 901 /* invalidated */};
    int counter = 0, runs = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        job j = {.launches = 1, .counter = &counter};
        cm_cuda_graph_destroy(graph);
        graph = NULL;
        ck_assert_int_eq(run(&j, 1, 1), CM_OK);
        runs++;
        bool update = strcmp(names[i], "exec_update") == 0, launch = strcmp(names[i], "exec_launch") == 0;
        if (update) ck_assert_int_eq(run(&j, 1, 1), CM_OK);
        runs += update;
        cm_fake.fail = names[i], cm_fake.fail_at = 0, cm_fake.fail_times = 1, cm_fake.fail_result = results[_i];
        ck_assert_msg((run(&j, 1, update ? 2 : 1) == CM_OK) == !launch, "%s", names[i]);
        runs += !launch;
        cm_fake.fail = NULL;
        ck_assert_msg(cm_fake.graphs == 0, "%s", names[i]);
        ck_assert_msg(run(&j, 1, 2) == CM_OK, "%s again", names[i]);
        runs++;
        ck_assert_msg(counter == runs, "%s: %d times, not %d", names[i], counter, runs);
    }
}
END_TEST

/* ---- captures with other threads ---- */

static void *alloc_and_free(void *context) {
    int *failures = context;
    for (int i = 0; i < 500; i++) {
        cm_buffer buffer;
        if (cm_buffer_create(&buffer, &device->base, 64, "a test") != CM_OK) ++*failures;
        cm_buffer_destroy(&buffer);
    }
    return NULL;
}

START_TEST(another_thread_takes_memory_while_this_one_captures_again_and_again) {
    int counter = 0, failures = 0;
    job j = {.launches = 3, .counter = &counter};
    pthread_t thread;
    device->log_plans = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, alloc_and_free, &failures), 0);
    for (uint64_t i = 0; i < 200; i++) ck_assert_int_eq(run(&j, 1, i / 2), CM_OK);
    pthread_join(thread, NULL);
    ck_assert_int_eq(failures, 0);
    ck_assert_int_eq(counter, 600);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda graphs");
    TCase *tc = tcase_create("graphs");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, work_runs_eagerly_once_is_captured_once_and_then_replayed);
    tcase_add_test(tc, lanes_that_begin_and_end_in_the_work_are_captured_with_it);
    tcase_add_test(tc, a_lane_that_nothing_follows_is_no_part_of_a_graph);
    tcase_add_test(tc, changed_addresses_are_captured_again_and_updated_in_place);
    tcase_add_test(tc, a_changed_shape_runs_eagerly_and_is_captured_again_with_a_line_each);
    tcase_add_test(tc, a_workspace_that_moved_is_a_new_capture);
    tcase_add_test(tc, work_that_fails_ends_its_capture_keeps_its_message_and_may_be_tried_again);
    tcase_add_test(tc, what_cannot_be_captured_runs_eagerly_and_after_three_captures_without_another);
    tcase_add_test(tc, a_capture_that_comes_to_nothing_once_is_tried_again);
    tcase_add_test(tc, a_lost_gpu_is_no_reason_to_run_eagerly);
    tcase_add_test(tc, a_thread_that_takes_memory_while_it_captures_is_told_so_and_does_it_eagerly);
    tcase_add_loop_test(tc, a_driver_that_refuses_at_any_point_of_a_capture_leaves_nothing_open, 0, 4);
    tcase_add_test(tc, another_thread_takes_memory_while_this_one_captures_again_and_again);
    suite_add_tcase(suite, tc);
    return cm_test_main_in_process(suite);
}
