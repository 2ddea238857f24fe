#include "support/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 64 };

static void redirect(int descriptor, const char *path, int flags) {
    int file = open(path, flags, 0666);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
    close(file);
}

static void become(const char *where, const char *arguments, const char *input) {
    char text[4096], *argv[ARGUMENTS] = {(char *)CM_TEST_PROGRAM};
    int count = 1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok(text, " "); word && count < ARGUMENTS - 1; word = strtok(NULL, " ")) argv[count++] = word;
    if (chdir(where) != 0) _exit(125);
    redirect(0, input, O_RDONLY);
    redirect(1, "out.txt", O_WRONLY | O_CREAT | O_TRUNC);
    redirect(2, "err.txt", O_WRONLY | O_CREAT | O_TRUNC);
    execv(CM_TEST_PROGRAM, argv);
    _exit(127);
}

static pid_t start(const char *where, const char *arguments, const char *input) {
    pid_t child = fork();
    if (child == 0) become(where, arguments, input);
    return child;
}

pid_t cm_program_start(const char *where, const char *arguments) { return start(where, arguments, "/dev/null"); }

int cm_program_wait(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void cm_program_file(const char *where, const char *name, char *text, size_t size) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", where, name);
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;
    text[n] = '\0';
    if (file) fclose(file);
}

static void finish(const char *where, pid_t child, cm_output *result) {
    result->status = cm_program_wait(child);
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
    finish(where, start(where, arguments, "in.txt"), result);
}
