#include "support/folder.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"

static char root[] = "/tmp/cumind-test-XXXXXX";

char cm_test_folder[CM_TEST_PATH] = "/no folder of a test";

/* Other users may come through it: some tests become one. */
void cm_test_root_make(void) {
    static char state[sizeof root + sizeof "/state"];
    if (mkdtemp(root) && chmod(root, 0711) == 0) {
        snprintf(state, sizeof state, "%s/state", root);
        setenv("XDG_STATE_HOME", state, 1); /* and not in the user's home */
        return;
    }
    fprintf(stderr, "%s: cannot be made; tests need a folder below /tmp\n", root);
    exit(EXIT_FAILURE);
}

void cm_test_root_remove(void) {
    if (cm_directory_remove(root) != CM_OK) fprintf(stderr, "left behind: %s\n", cm_error_message());
}

void cm_test_folder_make(void) {
    snprintf(cm_test_folder, sizeof cm_test_folder, "%s/XXXXXX", root);
    ck_assert_ptr_nonnull(mkdtemp(cm_test_folder));
}

void cm_test_folder_remove(void) { ck_assert_int_eq(cm_directory_remove(cm_test_folder), CM_OK); }

void cm_test_file_make(char path[CM_TEST_PATH]) {
    snprintf(path, CM_TEST_PATH, "%s/XXXXXX", root);
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
}

void cm_test_limit_files(rlim_t bytes) {
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
