/* What the system and others do to a run's files while it trains: a disk without space, calls that a signal interrupts,
 * files that vanish from a checkpoint, folders that cannot be removed. The run goes on, and ends with the parameters of
 * one that nothing has happened to. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/file.h"
#include "run/checkpoint.h"
#include "run/metrics.h"
#include "run/run.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/training.h"

/* ---- the system ---- */

static bool is_full;            /* the disk */
static bool is_interrupting;    /* every second call */
static _Atomic bool is_failing; /* once */
static bool is_kept;            /* nothing can be removed */
static bool is_read_only;       /* the run's folder, for links */
static char filler[160];        /* a folder that fills the disk, while it is there; "": none */
static int refused_lines;       /* of metrics, that find no space */
static const char *trigger;     /* in what is written; NULL: none */
static void (*act)(void);       /* then */
static _Atomic unsigned calls;  /* that may be interrupted */
static _Atomic int interrupted; /* that were */

static bool interrupts(void) {
    if (!is_interrupting || atomic_fetch_add(&calls, 1u) % 2 != 0) return false;
    atomic_fetch_add(&interrupted, 1);
    errno = EINTR;
    return true;
}

static int warnings; /* that were written */
static char last_warning[1024];

ssize_t write(int file, const void *text, size_t size) {
    if (interrupts()) return -1;
    if (trigger && memmem(text, size, trigger, strlen(trigger))) {
        trigger = NULL;
        act();
    }
    if (refused_lines > 0 && size > 12 && memcmp(text, "{\"iteration\"", 12) == 0) {
        refused_lines--;
        errno = ENOSPC;
        return -1;
    }
    if (file != STDERR_FILENO || size < 9 || memcmp(text, "warning: ", 9) != 0)
        return syscall(SYS_write, file, text, size);
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%.*s", (int)size, (const char *)text);
    return (ssize_t)size;
}

ssize_t read(int file, void *text, size_t size) { return interrupts() ? -1 : syscall(SYS_read, file, text, size); }
int fsync(int file) {
    (void)file;                                          /* the test needs no disk */
    if (is_failing && syscall(SYS_gettid) != getpid()) { /* on the thread that finishes a checkpoint */
        is_failing = false;
        errno = EIO;
        return -1;
    }
    return interrupts() ? -1 : 0;
}
int flock(int file, int operation) { return interrupts() ? -1 : (int)syscall(SYS_flock, file, operation); }

int openat(int at, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = flags & O_CREAT ? va_arg(rest, unsigned) : 0u;
    va_end(rest);
    return interrupts() ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}

int unlinkat(int at, const char *path, int flags) {
    if (is_kept && flags == AT_REMOVEDIR) {
        errno = EBUSY;
        return -1;
    }
    return (int)syscall(SYS_unlinkat, at, path, flags);
}

int symlinkat(const char *target, int at, const char *name) {
    const bool is_filled = filler[0] && cm_file_is_directory(filler);
    if (is_read_only || is_filled) errno = is_filled ? ENOSPC : EROFS;
    return is_read_only || is_filled ? -1 : (int)syscall(SYS_symlinkat, target, at, name);
}

int statvfs(const char *restrict path, struct statvfs *restrict out) {
    (void)path;
    *out = (struct statvfs){.f_bsize = 4096, .f_frsize = 4096, .f_bavail = is_full ? 3u : 1u << 30};
    return 0;
}

/* ---- the run ---- */

static void path_of(const char *run, const char *file, char path[160]) {
    snprintf(path, 160, "%s/%s%s%s", cm_test_folder, run, file[0] ? "/" : "", file);
}

static cm_status try(const char *name, bool resume, const char *length, cm_run_result *result) {
    const char *const settings[] = {length,
                                    "num_envs=8",
                                    "min_memory_steps=128",
                                    "final_evaluation_episodes=2",
                                    "evaluation_interval=256",
                                    "evaluation_episodes=2",
                                    "threads=2",
                                    "num_simulations=4",
                                    "checkpoint_updates=20",
                                    "keep_checkpoints=2",
                                    "batch_size=32",
                                    "replay_ratio=8",
                                    "hidden_dim=16"};
    return try_run(name, resume, settings, sizeof settings / sizeof *settings, NULL, result);
}

static void train(const char *name, bool resume, const char *length, cm_run_result *result) {
    ck_assert_msg(try(name, resume, length, result) == CM_OK, "%s", cm_error_message());
}

