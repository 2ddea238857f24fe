/* Environments in shared objects of their own. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/module.h"
#include "core/nearest.h"
#include "env/advice.h"
#include "env/python.h"
#include "env/python_internal.h"

static const cm_module_about about = {.build = "cc -shared -fPIC",
                                      .needs = "docs/ADDING_AN_ENVIRONMENT.md says how to build one",
                                      .entry = "cumind_environment",
                                      .lacks =
                                          "end the file with the line CM_ENV_LIBRARY(row), row being its cm_env_def"};

static const char ending[] = ".so";

/* The length of a file's name without that, 0 if it has no such ending. */
static size_t stem_of(const char *name) {
    const size_t length = strlen(name), rest = sizeof ending - 1;
    return length > rest && strcmp(name + length - rest, ending) == 0 ? length - rest : 0;
}

bool cm_env_is_library(const char *name) { return !cm_env_is_python(name) && (strchr(name, '/') || stem_of(name) > 0); }

bool cm_env_is_file(const char *name) {
    return cm_env_is_library(name) || (cm_env_is_python(name) && !cm_python_is_registered(name));
}

static int is_library_file(const struct dirent *entry) { return stem_of(entry->d_name) > 0; }
static const char *stem_at(const void *entries, int i) { return ((struct dirent *const *)entries)[i]->d_name; }

/* There is no file of this name: which one next to it may be meant? */
static cm_status fail_absent(const char *path, const char *place) {
    const int folder = (int)(strrchr(place, '/') + 1 - place);
    char folder_path[CM_MODULE_PATH_BYTES], word[CM_MODULE_PATH_BYTES];
    struct dirent **entries = NULL;
    cm_status status;
    snprintf(folder_path, sizeof folder_path, "%.*s", folder, place);
    snprintf(word, sizeof word, "%s", place + folder);
    if (stem_of(word) > 0) word[stem_of(word)] = '\0';
    const int count = scandir(folder_path, &entries, is_library_file, alphasort);
    for (int i = 0; i < count; i++) entries[i]->d_name[stem_of(entries[i]->d_name)] = '\0';
    const int nearest = cm_nearest_name(word, entries, count, stem_at);
    if (nearest >= 0) {
        status = cm_fail(CM_ERR_INPUT, "%s: there is no such file; the nearest library is %s%s%s", path, folder_path,
                         entries[nearest]->d_name, ending);
    } else {
        status = cm_env_fail_absent(path);
    }
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return status;
}

/* Of another version nothing after the first two numbers need be there. */
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
    if (!cm_file_is_named(place)) return fail_absent(path, place);
    if (cm_module_load(place, &about, &entry) != CM_OK) return CM_ERR_INPUT; /* the user's choice, with its message */
    const cm_env_library *library = ((const cm_env_library *(*)(void))entry)();
    if (!library) return cm_fail(CM_ERR_INPUT, "%s: its %s returns nothing", path, about.entry);
    if (!is_same_layout(library->layout, mine.layout))
        return cm_fail(CM_ERR_INPUT, "%s: was built with the headers of another version of cumind; build it again",
                       path);
    if (!library->row) return cm_fail(CM_ERR_INPUT, "%s: holds no environment: its row is NULL", path);
    *out = library->row;
    return CM_OK;
}
