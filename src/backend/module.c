#include "backend/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/classes.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/trace.h"
#include "device/cuda/choices.h"

static const char cuda_file[] = "cumind_cuda.so";

/* What modules call of the program: named here, so that every program that knows backends has it. */
typedef void function(void);
__attribute__((used)) static function *const shared[] = {
    (function *)cm_fail,           (function *)cm_log,           (function *)cm_alloc,
    (function *)cm_memory_check,   (function *)cm_tensor_make,   (function *)cm_trace_begin,
    (function *)cm_choices_open,   (function *)cm_cuda_open,     (function *)cm_cuda_describe,
    (function *)cm_cuda_lane_open, (function *)cm_cuda_graph_run};

/* ---- finding ---- */

cm_status cm_module_find(const char *program, const char *file, char path[CM_MODULE_PATH_BYTES]) {
    static const char *const folders[] = {"lib", "../lib/cumind", "../../lib"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        int length = snprintf(path, CM_MODULE_PATH_BYTES, "%s/%s/%s", program, folders[i], file);
        if (length < CM_MODULE_PATH_BYTES && cm_file_exists(path)) return CM_OK;
    }
    return cm_fail(CM_ERR_ABSENT,
                   "the module %s is neither in %s/lib nor in %s/../lib/cumind: build it with `make cuda`", file,
                   program, program);
}

/* The folder that this program's file stands in. */
static cm_status program_folder(char out[CM_MODULE_PATH_BYTES]) {
    ssize_t length = readlink("/proc/self/exe", out, CM_MODULE_PATH_BYTES - 1);
    char *slash;
    out[length > 0 ? length : 0] = '\0';
    slash = strrchr(out, '/');
    if (!slash) return cm_fail(CM_ERR_ABSENT, "the program's own place is not to be found in /proc/self/exe");
    *slash = '\0';
    return CM_OK;
}

/* ---- opening ---- */

static cm_status check_stamp(const char *path, const cm_module_stamp *its) {
    const cm_module_stamp *ours = &cm_module_stamp_here;
    if (strcmp(its->version, ours->version) != 0) {
        return cm_fail(CM_ERR_ABSENT, "%s is of version %s, this program of %s; build both anew (`make all cuda`)",
                       path, its->version, ours->version);
    }
    if (strcmp(its->operations, ours->operations) == 0 && memcmp(its->sizes, ours->sizes, sizeof ours->sizes) == 0)
        return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "%s is of another build than this program; build both anew (`make all cuda`)", path);
}

/* Why dlopen failed, as one line that says what to do. */
static cm_status fail_open(const char *path, const char *why) {
    size_t length = strlen(path);
    if (strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0) why += length + 2;
    if (strstr(why, "undefined symbol")) {
        return cm_fail(
            CM_ERR_ABSENT,
            "%s: a function is missing: %s; build it anew with `make cuda`, link own programs with -rdynamic", path,
            why);
    }
    return cm_fail(CM_ERR_ABSENT,
                   "%s cannot be opened: %s; install cuBLAS and cuDNN 9 of the CUDA toolkit that it was built with, or "
                   "add their folder to LD_LIBRARY_PATH",
                   path, why);
}

cm_status cm_module_open(const char *path, const cm_backend_class **out) {
    const cm_module_stamp *stamp = NULL;
    cm_module_entry entry;
    *out = NULL;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module) return fail_open(path, dlerror());
    void *found = dlsym(module, CM_MODULE_ENTRY);
    if (!found) return cm_fail(CM_ERR_ABSENT, "%s is no module of cumind: it has no %s", path, CM_MODULE_ENTRY);
    memcpy(&entry, &found, sizeof entry);
    const cm_backend_class *kind = entry(&stamp);
    CM_TRY(check_stamp(path, stamp));
    *out = kind;
    return CM_OK;
}

/* ---- the cuda backend, as far as it is known without its module ---- */

/* What is missing on the machine comes first: without a driver there is no use in a module. */
static cm_status check_machine(void) {
    cm_cuda_driver driver;
    int count;
    CM_TRY(cm_cuda_driver_open(&driver));
    cm_status status = cm_cuda_count(&driver, &count);
    cm_cuda_driver_close(&driver);
    return status;
}

static cm_status open_cuda(cm_backend *backend) {
    char program[CM_MODULE_PATH_BYTES], path[CM_MODULE_PATH_BYTES];
    CM_TRY(check_machine());
    CM_TRY(program_folder(program));
    CM_TRY(cm_module_find(program, cuda_file, path));
    CM_TRY(cm_module_open(path, &backend->kind));
    backend->device = backend->kind->device;
    return backend->kind->open(backend);
}

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = open_cuda};
