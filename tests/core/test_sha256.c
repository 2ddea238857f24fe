#include "core/sha256.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"

/* Of FIPS 180-2's examples, the last one of more than a piece. */
static const struct {
    const char *text, *hash;
    int times;
} rows[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", 1},
    {"a", "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", 1000000},
};
enum { ROWS = sizeof rows / sizeof *rows };

START_TEST(hashes_are_those_of_the_standard) {
    char path[CM_TEST_PATH], hash[CM_SHA256_HEX];
    const size_t length = strlen(rows[_i].text), size = length * (size_t)rows[_i].times;
    char *text = calloc(size + 1, 1);
    for (size_t i = 0; i < size; i++) text[i] = rows[_i].text[i % length];
    cm_test_file_make(path);
    ck_assert_int_eq(cm_file_write(path, text, size), CM_OK);
    ck_assert_int_eq(cm_sha256_file(path, hash), CM_OK);
    ck_assert_str_eq(hash, rows[_i].hash);
    free(text);
}
END_TEST

START_TEST(what_is_no_file_is_refused_at_once) {
    char path[128], hash[CM_SHA256_HEX];
    cm_test_folder_make();
    snprintf(path, sizeof path, "%s/pipe", cm_test_folder);
    ck_assert_int_eq(cm_sha256_file(path, hash), CM_ERR_IO);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(cm_sha256_file(path, hash), CM_ERR_INPUT);
    ck_assert_int_eq(cm_sha256_file(cm_test_folder, hash), CM_ERR_INPUT);
    cm_test_folder_remove();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sha256");
    TCase *tests = tcase_create("core");
    tcase_add_loop_test(tests, hashes_are_those_of_the_standard, 0, ROWS);
    tcase_add_test(tests, what_is_no_file_is_refused_at_once);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
