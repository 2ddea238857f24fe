/* Environments in shared objects of their own. */
#include <stdio.h>
#include <string.h>

#include "core/module.h"
#include "env/env.h"

static const cm_module_about about = {.build = "cc -shared -fPIC",
                                      .needs =
                                          "docs/ADDING_AN_ENVIRONMENT.md says how to build one; if it has moved, say "
                                          "where it is with --set env_name=PATH",
                                      .entry = "cumind_environment"};

bool cm_env_is_library(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

cm_status cm_env_open_library(const char *path, const cm_env_def **out) {
    static const cm_env_library mine = CM_ENV_LIBRARY_OF(NULL);
    char place[CM_MODULE_PATH_BYTES];
    cm_module_function entry;
    *out = NULL;
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path); /* not along LD_LIBRARY_PATH */
    if (cm_module_load(place, &about, &entry) != CM_OK) return CM_ERR_INPUT; /* the user's choice, with its message */
    const cm_env_library *library = ((const cm_env_library *(*)(void))entry)();
    if (memcmp(library->layout, mine.layout, sizeof mine.layout) != 0)
        return cm_fail(CM_ERR_INPUT, "%s: was built with the headers of another version of cumind; build it anew",
                       path);
    *out = library->row;
    return CM_OK;
}
