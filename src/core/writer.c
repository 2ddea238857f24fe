/* Files that stand under their name when they are complete: written next to it, fsynced, renamed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/directory.h"
#include "core/retry.h"

/* Whole pages, many at once: pieces of 55 KB, which two frames are, take ext4 twice as long. */
enum { BUFFER = 1 << 20 };

struct cm_file_writer {
    int folder; /* descriptor of the folder, owned */
    int file;
    size_t used; /* bytes in `buffer` that are not yet written */
    char buffer[BUFFER];
    char path[PATH_MAX];     /* for messages */
    char name[NAME_MAX + 1]; /* in the folder */
    char temporary[NAME_MAX + 1];
};

/* The last component of `path`; the folder in front of it goes into out[PATH_MAX], "." if there is none. */
static const char *split(const char *path, char *out) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) : 0;
    memcpy(out, path, length);
    out[length] = '\0';
    if (length == 0) strcpy(out, slash ? "/" : ".");
    return slash ? slash + 1 : path;
}

/* An open descriptor of the folder, and the name in it. */
static cm_status find_folder(const cm_dir *dir, const char *name, cm_file_writer *writer) {
    char folder[PATH_MAX];
    const char *last = name;
    if (dir) {
        CM_TRY(cm_path_join(writer->path, sizeof writer->path, dir->path, name));
        writer->folder = fcntl(dir->file, F_DUPFD_CLOEXEC, 0);
    } else {
        if (strlen(name) >= PATH_MAX) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", name);
        strcpy(writer->path, name);
        last = split(name, folder);
        writer->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (writer->folder < 0) return cm_file_fail(writer->path, "write");
    const int n = snprintf(writer->temporary, sizeof writer->temporary, "%s.tmp-%ld", last, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof writer->temporary)
        return cm_fail(CM_ERR_INPUT, "%.60s...: the name is too long", name);
    strcpy(writer->name, last);
    return CM_OK;
}

/* The file next to it: one of that name is of a process that is gone, or no file of ours. */
static cm_status open_temporary(cm_file_writer *writer) {
    enum { TRIES = 2 };
    for (int i = 0; i < TRIES && writer->file < 0; i++) {
        do
            writer->file =
                openat(writer->folder, writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        while (cm_is_eintr(writer->file));
        if (writer->file < 0 && errno == EEXIST && unlinkat(writer->folder, writer->temporary, 0) != 0) break;
    }
    return writer->file < 0 ? cm_file_fail(writer->path, "write") : CM_OK;
}

/* What is no file does not give way to one; a link does, and what it leads to stays as it is. */
static cm_status refuse_place(const cm_dir *dir, const char *name, const char *path) {
    const cm_dir_kind is = cm_dir_look(dir, name);
    if (is != CM_DIR_FOLDER && is != CM_DIR_OTHER) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: cannot replace: not a regular file", path);
}

static void drop(cm_file_writer *writer) {
    if (writer->file >= 0) close(writer->file);
    if (writer->folder >= 0) close(writer->folder);
    free(writer);
}

cm_status cm_dir_begin(const cm_dir *dir, const char *name, cm_file_writer **out) {
    cm_file_writer *writer = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&writer, 1, sizeof *writer, name));
    writer->file = writer->folder = -1;
    cm_status status = find_folder(dir, name, writer);
    if (status == CM_OK) status = refuse_place(dir, name, writer->path);
    if (status == CM_OK) status = open_temporary(writer);
    if (status == CM_OK) {
        *out = writer;
    } else {
        drop(writer);
    }
    return status;
}

