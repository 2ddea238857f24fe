/* CUDA devices, memory, streams and errors, on a stand-in for the driver. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda.h"
#include "device/mirror.h"
#include "support/cuda_fake.h"
#include "support/main.h"

static const cm_cuda_code code = {13000, "75 80 86 90 120", 120};
static cm_cuda_device *device;

static void set_up(void) { ck_assert_int_eq(cm_cuda_open(cm_fake_driver(), 0, &code, &device), CM_OK); }

/* Whatever a test does, everything it opened is closed and no call was one that the driver refuses. */
static void tear_down(void) {
    cm_cuda_close(device);
    device = NULL;
    ck_assert_msg(cm_fake.misuse == 0, "misused: %s", cm_fake.misused);
    ck_assert_int_eq(cm_fake.blocks + cm_fake.pinned + cm_fake.streams + cm_fake.events + cm_fake.contexts, 0);
}

static bool says(const char *part) { return strstr(cm_error_message(), part) != NULL; }

static void fail_on(const char *name, int result) {
    cm_fake.fail = name;
    cm_fake.fail_at = 0;
    cm_fake.fail_times = 1;
    cm_fake.fail_result = result;
}

/* ---- opening ---- */

START_TEST(a_machine_without_a_driver_says_so_and_what_to_install) {
    cm_cuda_driver driver;
    ck_assert_int_eq(cm_cuda_driver_load(&driver, "libcuda-is-not-here.so.1"), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "no CUDA driver: libcuda-is-not-here.so.1 is not on this machine; install "
                                         "NVIDIA's driver (Debian: nvidia-driver; containers get it from the host)");
    ck_assert_ptr_null(driver.handle);
}
END_TEST

START_TEST(a_driver_that_lacks_a_function_is_too_old) {
    cm_cuda_driver driver;
    ck_assert_int_eq(cm_cuda_driver_load(&driver, "libm.so.6"), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(),
                     "the CUDA driver is too old: libm.so.6 has no cuInit; install driver 525 or newer");
}
END_TEST

START_TEST(an_opened_device_knows_its_name_capability_memory_and_context) {
    ck_assert_str_eq(device->properties.name, "Fake 0");
    ck_assert_int_eq(device->properties.major, 9);
    ck_assert_int_eq(device->properties.multiprocessors, 132);
    ck_assert_uint_eq(device->properties.bytes, 1000000000);
    ck_assert_uint_eq(device->context_bytes, 300000000);
    ck_assert(!device->base.is_host);
}
END_TEST