static const char half[] = "env_steps=640", whole[] = "env_steps=896";
static cm_run_result unbroken; /* of the whole length */

static void begin_all(void) {
    cm_run_result result;
    cm_test_folder_make();
    train("unbroken", false, half, &result);
    train("unbroken", true, whole, &unbroken);
}

static void begin(void) {
    warnings = 0;
    last_warning[0] = '\0';
}

static void end(void) {
    is_full = is_interrupting = is_kept = is_read_only = false;
    is_failing = false;
    refused_lines = 0;
    trigger = NULL;
    filler[0] = '\0';
}

static void expect_unbroken(const cm_run_result *result) {
    ck_assert_int_eq(result->updates, unbroken.updates);
    ck_assert_str_eq(result->hash, unbroken.hash);
}

static int count_checkpoints(const char *name, int64_t numbers[16]) {
    char path[160];
    cm_checkpoint_store *store;
    path_of(name, "", path);
    ck_assert_int_eq(cm_checkpoint_store_create(path, 1, NULL, &store), CM_OK);
    const int count = cm_checkpoint_list(store, numbers, 16);
    cm_checkpoint_store_destroy(store);
    return count;
}

/* Whether a run's log.txt has a line with this end. */
static void expect_log(const char *name, const char *end) {
    char path[160], *text = NULL, line[256];
    size_t size = 0;
    path_of(name, "log.txt", path);
    snprintf(line, sizeof line, "%s\n", end);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    ck_assert_msg(strstr(text, line) != NULL, "%s", text);
    free(text);
}

static int count_lines(const char *name) {
    char path[160];
    cm_metrics *rows;
    int count;
    path_of(name, "metrics.jsonl", path);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    free(rows);
    return count;
}

START_TEST(lines_of_metrics_that_find_no_space_end_no_run) {
    cm_run_result result;
    refused_lines = 3;
    train("silent", false, half, &result);
    ck_assert_int_eq(warnings, 1);
    ck_assert_msg(strstr(last_warning,
                         "/silent/metrics.jsonl: cannot write: No space left on device; make space there, "
                         "or take another place; the run goes on, without lines of metrics as long as") != NULL,
                  "%s", last_warning);
    expect_log("silent", "/silent/metrics.jsonl: can be written again; 3 lines of metrics are missing");
    train("silent", true, whole, &result);
    expect_unbroken(&result);
    ck_assert_int_eq(count_lines("silent"), count_lines("unbroken") - 3);
}
END_TEST

static void free_space(void) { is_full = false; }

START_TEST(a_disk_without_space_puts_checkpoints_off_and_the_run_goes_on) {
    cm_run_result result;
    int64_t numbers[16];
    char line[128];
    is_full = true;
    train("full", false, half, &result);
    ck_assert_int_ge(warnings, 2);
    ck_assert_msg(strstr(last_warning, "this checkpoint is left out, the run goes on") != NULL, "%s", last_warning);
    ck_assert_int_eq(count_checkpoints("full", numbers), 1); /* the last is written whatever the disk says */
    ck_assert_int_eq(numbers[0], result.updates);
    warnings = 0;
    trigger = "\"iteration\": 5,", act = free_space;
    train("full", true, whole, &result);
    expect_unbroken(&result);
    ck_assert_int_eq(count_checkpoints("full", numbers), 2);
    snprintf(line, sizeof line, "/full: update %lld found space and is saved", (long long)numbers[0]);
    expect_log("full", line);
}
END_TEST

START_TEST(a_checkpoint_that_a_thread_cannot_finish_is_left_out_and_the_run_goes_on) {
    cm_run_result result;
    int64_t numbers[16];
    is_failing = true;
    train("failing", false, half, &result);
    ck_assert(!is_failing);
    ck_assert_int_eq(warnings, 1);
    ck_assert_msg(strstr(last_warning, ": cannot sync: Input/output error") != NULL, "%s", last_warning);
    ck_assert_msg(strstr(last_warning, "; this checkpoint is left out, the run goes on") != NULL, "%s", last_warning);
    ck_assert_int_eq(count_checkpoints("failing", numbers), 2);
    ck_assert_int_eq(numbers[1], result.updates);
    train("failing", true, whole, &result);
    expect_unbroken(&result);
}
END_TEST

