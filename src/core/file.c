#include "core/file.h"

#include <dirent.h>
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

static cm_status fail_io(const char *path, const char *verb) {
    return cm_fail(CM_ERR_IO, "%s: cannot %s: %s", path, verb, strerror(errno));
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
    return fail_io(path, "open");
}

static cm_status read_open_file(int file, const char *path, size_t limit, char **data, size_t *size) {
    struct stat about;
    if (fstat(file, &about) != 0) return fail_io(path, "read");
    if (!S_ISREG(about.st_mode)) return cm_fail(CM_ERR_INPUT, "%s: not a regular file", path);
    if (about.st_size < 0 || (uint64_t)about.st_size > limit)
        return cm_fail(CM_ERR_INPUT, "%s: %lld bytes, but at most %zu are accepted", path, (long long)about.st_size,
                       limit);
    size_t expected = (size_t)about.st_size, got = 0;
    char *text = NULL;
    CM_TRY(cm_alloc(&text, expected + 1, 1, path));
    while (got < expected) {
        ssize_t n = read(file, text + got, expected - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            free(text);
            return fail_io(path, "read");
        }
        if (n == 0) break; /* it shrank since fstat */
        got += (size_t)n;
    }
    text[got] = '\0';
    *data = text, *size = got;
    return CM_OK;
}

cm_status cm_file_read(const char *path, size_t limit, char **data, size_t *size) {
    *data = NULL, *size = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe must not block before it is refused */
    if (file < 0) return fail_open(path);
    cm_status status = read_open_file(file, path, limit < SIZE_MAX ? limit : SIZE_MAX - 1, data, size);
    close(file);
    return status;
}

/* --- writing --- */

enum { BUFFER = 1 << 16 };

struct cm_file_writer {
    int file;
    size_t used; /* bytes in `buffer` that are not yet written */
    char buffer[BUFFER];
    char path[PATH_MAX];
    char temporary[PATH_MAX];
};

/* Where the file is to stand: behind the link that `path` may be. What is no file does not give way to one: nobody
 * means to have a file in the place of /dev/null. */
static cm_status find_place(const char *path, char out[PATH_MAX]) {
    struct stat about;
    if (strlen(path) >= PATH_MAX) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", path);
    strcpy(out, path);
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode) && !realpath(path, out)) strcpy(out, path);
    if (stat(out, &about) != 0 || S_ISREG(about.st_mode)) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: cannot replace: not a regular file", path);
}

static cm_status open_temporary(const char *path, cm_file_writer *writer) {
    CM_TRY(find_place(path, writer->path));
    int n = snprintf(writer->temporary, PATH_MAX, "%s.tmp-%ld", writer->path, (long)getpid());
    if (n < 0 || n >= PATH_MAX) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", path);
    writer->file = open(writer->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return writer->file < 0 ? fail_io(path, "write") : CM_OK;
}

cm_status cm_file_begin(const char *path, cm_file_writer **out) {
    cm_file_writer *writer = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&writer, 1, sizeof *writer, path));
    cm_status status = open_temporary(path, writer);
    if (status == CM_OK) {
        *out = writer;
    } else {
        free(writer);
    }
    return status;
}

static cm_status write_all(cm_file_writer *writer, const char *from, size_t size) {
    while (size > 0) {
        ssize_t n = write(writer->file, from, size < (size_t)1 << 30 ? size : (size_t)1 << 30);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail_io(writer->path, "write");
        from += n, size -= (size_t)n;
    }
    return CM_OK;
}

static cm_status flush(cm_file_writer *writer) {
    size_t size = writer->used;
    writer->used = 0;
    return write_all(writer, writer->buffer, size);
}

cm_status cm_file_append(cm_file_writer *writer, const void *data, size_t size) {
    if (size > BUFFER - writer->used) CM_TRY(flush(writer));
    if (size > BUFFER) return write_all(writer, data, size);
    memcpy(writer->buffer + writer->used, data, size);
    writer->used += size;
    return CM_OK;
}

