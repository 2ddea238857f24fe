/* Choices of algorithms: kept, found again, on disk, and what a damaged file does. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "device/cuda/autotune_cache.h"
#include "support/folder.h"
#include "support/logged.h"
#include "support/main.h"

static char path[256];

static void set_up(void) {
    cm_test_folder_make();
    log_keep();
}

static void tear_down(void) {
    log_show();
    cm_test_folder_remove();
}

static cm_autotune_cache *open_cache(const char *identity) {
    cm_autotune_cache *c;
    ck_assert_int_eq(cm_autotune_cache_open(cm_test_folder, identity, &c), CM_OK);
    return c;
}

/* Writes a file with two entries and finds its path. */
static void write_two(void) {
    cm_autotune_cache *c = open_cache("GPU X, lib 1");
    ck_assert_int_eq(cm_autotune_cache_keep(c, "dense 64x128x21 bf16", "\x01\x00\xff\x7f", 4), CM_OK);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "conv 6x7 3x3", "z", 1), CM_OK);
    cm_autotune_cache_close(c);
    char command[128], *end;
    snprintf(command, sizeof command, "ls %s/choices-*.txt", cm_test_folder);
    FILE *list = popen(command, "r");
    ck_assert_ptr_nonnull(fgets(path, sizeof path, list));
    pclose(list);
    end = strchr(path, '\n');
    ck_assert_ptr_nonnull(end);
    *end = '\0';
}

START_TEST(what_was_kept_is_found_with_its_size_and_by_its_whole_key) {
    cm_autotune_cache *c;
    int value = 0;
    ck_assert_int_eq(cm_autotune_cache_open(NULL, "GPU X", &c), CM_OK);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "dense 64", &(int){7}, sizeof(int)), CM_OK);
    ck_assert(!cm_autotune_cache_find(c, "dense 6", &value, sizeof value));
    ck_assert(!cm_autotune_cache_find(c, "dense 640", &value, sizeof value));
    ck_assert(!cm_autotune_cache_find(c, "dense 64", &value, 2));
    ck_assert(cm_autotune_cache_find(c, "dense 64", &value, sizeof value));
    ck_assert_int_eq(value, 7);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "dense 64", &(int){8}, sizeof(int)), CM_OK);
    ck_assert(cm_autotune_cache_find(c, "dense 64", &value, sizeof value));
    ck_assert_int_eq(value, 8);
    ck_assert_int_eq(cm_autotune_cache_count(c), 1);
    cm_autotune_cache_close(c);
}
END_TEST

START_TEST(a_file_brings_all_entries_back_and_is_the_same_when_written_again) {
    unsigned char value[4], one;
    char *first, *second;
    size_t first_size, second_size;
    write_two();
    ck_assert_int_eq(cm_file_read(path, 10000, &first, &first_size), CM_OK);
    ck_assert(
        strstr(first, "cumind choices 1\nGPU X, lib 1\n0100ff7f dense 64x128x21 bf16\n7a conv 6x7 3x3\nchecksum ") ==
        first);
    cm_autotune_cache *c = open_cache("GPU X, lib 1");
    ck_assert_int_eq(cm_autotune_cache_count(c), 2);
    ck_assert(cm_autotune_cache_find(c, "dense 64x128x21 bf16", value, 4));
    ck_assert_int_eq(memcmp(value, "\x01\x00\xff\x7f", 4), 0);
    ck_assert(cm_autotune_cache_find(c, "conv 6x7 3x3", &one, 1));
    ck_assert_int_eq(cm_autotune_cache_keep(c, "conv 6x7 3x3", "z", 1), CM_OK);
    cm_autotune_cache_close(c);
    ck_assert_int_eq(cm_file_read(path, 10000, &second, &second_size), CM_OK);
    ck_assert_uint_eq(first_size, second_size);
    ck_assert_int_eq(memcmp(first, second, first_size), 0);
    ck_assert_str_eq(logged, "");
    free(first);
    free(second);
}
END_TEST

/* A process may be killed at any time. */
START_TEST(what_was_kept_is_on_disk_at_once) {
    char value;
    cm_autotune_cache *c = open_cache("GPU X");
    ck_assert_int_eq(cm_autotune_cache_keep(c, "a", "b", 1), CM_OK);
    cm_autotune_cache *next = open_cache("GPU X");
    ck_assert(cm_autotune_cache_find(next, "a", &value, 1) && value == 'b');
    cm_autotune_cache_close(next);
    cm_autotune_cache_close(c);
}
END_TEST

