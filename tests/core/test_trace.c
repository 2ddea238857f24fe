/* Trace ranges, and arenas. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/trace.h"
#include "support/folder.h"
#include "support/main.h"

static char path[CM_TEST_PATH];

static void setup(void) { cm_test_file_make(path); }

static cm_json_doc *recorded(void) {
    cm_json_doc *doc;
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    return doc;
}

static int count_of(const cm_json_doc *doc, const char *name) {
    int n = 0;
    for (const cm_json *e = cm_json_first(cm_json_get(cm_json_root(doc), "traceEvents")); e; e = cm_json_next(e))
        n += strcmp(cm_json_string(cm_json_get(e, "name")), name) == 0;
    return n;
}

static const cm_json *event(const cm_json_doc *doc, const char *name) {
    for (const cm_json *e = cm_json_first(cm_json_get(cm_json_root(doc), "traceEvents")); e; e = cm_json_next(e))
        if (strcmp(cm_json_string(cm_json_get(e, "name")), name) == 0) return e;
    ck_abort_msg("no range %s", name);
    return NULL;
}

static double number(const cm_json *object, const char *key) { return cm_json_number(cm_json_get(object, key), -1.0); }

static char heard[128];
static void hear_begin(const char *name) { strcat(strcat(heard, name), "("); }
static void hear_end(void) { strcat(heard, ")"); }

START_TEST(a_listener_is_told_of_ranges_recorded_or_not) {
    static const cm_trace_listener listener = {hear_begin, hear_end};
    heard[0] = '\0';
    cm_trace_listen(&listener);
    ck_assert(cm_trace_on());
    CM_TRACE_BEGIN("a");
    CM_TRACE_BEGIN("b");
    CM_TRACE_END();
    CM_TRACE_END();
    ck_assert_int_eq(cm_trace_close(), CM_OK); /* nothing is recorded */
    ck_assert_int_eq(cm_trace_open(path), CM_OK);
    CM_TRACE_BEGIN("c");
    CM_TRACE_END();
    cm_trace_listen(NULL);
    CM_TRACE_BEGIN("d");
    CM_TRACE_END();
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    ck_assert_str_eq(heard, "a(b())c()");
    cm_json_doc *doc = recorded();
    ck_assert_int_eq(count_of(doc, "a"), 0);
    ck_assert_int_eq(count_of(doc, "c") + count_of(doc, "d"), 2);
    cm_json_free(doc);
    ck_assert(!cm_trace_on());
}
END_TEST

START_TEST(ranges_nest_and_are_written_as_complete_events) {
    CM_TRACE_BEGIN("before the recording");
    CM_TRACE_END();
    ck_assert(!cm_trace_on());
    ck_assert_int_eq(cm_trace_open(path), CM_OK);
    ck_assert_int_eq(cm_trace_open(path), CM_ERR_STATE);
    CM_TRACE_END(); /* of a range begun before it */
    CM_TRACE_BEGIN("outer");
    CM_TRACE_BEGIN("inner \"quoted\"");
    usleep(2000);
    CM_TRACE_END();
    CM_TRACE_END();
    CM_TRACE_BEGIN("open at the end");
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    cm_json_doc *doc = recorded();
    ck_assert_int_eq(cm_json_size(cm_json_get(cm_json_root(doc), "traceEvents")), 2);
    const cm_json *outer = event(doc, "outer"), *inner = event(doc, "inner quoted");
    ck_assert_str_eq(cm_json_string(cm_json_get(outer, "ph")), "X");
    ck_assert_double_ge(number(inner, "dur"), 2000.0); /* microseconds */
    ck_assert_double_le(number(outer, "ts"), number(inner, "ts"));
    ck_assert_double_ge(number(outer, "ts") + number(outer, "dur"), number(inner, "ts") + number(inner, "dur") - 0.002);
    ck_assert_double_eq(number(outer, "tid"), number(inner, "tid"));
    cm_json_free(doc);
}
END_TEST

