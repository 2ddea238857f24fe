/* Messages as others encode them, and the checksum of their records. */
#include "core/protobuf.h"

#include <check.h>
#include <string.h>

#include "core/crc32c.h"
#include "support/events.h"
#include "support/main.h"

static cm_proto out;

static void end(void) { cm_proto_free(&out); }

static void expect_bytes(const char *bytes, size_t size) {
    ck_assert_int_eq(cm_proto_check(&out), CM_OK);
    ck_assert_uint_eq(out.size, size);
    ck_assert_mem_eq(out.bytes, bytes, size);
}

/* The examples of the encoding's own page, and the ends of what a number can be. */
START_TEST(numbers_are_encoded_as_the_page_of_the_format_says) {
    cm_proto_put_int(&out, 1, 150);
    expect_bytes("\x08\x96\x01", 3);
    cm_proto_reset(&out);
    cm_proto_put_int(&out, 1, -2);
    expect_bytes("\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    cm_proto_reset(&out);
    cm_proto_put_int(&out, 16, 0);
    expect_bytes("\x80\x01\x00", 3);
    cm_proto_reset(&out);
    cm_proto_put_float(&out, 2, 1.0f);
    cm_proto_put_double(&out, 1, 1.0);
    expect_bytes("\x15\x00\x00\x80\x3f\x09\x00\x00\x00\x00\x00\x00\xf0\x3f", 14);
}
END_TEST

START_TEST(texts_messages_and_packed_numbers_have_their_length_in_front) {
    static const double numbers[2] = {0.0, 2.0};
    cm_proto_put_text(&out, 2, "testing");
    const size_t message = cm_proto_begin(&out, 3);
    cm_proto_put_int(&out, 1, 150);
    cm_proto_end(&out, message);
    cm_proto_put_doubles(&out, 4, numbers, 2);
    expect_bytes("\x12\x07testing\x1a\x03\x08\x96\x01\x22\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40", 32);
}
END_TEST

/* Lengths of one, two and three bytes, in each other; as another reader finds them. */
START_TEST(messages_within_messages_of_every_length_are_found_again) {
    static char text[70000];
    static const size_t sizes[] = {0, 1, 127, 128, 16383, 16384, 70000};
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cm_proto_reset(&out);
        cm_proto_put_int(&out, 1, 7);
        const size_t outer = cm_proto_begin(&out, 5), inner = cm_proto_begin(&out, 1);
        cm_proto_put_bytes(&out, 9, text, sizes[i]);
        cm_proto_end(&out, inner);
        cm_proto_put_int(&out, 2, 8);
        cm_proto_end(&out, outer);
        ck_assert_int_eq(cm_proto_check(&out), CM_OK);
        const cm_part all = {out.bytes, out.size};
        cm_part_field field;
        ck_assert_uint_eq(cm_part_at(all, "5 1 9").size, sizes[i]);
        ck_assert(cm_part_find(cm_part_at(all, "5"), 2, &field) && field.integer == 8);
        ck_assert(cm_part_find(all, 1, &field) && field.integer == 7);
    }
}
END_TEST

/* RFC 3720, B.4, and in pieces. */
START_TEST(checksums_are_those_of_the_standard) {
    unsigned char bytes[64];
    memset(bytes, 0, 32);
    ck_assert_uint_eq(cm_crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, 32);
    ck_assert_uint_eq(cm_crc32c(0, bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(cm_crc32c(0, bytes, 32), 0x46dd794eu);
    ck_assert_uint_eq(cm_crc32c(cm_crc32c(0, bytes, 13), bytes + 13, 19), 0x46dd794eu);
    ck_assert_uint_eq(cm_crc32c(0, "123456789", 9), 0xe3069283u);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/protobuf");
    TCase *tests = tcase_create("protobuf");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, numbers_are_encoded_as_the_page_of_the_format_says);
    tcase_add_test(tests, texts_messages_and_packed_numbers_have_their_length_in_front);
    tcase_add_test(tests, messages_within_messages_of_every_length_are_found_again);
    tcase_add_test(tests, checksums_are_those_of_the_standard);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
