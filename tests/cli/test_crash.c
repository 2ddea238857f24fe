/* What is said when the code of a user's environment, or the program itself, crashes. */
#include <signal.h>

#include "runs.h"

#define LIBRARY CM_TEST_MODULES "/late_fault.so"
#define TRAIN                                                                                                          \
    "train --quiet --set num_envs=4 --set min_memory_steps=64 --set checkpoint_updates=10"                             \
    " --set evaluation_interval=0 --set env_name=" LIBRARY

static const struct crash {
    int rows, threads, signal;
    const char *what;
} crashes[] = {
    {9, 1, SIGSEGV, "a segmentation fault"},
    {9, 2, SIGSEGV, "a segmentation fault"},
    {10, 1, SIGSEGV, "a segmentation fault"},
    {11, 1, SIGABRT, "a call of abort"},
    {12, 1, SIGSEGV, "its stack is full (a recursion without end?)"},
    {12, 2, SIGSEGV, "its stack is full (a recursion without end?)"},
};
enum { CRASHES = sizeof crashes / sizeof *crashes };

/* Of tests/modules/late_fault.c, as addr2line reads it in the library. */
static void expect_function(const char *command, const char *name) {
    char quoted[1024], text[256];
    const char *end = strchr(command, '`');
    ck_assert_ptr_nonnull(end);
    snprintf(quoted, sizeof quoted, "%.*s", (int)(end - command), command);
    FILE *pipe = popen(quoted, "r");
    ck_assert_ptr_nonnull(pipe);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, pipe));
    ck_assert_int_eq(pclose(pipe), 0);
    text[strcspn(text, "\n")] = '\0';
    ck_assert_msg(strstr(name, text) != NULL, "%s: %s", quoted, text);
}

START_TEST(a_crash_in_a_library_is_told_in_one_line_that_says_where) {
    const struct crash *c = &crashes[_i];
    char command[1024], line[1024];
    snprintf(command, sizeof command, TRAIN " --run r%d --threads %d --set rows=%d", _i, c->threads, c->rows);
    snprintf(line, sizeof line, "cumind: train: " LIBRARY " crashed: %s; `addr2line -fe " LIBRARY " 0x", c->what);
    expect_exit(command, 128 + c->signal, line);
    expect_function(strchr(result.err, '`') + 1, "crash step descend");
}
END_TEST

START_TEST(the_line_says_what_is_saved_and_how_to_go_on_and_that_works) {
    expect_exit(TRAIN " --run saved --set rows=9", 128 + SIGSEGV, " is saved: go on from it with --resume ");
    const char *at = strstr(result.err, "; update ");
    ck_assert_ptr_nonnull(at);
    const long update = strtol(at + strlen("; update "), NULL, 10);
    char command[256];
    snprintf(command, sizeof command, "train --quiet --resume saved --updates %ld --set final_evaluation_episodes=0",
             update + 1);
    ck_assert_int_ge(update, 10);
    expect_ok(command);
}
END_TEST

START_TEST(a_signal_from_somebody_else_is_no_crash) {
    const pid_t child = cm_program_start(cm_test_folder, TRAIN " --run sent");
    cm_program_await_handler(child, SIGSEGV);
    kill(child, SIGSEGV);
    ck_assert_int_eq(cm_program_wait(child), 128 + SIGSEGV);
    char text[256];
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* Which signal comes first: of a person, or a batch system, of which no one at the terminal knows. */
START_TEST(a_second_request_names_the_library_that_hangs) {
    const bool is_batch = _i == 2, is_term = _i == 1;
    char path[160], text[2048];
    snprintf(path, sizeof path, "%s/hanging", cm_test_folder);
    unlink(path);
    snprintf(text, sizeof text, TRAIN " --run hangs-%d --threads 1 --set rows=13", _i);
    const pid_t child = cm_program_start(cm_test_folder, text);
    for (int i = 0; i < 20000 && !cm_file_exists(path); i++) usleep(1000);
    if (is_batch) kill(child, SIGXCPU);
    if (is_batch) usleep(50000);
    kill(child, SIGINT);
    for (text[0] = '\0'; !strstr(text, "again to end at once\n"); usleep(1000))
        cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    usleep(300000); /* sooner would be the same wish */
    kill(child, is_term ? SIGTERM : SIGINT);
    ck_assert_int_eq(cm_program_wait(child), is_term ? 143 : 130);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    const char *line = strstr(text, "cumind: train: it was in " LIBRARY ": `addr2line -fe " LIBRARY " 0x");
    ck_assert_msg(line && strchr(line, '\n')[1] == '\0', "%s", text);
    expect_function(strchr(line, '`') + 1, "crash step");
}
END_TEST

/* AddressSanitizer would tell of crashes in its own way. */
static void leave_signals_alone(void) {
    cm_test_folder_make();
    setenv("ASAN_OPTIONS", "handle_segv=0:handle_sigbus=0:handle_abort=0:use_sigaltstack=0", 1);
}

int main(void) {
    Suite *suite = suite_create("cli/crash");
    TCase *tests = tcase_create("crash");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, leave_signals_alone, cm_test_folder_remove);
    tcase_add_loop_test(tests, a_crash_in_a_library_is_told_in_one_line_that_says_where, 0, CRASHES);
    tcase_add_test(tests, the_line_says_what_is_saved_and_how_to_go_on_and_that_works);
    tcase_add_loop_test(tests, a_second_request_names_the_library_that_hangs, 0, 3);
    tcase_add_test(tests, a_signal_from_somebody_else_is_no_crash);
    return cm_test_main(suite);
}
