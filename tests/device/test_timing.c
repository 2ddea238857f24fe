/* How long work takes as part of a graph, on the stand-in's clock: how often it is run, what cannot be captured, and
 * what is left behind where the driver refuses. */
#include <check.h>
#include <string.h>

#include "device/cuda/timing.h"
#include "support/cuda_fake.h"
#include "support/logged.h"
#include "support/main.h"

static cm_cuda_device *device;
static cm_cuda_stream stream;

static void set_up(void) {
    ck_assert_int_eq(cm_cuda_open(cm_fake_driver(), 0, NULL, &device), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &stream), CM_OK);
    device->log_plans = true;
    device->is_warm = true;
    log_keep();
}

static void tear_down(void) {
    cm_fake.fail = NULL;
    cm_cuda_stream_close(&stream);
    cm_cuda_close(device);
    log_show();
    ck_assert_msg(cm_fake.misuse == 0, "misused: %s", cm_fake.misused);
    ck_assert_int_eq(cm_fake.graphs + cm_fake.executables + cm_fake.streams + cm_fake.events + cm_fake.contexts, 0);
}

/* A kernel of some milliseconds, more where its first run loads it. */
typedef struct job {
    float milliseconds, loading;
    int slow; /* so many runs take twice the time */
    bool fails;
    int runs;
} job;

static void run_kernel(void *context) {
    job *j = context;
    cm_fake.milliseconds += (j->runs < j->slow ? 2.0f : 1.0f) * j->milliseconds + (j->runs == 0 ? j->loading : 0.0f);
    j->runs++;
}

static cm_status work(void *context) {
    job *j = context;
    CM_TRY(cm_cuda_result(device, cm_fake_launch(stream.handle, run_kernel, j), "a kernel"));
    return j->fails ? cm_fail(CM_ERR_DEVICE, "it does not run") : CM_OK;
}

static float time_of(job *j) {
    float milliseconds = -1.0f;
    ck_assert_int_eq(cm_cuda_time(&stream, "a test", work, j, &milliseconds), CM_OK);
    return milliseconds;
}

/* In one that runs first, and three with one before them each. */
START_TEST(short_work_is_run_many_times_in_a_graph) {
    static const struct {
        float milliseconds;
        int runs;
    } rows[] = {{0.25f, 2}, {1.0f / 64.0f, 32}, {1.0f / 1024.0f, 50}, {0.0f, 50}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job j = {.milliseconds = rows[i].milliseconds, .loading = 64.0f};
        const int before = cm_fake_calls("exec_launch");
        ck_assert_float_eq_tol(time_of(&j), rows[i].milliseconds, 1e-6f);
        ck_assert_int_eq(cm_fake_calls("exec_launch") - before, 1 + 3 * 2);
        ck_assert_int_eq(j.runs, 2 + rows[i].runs * (1 + 3 * 2));
    }
    ck_assert_str_eq(logged, ""); /* each measurement would be a line */
}
END_TEST

/* As by a clock that has not its full speed yet, or by somebody else's work. */
START_TEST(the_fastest_of_three_graphs_counts) {
    job j = {.milliseconds = 2.0f, .slow = 4};
    ck_assert_float_eq(time_of(&j), 2.0f);
}
END_TEST

START_TEST(long_work_is_run_once_in_a_graph) {
    job j = {.milliseconds = 2.0f};
    const int before = cm_fake_calls("exec_launch");
    ck_assert_float_eq(time_of(&j), 2.0f);
    ck_assert_int_eq(cm_fake_calls("exec_launch") - before, 4);
    ck_assert_int_eq(j.runs, 2 + 4);
}
END_TEST

/* As by a clock that goes up with work; where nothing takes any time there is an end, too. */
START_TEST(the_first_work_of_a_device_is_run_for_20_ms_before_it_is_timed) {
    static const struct {
        float milliseconds;
        int graphs; /* that are launched to warm up */
    } rows[] = {{2.0f, 10}, {30.0f, 1}, {0.25f, 40 * 2}, {0.0f, 500 * 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job j = {.milliseconds = rows[i].milliseconds};
        const bool is_short = rows[i].milliseconds < 1.0f;
        device->is_warm = false;
        int before = cm_fake_calls("exec_launch");
        ck_assert_float_eq(time_of(&j), rows[i].milliseconds);
        const int launches = 1 + (is_short ? 3 * 2 : 3);
        ck_assert_int_eq(cm_fake_calls("exec_launch") - before, launches + rows[i].graphs);
        ck_assert(device->is_warm);
        before = cm_fake_calls("exec_launch");
        ck_assert_float_eq(time_of(&j), rows[i].milliseconds);
        ck_assert_int_eq(cm_fake_calls("exec_launch") - before, launches);
    }
}
END_TEST

START_TEST(what_cannot_be_captured_is_the_last_resort) {
    job j = {.milliseconds = 0.25f};
    cm_fake.fail = "capture_begin", cm_fake.fail_at = 0, cm_fake.fail_times = 1000, cm_fake.fail_result = 1;
    ck_assert_float_eq(time_of(&j), 0.25f + CM_CUDA_UNCAPTURED_MS);
    ck_assert_ptr_nonnull(strstr(logged, "graph \"a test\": "));
    ck_assert_ptr_nonnull(strstr(logged, "it runs eagerly from now on"));
}
END_TEST

/* As by another thread. */
START_TEST(one_capture_that_is_disturbed_decides_nothing) {
    job j = {.milliseconds = 0.25f};
    cm_fake.fail = "capture_begin", cm_fake.fail_at = 0, cm_fake.fail_times = 1, cm_fake.fail_result = 1;
    ck_assert_float_eq(time_of(&j), 0.25f);
}
END_TEST

START_TEST(work_that_fails_is_an_error) {
    job j = {.fails = true};
    float milliseconds;
    ck_assert_int_eq(cm_cuda_time(&stream, "a test", work, &j, &milliseconds), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "it does not run");
}
END_TEST

START_TEST(a_driver_that_refuses_is_an_error) {
    static const char *const names[] = {"event_create", "event_record", "event_wait", "event_elapsed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int at = 0; at < 2; at++) {
            job j = {.milliseconds = 1.0f};
            float milliseconds;
            cm_fake.fail = names[i], cm_fake.fail_at = at, cm_fake.fail_times = 1, cm_fake.fail_result = 801;
            ck_assert_msg(cm_cuda_time(&stream, "a test", work, &j, &milliseconds) == CM_ERR_DEVICE, "%s", names[i]);
            cm_fake.fail = NULL;
            ck_assert_float_eq(time_of(&j), 1.0f);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device/timing");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, short_work_is_run_many_times_in_a_graph);
    tcase_add_test(tests, the_fastest_of_three_graphs_counts);
    tcase_add_test(tests, long_work_is_run_once_in_a_graph);
    tcase_add_test(tests, the_first_work_of_a_device_is_run_for_20_ms_before_it_is_timed);
    tcase_add_test(tests, what_cannot_be_captured_is_the_last_resort);
    tcase_add_test(tests, one_capture_that_is_disturbed_decides_nothing);
    tcase_add_test(tests, work_that_fails_is_an_error);
    tcase_add_test(tests, a_driver_that_refuses_is_an_error);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
