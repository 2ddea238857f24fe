/* A new, empty folder below /tmp for the files of a test. Both functions are fixtures of Check. */
#ifndef CM_TESTS_FOLDER_H
#define CM_TESTS_FOLDER_H

extern char cm_test_folder[32]; /* its path, between the two calls */

void cm_test_folder_make(void);
void cm_test_folder_remove(void); /* with all that is in it */

#endif
