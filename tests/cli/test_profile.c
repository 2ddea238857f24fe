/* The profiler: stages of threads, operations, and the whole command. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile.h"
#include "core/clock.h"
#include "core/trace.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static void work(double seconds) {
    const double end = cm_clock_seconds() + seconds;
    while (cm_clock_seconds() < end) {
    }
}

static void range(const char *name, double seconds) {
    CM_TRACE_BEGIN(name);
    work(seconds);
    CM_TRACE_END();
}

static void *play(void *unused) {
    (void)unused;
    CM_TRACE_BEGIN("act");
    range("environment", 4e-3);
    range("search", 2e-3);
    CM_TRACE_END();
    return NULL;
}

static void *draw(void *unused) {
    (void)unused;
    range("draw", 5e-3);
    return NULL;
}

static void on_thread(void *(*run)(void *)) {
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
    pthread_join(thread, NULL);
}

/* While the one that leads waits for the one that plays, that one's stages count; other threads' do not. */
START_TEST(stages_add_up_to_the_wall_time) {
    static cm_stage_times t;
    double sum = 0.0;
    CM_TRACE_BEGIN("learn"); /* only ends while it is measured */
    cm_stages_begin();
    CM_TRACE_END();
    CM_TRACE_BEGIN("learn");
    range("forward", 3e-3);
    on_thread(draw);
    CM_TRACE_END();
    CM_TRACE_BEGIN("play");
    on_thread(play);
    CM_TRACE_END();
    work(1e-3);
    cm_stages_end(&t);
    for (int s = 0; s < CM_STAGES; s++) sum += t.seconds[s];
    ck_assert_double_eq_tol(sum, t.wall, 0.05 * t.wall);
    ck_assert(t.seconds[CM_STAGE_ENVIRONMENT] >= 4e-3 && t.seconds[CM_STAGE_ENVIRONMENT] < t.wall - 8e-3);
    ck_assert(t.seconds[CM_STAGE_TREE] >= 2e-3 && t.seconds[CM_STAGE_FORWARD] >= 3e-3);
    ck_assert(t.seconds[CM_STAGE_REPLAY] >= 5e-3); /* the rest of "learn", which waited for the thread that drew */
    ck_assert(t.seconds[CM_STAGE_OTHER] >= 1e-3);
    ck_assert(t.busy >= 14e-3);
    ck_assert_int_eq(t.threads, 3);
    ck_assert(!cm_trace_on());
}
END_TEST

/* Two tasks of 4 ms that wait for each other, so that each has a thread of its own. */
static cm_status meet(void *context, int task, int worker) {
    pthread_barrier_t *both = context;
    (void)task, (void)worker;
    pthread_barrier_wait(both);
    work(4e-3);
    return CM_OK;
}

START_TEST(workers_are_in_the_stage_of_their_caller) {
    static cm_stage_times t;
    pthread_barrier_t both;
    cm_pool *pool;
    ck_assert_int_eq(pthread_barrier_init(&both, NULL, 2), 0);
    ck_assert_int_eq(cm_pool_create(2, &pool), CM_OK);
    cm_stages_begin();
    CM_TRACE_BEGIN("reanalyse");
    ck_assert_str_eq(cm_trace_range(), "reanalyse");
    ck_assert_int_eq(cm_pool_run(pool, 2, meet, &both), CM_OK);
    CM_TRACE_END();
    cm_stages_end(&t);
    cm_pool_destroy(pool);
    pthread_barrier_destroy(&both);
    ck_assert_ptr_null(cm_trace_range());
    ck_assert_int_eq(t.threads, 2);
    ck_assert(t.seconds[CM_STAGE_REANALYSIS] >= 4e-3 && t.busy >= 8e-3);
}
END_TEST

/* One product of 6 x 4 by 5 x 4, twice in a search and once elsewhere. */
static void multiply(cm_stream *stream, cm_call_part part, int times) {
    float y[30], x[24] = {1.0f}, weight[20] = {2.0f};
    cm_call call = {.op = CM_OP_dense, .part = part};
    call.t[CM_T_dense_y] = cm_tensor_2d(y, CM_F32, 6, 5);
    call.t[CM_T_dense_x] = cm_tensor_2d(x, CM_F32, 6, 4);
    call.t[CM_T_dense_weight] = cm_tensor_2d(weight, CM_F32, 5, 4);
    for (int i = 0; i < times; i++) ck_assert_int_eq(cm_call_eager(stream, &call), CM_OK);
    ck_assert_float_eq(y[0], 2.0f);
}

START_TEST(operations_are_counted_by_kind_and_stage) {
    static cm_operations o;
    static cm_stage_times t;
    cm_backend *backend;
    cm_stream *stream;
    cm_calls_listen();
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK);
    ck_assert(backend->is_eager && backend->is_unfused && backend->is_in_order);
    ck_assert_int_eq(cm_stream_open(backend, &stream), CM_OK);
    multiply(stream, CM_PART_DYNAMICS, 1); /* does not count yet */
    cm_stages_begin();
    cm_calls_count(true);
    CM_TRACE_BEGIN("search");
    multiply(stream, CM_PART_DYNAMICS, 2);
    CM_TRACE_END();
    CM_TRACE_BEGIN("forward");
    multiply(stream, CM_PART_DYNAMICS, 1);
    CM_TRACE_END();
    cm_calls_count(false);
    cm_stages_end(&t);
    ck_assert_int_eq(cm_calls_end(&o), CM_OK);
    cm_stream_close(stream);
    cm_backend_close(backend);
    ck_assert_int_eq(o.count, 2);
    const cm_operation *in_search = &o.row[o.row[0].stage != CM_STAGE_DYNAMICS];
    ck_assert_int_eq(in_search->stage, CM_STAGE_DYNAMICS);
    ck_assert_int_eq(o.row[o.row[0].stage == CM_STAGE_DYNAMICS].stage, CM_STAGE_FORWARD);
    ck_assert_int_eq(in_search->calls, 2);
    ck_assert_double_eq(in_search->flop, 2.0 * 2 * 6 * 5 * 4);
    ck_assert_double_eq(in_search->bytes, 2.0 * 4 * (30 + 24 + 20));
    ck_assert_str_eq(in_search->name, "dense 6x5 6x4");
    ck_assert(in_search->seconds > 0.0 && t.seconds[CM_STAGE_DYNAMICS] >= in_search->seconds);
    ck_assert_int_eq(cm_backend_open("ref", &backend), CM_OK); /* nothing listens any more */
    ck_assert(!backend->listener && !backend->is_eager);
    cm_backend_close(backend);
}
END_TEST

