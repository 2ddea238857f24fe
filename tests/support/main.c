#include "support/main.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.h"

/* Waits for the process that tests, removes what it has left, and ends as it did. What asks it to end asks its group.
 */
static void guard(pid_t child) {
    int status = 0;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (waitpid(child, &status, 0) != child) continue;
    cm_test_root_remove();
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* By lines: what a test has printed is there if its program hangs, too. With CUMIND_TEST_ALONE there is no guard: tools
 * that look at one process see this one. Where a test limits the size of files, counters of lines cannot be written
 * either; what libgcov says of that is not the program's. */
static int run(Suite *suite, enum fork_status fork_status) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    setenv("GCOV_ERROR_FILE", "/dev/null", 1);
    cm_test_root_make();
    const bool alone = getenv("CUMIND_TEST_ALONE") != NULL;
    const pid_t child = alone ? 0 : fork();
    if (child > 0) guard(child);
    if (!alone) prctl(PR_SET_PDEATHSIG, SIGKILL);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, fork_status);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (alone) cm_test_root_remove();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cm_test_main(Suite *suite) { return run(suite, CK_FORK_GETENV); }
int cm_test_main_in_process(Suite *suite) { return run(suite, CK_NOFORK); }

int cm_test_main_in_parts(Suite *(*make)(int part, int parts), int parts) {
    bool has_failed = false;
    if (getenv("CUMIND_TEST_ALONE") || !dlopen("libcuda.so.1", RTLD_LAZY)) return cm_test_main_in_process(make(0, 1));
    for (int i = 0; i < parts; i++) {
        int status = 1;
        const pid_t child = fork();
        if (child == 0) exit(cm_test_main_in_process(make(i, parts)));
        if (child > 0) waitpid(child, &status, 0);
        has_failed = has_failed || status != 0;
    }
    return has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
