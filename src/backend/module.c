#include "backend/module.h"

#include <string.h>

#include "backend/classes.h"
#include "core/arena.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/trace.h"
#include "device/cuda/autotune_cache.h"
#include "device/cuda/autotuner.h"
#include "device/cuda/candidates.h"

/* What modules call of the program: named here, so that every program that knows backends has it. */
typedef void function(void);
__attribute__((used)) static function *const shared[] = {(function *)cm_fail,
                                                         (function *)cm_log,
                                                         (function *)cm_alloc,
                                                         (function *)cm_memory_check,
                                                         (function *)cm_tensor_make,
                                                         (function *)cm_trace_begin,
                                                         (function *)cm_autotune_cache_open,
                                                         (function *)cm_cuda_open,
                                                         (function *)cm_cuda_describe,
                                                         (function *)cm_cuda_stream_open,
                                                         (function *)cm_cuda_graph_run,
                                                         (function *)cm_autotuner_choose,
                                                         (function *)cm_cuda_candidates_choose};

/* ---- opening ---- */

const cm_module_about cm_cuda_module = {
    .file = "cumind_cuda.so",
    .build = "make cuda",
    .needs = "install cuBLAS and cuDNN 9 of the CUDA toolkit that it was built with, or add their folder to "
             "LD_LIBRARY_PATH",
    .entry = CM_MODULE_ENTRY,
    .package = "../../cumind_cuda",
    .install = "have the wheel of `make wheel-cuda`, and pip install --find-links FOLDER 'cumind[cuda]'",
};

cm_status cm_module_open(const char *path, const cm_backend_class **out) {
    const cm_module_stamp *stamp = NULL, *ours = &cm_module_stamp_here;
    cm_module_function entry;
    *out = NULL;
    CM_TRY(cm_module_load(path, &cm_cuda_module, &entry));
    const cm_backend_class *kind = ((cm_module_entry)entry)(&stamp);
    const bool same_build = strcmp(stamp->interface, ours->interface) == 0;
    CM_TRY(cm_module_check(path, &cm_cuda_module, stamp->version, ours->version, same_build));
    *out = kind;
    return CM_OK;
}

cm_status cm_module_open_cuda(char path[CM_MODULE_PATH_BYTES], const cm_backend_class **out) {
    char program[CM_MODULE_PATH_BYTES];
    path[0] = '\0';
    *out = NULL;
    CM_TRY(cm_module_program(program));
    CM_TRY(cm_module_find(program, &cm_cuda_module, path));
    return cm_module_open(path, out);
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
    char path[CM_MODULE_PATH_BYTES];
    CM_TRY(check_machine());
    CM_TRY(cm_module_open_cuda(path, &backend->kind));
    backend->device = backend->kind->device;
    return backend->kind->open(backend);
}

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = open_cuda};
