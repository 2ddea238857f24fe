#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"

static char path[512];

static const char *in(const char *name) {
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    ck_assert_int_eq(cm_file_write(in(name), text, strlen(text)), CM_OK);
}

static void assert_content(const char *name, const char *text) {
    char *data;
    size_t size;
    ck_assert_msg(cm_file_read(in(name), 1 << 20, &data, &size) == CM_OK, "%s", cm_error_message());
    ck_assert_uint_eq(size, strlen(text));
    ck_assert_str_eq(data, text);
    free(data);
}

static int entries(void) {
    int n = -2; /* . and .. */
    DIR *list = opendir(cm_test_folder);
    while (readdir(list)) n++;
    closedir(list);
    return n;
}

START_TEST(write_replaces_and_leaves_no_other_file) {
    put("a", "first");
    put("a", "second, longer");
    assert_content("a", "second, longer");
    put("a", "");
    assert_content("a", "");
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(content_with_zero_bytes_and_of_one_million_bytes_survives) {
    size_t size = 1000003, got;
    char *data = malloc(size), *read;
    for (size_t i = 0; i < size; i++) data[i] = (char)(i * 31 >> 3);
    ck_assert_int_eq(cm_file_write(in("big"), data, size), CM_OK);
    ck_assert_int_eq(cm_file_read(in("big"), size, &read, &got), CM_OK);
    ck_assert_uint_eq(got, size);
    ck_assert_mem_eq(read, data, size);
    ck_assert_int_eq(read[size], 0);
    free(read);
    ck_assert_int_eq(cm_file_read(in("big"), size - 1, &read, &got), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "big: 1000003 bytes, but at most 1000002 are accepted"));
    ck_assert_ptr_null(read);
    free(data);
}
END_TEST

START_TEST(pieces_of_every_size_arrive_in_order) {
    static const size_t sizes[] = {0, 1, 65535, 2, 65536, 65537, 200000, 3};
    cm_file_writer *writer;
    size_t total = 0, got;
    char *block = malloc(200000), *read;
    ck_assert_int_eq(cm_file_begin(in("pieces"), &writer), CM_OK);
    for (size_t i = 0; i < 8; i++) {
        memset(block, 'a' + (int)i, sizes[i]);
        ck_assert_int_eq(cm_file_append(writer, block, sizes[i]), CM_OK);
        total += sizes[i];
    }
    ck_assert(!cm_file_exists(in("pieces")));
    ck_assert_int_eq(cm_file_commit(writer), CM_OK);
    ck_assert_int_eq(cm_file_read(in("pieces"), total, &read, &got), CM_OK);
    ck_assert_uint_eq(got, total);
    size_t at = 0;
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < sizes[i]; k++) ck_assert_int_eq(read[at++], 'a' + (int)i);
    free(read);
    free(block);
}
END_TEST

START_TEST(abandoned_file_leaves_the_old_one) {
    cm_file_writer *writer;
    put("a", "old");
    ck_assert_int_eq(cm_file_begin(in("a"), &writer), CM_OK);
    ck_assert_int_eq(cm_file_append(writer, "new", 3), CM_OK);
    cm_file_abandon(writer);
    cm_file_abandon(NULL);
    assert_content("a", "old");
    ck_assert_int_eq(entries(), 1);
}
END_TEST

START_TEST(write_that_runs_out_of_space_changes_nothing) {
    put("a", "old");
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &limit);
    char *data = calloc(1, 300000);
    ck_assert_int_eq(cm_file_write(in("a"), data, 300000), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/a: cannot write: File too large"));
    free(data);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_content("a", "old");
    ck_assert_int_eq(entries(), 1);
}
END_TEST