enum { RANGES = 8000 }; /* of each thread */
static void *work(void *unused) {
    for (int i = 0; i < RANGES; i++) {
        CM_TRACE_BEGIN("work");
        CM_TRACE_END();
    }
    return unused;
}

START_TEST(ranges_of_four_threads_are_all_there_under_their_own_number) {
    pthread_t threads[4];
    ck_assert_int_eq(cm_trace_open(path), CM_OK);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    cm_json_doc *doc = recorded();
    int count[4] = {0};
    for (const cm_json *e = cm_json_first(cm_json_get(cm_json_root(doc), "traceEvents")); e; e = cm_json_next(e)) {
        ck_assert(cm_json_is_integer(cm_json_get(e, "tid"), 0, 3));
        count[(int)number(e, "tid")]++;
    }
    for (int i = 0; i < 4; i++) ck_assert_int_eq(count[i], RANGES);
    cm_json_free(doc);
}
END_TEST

START_TEST(second_recording_starts_empty_and_deep_nesting_is_harmless) {
    ck_assert_int_eq(cm_trace_open(path), CM_OK);
    work(NULL);
    CM_TRACE_BEGIN("left open");
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    ck_assert_int_eq(cm_trace_open(path), CM_OK);
    for (int i = 0; i < 100; i++) CM_TRACE_BEGIN("deep");
    for (int i = 0; i < 100; i++) CM_TRACE_END();
    CM_TRACE_END();
    ck_assert_int_eq(cm_trace_close(), CM_OK);
    cm_json_doc *doc = recorded();
    ck_assert_int_eq(count_of(doc, "deep"), 64);
    ck_assert_int_eq(cm_json_size(cm_json_get(cm_json_root(doc), "traceEvents")), 64);
    cm_json_free(doc);
}
END_TEST

START_TEST(trace_that_cannot_be_written_is_an_error_that_names_it) {
    char file[64];
    ck_assert_int_eq(cm_trace_open("/nonexistent/trace.json"), CM_ERR_IO);
    ck_assert_str_eq(cm_error_message(), "/nonexistent/trace.json: cannot write: No such file or directory");
    ck_assert(!cm_trace_on());
    cm_test_folder_make();
    snprintf(file, sizeof file, "%s/trace.json", cm_test_folder);
    ck_assert_int_eq(cm_trace_open(file), CM_OK);
    ck_assert_int_eq(rmdir(cm_test_folder), 0); /* opening has left nothing in it */
    ck_assert_int_eq(cm_trace_close(), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/trace.json: cannot write: No such file or directory"));
    ck_assert(!cm_trace_on());
}
END_TEST

START_TEST(arena_hands_out_aligned_pieces_until_it_is_full) {
    cm_arena arena;
    ck_assert_int_eq(cm_arena_create(&arena, 200, "test"), CM_OK);
    char *a = cm_arena_alloc(&arena, 1), *b = cm_arena_alloc(&arena, 64), *c = cm_arena_alloc(&arena, 65);
    ck_assert_uint_eq((uintptr_t)a % CM_ALIGN, 0);
    ck_assert_ptr_eq(b, a + 64);
    ck_assert_ptr_eq(c, a + 128);
    ck_assert_ptr_null(cm_arena_alloc(&arena, 1));
    ck_assert_ptr_null(cm_arena_alloc(&arena, SIZE_MAX));
    for (int i = 0; i < 256; i++) ck_assert_int_eq(a[i], 0);
    a[3] = 7;
    cm_arena_reset(&arena);
    ck_assert_ptr_eq(cm_arena_alloc(&arena, 10), a);
    ck_assert_int_eq(a[3], 7);
    cm_arena_destroy(&arena);
    ck_assert_ptr_null(arena.base);
}
END_TEST

START_TEST(measuring_arena_counts_what_a_real_one_takes) {
    cm_arena measure = {.capacity = SIZE_MAX};
    static const size_t sizes[] = {0, 1, 63, 64, 65, 1000};
    size_t want = 0;
    for (size_t i = 0; i < 6; i++) {
        ck_assert_ptr_null(cm_arena_alloc(&measure, sizes[i]));
        want += (sizes[i] + 63) / 64 * 64;
    }
    ck_assert_uint_eq(measure.used, want);
    ck_assert_uint_eq(cm_align(0), 0);
    ck_assert_uint_eq(cm_align(SIZE_MAX), SIZE_MAX - 63);
}
END_TEST

START_TEST(memory_that_is_not_there_is_an_error_that_names_its_use) {
    cm_arena arena;
    void *block;
    ck_assert_int_eq(cm_arena_create(&arena, SIZE_MAX - 1000, "the replay"), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "the replay: cannot take 18 EB of memory"));
    ck_assert_int_eq(cm_alloc(&block, SIZE_MAX / 2, 3, "the tree"), CM_ERR_MEMORY); /* the product overflows */
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "the tree: cannot take 28 EB of memory"));
    ck_assert_ptr_null(block);
    ck_assert_int_eq(cm_alloc(&block, 0, 8, "nothing"), CM_OK);
    ck_assert_ptr_nonnull(block);
    free(block);
}
END_TEST

