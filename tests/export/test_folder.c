/* Folders appear whole, or not at all. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "export/folder.h"
#include "support/folder.h"
#include "support/main.h"

static char path[PATH_MAX];
static cm_export_folder folder;

static const char *place(const char *name) {
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_directory_make_parent(whole), CM_OK);
    ck_assert_int_eq(cm_file_write(whole, text, strlen(text)), CM_OK);
}

static void expect_text(const char *name, const char *text) {
    char whole[PATH_MAX], *data;
    size_t size;
    snprintf(whole, sizeof whole, "%s/%s", cm_test_folder, name);
    ck_assert_msg(cm_file_read(whole, 100, &data, &size) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(data, text);
    free(data);
}

static int entries(const char *name) {
    char whole[PATH_MAX];
    int count = 0;
    snprintf(whole, sizeof whole, "%s/%s", cm_test_folder, name);
    DIR *dir = opendir(whole);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return count;
}

static void begin(const char *name, bool overwrite, cm_status want) {
    folder = (cm_export_folder){.files = 0};
    cm_status status = cm_export_folder_begin(&folder, place(name), overwrite);
    ck_assert_msg(status == want, "%s: status %d: %s", name, status, cm_error_message());
}

START_TEST(a_new_folder_appears_with_all_its_files) {
    begin("a/b/", false, CM_OK);
    ck_assert_int_eq(cm_export_folder_write(&folder, "one", "1", 1), CM_OK);
    ck_assert_int_eq(cm_export_folder_write(&folder, "two", "2", 1), CM_OK);
    ck_assert(!cm_file_exists(place("a/b")));
    ck_assert_int_eq(cm_export_folder_commit(&folder), CM_OK);
    cm_export_folder_abandon(&folder);
    expect_text("a/b/one", "1");
    expect_text("a/b/two", "2");
    ck_assert_int_eq(entries("a"), 1);
    ck_assert_int_eq(entries("a/b"), 2);
}
END_TEST

START_TEST(what_is_abandoned_leaves_nothing) {
    begin("gone", false, CM_OK);
    ck_assert_int_eq(cm_export_folder_write(&folder, "one", "1", 1), CM_OK);
    cm_export_folder_abandon(&folder);
    ck_assert_int_eq(entries("."), 0);
    write_file("full/one", "old");
    begin("full", true, CM_OK);
    ck_assert_int_eq(cm_export_folder_write(&folder, "one", "new", 3), CM_OK);
    cm_export_folder_abandon(&folder);
    expect_text("full/one", "old");
    ck_assert_int_eq(entries("full"), 1);
}
END_TEST

START_TEST(files_that_are_there_are_replaced_only_on_wish_and_others_stay) {
    write_file("full/one", "old");
    write_file("full/other", "kept");
    begin("full", false, CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "is not empty: choose another one, or add --overwrite"));
    begin("full", true, CM_OK);
    ck_assert_int_eq(cm_export_folder_write(&folder, "one", "new", 3), CM_OK);
    ck_assert_int_eq(cm_export_folder_commit(&folder), CM_OK);
    expect_text("full/one", "new");
    expect_text("full/other", "kept");
    ck_assert_int_eq(entries("full"), 2);
}
END_TEST

START_TEST(a_file_and_an_empty_name_are_no_folders) {
    write_file("file", "x");
    begin("file", true, CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "is there, and no folder"));
    ck_assert_int_eq(cm_export_folder_check("", false), CM_ERR_INPUT);
    expect_text("file", "x");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("export/folder");
    TCase *tests = tcase_create("folders");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, a_new_folder_appears_with_all_its_files);
    tcase_add_test(tests, what_is_abandoned_leaves_nothing);
    tcase_add_test(tests, files_that_are_there_are_replaced_only_on_wish_and_others_stay);
    tcase_add_test(tests, a_file_and_an_empty_name_are_no_folders);
    return cm_test_main(suite);
}