static cm_status write_all(cm_file_writer *writer, const char *from, size_t size) {
    while (size > 0) {
        ssize_t n;
        do n = write(writer->file, from, size < (size_t)1 << 30 ? size : (size_t)1 << 30);
        while (cm_is_eintr(n));
        if (n <= 0) return cm_file_fail(writer->path, "write");
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
    const char *from = data;
    while (size > 0) {
        if (writer->used == 0 && size >= BUFFER) return write_all(writer, from, size);
        const size_t left = BUFFER - writer->used, part = size < left ? size : left;
        memcpy(writer->buffer + writer->used, from, part);
        writer->used += part, from += part, size -= part;
        if (writer->used == BUFFER) CM_TRY(flush(writer));
    }
    return CM_OK;
}

static int sync_file(int file) {
    int result;
    do result = fsync(file);
    while (cm_is_eintr(result));
    return result;
}

static cm_status sync_folder(const cm_file_writer *writer) {
    if (sync_file(writer->folder) == 0 || errno == EINVAL || errno == EROFS) return CM_OK;
    return cm_file_fail(writer->path, "sync the folder of");
}

static cm_status give_name(const cm_file_writer *writer) {
    if (renameat(writer->folder, writer->temporary, writer->folder, writer->name) == 0) return CM_OK;
    return cm_file_fail(writer->path, "replace");
}

/* The file under its name. Without `is_durable` the system writes it to its disk when it likes. */
static cm_status publish(cm_file_writer *writer, bool is_durable) {
    cm_status status = flush(writer);
    if (status == CM_OK && is_durable && sync_file(writer->file) != 0) status = cm_file_fail(writer->path, "sync");
    if (close(writer->file) != 0 && errno != EINTR && status == CM_OK) status = cm_file_fail(writer->path, "close");
    writer->file = -1;
    if (status == CM_OK) status = give_name(writer);
    if (status != CM_OK) {
        cm_file_abandon(writer);
        return status;
    }
    if (is_durable) status = sync_folder(writer);
    drop(writer);
    return status;
}

cm_status cm_file_commit(cm_file_writer *writer) { return publish(writer, true); }

cm_status cm_file_commit_unsynced(cm_file_writer *writer, int *file) {
    *file = -1;
    cm_status status = flush(writer);
    if (status == CM_OK) status = give_name(writer);
    if (status != CM_OK) {
        cm_file_abandon(writer);
        return status;
    }
    *file = writer->file;
    writer->file = -1;
    drop(writer);
    return CM_OK;
}

cm_status cm_file_sync(int file, const char *path) { return sync_file(file) == 0 ? CM_OK : cm_file_fail(path, "sync"); }

void cm_file_abandon(cm_file_writer *writer) {
    if (!writer) return;
    unlinkat(writer->folder, writer->temporary, 0);
    drop(writer);
}

static cm_status write_whole(const cm_dir *dir, const char *name, const void *data, size_t size, bool is_durable) {
    cm_file_writer *writer = NULL;
    CM_TRY(cm_dir_begin(dir, name, &writer));
    cm_status status = cm_file_append(writer, data, size);
    if (status == CM_OK) return publish(writer, is_durable);
    cm_file_abandon(writer);
    return status;
}

cm_status cm_dir_write(const cm_dir *dir, const char *name, const void *data, size_t size) {
    return write_whole(dir, name, data, size, true);
}

cm_status cm_dir_write_unsynced(const cm_dir *dir, const char *name, const void *data, size_t size) {
    return write_whole(dir, name, data, size, false);
}

/* ---- by a path that may be a link ---- */

/* Where the file is to stand: behind the link that `path` may be. What is no file does not give way to one: a
 * file in the place of /dev/null is not meant. */
static cm_status find_place(const char *path, char out[PATH_MAX]) {
    struct stat about;
    if (strlen(path) >= PATH_MAX) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", path);
    strcpy(out, path);
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode) && !realpath(path, out)) strcpy(out, path);
    if (stat(out, &about) != 0 || S_ISREG(about.st_mode)) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: cannot replace: not a regular file", path);
}

cm_status cm_file_begin(const char *path, cm_file_writer **out) {
    char place[PATH_MAX];
    *out = NULL;
    CM_TRY(find_place(path, place));
    return cm_dir_begin(NULL, place, out);
}

cm_status cm_file_write(const char *path, const void *data, size_t size) {
    char place[PATH_MAX];
    CM_TRY(find_place(path, place));
    return cm_dir_write(NULL, place, data, size);
}
