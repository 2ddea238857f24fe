#include "cli/gpu_libraries.h"

#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/module.h"
#include "distributed/nccl.h"

static const struct {
    const char *name, *file; /* the file's name up to its version */
} libraries[] = {{"cuBLASLt", "libcublasLt.so."}, {"cuDNN", "libcudnn.so."}, {"NCCL", "libnccl.so."}};

typedef struct search {
    const char *file;
    char path[PATH_MAX]; /* "": not found */
} search;

/* Of dl_iterate_phdr. */
static int is_open(struct dl_phdr_info *info, size_t size, void *context) {
    search *s = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!slash || strncmp(slash + 1, s->file, strlen(s->file)) != 0) return 0;
    if (!realpath(info->dlpi_name, s->path)) s->path[0] = '\0';
    return 1;
}

/* Below folder and rest, which is a pattern. */
static void find_file(const char *folder, const char *rest, search *s) {
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s%s/%s*", folder, rest, s->file);
    if (s->path[0] || glob(pattern, 0, NULL, &found) != 0) return;
    if (!realpath(found.gl_pathv[0], s->path)) s->path[0] = '\0';
    globfree(&found);
}

/* Of what the module needs, if it was opened; else in packages of Python next to that of the program, or in the
 * toolkit. */
static void find(const char *program, search *s) {
    if (dl_iterate_phdr(is_open, s)) return;
    find_file(program, "/../../nvidia/*/lib", s);
    find_file("", "/usr/local/cuda/lib64", s);
}

/* Appends to note [size]; what does not fit is cut. */
static void append(char *note, size_t size, const char *name, const char *text) {
    const size_t used = strlen(note);
    snprintf(note + used, size - used, "%s%s %s", used ? "; " : "", name, text);
}

cm_status cm_cli_gpu_libraries(char *note, size_t size) {
    char module[CM_MODULE_PATH_BYTES], program[CM_MODULE_PATH_BYTES], real[PATH_MAX];
    const cm_backend_class *kind;
    cm_nccl nccl;
    const bool has_module = cm_module_open_cuda(module, &kind) == CM_OK;
    snprintf(note, size, "%s", !has_module ? cm_error_message() : realpath(module, real) ? real : module);
    if (cm_module_program(program) != CM_OK) program[0] = '\0';
    if (cm_nccl_open(&nccl) != CM_OK) nccl = (cm_nccl){0};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        search s = {.file = libraries[i].file};
        find(program, &s);
        append(note, size, libraries[i].name, s.path[0] ? s.path : "is not found");
    }
    return CM_OK;
}
