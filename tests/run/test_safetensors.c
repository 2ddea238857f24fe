/* Named arrays on disk: written as safetensors, read back only if every name, shape and length is right. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/safetensors.h"
#include "support/main.h"

typedef struct buffer {
    unsigned char bytes[4096];
    size_t size;
} buffer;

static cm_status collect(void *context, const void *data, size_t size) {
    buffer *b = context;
    if (b->size + size > sizeof b->bytes) return cm_fail(CM_ERR_MEMORY, "the test's buffer is full");
    memcpy(b->bytes + b->size, data, size);
    b->size += size;
    return CM_OK;
}

static float weight[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {-1, 0.5f};
static const cm_array table[2] = {{.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = weight},
                                  {.name = "a.bias", .ndim = 1, .dim = {2}, .data = bias}};

static cm_status load(const char *name, const void *bytes, size_t size, const cm_array *arrays, int count) {
    cm_source file;
    cm_source_memory(&file, bytes, size, name);
    return cm_safetensors_load(&file, arrays, count);
}

static void write_table(buffer *b) {
    cm_sink sink = {b, collect};
    b->size = 0;
    ck_assert_int_eq(cm_safetensors_write(table, 2, &sink), CM_OK);
}

START_TEST(written_arrays_read_back_bit_for_bit) {
    buffer b;
    write_table(&b);
    ck_assert_uint_eq(b.size, cm_safetensors_bytes(table, 2));
    float w[6], c[2];
    cm_array into[2] = {{.name = "a.bias", .ndim = 1, .dim = {2}, .data = c},
                        {.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = w}}; /* any order */
    ck_assert_msg(load("f", b.bytes, b.size, into, 2) == CM_OK, "%s", cm_error_message());
    ck_assert_mem_eq(w, weight, sizeof w);
    ck_assert_mem_eq(c, bias, sizeof c);
}
END_TEST

START_TEST(header_is_padded_to_eight_and_names_f32) {
    buffer b;
    write_table(&b);
    ck_assert_uint_eq(b.bytes[0] % 8, 0);
    ck_assert_ptr_nonnull(strstr((char *)b.bytes + 8, "\"dtype\": \"F32\""));
}
END_TEST

static void expect_error(const buffer *b, const cm_array *arrays, int n, const char *text) {
    ck_assert_int_eq(load("f.safetensors", b->bytes, b->size, arrays, n), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), text) != NULL, "got: %s", cm_error_message());
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "f.safetensors"));
}

/* "w" of 8 bits and "s" of float32, read from what was written into what is given. */
START_TEST(arrays_of_8_bits_are_written_and_read_as_such) {
    int8_t numbers[3] = {-127, 0, 127}, read[3] = {0};
    float step[1] = {0.25f}, read_step[1] = {0};
    buffer b = {.size = 0};
    cm_sink sink = {&b, collect};
    const cm_array arrays[2] = {{.name = "w", .ndim = 1, .dim = {3}, .is_int8 = true, .numbers = numbers},
                                {.name = "s", .ndim = 1, .dim = {1}, .data = step}};
    ck_assert_int_eq(cm_safetensors_write(arrays, 2, &sink), CM_OK);
    ck_assert_uint_eq(b.size, cm_safetensors_bytes(arrays, 2));
    ck_assert_ptr_nonnull(strstr((char *)b.bytes + 8, "\"dtype\": \"I8\""));
    cm_array into[2] = {{.name = "w", .ndim = 1, .dim = {3}, .is_int8 = true, .numbers = read},
                        {.name = "s", .ndim = 1, .dim = {1}, .data = read_step}};
    ck_assert_msg(load("f", b.bytes, b.size, into, 2) == CM_OK, "%s", cm_error_message());
    ck_assert_mem_eq(read, numbers, sizeof read);
    ck_assert_float_eq(*read_step, 0.25f);
    into[0].is_int8 = false;
    expect_error(&b, into, 2, "tensor \"w\" has dtype I8, must be F32");
}
END_TEST

START_TEST(other_shape_names_both_shapes) {
    buffer b;
    write_table(&b);
    float w[6], c[2];
    cm_array wrong[2] = {{.name = "b.weight", .ndim = 2, .dim = {3, 2}, .data = w},
                         {.name = "a.bias", .ndim = 1, .dim = {2}, .data = c}};
    expect_error(&b, wrong, 2, "has shape [2, 3], this network has [3, 2]");
}
END_TEST

START_TEST(missing_and_surplus_tensors_are_errors) {
    buffer b;
    write_table(&b);
    float w[6], c[2];
    cm_array other[2] = {{.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = w},
                         {.name = "z.bias", .ndim = 1, .dim = {2}, .data = c}};
    expect_error(&b, other, 2, "tensor \"z.bias\" is missing");
    expect_error(&b, other, 1, "holds 2 tensors, this network has 1");
}
END_TEST

START_TEST(every_truncation_is_an_error) {
    buffer b;
    write_table(&b);
    float w[6], c[2];
    cm_array into[2] = {{.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = w},
                        {.name = "a.bias", .ndim = 1, .dim = {2}, .data = c}};
    size_t whole = b.size;
    for (size_t size = 0; size < whole; size++) {
        unsigned char *exact = malloc(size + 1); /* so that a sanitizer sees a read after the end */
        memcpy(exact, b.bytes, size);
        ck_assert_int_eq(load("f", exact, size, into, 2), CM_ERR_INPUT);
        free(exact);
    }
}
END_TEST

START_TEST(huge_header_length_is_refused) {
    buffer b;
    write_table(&b);
    memset(b.bytes, 0xff, 8);
    float w[6];
    cm_array into[1] = {{.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = w}};
    expect_error(&b, into, 1, "its header claims 18446744073709551615 bytes");
}
END_TEST