START_TEST(no_device_and_a_device_that_is_not_there_are_one_line_each) {
    cm_cuda_device *none;
    const cm_cuda_driver *driver = device->driver;
    cm_fake.devices = 2;
    ck_assert_int_eq(cm_cuda_open(driver, 2, &code, &none), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(), "there is no GPU 2: this machine shows 2, from 0 on");
    cm_fake.devices = 0;
    ck_assert_int_eq(cm_cuda_open(driver, 0, &code, &none), CM_ERR_ABSENT);
    ck_assert(says("the CUDA driver sees no GPU"));
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(a_driver_of_an_older_major_version_is_refused_with_both_versions) {
    cm_fake.version = 12080;
    ck_assert_int_eq(cm_cuda_check_driver(device->driver, &code), CM_ERR_ABSENT);
    ck_assert_str_eq(cm_error_message(),
                     "the CUDA driver is too old: it knows CUDA 12.8, the module needs 13.0; install a newer driver, "
                     "or build the module with a CUDA 12 toolkit");
    cm_fake.version = 13010;
    ck_assert_int_eq(cm_cuda_check_driver(device->driver, &code), CM_OK);
    ck_assert_int_eq(cm_cuda_check_driver(device->driver, &(cm_cuda_code){13020, "", 0}), CM_OK);
}
END_TEST

START_TEST(code_runs_on_its_own_major_capability_and_by_ptx_on_newer_ones) {
    static const struct {
        int major, minor;
        cm_cuda_code code;
        const char *said; /* NULL: it runs */
    } rows[] = {
        {7, 5, {13000, "75 80 86 90", 90}, NULL},
        {7, 0, {13000, "75 80 86 90", 90}, "capability 7.0, too low: cumind needs 7.5 or higher"},
        {8, 9, {13000, "75 80 86 90", 90}, NULL},  /* code for 8.6 */
        {12, 1, {13000, "75 80 86 90", 90}, NULL}, /* PTX for 9.0 */
        {12, 1, {13000, "75 80 86 90", 0}, "capability 12.1, for which the module has no code (it has 75 80 86 90)"},
        {8, 0, {13000, "86", 0}, "no code (it has 86); build it with `make cuda` on this machine"},
        {9, 0, {13000, "80 100", 100}, "capability 9.0, for which the module has no code"},
        {6, 1, {13000, "", 70}, "too low: cumind needs 7.5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_cuda_properties properties = {.name = "X", .major = rows[i].major, .minor = rows[i].minor};
        cm_status status = cm_cuda_check_device(&properties, &rows[i].code);
        ck_assert_msg((status == CM_OK) == (rows[i].said == NULL), "row %zu", i);
        if (rows[i].said) ck_assert_msg(says(rows[i].said), "row %zu: %s", i, cm_error_message());
    }
}
END_TEST

START_TEST(a_device_is_able_to_what_its_clocks_say_where_all_cards_of_its_architecture_are_alike) {
    cm_cuda_properties properties = device->properties;
    cm_cuda_limits limits = cm_cuda_limits_of(device->driver, &properties, 0);
    ck_assert_double_eq(limits.flop, 132 * 4096 * 1.98e9);
    ck_assert_double_eq(limits.bytes, 3.35232e12);
    properties.major = 8, properties.minor = 6;
    ck_assert_double_eq(cm_cuda_limits_of(device->driver, &properties, 0).flop, 0.0);
    fail_on("device_attribute", 1);
    cm_fake.fail_times = 3;
    limits = cm_cuda_limits_of(device->driver, &device->properties, 0);
    ck_assert(limits.flop == 0.0 && limits.bytes == 0.0);
}
END_TEST

/* Each call of opening fails once: nothing stays open, and the line names the opening. */
START_TEST(a_device_that_cannot_be_opened_leaves_nothing_behind) {
    static const char *const names[] = {"device_name",    "context_retain", "context_use",      "memory_info",
                                        "stream_create",  "device_get",     "device_memory",    "device_count",
                                        "driver_version", "device_id",      "stream_priorities"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cm_cuda_device *none;
        int contexts = cm_fake.contexts, streams = cm_fake.streams;
        fail_on(names[i], 1);
        ck_assert_int_ne(cm_cuda_open(device->driver, 0, &code, &none), CM_OK);
        ck_assert_ptr_null(none);
        ck_assert_msg(says("CUDA_ERROR_INVALID_VALUE, invalid argument"), "%s: %s", names[i], cm_error_message());
        ck_assert_int_eq(cm_fake.contexts, contexts);
        ck_assert_int_eq(cm_fake.streams, streams);
    }
    fail_on("context_retain", CM_CU_UNAVAILABLE);
    cm_cuda_device *none;
    ck_assert_int_eq(cm_cuda_open(device->driver, 0, &code, &none), CM_ERR_DEVICE);
    ck_assert(says("opening the GPU: GPU 0 (Fake 0) is not to be had: another process holds it alone"));
}
END_TEST

/* ---- memory ---- */

START_TEST(buffers_on_the_device_are_zeroed_written_read_copied_and_counted) {
    cm_buffer a, b;
    char out[5] = "";
    ck_assert_int_eq(cm_buffer_create(&a, &device->base, 100, "a test"), CM_OK);
    ck_assert_int_eq(cm_buffer_create(&b, &device->base, 100, "a test"), CM_OK);
    ck_assert_uint_eq(device->taken, 256);
    for (size_t i = 0; i < a.bytes; i++) ck_assert_uint_eq(a.base[i], 0);
    ck_assert_int_eq(cm_buffer_write(&a, 60, "abcd", 4), CM_OK);
    ck_assert_int_eq(cm_buffer_copy(&b, &a), CM_OK);
    ck_assert_int_eq(cm_buffer_read(&b, 60, out, 4), CM_OK);
    ck_assert_str_eq(out, "abcd");
    cm_buffer_destroy(&b);
    cm_device_memory memory;
    ck_assert_int_eq(device->base.memory(&device->base, &memory), CM_OK);
    ck_assert_uint_eq(memory.total, 1000000000);
    ck_assert_uint_eq(memory.available, 700000000 - 128);
    ck_assert_uint_eq(memory.taken, 128);
    ck_assert_uint_eq(memory.peak, 256);
    cm_buffer_destroy(&a);
    ck_assert_uint_eq(device->taken, 0);
    ck_assert_int_eq(cm_fake_calls("context_wait"), 3);
}
END_TEST

START_TEST(a_block_that_does_not_fit_says_what_was_wanted_and_what_is_free) {
    cm_buffer a, b;
    cm_fake.total = 1000000, cm_fake.context = 300000;
    ck_assert_int_eq(cm_buffer_create(&a, &device->base, 500000, "parameters"), CM_OK);
    ck_assert_int_eq(cm_buffer_create(&b, &device->base, 400000, "gradients"), CM_ERR_MEMORY);
    ck_assert_str_eq(cm_error_message(), "gradients: cannot take 400 kB of GPU memory, 200 kB of 1.0 MB are free");
    ck_assert_ptr_null(b.base);
    cm_buffer_destroy(&a);
    ck_assert_uint_eq(cm_fake.taken, 0);
}
END_TEST

START_TEST(a_block_that_cannot_be_zeroed_is_freed) {
    cm_buffer a;
    fail_on("zero", 1);
    ck_assert_int_eq(cm_buffer_create(&a, &device->base, 1000, "a test"), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "a test: GPU 0 (Fake 0) refused: CUDA_ERROR_INVALID_VALUE, invalid argument");
    ck_assert_uint_eq(cm_fake.taken, 0);
    ck_assert_uint_eq(device->taken, 0);
}
END_TEST

START_TEST(after_a_failed_kernel_every_call_says_that_the_gpu_is_lost) {
    cm_buffer a;
    char out[4];
    ck_assert_int_eq(cm_buffer_create(&a, &device->base, 100, "a test"), CM_OK);
    fail_on("context_wait", CM_CU_LAUNCH_FAILED);
    ck_assert_int_eq(cm_buffer_read(&a, 0, out, 4), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(),
                     "copying from the GPU: GPU 0 (Fake 0) is lost: a kernel failed (CUDA_ERROR_LAUNCH_FAILED, "
                     "unspecified launch failure); start again from the last checkpoint with --resume");
    int before = cm_fake_calls("write");
    ck_assert_int_eq(cm_buffer_write(&a, 0, out, 4), CM_ERR_DEVICE);
    ck_assert(says("GPU 0 (Fake 0) is lost: a kernel failed"));
    ck_assert_int_eq(cm_fake_calls("write"), before);
    device->lost = 0; /* so that the test can free its memory */
    cm_buffer_destroy(&a);
}
END_TEST

START_TEST(results_without_a_name_are_numbers_and_missing_code_says_what_to_build) {
    ck_assert_int_eq(cm_cuda_result(device, 35, "a launch"), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "a launch: GPU 0 (Fake 0) refused: CUDA error 35");
    ck_assert_int_eq(cm_cuda_result(device, CM_CU_NO_BINARY, "dense"), CM_ERR_ABSENT);
    ck_assert(says("dense: the module has no code for GPU 0 (Fake 0, compute capability 9.0)"));
    ck_assert_int_eq(cm_cuda_result(device, CM_CU_OUT_OF_MEMORY, "dense"), CM_ERR_MEMORY);
    ck_assert_int_eq(cm_cuda_result(device, 0, "dense"), CM_OK);
}
END_TEST

/* ---- streams ---- */

START_TEST(an_urgent_stream_has_the_greatest_priority) {
    cm_cuda_stream stream;
    for (int urgent = 0; urgent < 2; urgent++) {
        ck_assert_int_eq(cm_cuda_stream_open(device, urgent, &stream), CM_OK);
        ck_assert_int_eq(cm_fake.priority, urgent ? -5 : 0);
        cm_cuda_stream_close(&stream);
    }
}
END_TEST

enum { MANY = 5 << 20 };

START_TEST(a_lane_writes_and_reads_more_than_its_stages_hold) {
    cm_cuda_stream stream;
    cm_buffer a;
    unsigned char *from = malloc(MANY), *to = calloc(MANY, 1);
    for (int i = 0; i < MANY; i++) from[i] = (unsigned char)(i * 7 + i / 1000);
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &stream), CM_OK);
    ck_assert_int_eq(cm_buffer_create(&a, &device->base, MANY, "a test"), CM_OK);
    int zeroes = cm_fake_calls("context_wait");
    ck_assert_int_eq(cm_cuda_stream_write(&stream, a.base, from, MANY - 3), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_read(&stream, to, a.base, MANY), CM_OK);
    ck_assert_int_eq(memcmp(from, to, MANY - 3), 0);
    ck_assert_uint_eq(to[MANY - 1], 0);
    ck_assert_int_eq(cm_fake_calls("write"), 5);
    ck_assert_int_eq(cm_fake.pinned, CM_CUDA_STAGES);
    ck_assert_int_eq(cm_fake_calls("event_wait"), 10); /* once per part: a stage is not overwritten while it is read */
    ck_assert_int_eq(cm_fake.slept, 0);                /* it waits for microseconds */
    ck_assert_int_eq(cm_fake_calls("context_wait"), zeroes);
    cm_cuda_stream_close(&stream);
    cm_buffer_destroy(&a);
    free(from);
    free(to);
}
END_TEST

