#include "core/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"

/* ---- finding ---- */

/* The shared library that this file is in; NULL where it is in the program itself. */
static const char *own_library(void) {
    static const char here;
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !map->l_name[0]) return NULL;
    return map->l_name;
}

cm_status cm_module_program(char out[CM_MODULE_PATH_BYTES]) {
    const char *library = own_library();
    char real[PATH_MAX] = "";
    const ssize_t length = library ? -1 : readlink("/proc/self/exe", real, sizeof real - 1);
    if (library && !realpath(library, real)) real[0] = '\0';
    if (!library) real[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(real, '/');
    if (!slash || slash - real >= CM_MODULE_PATH_BYTES)
        return cm_fail(CM_ERR_ABSENT, "the program's own place is not to be found in /proc/self/exe");
    snprintf(out, CM_MODULE_PATH_BYTES, "%.*s", (int)(slash - real), real);
    return CM_OK;
}

/* Packages of Python stand next to each other: this one's files are in cumind/lib. */
static bool is_in_package(const char *program) {
    static const char package[] = "/cumind/lib";
    const size_t length = strlen(program), size = sizeof package - 1;
    return length >= size && strcmp(program + length - size, package) == 0;
}

cm_status cm_module_find(const char *program, const cm_module_about *about, char path[CM_MODULE_PATH_BYTES]) {
    const char *const folders[] = {"lib", "../lib/cumind", "../../lib", about->package};
    const bool packed = is_in_package(program);
    const size_t count = packed && about->package ? 4 : 3;
    for (size_t i = 0; i < count; i++) {
        int length = snprintf(path, CM_MODULE_PATH_BYTES, "%s/%s/%s", program, folders[i], about->file);
        if (length < CM_MODULE_PATH_BYTES && cm_file_exists(path)) return CM_OK;
    }
    if (packed && about->install)
        return cm_fail(CM_ERR_ABSENT, "the module %s is not installed: %s", about->file, about->install);
    return cm_fail(CM_ERR_ABSENT, "the module %s is neither in %s/lib nor in %s/../lib/cumind: build it with `%s`",
                   about->file, program, program, about->build);
}

/* ---- opening ---- */

/* Why dlopen failed, as one line that says what to do. */
static cm_status fail_open(const char *path, const cm_module_about *about, const char *why) {
    size_t length = strlen(path);
    if (strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0) why += length + 2;
    if (strstr(why, "undefined symbol")) {
        return cm_fail(CM_ERR_ABSENT,
                       "%s: a function is missing: %s; build it again with `%s`, link own programs with -rdynamic",
                       path, why, about->build);
    }
    return cm_fail(CM_ERR_ABSENT, "%s cannot be opened: %s; %s", path, why, about->needs);
}

enum { MOST_REMEMBERED = 64 };
static _Atomic(const void *) opened[MOST_REMEMBERED]; /* where each begins; NULL: none from here on */

static void remember(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || cm_module_is_open(info.dli_fbase)) return;
    for (int i = 0; i < MOST_REMEMBERED; i++) {
        const void *none = NULL;
        if (atomic_compare_exchange_strong(&opened[i], &none, info.dli_fbase)) return;
    }
}

bool cm_module_is_open(const void *base) {
    for (int i = 0; i < MOST_REMEMBERED && opened[i]; i++)
        if (opened[i] == base) return true;
    return false;
}

/* Modules find the functions of a shared library only where it was opened for all to see. */
static void show_library(void) {
    const char *library = own_library();
    void *again = library ? dlopen(library, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) : NULL;
    if (again) dlclose(again);
}

cm_status cm_module_load(const char *path, const cm_module_about *about, cm_module_function *out) {
    *out = NULL;
    show_library();
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module) return fail_open(path, about, dlerror());
    void *found = dlsym(module, about->entry);
    if (!found)
        return cm_fail(CM_ERR_ABSENT, "%s is no module of cumind: it has no %s%s%s", path, about->entry,
                       about->lacks ? "; " : "", about->lacks ? about->lacks : "");
    remember(found);
    memcpy(out, &found, sizeof *out);
    return CM_OK;
}

cm_status cm_module_check(const char *path, const cm_module_about *about, const char *its_version,
                          const char *our_version, bool same_build) {
    if (strcmp(its_version, our_version) != 0) {
        return cm_fail(CM_ERR_ABSENT, "%s is of version %s, this program of %s; build both again (`make all` and `%s`)",
                       path, its_version, our_version, about->build);
    }
    if (same_build) return CM_OK;
    return cm_fail(CM_ERR_ABSENT, "%s is of another build than this program; build both again (`make all` and `%s`)",
                   path, about->build);
}
