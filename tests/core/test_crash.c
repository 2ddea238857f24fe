/* The line about a crash of the program itself; of libraries' crashes tests/cli/test_crash.c is. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/crash.h"
#include "support/main.h"

static char told[8192];

/* What `crash` in a process of its own says on stderr, and the signal that ends that. */
static int end_of(void (*crash)(void)) {
    int end[2], status = 0;
    ck_assert_int_eq(pipe(end), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(end[1], STDERR_FILENO);
        signal(SIGSEGV, SIG_DFL); /* in place of a sanitizer's */
        signal(SIGABRT, SIG_DFL);
        cm_crash_catch("<clear>", "test");
        crash();
        _exit(0);
    }
    close(end[1]);
    size_t size = 0;
    for (ssize_t got; (got = read(end[0], told + size, sizeof told - 1 - size)) > 0;) size += (size_t)got;
    told[size] = '\0';
    close(end[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int *volatile nowhere;

__attribute__((no_sanitize("address", "undefined"))) static void write_nowhere(void) { *nowhere = 1; }

static void abort_with_advice(void) {
    cm_crash_advise("do nothing");
    cm_crash_advise("go on with --resume r");
    abort();
}

static void *crash_in_thread(void *unused) {
    cm_crash_own_stack();
    write_nowhere();
    return unused;
}

static void crash_in_a_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_in_thread, NULL) == 0) pthread_join(thread, NULL);
}

static void sleep_until_killed(void) {
    if (fork() == 0) {
        kill(getppid(), SIGSEGV);
        _exit(0);
    }
    pause();
}

static void expect_line(const char *what, const char *end) {
    char begin[128];
    snprintf(begin, sizeof begin, "<clear>cumind: test: %s crashed: %s; `addr2line -fe ", program_invocation_name,
             what);
    ck_assert_msg(strncmp(told, begin, strlen(begin)) == 0, "%s", told);
    ck_assert_msg(strstr(told, end) && strchr(told, '\n')[1] == '\0', "%s", told);
}

START_TEST(a_crash_of_the_program_is_to_be_reported) {
    ck_assert_int_eq(end_of(write_nowhere), SIGSEGV);
    expect_line("a segmentation fault", "` names the function: please report it, with what led to it\n");
}
END_TEST

START_TEST(a_crash_of_another_thread_is_to_be_reported) {
    ck_assert_int_eq(end_of(crash_in_a_thread), SIGSEGV);
    expect_line("a segmentation fault", ": please report it, with what led to it\n");
}
END_TEST

START_TEST(the_latest_advice_ends_the_line) {
    ck_assert_int_eq(end_of(abort_with_advice), SIGABRT);
    expect_line("a call of abort", "with what led to it; go on with --resume r\n");
}
END_TEST

START_TEST(a_signal_that_another_process_sends_is_none) {
    ck_assert_int_eq(end_of(sleep_until_killed), SIGSEGV);
    ck_assert_str_eq(told, "");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/crash");
    TCase *tests = tcase_create("crash");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_crash_of_the_program_is_to_be_reported);
    tcase_add_test(tests, a_crash_of_another_thread_is_to_be_reported);
    tcase_add_test(tests, the_latest_advice_ends_the_line);
    tcase_add_test(tests, a_signal_that_another_process_sends_is_none);
    return cm_test_main(suite);
}