/* The folder, what the system says, and what may be done. */
START_TEST(what_can_be_done_about_an_error_is_said) {
    static const struct {
        int reason;
        const char *says;
    } errors[] = {
        {ENOSPC, "/runs/x: cannot write: No space left on device; make space there, or take another place"},
        {EDQUOT, "/runs/x: cannot write: Disk quota exceeded; make space there, or take another place"},
        {EACCES, "/runs/x: cannot write: Permission denied; your rights there do not allow it: change them, or take "
                 "another place"},
        {EROFS, "/runs/x: cannot write: Read-only file system; it is mounted read-only: take another place"},
        {EFBIG, "/runs/x: cannot write: File too large; raise the limit on the size of files (ulimit -f)"},
        {ENOENT, "/runs/x: cannot write: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        errno = errors[i].reason;
        ck_assert_int_eq(cm_file_fail("/runs/x", "write"), CM_ERR_IO);
        ck_assert_str_eq(cm_error_message(), errors[i].says);
    }
}
END_TEST

START_TEST(what_cannot_be_read_or_written_is_named) {
    char *data;
    size_t size;
    ck_assert_int_eq(cm_file_read(in("none"), 100, &data, &size), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/none: cannot open: No such file or directory"));
    ck_assert_int_eq(cm_file_read(cm_test_folder, 100, &data, &size), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), ": not a regular file"));
    ck_assert_int_eq(mkfifo(in("pipe"), 0600), 0);
    ck_assert_int_eq(cm_file_read(in("pipe"), 100, &data, &size), CM_ERR_INPUT); /* and does not wait for a writer */
    ck_assert_int_eq(cm_file_write(in("none/a"), "x", 1), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/none/a: cannot write: No such file or directory"));
    ck_assert_int_eq(mkdir(in("folder"), 0777), 0);
    ck_assert_int_eq(cm_file_write(in("folder"), "x", 1), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/folder: cannot replace: not a regular file"));
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(cm_file_write(longest, "x", 1), CM_ERR_INPUT);
    ck_assert_int_eq(cm_directory_make(longest), CM_ERR_INPUT);
    ck_assert_int_eq(entries(), 2);
}
END_TEST

START_TEST(what_is_no_file_gives_way_to_none) {
    char *data;
    size_t size;
    struct stat about;
    ck_assert_int_eq(mkfifo(in("pipe"), 0600), 0);
    ck_assert_int_eq(symlink("pipe", in("to pipe")), 0);
    static const char *const names[] = {"pipe", "to pipe"}; /* as /dev/null and /dev/stdout are */
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cm_file_write(in(names[i]), "x", 1), CM_ERR_IO);
        ck_assert_ptr_nonnull(strstr(cm_error_message(), "cannot replace: not a regular file"));
        ck_assert(lstat(in(names[i]), &about) == 0 && !S_ISREG(about.st_mode));
    }
    ck_assert_int_eq(cm_file_write(in("old"), "old", 3), CM_OK);
    ck_assert_int_eq(symlink("old", in("link")), 0);
    ck_assert_int_eq(cm_file_write(in("link"), "new", 3), CM_OK); /* through the link, which stays one */
    ck_assert(lstat(in("link"), &about) == 0 && S_ISLNK(about.st_mode));
    ck_assert_int_eq(cm_file_read(in("old"), 100, &data, &size), CM_OK);
    ck_assert_str_eq(data, "new");
    free(data);
    ck_assert_int_eq(entries(), 4); /* nothing next to them */
}
END_TEST