START_TEST(interrupted_calls_are_made_again) {
    cm_run_result result;
    is_interrupting = true;
    train("interrupted", false, half, &result);
    train("interrupted", true, whole, &result);
    is_interrupting = false;
    ck_assert_int_ge(interrupted, 100);
    ck_assert_int_eq(warnings, 0);
    expect_unbroken(&result);
}
END_TEST

START_TEST(checkpoints_that_cannot_be_removed_are_warnings) {
    cm_run_result result;
    int64_t numbers[16];
    is_kept = true;
    train("kept", false, half, &result);
    ck_assert_msg(strstr(last_warning, "/kept/checkpoints/.") != NULL, "%s", last_warning);
    ck_assert_msg(strstr(last_warning, "cannot remove: Device or resource busy") != NULL, "%s", last_warning);
    is_kept = false;
    warnings = 0;
    train("kept", true, whole, &result); /* removes what is left */
    ck_assert_int_eq(warnings, 0);
    expect_unbroken(&result);
    ck_assert_int_le(count_checkpoints("kept", numbers), 3);
}
END_TEST

/* Removes the replay's segments from the latest checkpoint, or cuts them, or all checkpoints with their folder. */
static void lose_segments(bool cut) {
    char path[160];
    path_of("lost", "latest", path);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, "replay-segment-", 15) != 0) continue;
        found++;
        ck_assert_int_eq(unlinkat(dirfd(folder), entry->d_name, 0), 0);
        if (!cut) continue;
        const int file = openat(dirfd(folder), entry->d_name, O_WRONLY | O_CREAT, 0666);
        ck_assert_int_eq(write(file, "short", 5), 5);
        close(file);
    }
    closedir(folder);
    ck_assert_int_ge(found, 1);
}

static void remove_segments(void) { lose_segments(false); }
static void cut_segments(void) { lose_segments(true); }

static void remove_checkpoints(void) {
    char path[160];
    path_of("lost", "checkpoints", path);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
}

static void (*const losses[])(void) = {remove_segments, cut_segments, remove_checkpoints};

START_TEST(files_that_vanish_from_a_checkpoint_are_written_again) {
    cm_run_result result;
    char path[160];
    path_of("lost", "", path);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK); /* of the case before */
    trigger = "\"iteration\": 8,", act = losses[_i];
    train("lost", false, half, &result);
    ck_assert_ptr_null(trigger);
    if (_i < 2) ck_assert_msg(strstr(last_warning, "; it is written again") != NULL, "%s", last_warning);
    train("lost", true, whole, &result); /* reads all of it */
    expect_unbroken(&result);
}
END_TEST

/* Of a save that was killed for want of it. */
START_TEST(a_folder_that_fills_the_disk_goes_before_files_are_written) {
    cm_run_result result;
    train("filled", false, half, &result);
    path_of("filled", "checkpoints/.writing-3-999", filler);
    ck_assert_int_eq(cm_directory_make(filler), CM_OK);
    train("filled", true, whole, &result);
    ck_assert(!cm_file_is_directory(filler));
    expect_unbroken(&result);
}
END_TEST

/* What a whole checkpoint may be dropped for is not advised. */
START_TEST(a_folder_that_cannot_be_written_is_no_damage) {
    cm_run_result result;
    train("whole", false, half, &result);
    is_read_only = true;
    ck_assert_int_eq(try("whole", true, whole, &result), CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "/whole/latest: cannot make it a link to the checkpoint: Read-only") !=
                      NULL,
                  "%s", cm_error_message());
    ck_assert_ptr_null(strstr(cm_error_message(), "--drop-damaged"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/lost");
    TCase *tests = tcase_create("lost");
    suite_add_tcase(suite, tests);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_disk_without_space_puts_checkpoints_off_and_the_run_goes_on);
    tcase_add_test(tests, lines_of_metrics_that_find_no_space_end_no_run);
    tcase_add_test(tests, a_checkpoint_that_a_thread_cannot_finish_is_left_out_and_the_run_goes_on);
    tcase_add_test(tests, interrupted_calls_are_made_again);
    tcase_add_test(tests, checkpoints_that_cannot_be_removed_are_warnings);
    tcase_add_loop_test(tests, files_that_vanish_from_a_checkpoint_are_written_again, 0, 3);
    tcase_add_test(tests, a_folder_that_fills_the_disk_goes_before_files_are_written);
    tcase_add_test(tests, a_folder_that_cannot_be_written_is_no_damage);
    tcase_set_timeout(tests, 60);
    return cm_test_main(suite);
}
