/* Modules: shared objects that the program opens when they are asked for, so that it links none of the libraries they
 * need.
 *
 * A module is looked for next to the program and where it was installed. It uses the program's own functions (messages,
 * log, memory), which the program therefore exports (-rdynamic), and is of exactly the program's build: the loader
 * compares a stamp before anything else of it is used. It stays open until the process ends. Where these functions are
 * in libcumind.so that one takes the program's part: opening a module makes its functions visible to modules.
 */
#ifndef CM_CORE_MODULE_H
#define CM_CORE_MODULE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a module without it. */
typedef struct cm_module_about {
    const char *file;  /* "cumind_cuda.so" */
    const char *build; /* the command that builds it: "make cuda" */
    const char *needs; /* what to do if a library that it needs is missing: "install ..." */
    const char *entry; /* the one function that it exports */
    const char *lacks; /* what to do if it does not: "add ..."; NULL: no user has written it */
    /* Where this program is in a package of Python (cumind/lib/): */
    const char *package; /* from there, the package that has the module: "../../cumind_cuda"; NULL: none has */
    const char *install; /* what to do if it is not there: "pip install ..."; NULL: `build` */
} cm_module_about;

enum { CM_MODULE_PATH_BYTES = 1024 };

typedef void (*cm_module_function)(void); /* to be cast to what the entry is */

/* The folder that this program's file stands in, or that of the shared library where these functions are in one.
 * Errors: CM_ERR_ABSENT. */
cm_status cm_module_program(char out[CM_MODULE_PATH_BYTES]) CM_MUST_USE;

/* Finds a module for a program that stands in the folder `program`: in its lib/, in ../lib/cumind/ (installed), in
 * ../../lib/ (programs of the tests) and, for a program in a package of Python, in about->package next to that one.
 * Errors: CM_ERR_ABSENT says where it was looked for, or what to install. */
cm_status cm_module_find(const char *program, const cm_module_about *about,
                         char path[CM_MODULE_PATH_BYTES]) CM_MUST_USE;

/* Opens the module at `path`; *out is its entry. Errors: CM_ERR_ABSENT if it cannot be opened (a library that it needs
 * is missing) or is no such module. */
cm_status cm_module_load(const char *path, const cm_module_about *about, cm_module_function *out) CM_MUST_USE;

/* Whether `base` is where a module that was opened begins in memory (dli_fbase of dladdr). Safe in a signal handler. */
bool cm_module_is_open(const void *base);

/* CM_OK if the module at `path` is of this version and `same_build` is true; else CM_ERR_ABSENT says what to do. */
cm_status cm_module_check(const char *path, const cm_module_about *about, const char *its_version,
                          const char *our_version, bool same_build) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
