#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/retry.h"

/* What a user can do where the system has said no. */
static const char *advice(int reason) {
    switch (reason) {
    case EACCES:
    case EPERM: return "; your rights there do not allow it: change them, or take another place";
    case EROFS: return "; it is mounted read-only: take another place";
    case ENOSPC:
    case EDQUOT: return "; make space there, or take another place";
    case EFBIG: return "; raise the limit on the size of files (ulimit -f)";
    case EMFILE: return "; raise the limit on open files (ulimit -n)";
    case EIO: return "; the disk, or the way to it, has failed: the system's log (dmesg) may say more";
    default: return "";
    }
}

cm_status cm_file_fail(const char *path, const char *verb) {
    const int reason = errno;
    return cm_fail(CM_ERR_IO, "%s: cannot %s: %s%s", path, verb, strerror(reason), advice(reason));
}

/* The folder part of `path` in out[PATH_MAX]: "." if there is none. */
static cm_status folder_of(const char *path, char *out) {
    if (strlen(path) >= PATH_MAX) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", path);
    strcpy(out, path);
    size_t n = strlen(out);
    while (n > 1 && out[n - 1] == '/') out[--n] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash) {
        strcpy(out, ".");
    } else {
        slash[slash == out] = '\0';
    }
    return CM_OK;
}

/* --- reading --- */

/* A link that leads nowhere is not a missing file: the name stands there. */
static cm_status fail_open(const char *path) {
    char target[PATH_MAX];
    const int why = errno;
    const ssize_t length = readlink(path, target, sizeof target);
    if (why == ENOENT && length > 0)
        return cm_fail(CM_ERR_IO, "%s: is a link to %.*s, which is not there", path, (int)length, target);
    errno = why;
    return cm_file_fail(path, "open");
}

cm_status cm_file_read_open(int file, const char *path, size_t limit, char **data, size_t *size) {
    struct stat about;
    if (fstat(file, &about) != 0) return cm_file_fail(path, "read");
    if (!S_ISREG(about.st_mode)) return cm_fail(CM_ERR_INPUT, "%s: not a regular file", path);
    if (limit == SIZE_MAX) limit--; /* for the NUL */
    if (about.st_size < 0 || (uint64_t)about.st_size > limit)
        return cm_fail(CM_ERR_INPUT, "%s: %lld bytes, but at most %zu are accepted", path, (long long)about.st_size,
                       limit);
    const size_t expected = (size_t)about.st_size;
    size_t got = 0;
    char *text = NULL;
    CM_TRY(cm_alloc(&text, expected + 1, 1, path));
    while (got < expected) {
        ssize_t n;
        do n = read(file, text + got, expected - got);
        while (cm_is_eintr(n));
        if (n < 0) {
            free(text);
            return cm_file_fail(path, "read");
        }
        if (n == 0) break; /* it shrank since fstat */
        got += (size_t)n;
    }
    text[got] = '\0';
    *data = text, *size = got;
    return CM_OK;
}

cm_status cm_file_open(const char *path, int *file) {
    struct stat about;
    do *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe must not block before it is refused */
    while (cm_is_eintr(*file));
    if (*file < 0) return fail_open(path);
    if (fstat(*file, &about) == 0 && S_ISREG(about.st_mode)) return CM_OK;
    close(*file);
    *file = -1;
    return cm_fail(CM_ERR_INPUT, "%s: not a regular file", path);
}

cm_status cm_file_read(const char *path, size_t limit, char **data, size_t *size) {
    *data = NULL, *size = 0;
    int file;
    CM_TRY(cm_file_open(path, &file));
    cm_status status = cm_file_read_open(file, path, limit, data, size);
    close(file);
    return status;
}

bool cm_file_is_unread(int reason, bool is_terminal) {
    return reason == EPIPE || reason == EBADF || (reason == EIO && is_terminal);
}

/* --- folders --- */

bool cm_file_exists(const char *path) {
    struct stat about;
    return stat(path, &about) == 0;
}

bool cm_file_is_named(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0;
}

bool cm_file_is_regular(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

bool cm_file_is_directory(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

cm_status cm_directory_make_last(const char *path) {
    if (mkdir(path, 0777) == 0) return CM_OK;
    int reason = errno; /* the next line changes it */
    if (cm_file_is_directory(path)) return CM_OK;
    errno = reason == EEXIST ? ENOTDIR : reason;
    return cm_file_fail(path, "make the folder");
}

cm_status cm_directory_make(const char *path) {
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0) return cm_fail(CM_ERR_INPUT, "the name of a folder is empty");
    if (n >= sizeof part) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        memcpy(part, path, i);
        part[i] = '\0';
        CM_TRY(cm_directory_make_last(part));
    }
    return CM_OK;
}

cm_status cm_directory_make_parent(const char *path) {
    char folder[PATH_MAX];
    CM_TRY(folder_of(path, folder));
    return cm_directory_make(folder);
}

cm_status cm_disk_free(const char *path, uint64_t *bytes) {
    struct statvfs about;
    *bytes = 0;
    if (statvfs(path, &about) != 0) return cm_file_fail(path, "ask for the free space");
    *bytes = (uint64_t)about.f_bavail * (uint64_t)about.f_frsize;
    return CM_OK;
}

cm_status cm_path_join(char *out, size_t size, const char *a, const char *b) {
    size_t n = strlen(a);
    const char *slash = n == 0 || a[n - 1] == '/' ? "" : "/";
    int used = snprintf(out, size, "%s%s%s", a, slash, b);
    if (used < 0 || (size_t)used >= size) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", a);
    return CM_OK;
}