START_TEST(a_link_that_leads_nowhere_is_named_with_its_target) {
    char *data;
    size_t size;
    ck_assert_int_eq(symlink("moved/away", in("link")), 0);
    ck_assert(cm_file_is_named(in("link")) && !cm_file_exists(in("link")) && !cm_file_is_named(in("none")));
    ck_assert_int_eq(cm_file_read(in("link"), 100, &data, &size), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/link: is a link to moved/away, which is not there"));
}
END_TEST

START_TEST(folder_without_permission_is_refused_and_untouched) {
    if (geteuid() == 0) { /* permissions do not bind root: another user tries */
        ck_assert_int_eq(chmod(cm_test_folder, 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    } else {
        ck_assert_int_eq(chmod(cm_test_folder, 0555), 0);
    }
    ck_assert_int_eq(cm_file_write(in("a"), "x", 1), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/a: cannot write: Permission denied"));
    ck_assert_int_eq(cm_directory_make(in("b/c")), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/b: cannot make the folder: Permission denied"));
    if (getuid() == 0) ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(cm_test_folder, 0755), 0);
    ck_assert_int_eq(entries(), 0);
}
END_TEST

START_TEST(folders_are_made_with_parents_and_removed_with_all_in_them) {
    ck_assert_int_eq(cm_directory_make(in("a/b//c/")), CM_OK);
    ck_assert_int_eq(cm_directory_make(in("a/b/c")), CM_OK);
    ck_assert(cm_file_is_directory(in("a/b/c")));
    ck_assert_int_eq(cm_directory_make_parent(in("d/e/file")), CM_OK);
    ck_assert_int_eq(cm_file_write(in("plain"), "x", 1), CM_OK);
    ck_assert_int_eq(cm_directory_make(in("plain/below")), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/plain: cannot make the folder: Not a directory"));
    ck_assert_int_eq(unlink(in("plain")), 0);
    ck_assert(cm_file_is_directory(in("d/e")) && !cm_file_exists(in("d/e/file")));
    ck_assert_int_eq(cm_directory_make_parent("file"), CM_OK);
    put("a/b/file", "x");
    put("keep", "outside");
    char target[128];
    snprintf(target, sizeof target, "%s/keep", cm_test_folder);
    ck_assert_int_eq(symlink(target, in("a/link")), 0);
    ck_assert_int_eq(symlink(cm_test_folder, in("a/b/up")), 0); /* a link to a folder is not followed */
    ck_assert_int_eq(cm_directory_remove(in("a")), CM_OK);
    ck_assert(!cm_file_exists(in("a")));
    assert_content("keep", "outside");
    ck_assert_int_eq(cm_directory_remove(in("a")), CM_OK);
    ck_assert_int_eq(cm_directory_remove(in("keep")), CM_ERR_IO);
    ck_assert_int_eq(cm_directory_make(in("keep")), CM_ERR_IO);
    ck_assert_int_eq(cm_directory_make(in("keep/below")), CM_ERR_IO);
    ck_assert_int_eq(cm_directory_make(""), CM_ERR_INPUT);
}
END_TEST

START_TEST(free_space_is_told_and_paths_are_joined) {
    uint64_t bytes;
    char out[8];
    ck_assert_int_eq(cm_disk_free(cm_test_folder, &bytes), CM_OK);
    ck_assert_uint_gt(bytes, 0);
    ck_assert_int_eq(cm_disk_free(in("none"), &bytes), CM_ERR_IO);
    ck_assert_int_eq(cm_path_join(out, sizeof out, "abc", "def"), CM_OK);
    ck_assert_str_eq(out, "abc/def");
    ck_assert_int_eq(cm_path_join(out, sizeof out, "ab/", "c"), CM_OK);
    ck_assert_str_eq(out, "ab/c");
    ck_assert_int_eq(cm_path_join(out, sizeof out, "", "c"), CM_OK);
    ck_assert_str_eq(out, "c");
    ck_assert_int_eq(cm_path_join(out, sizeof out, "abcd", "def"), CM_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("file");
    TCase *c = tcase_create("file");
    tcase_add_checked_fixture(c, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(c, what_can_be_done_about_an_error_is_said);
    tcase_add_test(c, write_replaces_and_leaves_no_other_file);
    tcase_add_test(c, content_with_zero_bytes_and_of_one_million_bytes_survives);
    tcase_add_test(c, pieces_of_every_size_arrive_in_order);
    tcase_add_test(c, abandoned_file_leaves_the_old_one);
    tcase_add_test(c, write_that_runs_out_of_space_changes_nothing);
    tcase_add_test(c, what_cannot_be_read_or_written_is_named);
    tcase_add_test(c, what_is_no_file_gives_way_to_none);
    tcase_add_test(c, a_link_that_leads_nowhere_is_named_with_its_target);
    tcase_add_test(c, folder_without_permission_is_refused_and_untouched);
    tcase_add_test(c, folders_are_made_with_parents_and_removed_with_all_in_them);
    tcase_add_test(c, free_space_is_told_and_paths_are_joined);
    suite_add_tcase(suite, c);
    return cm_test_main(suite);
}
