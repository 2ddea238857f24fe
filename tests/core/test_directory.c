/* Folders by handle: nothing outside is read, written or removed through a link, and only regular files are opened. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/directory.h"
#include "core/temporary.h"
#include "support/folder.h"
#include "support/main.h"

static cm_dir dir; /* the folder `in` of the test's */

static const char *path_of(const char *name) {
    static char path[4][256];
    static int turn;
    char *out = path[turn++ % 4];
    snprintf(out, 256, "%s/%s", cm_test_folder, name);
    return out;
}

static void put(const char *name, const char *text) {
    ck_assert_msg(cm_file_write(path_of(name), text, strlen(text)) == CM_OK, "%s", cm_error_message());
}

static void expect_content(const char *name, const char *text) {
    char *data;
    size_t size;
    ck_assert_msg(cm_file_read(path_of(name), 1 << 20, &data, &size) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(data, text);
    free(data);
}

static void begin(void) {
    cm_test_folder_make();
    ck_assert_int_eq(mkdir(path_of("in"), 0777), 0);
    ck_assert_int_eq(mkdir(path_of("out"), 0777), 0);
    put("out/file", "outside");
    ck_assert_int_eq(cm_dir_open(&dir, path_of("in")), CM_OK);
}

static void end(void) {
    cm_dir_close(&dir);
    cm_dir_close(&dir);
    cm_test_folder_remove();
}

static void expect_says(cm_status status, cm_status wanted, const char *text) {
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(cm_error_message(), text) != NULL, "%s", cm_error_message());
}

START_TEST(files_are_written_and_read_back) {
    char *data;
    size_t size;
    ck_assert_int_eq(cm_dir_write(&dir, "a", "one", 3), CM_OK);
    ck_assert_int_eq(cm_dir_write(&dir, "a", "two", 3), CM_OK);
    expect_content("in/a", "two");
    ck_assert_int_eq(cm_dir_read(&dir, "a", 3, &data, &size), CM_OK);
    ck_assert_str_eq(data, "two");
    free(data);
    ck_assert_int_eq(cm_dir_read(&dir, "a", 2, &data, &size), CM_ERR_INPUT);
    expect_says(cm_dir_read(&dir, "none", 2, &data, &size), CM_ERR_IO, "/in/none: cannot open: No such file");
}
END_TEST

/* Calls of fsync, which this program's own one counts. */
static int syncs;
int fsync(int file) {
    (void)file;
    syncs++;
    return 0;
}

START_TEST(an_unsynced_file_is_whole_and_waits_for_no_disk) {
    syncs = 0;
    ck_assert_int_eq(cm_dir_write_unsynced(&dir, "a", "one", 3), CM_OK);
    ck_assert_int_eq(cm_dir_write_unsynced(&dir, "a", "other", 5), CM_OK);
    ck_assert_int_eq(syncs, 0);
    expect_content("in/a", "other");
    ck_assert_int_eq(cm_dir_write(&dir, "a", "safe", 4), CM_OK);
    ck_assert_int_eq(syncs, 2); /* of the file, and of its folder */
    expect_content("in/a", "safe");
}
END_TEST

START_TEST(links_are_not_followed) {
    char *data, target[64];
    size_t size;
    int file;
    cm_dir below;
    ck_assert_int_eq(symlink("../out/file", path_of("in/link")), 0);
    ck_assert_int_eq(symlink("../out", path_of("in/folder")), 0);
    expect_says(cm_dir_read(&dir, "link", 100, &data, &size), CM_ERR_IO, "/in/link: is a link, which is not followed");
    expect_says(cm_dir_append(&dir, "link", &file), CM_ERR_IO, "/in/link: is a link");
    expect_says(cm_dir_enter(&below, &dir, "folder"), CM_ERR_IO, "/in/folder: is a link");
    ck_assert_int_eq(below.file, -1);
    expect_says(cm_dir_make(&dir, "folder"), CM_ERR_IO, "/in/folder: is a link");
    expect_says(cm_dir_share(&dir, "link", &dir), CM_ERR_IO, "/in/link: is a link");
    ck_assert_int_eq(cm_dir_look(&dir, "link"), CM_DIR_LINK);
    ck_assert(cm_dir_link(&dir, "link", target, sizeof target));
    ck_assert_str_eq(target, "../out/file");
    ck_assert(!cm_dir_link(&dir, "link", target, 11) && !cm_dir_link(&dir, "none", target, sizeof target));
    ck_assert_int_eq(cm_dir_write(&dir, "link", "inside", 6), CM_OK); /* takes its place */
    expect_content("in/link", "inside");
    expect_content("out/file", "outside");
}
END_TEST