START_TEST(processes_that_share_a_file_keep_what_each_has_chosen) {
    unsigned char value;
    cm_autotune_cache *one = open_cache("GPU X"), *other = open_cache("GPU X");
    ck_assert_int_eq(cm_autotune_cache_keep(one, "dense 1", "a", 1), CM_OK);
    ck_assert_int_eq(cm_autotune_cache_keep(other, "dense 2", "b", 1), CM_OK);
    ck_assert(cm_autotune_cache_find(other, "dense 1", &value, 1));
    ck_assert_int_eq(value, 'a');
    ck_assert_int_eq(cm_autotune_cache_keep(other, "dense 1", "c", 1), CM_OK);
    ck_assert_int_eq(cm_autotune_cache_keep(one, "dense 3", "d", 1), CM_OK);
    ck_assert(cm_autotune_cache_find(one, "dense 1", &value, 1)); /* what it has is its own */
    ck_assert_int_eq(value, 'a');
    cm_autotune_cache_close(one);
    cm_autotune_cache_close(other);
    cm_autotune_cache *next = open_cache("GPU X");
    ck_assert_int_eq(cm_autotune_cache_count(next), 3);
    cm_autotune_cache_close(next);
}
END_TEST

START_TEST(a_disk_that_refuses_is_one_warning_and_the_cache_still_works) {
    char value, command[128];
    cm_autotune_cache *c = open_cache("GPU X");
    snprintf(command, sizeof command, "rm -r %s", cm_test_folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "a", "b", 1), CM_OK);
    ck_assert_ptr_nonnull(strstr(logged, "choices of algorithms are not kept: "));
    logged[0] = '\0';
    ck_assert_int_eq(cm_autotune_cache_keep(c, "c", "d", 1), CM_OK);
    ck_assert_str_eq(logged, "");
    ck_assert(cm_autotune_cache_find(c, "a", &value, 1));
    cm_autotune_cache_close(c);
}
END_TEST

START_TEST(another_device_or_version_has_a_file_of_its_own) {
    write_two();
    cm_autotune_cache *c = open_cache("GPU X, lib 2");
    ck_assert_int_eq(cm_autotune_cache_count(c), 0);
    cm_autotune_cache_close(c);
    c = open_cache("GPU X, lib 1");
    ck_assert_int_eq(cm_autotune_cache_count(c), 2);
    cm_autotune_cache_close(c);
}
END_TEST

/* Every byte of the file is changed, and every length is cut: never a wrong entry, never an error, one line. */
START_TEST(a_damaged_file_is_ignored_with_one_line_and_written_again) {
    char *text, want[512];
    size_t size;
    write_two();
    ck_assert_int_eq(cm_file_read(path, 10000, &text, &size), CM_OK);
    snprintf(want, sizeof want, "%s is ignored, it is damaged: algorithms are chosen again\n", path);
    for (size_t i = 0; i < 2 * size; i++) {
        char *copy = malloc(size);
        memcpy(copy, text, size);
        if (i < size) copy[i] ^= 1;
        ck_assert_int_eq(cm_file_write(path, copy, i < size ? size : i - size), CM_OK);
        free(copy);
        logged[0] = '\0';
        cm_autotune_cache *c = open_cache("GPU X, lib 1");
        ck_assert_msg(cm_autotune_cache_count(c) == 0, "byte %zu", i);
        ck_assert_str_eq(logged, want);
        cm_autotune_cache_close(c);
    }
    free(text);
    write_two();
    logged[0] = '\0';
    cm_autotune_cache *c = open_cache("GPU X, lib 1");
    ck_assert_int_eq(cm_autotune_cache_count(c), 2);
    ck_assert_str_eq(logged, "");
    cm_autotune_cache_close(c);
}
END_TEST

