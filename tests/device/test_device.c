/* Buffers: zeroed, aligned, checked. */
#include <check.h>
#include <string.h>

#include "core/arena.h"
#include "device/device.h"
#include "support/main.h"

START_TEST(a_buffer_is_zeroed_aligned_and_a_multiple_of_64_bytes) {
    cm_buffer b;
    ck_assert(cm_buffer_create(&b, &cm_device_cpu, 100, "a test") == CM_OK);
    ck_assert_uint_eq(b.bytes, 128);
    ck_assert_uint_eq((uintptr_t)b.base % CM_ALIGN, 0);
    for (size_t i = 0; i < b.bytes; i++) ck_assert_uint_eq(b.base[i], 0);
    cm_buffer_destroy(&b);
    ck_assert_ptr_null(b.base);
    cm_buffer_destroy(&b);
}
END_TEST

START_TEST(what_is_written_is_read_and_copied) {
    cm_buffer a, b;
    char out[5] = "";
    ck_assert(cm_buffer_create(&a, &cm_device_cpu, 64, "a test") == CM_OK);
    ck_assert(cm_buffer_create(&b, &cm_device_cpu, 64, "a test") == CM_OK);
    ck_assert(cm_buffer_write(&a, 60, "abcd", 4) == CM_OK);
    ck_assert(cm_buffer_copy(&b, &a) == CM_OK);
    ck_assert(cm_buffer_read(&b, 60, out, 4) == CM_OK);
    ck_assert_str_eq(out, "abcd");
    cm_buffer_destroy(&a);
    cm_buffer_destroy(&b);
}
END_TEST

START_TEST(bytes_after_the_end_are_refused) {
    cm_buffer a, b;
    char out[8];
    ck_assert(cm_buffer_create(&a, &cm_device_cpu, 64, "a test") == CM_OK);
    ck_assert(cm_buffer_create(&b, &cm_device_cpu, 128, "a test") == CM_OK);
    ck_assert_int_eq(cm_buffer_write(&a, 61, "abcd", 4), CM_ERR_INPUT);
    ck_assert_int_eq(cm_buffer_read(&a, SIZE_MAX - 1, out, 8), CM_ERR_INPUT);
    ck_assert_int_eq(cm_buffer_copy(&b, &a), CM_ERR_INPUT);
    ck_assert(strstr(cm_error_message(), "64 bytes") != NULL);
    cm_buffer_destroy(&a);
    cm_buffer_destroy(&b);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device");
    TCase *tc = tcase_create("buffers");
    tcase_add_test(tc, a_buffer_is_zeroed_aligned_and_a_multiple_of_64_bytes);
    tcase_add_test(tc, what_is_written_is_read_and_copied);
    tcase_add_test(tc, bytes_after_the_end_are_refused);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
