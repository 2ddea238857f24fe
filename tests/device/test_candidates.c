/* Which of several ways to launch work is the fastest: measured as graphs on the stand-in's clock, known the next time,
 * and what is left behind where one does not run. */
#include <check.h>
#include <string.h>

#include "device/cuda/candidates.h"
#include "support/cuda_fake.h"
#include "support/logged.h"
#include "support/main.h"

static cm_cuda_device *device;
static cm_cuda_stream stream;
static cm_autotune_cache *cache;

static void set_up(void) {
    ck_assert_int_eq(cm_cuda_open(cm_fake_driver(), 0, NULL, &device), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &stream), CM_OK);
    ck_assert_int_eq(cm_autotune_cache_open(NULL, "a device", &cache), CM_OK);
    log_keep();
}

static void tear_down(void) {
    cm_autotune_cache_close(cache);
    cm_cuda_stream_close(&stream);
    cm_cuda_close(device);
    log_show();
    ck_assert_msg(cm_fake.misuse == 0, "misused: %s", cm_fake.misused);
    ck_assert_int_eq(cm_fake.graphs + cm_fake.executables + cm_fake.streams + cm_fake.events + cm_fake.contexts, 0);
}

/* `launches` kernels of a number of milliseconds each. */
typedef struct way {
    int launches;
    float milliseconds;
    bool fails;
    int runs; /* of its kernels, so far */
} way;

static void run_kernel(void *way_) {
    way *w = way_;
    w->runs++;
    cm_fake.milliseconds += w->milliseconds;
}

static cm_status launch(void *way_) {
    way *w = way_;
    for (int i = 0; i < w->launches; i++)
        CM_TRY(cm_cuda_result(device, cm_fake_launch(stream.handle, run_kernel, w), "a kernel"));
    return w->fails ? cm_fail(CM_ERR_DEVICE, "this one does not run") : CM_OK;
}

static cm_status choose(way *ways, int count, int *winner) {
    cm_cuda_candidate candidate[3];
    for (int i = 0; i < count; i++) candidate[i] = (cm_cuda_candidate){launch, &ways[i]};
    return cm_cuda_candidates_choose(&stream, cache, "some work", candidate, count, winner);
}

START_TEST(the_fastest_wins_whatever_its_number_of_launches) {
    way few = {.launches = 1, .milliseconds = 9.0f}, many = {.launches = 4, .milliseconds = 2.0f};
    way order[2][2] = {{few, many}, {many, few}};
    for (int i = 0; i < 2; i++) {
        int winner = -1;
        ck_assert_int_eq(choose(order[i], 2, &winner), CM_OK);
        ck_assert_int_eq(winner, 1 - i);
        tear_down(), set_up();
    }
}
END_TEST

START_TEST(what_was_measured_is_not_measured_again) {
    way ways[2] = {{.launches = 1, .milliseconds = 2.0f}, {.launches = 1, .milliseconds = 1.0f}};
    int winner = -1;
    ck_assert_int_eq(choose(ways, 2, &winner), CM_OK);
    const int runs = ways[0].runs + ways[1].runs;
    ck_assert_int_gt(runs, 2);
    ways[0].milliseconds = 0.5f, winner = -1;
    ck_assert_int_eq(choose(ways, 2, &winner), CM_OK);
    ck_assert_int_eq(winner, 1);
    ck_assert_int_eq(ways[0].runs + ways[1].runs, runs);
    ck_assert_int_eq(choose(ways, 1, &winner), CM_OK); /* of a build with fewer */
    ck_assert_int_eq(winner, 0);
}
END_TEST

START_TEST(a_candidate_that_fails_is_out) {
    way ways[2] = {{.launches = 1, .milliseconds = 1.0f, .fails = true}, {.launches = 1, .milliseconds = 5.0f}};
    int winner = -1;
    ck_assert_int_eq(choose(ways, 2, &winner), CM_OK);
    ck_assert_int_eq(winner, 1);
    ck_assert_int_eq(choose(ways, 2, &winner), CM_OK);
    ck_assert_int_eq(winner, 1);
}
END_TEST

START_TEST(where_none_runs_the_last_ones_words_are_the_error) {
    way ways[2] = {{.launches = 1, .fails = true}, {.launches = 2, .fails = true}};
    int winner = -1;
    ck_assert_int_eq(choose(ways, 2, &winner), CM_ERR_DEVICE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "this one does not run"));
}
END_TEST

START_TEST(a_driver_that_refuses_events_is_an_error) {
    way only = {.launches = 1};
    int winner = -1;
    for (int at = 0; at < 2; at++) {
        cm_fake.fail = "event_create", cm_fake.fail_at = at, cm_fake.fail_times = 1, cm_fake.fail_result = 801;
        ck_assert_int_eq(choose(&only, 1, &winner), CM_ERR_DEVICE);
    }
    cm_fake.fail = NULL;
    ck_assert_int_eq(choose(&only, 1, &winner), CM_OK);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device/candidates");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_fastest_wins_whatever_its_number_of_launches);
    tcase_add_test(tests, what_was_measured_is_not_measured_again);
    tcase_add_test(tests, a_candidate_that_fails_is_out);
    tcase_add_test(tests, where_none_runs_the_last_ones_words_are_the_error);
    tcase_add_test(tests, a_driver_that_refuses_events_is_an_error);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