START_TEST(a_workspace_grows_never_shrinks_and_says_when_it_moves) {
    cm_cuda_stream stream;
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &stream), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_reserve(&stream, 1000), CM_OK);
    ck_assert_uint_eq(stream.workspace_bytes, 1024);
    uint64_t generation = stream.generation;
    ck_assert_int_eq(cm_cuda_stream_reserve(&stream, 500), CM_OK);
    ck_assert_uint_eq(stream.generation, generation);
    ck_assert_int_eq(cm_cuda_stream_reserve(&stream, 2000), CM_OK);
    ck_assert_uint_eq(stream.generation, generation + 1);
    ck_assert_uint_eq(device->taken, 2048);
    ck_assert_uint_eq(device->peak, 2048); /* never both at once */
    generation = stream.generation;
    ck_assert_int_eq(cm_cuda_stream_reserve(&stream, 2000000000), CM_ERR_MEMORY);
    ck_assert_uint_eq(stream.workspace_bytes, 2048); /* there is one as before, elsewhere */
    ck_assert(stream.workspace && stream.generation > generation);
    cm_cuda_stream_close(&stream);
    ck_assert_uint_eq(device->taken, 0);
}
END_TEST

START_TEST(a_lane_follows_a_mark_of_another_and_so_does_the_host) {
    cm_cuda_stream one, two;
    cm_cuda_event *event = NULL;
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &one), CM_OK);
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &two), CM_OK);
    for (int i = 1; i <= 3; i++) { /* one event, set again and again */
        ck_assert_int_eq(cm_cuda_event_record(&event, &two), CM_OK);
        ck_assert_int_eq(cm_cuda_stream_wait_event(&one, event), CM_OK);
        ck_assert_int_eq(cm_cuda_event_synchronize(event), CM_OK);
        ck_assert_int_eq(cm_fake_calls("event_record"), i);
        ck_assert_int_eq(cm_fake_calls("stream_wait_event"), i);
        ck_assert_int_eq(cm_fake_calls("event_wait"), i);
        ck_assert_int_eq(cm_fake.slept, i); /* the host, which leaves the processor to others */
        ck_assert_int_eq(cm_fake.events, 1);
    }
    int waits = cm_fake_calls("context_wait");
    ck_assert_int_eq(cm_cuda_wait(device), CM_OK);
    ck_assert_int_eq(cm_fake_calls("context_wait"), waits + 1);
    fail_on("stream_wait_event", 1);
    ck_assert_int_eq(cm_cuda_stream_wait_event(&one, event), CM_ERR_DEVICE);
    cm_cuda_event_destroy(event);
    cm_cuda_event_destroy(NULL);
    ck_assert_int_eq(cm_fake.events, 0);
    event = NULL;
    fail_on("event_create", 1);
    ck_assert_int_eq(cm_cuda_event_record(&event, &two), CM_ERR_DEVICE);
    ck_assert_ptr_null(event);
    cm_cuda_stream_close(&one);
    cm_cuda_stream_close(&two);
}
END_TEST

