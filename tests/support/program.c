#include "support/program.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.h"

enum { ARGUMENTS = 64 };

static void redirect(int descriptor, const char *path, int flags) {
    int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
    close(file);
}

static void become(const char *arguments) {
    char text[4096], *argv[ARGUMENTS] = {(char *)CM_TEST_PROGRAM};
    int count = 1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok(text, " "); word && count < ARGUMENTS - 1; word = strtok(NULL, " ")) argv[count++] = word;
    execv(CM_TEST_PROGRAM, argv);
    _exit(127);
}

/* What an earlier program has printed there is not taken for what this one prints. */
static void forget_printed(const char *where) {
    static const char *const names[] = {"out.txt", "err.txt"};
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", where, names[i]);
        unlink(path);
    }
}

static pid_t start(const char *where, const char *arguments, const char *input, bool is_job) {
    forget_printed(where);
    pid_t child = fork();
    if (child != 0) return child;
    if (is_job) setpgid(0, 0);
    if (chdir(where) != 0) _exit(125);
    redirect(0, input, O_RDONLY);
    redirect(1, "out.txt", O_WRONLY | O_CREAT | O_TRUNC);
    redirect(2, "err.txt", O_WRONLY | O_CREAT | O_TRUNC);
    become(arguments);
    return -1;
}

pid_t cm_program_start(const char *where, const char *arguments) { return start(where, arguments, "/dev/null", false); }

pid_t cm_program_start_job(const char *where, const char *arguments) {
    return start(where, arguments, "/dev/null", true);
}

/* The signals that the program has handlers for, bit number - 1; 0 as long as the process is that of the test. */
static unsigned long long caught_signals(pid_t child) {
    char path[64], line[256];
    unsigned long long caught = 0;
    bool is_program = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strcmp(line, "Name:\tcumind\n") == 0) is_program = true;
        if (is_program && strncmp(line, "SigCgt:", 7) == 0) caught = strtoull(line + 7, NULL, 16);
    }
    if (file) fclose(file);
    return caught;
}

void cm_program_await_handler(pid_t child, int signal) {
    for (int i = 0; i < 20000 && !(caught_signals(child) >> (signal - 1) & 1); i++) usleep(1000);
}

static int wait_for(pid_t child, long *kib) {
    struct rusage used;
    int status = 0;
    if (wait4(child, &status, 0, &used) != child) return -1;
    *kib = used.ru_maxrss;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int cm_program_wait(pid_t child) {
    long kib;
    return wait_for(child, &kib);
}

void cm_program_file(const char *where, const char *name, char *text, size_t size) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", where, name);
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file) fclose(file);
}

/* Where the processors have other work for seconds, an environment in Python is waited for, and that is said. */
static const char *after_waits(const char *text) {
    static const char start[] = "warning: ", busy[] = " has been busy for ";
    for (const char *end; strncmp(text, start, sizeof start - 1) == 0 && (end = strchr(text, '\n')); text = end + 1) {
        const char *found = strstr(text, busy);
        if (!found || found > end) break;
    }
    return text;
}

void cm_program_expect_line(const char *text, const char *part) {
    text = after_waits(text);
    const char *end = strchr(text, '\n');
    ck_assert_msg(end && end[1] == '\0', "not one line: %s", text);
    ck_assert_msg(strstr(text, part) != NULL, "`%s` is not in: %s", part, text);
}

void cm_program_expect_error(const cm_output *result, int status, const char *part) {
    ck_assert_msg(result->status == status, "status %d, not %d: %s", result->status, status, result->err);
    cm_program_expect_line(result->err, part);
}

void cm_program_expect_memory(const cm_output *result, long most_kib) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)result, (void)most_kib;
#else
    ck_assert_msg(result->kib <= most_kib, "%ld KiB of memory, at most %ld: %s", result->kib, most_kib, result->err);
#endif
}

bool cm_program_has_mpi(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/lib/cumind_mpi.so", (int)(strrchr(CM_TEST_PROGRAM, '/') - CM_TEST_PROGRAM),
             CM_TEST_PROGRAM);
    bool is_there = access(path, R_OK) == 0 && system("command -v mpirun >/dev/null") == 0;
    if (!is_there) printf("SKIP mpi: the module is not built, or there is no mpirun (make deps all)\n");
    return is_there;
}

