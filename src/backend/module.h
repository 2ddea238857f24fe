/* Backends that are modules (core/module.h). So far one, cuda.
 *
 * Version, rows of ops.def and sizes of the structs that both sides share are compared before anything else of a module
 * is used.
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
    const char *version;    /* of cumind */
    const char *operations; /* the rows of ops.def, without what they say */
    size_t sizes[6];        /* of the structs that go across */
} cm_module_stamp;

#ifdef CM_VERSION /* both sides are compiled with it; each compiles a stamp of its own */
static const cm_module_stamp cm_module_stamp_here = {
    .version = CM_VERSION,
    .operations =
#define CM_OP(name, tensors, about) #name ":" tensors ";"
#include "backend/ops.def"
#undef CM_OP
        ,
    .sizes = {sizeof(cm_call), sizeof(cm_backend_class), sizeof(cm_backend), sizeof(cm_stream), sizeof(cm_cuda_device),
              sizeof(cm_cuda_lane)},
};
#endif

/* The one function that a module exports, under this name: sets *stamp to the module's and returns its class. */
#define CM_MODULE_ENTRY "cumind_module"
typedef const cm_backend_class *(*cm_module_entry)(const cm_module_stamp **stamp);

extern const cm_module_about cm_cuda_module;

/* Opens the module at `path`; *out is its class. Errors: CM_ERR_ABSENT if it cannot be opened (a library that it needs
 * is missing), is no module, or is of another build than this program. */
cm_status cm_module_open(const char *path, const cm_backend_class **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
