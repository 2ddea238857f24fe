#include "support/main.h"

#include <stdio.h>
#include <stdlib.h>

/* By lines: what a test has printed is there if its program hangs, too. */
static int run(Suite *suite, enum fork_status fork_status) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, fork_status);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cm_test_main(Suite *suite) { return run(suite, CK_FORK_GETENV); }
int cm_test_main_in_process(Suite *suite) { return run(suite, CK_NOFORK); }