void cm_program_folder_for_ranks(void) {
    cm_test_folder_make();
    setenv("TMPDIR", "/tmp", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* of MPI, to the end */
}

pid_t cm_program_find_rank(pid_t parent, int rank) {
    char path[320], text[65536], wanted[64];
    pid_t found = 0;
    DIR *all = opendir("/proc");
    snprintf(wanted, sizeof wanted, "OMPI_COMM_WORLD_RANK=%d", rank);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), above = 0;
        if (pid <= 0) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d %*s %*c %d", &above) != 1) above = 0;
        if (file) fclose(file);
        snprintf(path, sizeof path, "/proc/%d/stat", (int)above);
        file = above > 0 ? fopen(path, "r") : NULL;
        if (!file || fscanf(file, "%*d %*s %*c %d", &above) != 1) above = 0;
        if (file) fclose(file);
        if (above != parent) continue;
        snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
        file = fopen(path, "r");
        size_t n = file ? fread(text, 1, sizeof text, file) : 0;
        if (file) fclose(file);
        if (memmem(text, n, wanted, strlen(wanted) + 1)) found = pid;
    }
    if (all) closedir(all);
    return found;
}

static void finish(const char *where, pid_t child, cm_output *result) {
    result->status = wait_for(child, &result->kib);
    cm_program_file(where, "out.txt", result->out, sizeof result->out);
    cm_program_file(where, "err.txt", result->err, sizeof result->err);
}

void cm_program_run(const char *where, const char *arguments, cm_output *result) {
    finish(where, cm_program_start(where, arguments), result);
}

void cm_program_run_with(const char *where, const char *arguments, const char *input, cm_output *result) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/in.txt", where);
    FILE *file = fopen(path, "wb");
    if (file) {
        fputs(input, file);
        fclose(file);
    }
    finish(where, start(where, arguments, "in.txt", false), result);
}

/* ---- in a terminal ---- */

const char *cm_program_term = "xterm-256color";

static void become_in_terminal(const char *where, const char *arguments, int columns, const char *terminal) {
    struct winsize window = {.ws_row = 24, .ws_col = (unsigned short)columns};
    setsid();
    int file = open(terminal, O_RDWR); /* becomes the terminal of the new session */
    if (file < 0 || chdir(where) != 0 || ioctl(file, TIOCSWINSZ, &window) != 0) _exit(125);
    for (int i = 0; i < 3; i++) dup2(file, i);
    if (file > 2) close(file);
    unsetenv("TERM");
    if (cm_program_term) setenv("TERM", cm_program_term, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("NO_COLOR");
    become(arguments);
}

/* Types the next line of *input, or ctrl-D after the last. */
static void type_line(int terminal, const char **input) {
    size_t length = strcspn(*input, "\n");
    bool has_end = (*input)[length] == '\n', is_control = length == 1 && **input < ' ';
    const char *text = **input ? *input : "\004";
    size_t size = **input ? length + (has_end && !is_control) : 1;
    *input += length + has_end;
    if (write(terminal, text, size) < 0) *input = ""; /* it has ended */
}

/* Reads to the end of the output; answers prompts. A program that says nothing for 20 s is left to the caller. */
static void converse(int terminal, const char *input, cm_output *result) {
    struct pollfd waiting = {.fd = terminal, .events = POLLIN};
    size_t used = 0;
    while (used < sizeof result->out - 1 && poll(&waiting, 1, 20000) == 1) {
        ssize_t n = read(terminal, result->out + used, sizeof result->out - 1 - used);
        if (n <= 0) break;
        used += (size_t)n;
        if (used >= 2 && memcmp(result->out + used - 2, ": ", 2) == 0) type_line(terminal, &input);
    }
    result->out[used] = '\0';
}

pid_t cm_program_start_terminal(const char *where, const char *arguments, int columns, int *terminal) {
    char name[64] = "";
    *terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*terminal < 0 || grantpt(*terminal) != 0 || unlockpt(*terminal) != 0) return -1;
    if (ptsname_r(*terminal, name, sizeof name) != 0) return -1;
    pid_t child = fork();
    if (child == 0) become_in_terminal(where, arguments, columns, name);
    return child;
}

void cm_program_run_terminal(const char *where, const char *arguments, int columns, const char *input,
                             cm_output *result) {
    int terminal;
    result->out[0] = result->err[0] = '\0';
    result->status = -1;
    pid_t child = cm_program_start_terminal(where, arguments, columns, &terminal);
    if (child < 0) return;
    converse(terminal, input, result);
    close(terminal);
    result->status = cm_program_wait(child);
}
