/* The programs of the tests themselves: what tests leave that fail, or end their program. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"

/* What the tests of another program have made, and how that ended. */
typedef struct seen {
    char folder[CM_TEST_PATH], file[CM_TEST_PATH];
    int status; /* of waitpid */
} seen;

static seen *other, of_failing, of_dying; /* other: shared with the program that is looked at */

static void make_files(void) {
    char path[64];
    snprintf(other->folder, sizeof other->folder, "%s", cm_test_folder);
    cm_test_file_make(other->file);
    snprintf(path, sizeof path, "%s/x", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "x", 1), CM_OK);
}

START_TEST(fails) {
    make_files();
    ck_abort_msg("as it should");
}
END_TEST

START_TEST(dies) {
    make_files();
    raise(SIGKILL);
}
END_TEST

static int run_one(const TTest *test, int (*run)(Suite *)) {
    Suite *suite = suite_create("other");
    TCase *tests = tcase_create("other");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, test);
    return run(suite);
}

/* Runs a test as the only one of a program whose output is not seen. */
static void look_at(const TTest *test, int (*run)(Suite *), seen *out) {
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        unsetenv("CK_LOG_FILE_NAME");
        exit(run_one(test, run));
    }
    waitpid(child, &other->status, 0);
    *out = *other;
}

START_TEST(what_a_failing_test_has_made_is_removed) {
    ck_assert(WIFEXITED(of_failing.status));
    ck_assert_int_eq(WEXITSTATUS(of_failing.status), EXIT_FAILURE);
    ck_assert_str_ne(of_failing.folder, "");
    ck_assert_msg(!cm_file_exists(of_failing.folder), "%s is left", of_failing.folder);
    ck_assert_msg(!cm_file_exists(of_failing.file), "%s is left", of_failing.file);
}
END_TEST

START_TEST(what_a_test_has_made_that_ends_its_program_is_removed) {
    ck_assert(WIFEXITED(of_dying.status));
    ck_assert_int_eq(WEXITSTATUS(of_dying.status), 128 + SIGKILL);
    ck_assert_str_ne(of_dying.folder, of_failing.folder);
    ck_assert_msg(!cm_file_exists(of_dying.folder), "%s is left", of_dying.folder);
    ck_assert_msg(!cm_file_exists(of_dying.file), "%s is left", of_dying.file);
}
END_TEST

int main(void) {
    other = mmap(NULL, sizeof *other, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (other == MAP_FAILED) return EXIT_FAILURE;
    look_at(fails, cm_test_main, &of_failing);
    look_at(dies, cm_test_main_in_process, &of_dying);
    Suite *suite = suite_create("core/harness");
    TCase *tests = tcase_create("harness");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, what_a_failing_test_has_made_is_removed);
    tcase_add_test(tests, what_a_test_has_made_that_ends_its_program_is_removed);
    return cm_test_main(suite);
}
