#include "support/folder.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"

char cm_test_folder[32];

void cm_test_folder_make(void) {
    strcpy(cm_test_folder, "/tmp/cumind-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(cm_test_folder));
}

void cm_test_folder_remove(void) { ck_assert_int_eq(cm_directory_remove(cm_test_folder), CM_OK); }