cm_status cm_file_commit(cm_file_writer *writer) {
    char folder[PATH_MAX];
    cm_status status = folder_of(writer->path, folder);
    if (status == CM_OK) status = flush(writer);
    if (status == CM_OK && fsync(writer->file) != 0) status = fail_io(writer->path, "sync");
    if (close(writer->file) != 0 && status == CM_OK) status = fail_io(writer->path, "close");
    writer->file = -1;
    if (status == CM_OK && rename(writer->temporary, writer->path) != 0) status = fail_io(writer->path, "replace");
    if (status != CM_OK) {
        cm_file_abandon(writer);
        return status;
    }
    free(writer);
    return cm_directory_sync(folder);
}

void cm_file_abandon(cm_file_writer *writer) {
    if (!writer) return;
    if (writer->file >= 0) close(writer->file);
    unlink(writer->temporary);
    free(writer);
}

cm_status cm_file_write(const char *path, const void *data, size_t size) {
    cm_file_writer *writer = NULL;
    CM_TRY(cm_file_begin(path, &writer));
    cm_status status = cm_file_append(writer, data, size);
    if (status == CM_OK) return cm_file_commit(writer);
    cm_file_abandon(writer);
    return status;
}

static cm_status copy_file(const char *from, const char *to) {
    int file = open(from, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail_io(from, "open");
    cm_file_writer *writer = NULL;
    char *block = NULL;
    cm_status status = cm_alloc(&block, BUFFER, 1, from);
    if (status == CM_OK) status = cm_file_begin(to, &writer);
    while (status == CM_OK) {
        ssize_t n = read(file, block, BUFFER);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = fail_io(from, "read");
        if (n <= 0) break;
        status = cm_file_append(writer, block, (size_t)n);
    }
    close(file);
    free(block);
    if (status == CM_OK) return cm_file_commit(writer);
    cm_file_abandon(writer);
    return status;
}

cm_status cm_file_link_or_copy(const char *from, const char *to) {
    if (link(from, to) == 0) return CM_OK;
    if (errno == ENOENT || errno == EEXIST)
        return cm_fail(CM_ERR_IO, "%s: cannot link to %s: %s", from, to, strerror(errno));
    return copy_file(from, to);
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
    return fail_io(path, "make the folder");
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

cm_status cm_directory_sync(const char *path) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return fail_io(path, "open the folder");
    cm_status status = CM_OK;
    if (fsync(folder) != 0 && errno != EINVAL && errno != EROFS) status = fail_io(path, "sync the folder");
    close(folder);
    return status;
}

/* Removes `name` in the open folder `at`, with everything below it. `path` is for messages: that of the outermost
 * folder. */
static cm_status remove_below(int at, const char *name, const char *path) {
    int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 && errno == ENOENT) return CM_OK;
    if (folder < 0) return fail_io(path, "open the folder");
    DIR *list = fdopendir(folder);
    if (!list) {
        close(folder);
        return fail_io(path, "list the folder");
    }
    cm_status status = CM_OK;
    for (struct dirent *entry; status == CM_OK && (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        struct stat about;
        if (fstatat(folder, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno != ENOENT) status = fail_io(path, "look into the folder");
        } else if (S_ISDIR(about.st_mode)) {
            status = remove_below(folder, entry->d_name, path);
        } else if (unlinkat(folder, entry->d_name, 0) != 0 && errno != ENOENT) {
            status = fail_io(path, "empty the folder");
        }
    }
    closedir(list);
    if (status == CM_OK && unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        status = fail_io(path, "remove the folder");
    return status;
}

cm_status cm_directory_remove(const char *path) { return remove_below(AT_FDCWD, path, path); }

cm_status cm_disk_free(const char *path, uint64_t *bytes) {
    struct statvfs about;
    *bytes = 0;
    if (statvfs(path, &about) != 0) return fail_io(path, "ask for the free space");
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