START_TEST(sizes_have_two_or_three_digits_and_a_unit) {
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{0, "0 B"},         {950, "950 B"},     {1000, "1.0 kB"},           {12345, "12 kB"},
                 {999499, "999 kB"}, {999500, "1.0 MB"}, {116287643136.0, "116 GB"}, {3.5e15, "3.5 PB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16];
        cm_format_bytes(cases[i].bytes, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(more_than_the_machine_has_is_refused_before_it_is_promised) {
    uint64_t available = cm_memory_available();
    cm_arena arena;
    ck_assert_uint_gt(available, 1 << 20);
    if (available == UINT64_MAX) {
        printf("SKIP memory: the system does not say how much there is\n");
        return;
    }
    ck_assert_int_eq(cm_memory_check((double)available / 2, "a half"), CM_OK);
    ck_assert_int_eq(cm_arena_create(&arena, (size_t)available * 2, "the double"), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), " are available"));
    ck_assert_int_eq(cm_memory_advise(CM_ERR_MEMORY, "lower num_envs"), CM_ERR_MEMORY);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "the double: cannot take"));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), " are available; lower num_envs"));
    ck_assert_int_eq(cm_memory_advise(CM_ERR_IO, "nothing"), CM_ERR_IO);
    ck_assert_ptr_null(strstr(cm_error_message(), "nothing"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("trace and arena");
    TCase *trace = tcase_create("trace"), *arena = tcase_create("arena");
    tcase_add_checked_fixture(trace, setup, NULL);
    tcase_add_test(trace, a_listener_is_told_of_ranges_recorded_or_not);
    tcase_add_test(trace, ranges_nest_and_are_written_as_complete_events);
    tcase_add_test(trace, ranges_of_four_threads_are_all_there_under_their_own_number);
    tcase_add_test(trace, second_recording_starts_empty_and_deep_nesting_is_harmless);
    tcase_add_test(trace, trace_that_cannot_be_written_is_an_error_that_names_it);
    tcase_add_test(arena, arena_hands_out_aligned_pieces_until_it_is_full);
    tcase_add_test(arena, measuring_arena_counts_what_a_real_one_takes);
    tcase_add_test(arena, memory_that_is_not_there_is_an_error_that_names_its_use);
    tcase_add_test(arena, sizes_have_two_or_three_digits_and_a_unit);
    tcase_add_test(arena, more_than_the_machine_has_is_refused_before_it_is_promised);
    suite_add_tcase(suite, trace);
    suite_add_tcase(suite, arena);
    return cm_test_main(suite);
}
