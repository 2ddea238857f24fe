/* Files and folders of tests: all lie in one folder below /tmp, which is removed when the program of the tests has
 * ended, also of tests that fail or die. */
#ifndef CM_TESTS_FOLDER_H
#define CM_TESTS_FOLDER_H

#include <sys/resource.h>

enum { CM_TEST_PATH = 32 };

/* A new, empty folder for the files of a test. Both functions are fixtures of Check. */
extern char cm_test_folder[CM_TEST_PATH]; /* its path between the two calls, before them of none that exists */
void cm_test_folder_make(void);
void cm_test_folder_remove(void); /* with all that is in it */

/* A new, empty file. */
void cm_test_file_make(char path[CM_TEST_PATH]);

/* From now on files of this process have at most so many bytes, as on a full disk. */
void cm_test_limit_files(rlim_t bytes);

/* The folder that holds them; for support/main.c. */
void cm_test_root_make(void);
void cm_test_root_remove(void);

#endif
