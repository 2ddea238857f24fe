/* Runs whose folder is taken away under them. */
#include <check.h>
#include <signal.h>

#include "runs.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
    hash_of("ref", reference);
}

/* A run that would go on for long, held still after its first iteration. */
static pid_t hold_run(const char *dir) {
    char line[512], text[64];
    snprintf(line, sizeof line, "train --quiet --run %s" SMALL " --env-steps 100M --set checkpoint_updates=1000000000",
             dir);
    pid_t child = cm_program_start(cm_test_folder, line);
    await_run(dir);
    snprintf(line, sizeof line, "%s/metrics.jsonl", dir);
    for (text[0] = '\0'; text[0] == '\0'; usleep(1000)) cm_program_file(cm_test_folder, line, text, sizeof text);
    kill(child, SIGSTOP);
    return child;
}

static void expect_end(pid_t child, const char *format) {
    char text[4096], wanted[4096];
    const char *f = cm_test_folder;
    snprintf(wanted, sizeof wanted, format, f, f);
    kill(child, SIGCONT);
    ck_assert_int_eq(cm_program_wait(child), 1);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(run_whose_folder_is_removed_ends_and_makes_none) {
    char path[128];
    snprintf(path, sizeof path, "%s/removed", cm_test_folder);
    pid_t child = hold_run("removed");
    if (_i) kill(child, SIGTERM); /* comes with what goes on, and may be met first */
    ck_assert_msg(cm_directory_remove(path) == CM_OK, "%s", cm_error_message());
    expect_end(child, "cumind: removed: this run's folder was removed while it trained; nothing of it is left\n");
    ck_assert(!cm_file_exists(path));
}
END_TEST

START_TEST(run_whose_folder_is_moved_ends_and_says_where_it_is) {
    char path[128], moved[128];
    snprintf(path, sizeof path, "%s/moved", cm_test_folder);
    snprintf(moved, sizeof moved, "%s/elsewhere", cm_test_folder);
    pid_t child = hold_run("moved");
    ck_assert_int_eq(rename(path, moved), 0);
    expect_end(child,
               "cumind: moved: this run's folder was moved while it trained; go on with --resume %s/elsewhere\n");
    ck_assert(!cm_file_exists(path));
    expect_ok("train --quiet --resume elsewhere --env-steps 1024 --set checkpoint_updates=40");
    expect_reference("elsewhere");
}
END_TEST

START_TEST(run_whose_lock_is_removed_ends_before_another_process_can_write_to_it) {
    char path[128];
    snprintf(path, sizeof path, "%s/unlocked/lock", cm_test_folder);
    pid_t child = hold_run("unlocked");
    ck_assert_int_eq(unlink(path), 0);
    expect_end(child, "cumind: unlocked: its lock was removed while it trained, so another process may write to it; "
                      "make an empty file of that name and go on with --resume unlocked\n");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/folder");
    TCase *tests = tcase_create("folder");
    tcase_add_loop_test(tests, run_whose_folder_is_removed_ends_and_makes_none, 0, 2);
    tcase_add_test(tests, run_whose_folder_is_moved_ends_and_says_where_it_is);
    tcase_add_test(tests, run_whose_lock_is_removed_ends_before_another_process_can_write_to_it);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
