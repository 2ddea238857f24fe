#include "env/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/retry.h"
#include "core/sha256.h"
#include "env/advice.h"
#include "env/python.h"

enum { ENTRY_BYTES = PATH_MAX + CM_SHA256_HEX + 2, MOST_LIST = 1 << 24 };

static cm_env_trust_in trusted;
static char named[PATH_MAX];

bool cm_env_is_code(const char *name) { return cm_env_is_python(name) || cm_env_is_library(name); }

/* "gymnasium:ID", of those that Gymnasium and its plugins have registered: what is installed is trusted. */
static bool is_installed(const char *name) { return !cm_env_is_file(name) && strchr(name, ':') == strrchr(name, ':'); }

/* What it is known by: a file by its place, whatever links lead there, and a module as "gymnasium:MODULE", or
 * "gymnasium". */
static void identify(const char *name, char out[PATH_MAX]) {
    if (!cm_env_is_file(name)) {
        snprintf(out, PATH_MAX, "%.*s", (int)(strrchr(name, ':') - name), name);
    } else if (!realpath(name, out)) {
        snprintf(out, PATH_MAX, "%s", name);
    }
}

void cm_env_trust(cm_env_trust_in what) {
    trusted = what;
    named[0] = '\0';
}

void cm_env_trust_named(const char *name) {
    if (cm_env_is_code(name)) identify(name, named);
}

/* ---- the list ---- */

static cm_status find_list(char out[PATH_MAX]) {
    const char *state = getenv("XDG_STATE_HOME"), *below = "";
    if (!state || state[0] != '/') state = getenv("HOME"), below = "/.local/state"; /* others are to be ignored */
    if (!state || state[0] != '/')
        return cm_fail(CM_ERR_IO, "the list of your environments has no place: neither XDG_STATE_HOME nor HOME is set");
    const int n = snprintf(out, PATH_MAX, "%s%s/cumind/environments", state, below);
    return n < PATH_MAX ? CM_OK : cm_fail(CM_ERR_IO, "%.64s...: the path is too long", state);
}

/* The line of what is known as `identity`. */
static cm_status make_entry(const char *identity, char out[ENTRY_BYTES]) {
    char hash[CM_SHA256_HEX];
    if (identity[0] != '/') {
        snprintf(out, ENTRY_BYTES, "%s", identity);
        return CM_OK;
    }
    CM_TRY(cm_sha256_file(identity, hash));
    snprintf(out, ENTRY_BYTES, "%s  %s", hash, identity);
    return CM_OK;
}

/* What the list says of a file, or of a module: *is_there, that it is there as it is now; *was_there, that it once was.
 */
static cm_status look_up(const char *identity, bool *is_there, bool *was_there) {
    char path[PATH_MAX], entry[ENTRY_BYTES] = "", *text, *rest;
    size_t size;
    *is_there = *was_there = false;
    CM_TRY(find_list(path));
    if (!cm_file_exists(path)) return CM_OK;
    CM_TRY(cm_file_read(path, MOST_LIST, &text, &size));
    for (char *line = strtok_r(text, "\n", &rest); line && !*is_there; line = strtok_r(NULL, "\n", &rest)) {
        const size_t length = strlen(line), digits = CM_SHA256_HEX - 1;
        const char *place = identity[0] == '/' && length > digits + 2 ? line + digits + 2 : line;
        if (strcmp(place, identity) != 0) continue;
        *was_there = true;
        if (*entry == '\0' && make_entry(identity, entry) != CM_OK) break;
        *is_there = strcmp(line, entry) == 0;
    }
    free(text);
    return CM_OK;
}

static cm_status append(const char *entry) {
    char path[PATH_MAX], line[ENTRY_BYTES + 1];
    CM_TRY(find_list(path));
    CM_TRY(cm_directory_make_parent(path));
    ssize_t written;
    int file;
    do file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (cm_is_eintr(file));
    if (file < 0) return cm_fail(CM_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    const int size = snprintf(line, sizeof line, "%s\n", entry);
    do written = write(file, line, (size_t)size);
    while (cm_is_eintr(written));
    cm_status status = written == size ? CM_OK : cm_fail(CM_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    close(file);
    return status;
}

cm_status cm_env_trust_remember(const char *name) {
    char identity[PATH_MAX], entry[ENTRY_BYTES];
    bool is_there, was_there;
    if (trusted == CM_ENV_TRUST_ALL || !cm_env_is_code(name) || is_installed(name)) return CM_OK;
    identify(name, identity);
    CM_TRY(look_up(identity, &is_there, &was_there));
    if (is_there) return CM_OK;
    CM_TRY(make_entry(identity, entry));
    return append(entry);
}

/* ---- the decision ---- */

cm_status cm_env_trust_check(const char *name) {
    char identity[PATH_MAX];
    bool is_there, was_there;
    if (trusted == CM_ENV_TRUST_ALL || !cm_env_is_code(name)) return CM_OK;
    identify(name, identity);
    if (strcmp(identity, named) == 0 || (is_installed(name) && trusted == CM_ENV_TRUST_KNOWN)) return CM_OK;
    if (trusted == CM_ENV_TRUST_NAMED)
        return cm_fail(CM_ERR_INPUT, "%s: is code, which is not opened to read files", name);
    if (cm_env_is_file(name) && !cm_file_is_named(name)) return cm_env_fail_absent(name);
    CM_TRY(look_up(identity, &is_there, &was_there));
    if (is_there) return CM_OK;
    return cm_fail(
        CM_ERR_INPUT,
        "%s: is code, which could do all that you may, and %s; if you trust it, go on with --set env_name=%s", name,
        was_there ? "is not as it was when you trained with it" : "you have not trained with it", name);
}