/* ---- the command ---- */

static double number(const cm_json *object, const char *key) {
    const double x = cm_json_number(cm_json_get(object, key), NAN);
    ck_assert_msg(isfinite(x), "%s", key);
    return x;
}

static void check_profile(const cm_json *root) {
    double sum = 0.0;
    int operations = 0, stages = 0;
    for (const cm_json *s = cm_json_first(cm_json_get(root, "stages")); s; s = cm_json_next(s), stages++) {
        const double share = number(s, "share");
        ck_assert(share >= 0.0 && share <= 1.0 && number(s, "seconds") >= 0.0);
        sum += share;
    }
    ck_assert_int_eq(stages, CM_STAGES);
    ck_assert_double_eq_tol(sum, 1.0, 0.05);
    for (const cm_json *o = cm_json_first(cm_json_get(root, "operations")); o; o = cm_json_next(o), operations++)
        ck_assert(number(o, "share_of_roof") <= 1.0 + 1e-9 && number(o, "calls") >= 1.0);
    ck_assert_int_ge(operations, 10);
    ck_assert(number(cm_json_get(root, "training"), "updates_per_second") > 0.0);
    ck_assert_int_gt(cm_json_size(cm_json_get(root, "memory")), 3);
    ck_assert_int_ge(cm_json_size(cm_json_get(root, "precisions")), 2); /* float32 and 8 bits are everywhere */
    ck_assert_ptr_nonnull(cm_json_get(root, "advice"));
}

START_TEST(a_profile_adds_up_and_stays_below_its_roofs) {
    static cm_output result;
    static char page[1 << 18];
    cm_json_doc *doc;
    cm_program_run(cm_test_folder,
                   "profile catch --seconds 1 --json --html p.html --threads 1 --set batch_size=8 --set num_envs=2 "
                   "--set num_simulations=2 --set hidden_dim=8",
                   &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_int_eq(cm_json_parse(result.out, strlen(result.out), "profile", &doc), CM_OK);
    check_profile(cm_json_root(doc));
    cm_json_free(doc);
    cm_program_file(cm_test_folder, "p.html", page, sizeof page);
    ck_assert_ptr_nonnull(strstr(page, "<h2>Roofline</h2>"));
    ck_assert_ptr_nonnull(strstr(page, "</html>"));
    ck_assert_ptr_null(strstr(page, "src="));
}
END_TEST

START_TEST(bad_input_is_refused_in_one_line) {
    static cm_output result;
    static const struct {
        const char *arguments, *part;
    } rows[] = {
        {"profile catch --seconds 0", "--seconds: a profile takes a second at least"},
        {"profile --run nowhere", "there is no such run"},
        {"profile nosuch", "there is no such environment"},
        {"profile catch --set collect=false --set updates=9", "collect=false acts in no environment"},
        {"profile catch --html /nonexistent/p.html --seconds 1", "/nonexistent/p.html"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_program_run(cm_test_folder, rows[i].arguments, &result);
        cm_program_expect_error(&result, i == 4 ? 1 : 2, rows[i].part);
    }
}
END_TEST

/* As when a terminal is closed. */
START_TEST(a_hangup_leaves_no_folder) {
    char command[768], text[256];
    signal(SIGHUP, SIG_DFL); /* under nohup it is ignored, here and there */
    snprintf(
        command, sizeof command,
        "cd %s && mkdir t && { TMPDIR=t %s profile catch >out.txt 2>err.txt & p=$!; for i in $(seq 3000); do "
        "ls t | grep -q cumind-profile && break; sleep 0.02; done; kill -HUP $p; wait $p; echo $? $(ls t) >is.txt; }",
        cm_test_folder, CM_TEST_PROGRAM);
    ck_assert_int_eq(system(command), 0);
    cm_program_file(cm_test_folder, "is.txt", text, sizeof text);
    ck_assert_str_eq(text, "130\n");
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "profile: interrupted"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/profile");
    TCase *parts = tcase_create("parts"), *command = tcase_create("command");
    suite_add_tcase(suite, parts);
    tcase_add_test(parts, stages_add_up_to_the_wall_time);
    tcase_add_test(parts, workers_are_in_the_stage_of_their_caller);
    tcase_add_test(parts, operations_are_counted_by_kind_and_stage);
    suite_add_tcase(suite, command);
    tcase_set_timeout(command, 60);
    tcase_add_unchecked_fixture(command, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(command, a_profile_adds_up_and_stays_below_its_roofs);
    tcase_add_test(command, bad_input_is_refused_in_one_line);
    tcase_add_test(command, a_hangup_leaves_no_folder);
    return cm_test_main(suite);
}