START_TEST(pinned_mirrors_go_to_the_device_and_back_without_a_stage_or_a_wait) {
    enum { N = 3 << 20 };
    cm_cuda_stream stream;
    cm_mirror mirror;
    ck_assert_int_eq(cm_cuda_stream_open(device, false, &stream), CM_OK);
    ck_assert_int_eq(cm_mirror_create_pinned(&mirror, &device->base, N, "a batch"), CM_OK);
    unsigned char *host = mirror.host;
    ck_assert_int_eq(cm_fake.pinned, 1);
    ck_assert_uint_eq(host[0] + host[N - 1], 0);
    int waits = cm_fake_calls("context_wait") + cm_fake_calls("stream_wait") + cm_fake_calls("event_wait");
    host[0] = 5, host[N - 1] = 6;
    ck_assert_int_eq(cm_cuda_stream_push(&stream, mirror.block.base, host, N), CM_OK);
    host[0] = host[N - 1] = 0;
    ck_assert_int_eq(cm_cuda_stream_pull(&stream, host, mirror.block.base, N), CM_OK);
    ck_assert_uint_eq(host[0], 5);
    ck_assert_uint_eq(host[N - 1], 6);
    ck_assert_int_eq(cm_fake.pinned, 1);
    ck_assert_int_eq(cm_fake_calls("context_wait") + cm_fake_calls("stream_wait") + cm_fake_calls("event_wait"), waits);
    cm_mirror_destroy(&mirror);
    ck_assert_int_eq(cm_fake.pinned, 0);
    fail_on("pinned_alloc", 1);
    cm_fake.fail_result = CM_CU_OUT_OF_MEMORY;
    ck_assert_int_eq(cm_mirror_create_pinned(&mirror, &device->base, N, "a batch"), CM_ERR_MEMORY);
    ck_assert_str_eq(cm_error_message(), "a batch: 3.1 MB of the host's memory cannot be pinned");
    ck_assert_uint_eq(device->taken, 0);
    cm_cuda_stream_close(&stream);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda");
    TCase *tc = tcase_create("device");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_machine_without_a_driver_says_so_and_what_to_install);
    tcase_add_test(tc, a_driver_that_lacks_a_function_is_too_old);
    tcase_add_test(tc, an_opened_device_knows_its_name_capability_memory_and_context);
    tcase_add_test(tc, no_device_and_a_device_that_is_not_there_are_one_line_each);
    tcase_add_test(tc, a_driver_of_an_older_major_version_is_refused_with_both_versions);
    tcase_add_test(tc, a_device_is_able_to_what_its_clocks_say_where_all_cards_of_its_architecture_are_alike);
    tcase_add_test(tc, code_runs_on_its_own_major_capability_and_by_ptx_on_newer_ones);
    tcase_add_test(tc, a_device_that_cannot_be_opened_leaves_nothing_behind);
    tcase_add_test(tc, buffers_on_the_device_are_zeroed_written_read_copied_and_counted);
    tcase_add_test(tc, a_block_that_does_not_fit_says_what_was_wanted_and_what_is_free);
    tcase_add_test(tc, a_block_that_cannot_be_zeroed_is_freed);
    tcase_add_test(tc, after_a_failed_kernel_every_call_says_that_the_gpu_is_lost);
    tcase_add_test(tc, results_without_a_name_are_numbers_and_missing_code_says_what_to_build);
    tcase_add_test(tc, an_urgent_stream_has_the_greatest_priority);
    tcase_add_test(tc, a_lane_writes_and_reads_more_than_its_stages_hold);
    tcase_add_test(tc, a_workspace_grows_never_shrinks_and_says_when_it_moves);
    tcase_add_test(tc, a_lane_follows_a_mark_of_another_and_so_does_the_host);
    tcase_add_test(tc, pinned_mirrors_go_to_the_device_and_back_without_a_stage_or_a_wait);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
