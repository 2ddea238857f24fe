/* Runs that are killed while they write the moving picture of an evaluation, at every step of writing it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gif_lib.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "cli/runs.h"

/* ---- a program at its system calls ---- */

/* What PTRACE_GET_SYSCALL_INFO says at one, by <linux/ptrace.h>: glibc has two names for it. */
typedef struct system_call {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t instruction, stack, number, argument[6];
} system_call;

/* Stops a process that was started, whose threads will be followed, too; false: that cannot be done here. */
static bool seize(pid_t child) {
    int status;
    if (ptrace(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0)
        return false;
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return true;
}

/* Waits until a thread stops, before or after a system call or for another reason. Returns it. */
static pid_t await_stop(system_call *call, int *signal) {
    int status;
    const pid_t thread = waitpid(-1, &status, __WALL);
    ck_assert_int_gt(thread, 0);
    memset(call, 0, sizeof *call);
    *signal = 0;
    if (!WIFSTOPPED(status)) return 0;
    const bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    if (!is_call && status >> 16 == 0) *signal = WSTOPSIG(status);
    if (is_call) ck_assert_int_gt(ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof *call, call), 0);
    return thread;
}

/* Lets `thread` go on (0: all are on their way), and the others, until one is about to make a system call: `only` that
 * one, if it is not 0. Returns it. */
static pid_t next_call(pid_t thread, pid_t only, system_call *call) {
    int signal = 0;
    do {
        if (thread > 0) ck_assert_int_eq(ptrace(PTRACE_SYSCALL, thread, 0, signal), 0);
        thread = await_stop(call, &signal);
    } while (thread == 0 || call->op != PTRACE_SYSCALL_INFO_ENTRY || (only > 0 && thread != only));
    return thread;
}

/* Whether it opens a file whose name contains `part`. */
static bool opens(pid_t thread, const system_call *call, const char *part) {
    char path[64], name[256] = "";
    if (call->number != SYS_openat) return false;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)thread);
    const int memory = open(path, O_RDONLY);
    ck_assert_int_ge(memory, 0);
    const ssize_t size = pread(memory, name, sizeof name - 1, (off_t)call->argument[1]);
    close(memory);
    return size > 0 && strstr(name, part) != NULL;
}

/* Before the leader of a process its other threads are waited for. */
static void kill_all(pid_t child) {
    int status;
    kill(child, SIGKILL);
    while (waitpid(-1, &status, __WALL) != child || WIFSTOPPED(status)) continue;
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Kills it at the call `count` after it has begun to write the first picture. Returns that call; -1: not possible. */
static long kill_while_it_writes(const char *arguments, int count) {
    system_call call = {.number = 0};
    const pid_t child = cm_program_start(cm_test_folder, arguments);
    const bool is_seized = seize(child);
    const int reason = errno;
    if (is_seized) {
        pid_t thread = next_call(child, 0, &call);
        while (!opens(thread, &call, ".gif.tmp-")) thread = next_call(thread, 0, &call);
        for (int i = 0; i < count; i++) next_call(thread, thread, &call);
    }
    kill_all(child);
    if (!is_seized) printf("SKIP kill_while_it_writes: ptrace: %s\n", strerror(reason));
    return is_seized ? (long)call.number : -1;
}

/* ---- pictures ---- */

static int count_frames(const char *path) {
    int error;
    GifFileType *gif = DGifOpenFileName(path, &error);
    ck_assert_msg(gif && DGifSlurp(gif) == GIF_OK, "%s is no whole picture", path);
    const int count = gif->ImageCount;
    DGifCloseFile(gif, &error);
    return count;
}

/* Every picture of a run is whole and the one of the run `like` (NULL: any). Returns their number; *unfinished: how
 * many others there are. */
static int look(const char *of, const char *like, int *unfinished) {
    static char bytes[1 << 20], others[1 << 20];
    char path[512];
    int count = 0;
    *unfinished = 0;
    snprintf(path, sizeof path, "%s/%s/episodes", cm_test_folder, of);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        const size_t length = strlen(entry->d_name);
        if (*entry->d_name == '.') continue;
        if (strcmp(entry->d_name + length - 4, ".gif") != 0) {
            ++*unfinished;
            continue;
        }
        snprintf(path, sizeof path, "%s/%s/episodes/%s", cm_test_folder, of, entry->d_name);
        ck_assert_int_gt(count_frames(path), 2);
        count++;
        if (!like) continue;
        snprintf(path, sizeof path, "%s/episodes/%s", of, entry->d_name);
        cm_program_file(cm_test_folder, path, bytes, sizeof bytes);
        snprintf(path, sizeof path, "%s/episodes/%s", like, entry->d_name);
        cm_program_file(cm_test_folder, path, others, sizeof others);
        ck_assert_mem_eq(bytes, others, sizeof bytes);
    }
    closedir(folder);
    return count;
}

/* Opening, writing, closing, renaming: nothing of it leaves half a picture under the name of a whole one. */
START_TEST(a_run_killed_at_any_step_of_writing_a_picture_writes_it_when_it_goes_on) {
    bool was_renamed = false;
    int unfinished, i = 0;
    expect_ok("train --quiet --run whole" SMALL);
    for (; !was_renamed; i++) {
        char line[512], dir[32];
        ck_assert_int_lt(i, 40);
        snprintf(dir, sizeof dir, "killed-%d", i);
        snprintf(line, sizeof line, "train --quiet --run %s" SMALL, dir);
        const long call = kill_while_it_writes(line, i);
        if (call < 0) return;
        was_renamed = call == SYS_renameat || call == SYS_renameat2;
        ck_assert_int_eq(look(dir, NULL, &unfinished), 0);
        ck_assert_int_eq(unfinished, i > 0); /* before the first call there is no file */
        snprintf(line, sizeof line, "train --quiet --resume %s", dir);
        expect_ok(line);
        ck_assert_int_eq(look(dir, "whole", &unfinished), 3);
        ck_assert_int_eq(unfinished, 0);
    }
    ck_assert_int_ge(i, 4);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/killed_gif");
    TCase *tests = tcase_create("killed_gif");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 240);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, a_run_killed_at_any_step_of_writing_a_picture_writes_it_when_it_goes_on);
    return cm_test_main(suite);
}
