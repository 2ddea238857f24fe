/* Backends that are modules: shared objects that the program opens when they are asked for, so that it links none of
 * the libraries they need. So far one, cuda.
 *
 * A module is looked for beside the program and where it was installed. It uses the program's own functions (messages,
 * log, devices), which the program therefore exports (-rdynamic), and is of exactly the program's build: version, rows
 * of ops.def and sizes of the structs they share are compared before anything else of it is used. It stays open until
 * the process ends.
 */
#ifndef CM_BACKEND_MODULE_H
#define CM_BACKEND_MODULE_H

#include "backend/backend.h"
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

enum { CM_MODULE_PATH_BYTES = 1024 };

/* Finds `file` (as "cumind_cuda.so") for a program that stands in the folder `program`: in its lib/, in ../lib/cumind/
 * (installed) and in ../../lib/ (programs of the tests). Errors: CM_ERR_ABSENT says where it was looked for. */
cm_status cm_module_find(const char *program, const char *file, char path[CM_MODULE_PATH_BYTES]) CM_MUST_USE;

/* Opens the module at `path`; *out is its class. Errors: CM_ERR_ABSENT if it cannot be opened (a library that it needs
 * is missing), is no module, or is of another build than this program. */
cm_status cm_module_open(const char *path, const cm_backend_class **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
