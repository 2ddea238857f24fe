/* The end of every test program's main: runs a suite, prints Check's summary and gives the exit status. The suite runs
 * in a child, and what its tests have left of their files (support/folder.h) is removed however that ends. */
#ifndef CM_TESTS_MAIN_H
#define CM_TESTS_MAIN_H

#include <check.h>

/* Runs every test in a process of its own (unless CK_FORK=no), prints what failed and the line that scripts/run_tests
 * counts, and frees the suite. CK_VERBOSITY=verbose lists all tests. Returns EXIT_SUCCESS, or EXIT_FAILURE if a test
 * failed. */
int cm_test_main(Suite *suite);

/* The same in this process: for tests whose threads (a pool, OpenMP) would not outlive the fork, or that are too many
 * to fork for. Time limits of test cases do not apply then. */
int cm_test_main_in_process(Suite *suite);

/* Where there is a GPU's driver, the same by `parts` processes one after the other, each with the suite that `make`
 * gives it: what ruins the GPU for one, as an access out of bounds does, fails the rest of its tests and no other's.
 * One process elsewhere, and with CUMIND_TEST_ALONE. */
int cm_test_main_in_parts(Suite *(*make)(int part, int parts), int parts);

#endif
