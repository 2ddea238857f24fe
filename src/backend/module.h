/* Backends that are modules (core/module.h). So far one, cuda.
 *
 * Version and a checksum of the headers that both sides include are compared before anything else of a module is used:
 * a module that was built before a change of theirs is refused, not called.
 */
#ifndef CM_BACKEND_MODULE_H
#define CM_BACKEND_MODULE_H

#include "backend/backend.h"
#include "core/module.h"
#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a program and its module must agree on. */
typedef struct cm_module_stamp {
    const char *version;   /* of cumind */
    const char *interface; /* checksum of the headers of core, tensor, device, backend and mcts (mk/build.mk) */
} cm_module_stamp;

#ifdef CM_INTERFACE /* both sides are compiled with it; each compiles a stamp of its own */
static const cm_module_stamp cm_module_stamp_here = {CM_VERSION, CM_INTERFACE};
#endif

/* The one function that a module exports, under this name: sets *stamp to the module's and returns its class. */
#define CM_MODULE_ENTRY "cumind_module"
typedef const cm_backend_class *(*cm_module_entry)(const cm_module_stamp **stamp);

extern const cm_module_about cm_cuda_module;

/* Opens the module at `path`; *out is its class. Errors: CM_ERR_ABSENT if it cannot be opened (a library that it needs
 * is missing), is no module, or is of another build than this program. */
cm_status cm_module_open(const char *path, const cm_backend_class **out) CM_MUST_USE;

/* Finds the module of this program and opens it; `path` is where it was found. It needs no GPU and no driver. Errors:
 * CM_ERR_ABSENT as above, or if there is none. */
cm_status cm_module_open_cuda(char path[CM_MODULE_PATH_BYTES], const cm_backend_class **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
