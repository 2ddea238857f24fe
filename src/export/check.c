#include "export/check.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/temporary.h"

__asm__(".pushsection .rodata\n"
        ".hidden cm_check_text\n"
        ".global cm_check_text\n"
        "cm_check_text:\n"
        ".incbin \"src/export/check.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cm_check_text[] __attribute__((visibility("hidden")));

enum { MISSING = 3, BEYOND = 4 }; /* statuses of check.py */

static cm_status judge(int status, cm_check_limits limits) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0) return CM_OK;
    if (code == BEYOND)
        return cm_fail(CM_ERR_MODEL, "ONNX Runtime's numbers differ by more than %s, or %s in the median", limits.most,
                       limits.median);
    if (code == MISSING)
        return cm_fail(CM_ERR_ABSENT, "--check: python3 here has no ONNX Runtime: pip install onnxruntime");
    return cm_fail(CM_ERR_IO, "--check: python3 failed with status %d", code);
}

/* Runs `command` to its end. */
static cm_status run(char *const *command, cm_check_limits limits) {
    pid_t process;
    int status = 0;
    const int error = posix_spawnp(&process, command[0], NULL, NULL, command, environ);
    if (error == ENOENT) return cm_fail(CM_ERR_ABSENT, "--check: no python3 is on the path; install it");
    if (error != 0) return cm_fail(CM_ERR_IO, "--check: cannot start python3: %s", strerror(error));
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) return cm_fail(CM_ERR_IO, "--check: waiting for python3: %s", strerror(errno));
    return judge(status, limits);
}

static cm_status compare(const char *examples, cm_check_limits limits, const char *const *files, int count) {
    enum { WORDS = 6 };
    const char *command[WORDS + CM_CHECK_FILES + 1] = {"python3", "-c",        cm_check_text,
                                                       examples,  limits.most, limits.median};
    for (int i = 0; i < count; i++) command[WORDS + i] = files[i];
    return run((char *const *)(uintptr_t)command, limits);
}

cm_status cm_export_check(const cm_export_examples *examples, cm_check_limits limits, const char *const *files,
                          int count) {
    char folder[PATH_MAX], path[PATH_MAX];
    CM_TRY(cm_temporary_folder("check", folder));
    cm_status status = cm_path_join(path, sizeof path, folder, "examples.safetensors");
    if (status == CM_OK) status = cm_safetensors_save(path, examples->array, examples->count);
    if (status == CM_OK) status = compare(path, limits, files, count);
    char message[512];
    snprintf(message, sizeof message, "%s", cm_error_message());
    cm_status removed = cm_directory_remove(folder);
    return status == CM_OK ? removed : cm_fail(status, "%s", message);
}
