/* Environments in shared objects of their own. */
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/module.h"
#include "env/env.h"

static const cm_module_about about = {.build = "cc -shared -fPIC",
                                      .needs =
                                          "docs/ADDING_AN_ENVIRONMENT.md says how to build one; if it has moved, say "
                                          "where it is with --set env_name=PATH",
                                      .entry = "cumind_environment",
                                      .lacks = "end the file with the line CM_ENV_LIBRARY(row), row being its "
                                               "cm_env_def"};

bool cm_env_is_library(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

/* Of another version nothing behind the first two numbers need be there. */
static bool is_same_layout(const size_t *its, const size_t mine[CM_ENV_LAYOUTS]) {
    return its[0] == mine[0] && its[1] == mine[1] && memcmp(its, mine, CM_ENV_LAYOUTS * sizeof *its) == 0;
}

cm_status cm_env_open_library(const char *path, const cm_env_def **out) {
    static const cm_env_library mine = CM_ENV_LIBRARY_OF(NULL);
    char place[CM_MODULE_PATH_BYTES];
    cm_module_function entry;
    *out = NULL;
    snprintf(place, sizeof place, "%s%s", strchr(path, '/') ? "" : "./", path); /* not along LD_LIBRARY_PATH */
    if (cm_file_is_named(place) && !cm_file_is_regular(place))                  /* a pipe would be waited for */
        return cm_fail(CM_ERR_INPUT, "%s: not a regular file; needed is the library of an environment", path);
    if (cm_module_load(place, &about, &entry) != CM_OK) return CM_ERR_INPUT; /* the user's choice, with its message */
    const cm_env_library *library = ((const cm_env_library *(*)(void))entry)();
    if (!library) return cm_fail(CM_ERR_INPUT, "%s: its %s returns nothing", path, about.entry);
    if (!is_same_layout(library->layout, mine.layout))
        return cm_fail(CM_ERR_INPUT, "%s: was built with the headers of another version of cumind; build it anew",
                       path);
    if (!library->row) return cm_fail(CM_ERR_INPUT, "%s: holds no environment: its row is NULL", path);
    *out = library->row;
    return CM_OK;
}