START_TEST(a_file_of_another_identity_under_this_name_is_ignored) {
    char *text, *wrong;
    size_t size;
    write_two();
    ck_assert_int_eq(cm_file_read(path, 10000, &text, &size), CM_OK);
    cm_autotune_cache *c = open_cache("GPU Y, lib 1");
    const char *why = "";
    ck_assert_int_eq(cm_autotune_cache_parse(c, text, size, &why), CM_OK);
    ck_assert_str_eq(why, "it is of another device or version");
    ck_assert_int_eq(cm_autotune_cache_count(c), 0);
    wrong = strstr(text, "choices 1");
    wrong[8] = '2';
    ck_assert_int_eq(cm_autotune_cache_parse(c, text, size, &why), CM_OK);
    ck_assert_str_eq(why, "it is damaged");
    cm_autotune_cache_close(c);
    free(text);
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_is_a_warning_and_the_cache_still_works) {
    cm_autotune_cache *c;
    char value, below[96];
    snprintf(below, sizeof below, "%s/file", cm_test_folder);
    ck_assert_int_eq(cm_file_write(below, "x", 1), CM_OK);
    snprintf(below, sizeof below, "%s/file/folder", cm_test_folder);
    ck_assert_int_eq(cm_autotune_cache_open(below, "GPU X", &c), CM_OK);
    ck_assert_ptr_nonnull(strstr(logged, "choices of algorithms are not kept: "));
    ck_assert_int_eq(cm_autotune_cache_keep(c, "a", "b", 1), CM_OK);
    ck_assert(cm_autotune_cache_find(c, "a", &value, 1));
    cm_autotune_cache_close(c);
}
END_TEST

START_TEST(keys_and_values_that_no_file_can_hold_are_refused) {
    cm_autotune_cache *c;
    char long_key[CM_AUTOTUNE_KEY_BYTES + 1], value[CM_AUTOTUNE_VALUE_BYTES + 1] = "";
    memset(long_key, 'k', sizeof long_key);
    long_key[sizeof long_key - 1] = '\0';
    ck_assert_int_eq(cm_autotune_cache_open(NULL, "two\nlines", &c), CM_ERR_INPUT);
    c = open_cache("GPU X");
    ck_assert_int_eq(cm_autotune_cache_keep(c, long_key, "v", 1), CM_ERR_INPUT);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "two\nlines", "v", 1), CM_ERR_INPUT);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "", "v", 1), CM_ERR_INPUT);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "k", "v", 0), CM_ERR_INPUT);
    ck_assert_int_eq(cm_autotune_cache_keep(c, "k", value, sizeof value), CM_ERR_INPUT);
    ck_assert_int_eq(cm_autotune_cache_keep(c, long_key + 1, value, CM_AUTOTUNE_VALUE_BYTES), CM_OK); /* the longest */
    cm_autotune_cache_close(c);
    c = open_cache("GPU X");
    ck_assert(cm_autotune_cache_find(c, long_key + 1, value, CM_AUTOTUNE_VALUE_BYTES));
    cm_autotune_cache_close(c);
}
END_TEST

START_TEST(the_cache_folder_follows_the_environment) {
    char out[64];
    setenv("XDG_CACHE_HOME", "/c", 1);
    ck_assert(cm_autotune_cache_folder(out, sizeof out));
    ck_assert_str_eq(out, "/c/cumind");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/h", 1);
    ck_assert(cm_autotune_cache_folder(out, sizeof out));
    ck_assert_str_eq(out, "/h/.cache/cumind");
    ck_assert(!cm_autotune_cache_folder(out, 5));
    unsetenv("HOME");
    ck_assert(!cm_autotune_cache_folder(out, sizeof out));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("autotune cache");
    TCase *tc = tcase_create("autotune cache");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, what_was_kept_is_found_with_its_size_and_by_its_whole_key);
    tcase_add_test(tc, a_file_brings_all_entries_back_and_is_the_same_when_written_again);
    tcase_add_test(tc, what_was_kept_is_on_disk_at_once);
    tcase_add_test(tc, processes_that_share_a_file_keep_what_each_has_chosen);
    tcase_add_test(tc, a_disk_that_refuses_is_one_warning_and_the_cache_still_works);
    tcase_add_test(tc, another_device_or_version_has_a_file_of_its_own);
    tcase_add_test(tc, a_damaged_file_is_ignored_with_one_line_and_written_again);
    tcase_add_test(tc, a_file_of_another_identity_under_this_name_is_ignored);
    tcase_add_test(tc, a_folder_that_cannot_be_made_is_a_warning_and_the_cache_still_works);
    tcase_add_test(tc, keys_and_values_that_no_file_can_hold_are_refused);
    tcase_add_test(tc, the_cache_folder_follows_the_environment);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