/* The name that a writer is to have for its unfinished file leads elsewhere. */
START_TEST(a_link_in_the_way_of_a_writer_is_not_written_through) {
    char name[64];
    snprintf(name, sizeof name, "in/a.tmp-%ld", (long)getpid());
    ck_assert_int_eq(symlink("../out/file", path_of(name)), 0);
    ck_assert_int_eq(cm_dir_write(&dir, "a", "inside", 6), CM_OK);
    expect_content("in/a", "inside");
    expect_content("out/file", "outside");
    ck_assert_int_eq(cm_dir_look(&dir, "a"), CM_DIR_FILE);
}
END_TEST

START_TEST(what_is_no_file_is_refused_at_once) {
    static const char *const names[] = {"pipe", "socket"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *data;
    size_t size;
    int file, socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/in/socket", cm_test_folder);
    ck_assert_int_eq(bind(socket_file, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(mkfifo(path_of("in/pipe"), 0600), 0);
    for (int i = 0; i < 2; i++) {
        expect_says(cm_dir_read(&dir, names[i], 100, &data, &size), CM_ERR_IO, ": not a regular file");
        expect_says(cm_dir_append(&dir, names[i], &file), CM_ERR_IO, ": not a regular file");
        expect_says(cm_dir_write(&dir, names[i], "x", 1), CM_ERR_IO, ": cannot replace: not a regular file");
        expect_says(cm_dir_share(&dir, names[i], &dir), CM_ERR_IO, ": not a regular file");
        ck_assert_int_eq(cm_dir_look(&dir, names[i]), CM_DIR_OTHER);
    }
    expect_says(cm_dir_open_file(NULL, "/dev/null", O_RDONLY, &file), CM_ERR_IO, "/dev/null: not a regular file");
    close(socket_file);
}
END_TEST

START_TEST(a_file_with_another_name_is_not_appended_to) {
    int file;
    ck_assert_int_eq(link(path_of("out/file"), path_of("in/log")), 0);
    expect_says(cm_dir_append(&dir, "log", &file), CM_ERR_IO, "/in/log: has another name elsewhere (a hard link)");
    ck_assert_int_eq(file, -1);
    ck_assert_int_eq(cm_dir_write(&dir, "log", "own", 3), CM_OK);
    ck_assert_int_eq(cm_dir_append(&dir, "log", &file), CM_OK);
    ck_assert_int_eq(write(file, " more", 5), 5);
    close(file);
    expect_content("in/log", "own more");
    expect_content("out/file", "outside");
}
END_TEST

START_TEST(removal_stays_in_the_folder) {
    ck_assert_int_eq(mkdir(path_of("in/a"), 0777), 0);
    ck_assert_int_eq(mkdir(path_of("in/a/b"), 0777), 0);
    put("in/a/b/file", "x");
    ck_assert_int_eq(symlink("../../out", path_of("in/a/link")), 0);
    ck_assert_int_eq(symlink("../out", path_of("in/link")), 0);
    ck_assert_int_eq(cm_dir_remove(&dir, "a"), CM_OK);
    ck_assert_int_eq(cm_dir_remove(&dir, "a"), CM_OK);
    ck_assert_int_eq(cm_dir_remove(&dir, "link"), CM_OK);
    ck_assert_int_eq(cm_dir_look(&dir, "a"), CM_DIR_NONE);
    ck_assert_int_eq(cm_dir_look(&dir, "link"), CM_DIR_NONE);
    expect_content("out/file", "outside");
    ck_assert_int_eq(mkdir(path_of("in/folder"), 0777), 0);
    expect_says(cm_dir_unlink(&dir, "folder"), CM_ERR_IO, "/in/folder: cannot remove: ");
    ck_assert_int_eq(cm_dir_unlink(&dir, "none"), CM_OK);
}
END_TEST

static cm_status count_names(void *context, const char *name) {
    ck_assert_int_ne(name[0], '.');
    ++*(int *)context;
    return CM_OK;
}

static cm_status refuse_names(void *context, const char *name) {
    (void)name;
    ++*(int *)context;
    return cm_fail(CM_ERR_STATE, "enough");
}

/* Neither the stack nor the handles of a process are what somebody else nests. */
START_TEST(what_is_nested_beyond_reason_is_left) {
    char path[PATH_MAX];
    int used = snprintf(path, sizeof path, "%s/deep", dir.path);
    for (int i = 0; i < 100; i++) used += snprintf(path + used, sizeof path - (size_t)used, "/d");
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    ck_assert_int_eq(cm_dir_remove(&dir, "deep"), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "/deep: folders in it are nested too deeply"), "%s", cm_error_message());
    ck_assert(cm_file_is_directory(path));
    path[used - 2 * 50] = '\0'; /* the lower half */
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
    ck_assert_int_eq(cm_dir_remove(&dir, "deep"), CM_OK);
    ck_assert_int_eq(cm_dir_look(&dir, "deep"), CM_DIR_NONE);
}
END_TEST

START_TEST(names_are_listed_each_time_from_the_first) {
    put("in/a", "");
    put("in/b", "");
    for (int i = 0; i < 2; i++) {
        int count = 0;
        ck_assert_int_eq(cm_dir_each(&dir, count_names, &count), CM_OK);
        ck_assert_int_eq(count, 2);
        ck_assert_int_eq(cm_dir_each(&dir, refuse_names, &count), CM_ERR_STATE);
        ck_assert_int_eq(count, 3);
    }
}
END_TEST

START_TEST(a_shared_file_is_one_and_never_replaces_another) {
    cm_dir to;
    struct stat a, b;
    put("in/file", "inside");
    ck_assert_int_eq(cm_dir_make(&dir, "to"), CM_OK);
    ck_assert_int_eq(cm_dir_make(&dir, "to"), CM_OK);
    ck_assert_int_eq(cm_dir_enter(&to, &dir, "to"), CM_OK);
    ck_assert_int_eq(cm_dir_share(&dir, "file", &to), CM_OK);
    ck_assert_int_eq(stat(path_of("in/file"), &a), 0);
    ck_assert_int_eq(stat(path_of("in/to/file"), &b), 0);
    ck_assert_uint_eq(a.st_ino, b.st_ino);
    cm_dir_file file;
    ck_assert_int_eq(cm_dir_measure(&to, "file", &file), CM_OK);
    ck_assert_uint_eq(file.bytes, 6);
    ck_assert_uint_eq(file.names, 2);
    expect_says(cm_dir_share(&dir, "file", &to), CM_ERR_IO, "/in/to/file: cannot make a link of that name: ");
    expect_says(cm_dir_share(&dir, "none", &to), CM_ERR_IO, "/in/none: cannot look at: No such file");
    expect_says(cm_dir_share(&dir, "to", &to), CM_ERR_IO, "/in/to: cannot look at: Is a directory");
    cm_dir_close(&to);
}
END_TEST

START_TEST(temporary_folders_are_where_the_user_has_them) {
    char path[PATH_MAX], wanted[320];
    ck_assert_int_eq(setenv("TMPDIR", path_of("in"), 1), 0);
    ck_assert_msg(cm_temporary_folder("word", path) == CM_OK, "%s", cm_error_message());
    snprintf(wanted, sizeof wanted, "%s/cumind-word-", path_of("in"));
    ck_assert_mem_eq(path, wanted, strlen(wanted));
    ck_assert(cm_file_is_directory(path));
    ck_assert_int_eq(setenv("TMPDIR", path_of("none"), 1), 0);
    ck_assert_int_eq(cm_temporary_folder("word", path), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/none: no folder can be made there"));
    ck_assert_int_eq(setenv("TMPDIR", "", 1), 0);
    ck_assert_msg(cm_temporary_folder("word", path) == CM_OK, "%s", cm_error_message());
    ck_assert_mem_eq(path, "/tmp/cumind-word-", 17);
    ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/directory");
    TCase *tests = tcase_create("directory");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, files_are_written_and_read_back);
    tcase_add_test(tests, an_unsynced_file_is_whole_and_waits_for_no_disk);
    tcase_add_test(tests, links_are_not_followed);
    tcase_add_test(tests, a_link_in_the_way_of_a_writer_is_not_written_through);
    tcase_add_test(tests, what_is_no_file_is_refused_at_once);
    tcase_add_test(tests, a_file_with_another_name_is_not_appended_to);
    tcase_add_test(tests, removal_stays_in_the_folder);
    tcase_add_test(tests, what_is_nested_beyond_reason_is_left);
    tcase_add_test(tests, names_are_listed_each_time_from_the_first);
    tcase_add_test(tests, temporary_folders_are_where_the_user_has_them);
    tcase_add_test(tests, a_shared_file_is_one_and_never_replaces_another);
    return cm_test_main(suite);
}