/* Builds a file with the given header in front of 24 bytes of data. */
static void foreign(buffer *b, const char *header) {
    memset(b, 0, sizeof *b);
    b->bytes[0] = (unsigned char)strlen(header);
    memcpy(b->bytes + 8, header, strlen(header));
    b->size = 8 + strlen(header) + 24;
}

START_TEST(offsets_outside_the_file_are_refused) {
    float w[6];
    cm_array into[1] = {{.name = "w", .ndim = 1, .dim = {6}, .data = w}};
    buffer b;
    foreign(&b, "{\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[8,32]}}");
    expect_error(&b, into, 1, "data_offsets");
    foreign(&b, "{\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[24,0]}}");
    expect_error(&b, into, 1, "data_offsets");
    foreign(&b, "{\"w\":{\"dtype\":\"F64\",\"shape\":[6],\"data_offsets\":[0,24]}}");
    expect_error(&b, into, 1, "dtype F64");
    foreign(&b, "[1]");
    expect_error(&b, into, 1, "no JSON object");
    foreign(&b, "{\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}");
    ck_assert_int_eq(load("f", b.bytes, b.size, into, 1), CM_OK);
}
END_TEST

START_TEST(tensors_that_share_bytes_are_refused) {
    float v[3], w[3];
    cm_array into[2] = {{.name = "v", .ndim = 1, .dim = {3}, .data = v},
                        {.name = "w", .ndim = 1, .dim = {3}, .data = w}};
    buffer b;
    foreign(&b, "{\"v\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
                "\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}");
    expect_error(&b, into, 2, "f.safetensors: tensors overlap");
    foreign(&b, "{\"v\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]},"
                "\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[4,16]}}");
    expect_error(&b, into, 2, "f.safetensors: tensors overlap");
    foreign(&b, "{\"v\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]},"
                "\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}");
    ck_assert_int_eq(load("f", b.bytes, b.size, into, 2), CM_OK);
}
END_TEST

START_TEST(numbers_that_are_not_finite_are_refused_with_file_and_tensor) {
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    buffer b;
    float w[6], c[2];
    cm_array into[2] = {{.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = w},
                        {.name = "a.bias", .ndim = 1, .dim = {2}, .data = c}};
    weight[4] = wrong[_i];
    write_table(&b);
    weight[4] = 5;
    expect_error(&b, into, 2, "tensor \"b.weight\" holds ");
    expect_error(&b, into, 2, " (number 5 of 6)");
}
END_TEST

/* What is only compared has no memory to be read into. */
START_TEST(shapes_are_compared_without_memory) {
    buffer b;
    write_table(&b);
    cm_array shapes[2] = {{.name = "a.bias", .ndim = 1, .dim = {2}, .data = NULL},
                          {.name = "b.weight", .ndim = 2, .dim = {2, 3}, .data = NULL}};
    ck_assert_int_eq(load("f", b.bytes, b.size, shapes, 2), CM_OK);
    shapes[1].dim[1] = 1 << 20;
    expect_error(&b, shapes, 2, "has shape [2, 3], this network has [2, 1048576]");
}
END_TEST

START_TEST(a_header_is_no_longer_than_its_network_has_a_use_for) {
    static unsigned char file[8 + (1 << 20)];
    const uint32_t length = sizeof file - 8;
    float w[6];
    cm_array into[1] = {{.name = "w", .ndim = 1, .dim = {6}, .data = w}};
    memset(file, ' ', sizeof file);
    for (int i = 0; i < 8; i++) file[i] = (unsigned char)((uint64_t)length >> (8 * i));
    ck_assert_int_eq(load("f", file, sizeof file, into, 1), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "its header has 1048576 bytes, that of this network at most "));
}
END_TEST

START_TEST(hash_depends_on_names_order_not_table_order) {
    char first[CM_HASH_HEX], second[CM_HASH_HEX];
    cm_array turned[2] = {table[1], table[0]};
    ck_assert_int_eq(cm_array_hash(table, 2, first), CM_OK);
    ck_assert_int_eq(cm_array_hash(turned, 2, second), CM_OK);
    ck_assert_str_eq(first, second);
    float joined[8] = {-1, 0.5f, 1, 2, 3, 4, 5, 6};
    cm_hash_bytes(joined, sizeof joined, second);
    ck_assert_str_eq(first, second);
    bias[0] = -1.0000001f;
    ck_assert_int_eq(cm_array_hash(table, 2, second), CM_OK);
    bias[0] = -1;
    ck_assert_str_ne(first, second);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/safetensors");
    TCase *tests = tcase_create("safetensors");
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, numbers_that_are_not_finite_are_refused_with_file_and_tensor, 0, 3);
    tcase_add_test(tests, shapes_are_compared_without_memory);
    tcase_add_test(tests, a_header_is_no_longer_than_its_network_has_a_use_for);
    tcase_add_test(tests, written_arrays_read_back_bit_for_bit);
    tcase_add_test(tests, header_is_padded_to_eight_and_names_f32);
    tcase_add_test(tests, arrays_of_8_bits_are_written_and_read_as_such);
    tcase_add_test(tests, other_shape_names_both_shapes);
    tcase_add_test(tests, missing_and_surplus_tensors_are_errors);
    tcase_add_test(tests, every_truncation_is_an_error);
    tcase_add_test(tests, huge_header_length_is_refused);
    tcase_add_test(tests, offsets_outside_the_file_are_refused);
    tcase_add_test(tests, tensors_that_share_bytes_are_refused);
    tcase_add_test(tests, hash_depends_on_names_order_not_table_order);
    return cm_test_main(suite);
}
