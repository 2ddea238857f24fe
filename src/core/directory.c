#include "core/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/retry.h"

enum { DEPTH = 64 }; /* folders in folders that are removed: a handle and a stack for each */

static int handle_of(const cm_dir *dir) { return dir ? dir->file : AT_FDCWD; }

static cm_status fail_at(const cm_dir *dir, const char *name, const char *verb) {
    char path[PATH_MAX];
    const int reason = errno;
    if (!dir || cm_path_join(path, sizeof path, dir->path, name) != CM_OK) snprintf(path, sizeof path, "%s", name);
    errno = reason;
    return cm_file_fail(path, verb);
}

static cm_status fail_in_folder(const cm_dir *dir, const char *verb) { return cm_file_fail(dir->path, verb); }

/* Why `name` is not opened: a link and what is no file have words of their own, not the system's. */
static cm_status fail_open(const cm_dir *dir, const char *name, const char *verb) {
    const int reason = errno;
    const cm_dir_kind is = cm_dir_look(dir, name);
    const char *folder = dir ? dir->path : "", *slash = dir ? "/" : "";
    if (is == CM_DIR_LINK)
        return cm_fail(CM_ERR_IO, "%s%s%s: is a link, which is not followed here: put what it leads to in its place",
                       folder, slash, name);
    if (is == CM_DIR_OTHER) return cm_fail(CM_ERR_IO, "%s%s%s: not a regular file", folder, slash, name);
    errno = reason;
    return fail_at(dir, name, verb);
}

/* ---- folders ---- */

static int open_folder(int at, const char *name, int flags) {
    int file;
    do file = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    while (cm_is_eintr(file));
    return file;
}

cm_status cm_dir_open(cm_dir *out, const char *path) {
    out->file = -1;
    const size_t length = strlen(path);
    if (length >= sizeof out->path) return cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", path);
    memmove(out->path, path, length + 1); /* it may be its own, to be opened again */
    out->file = open_folder(AT_FDCWD, path, 0);
    return out->file < 0 ? fail_in_folder(out, "open the folder") : CM_OK;
}

cm_status cm_dir_enter(cm_dir *out, const cm_dir *in, const char *name) {
    out->file = -1;
    CM_TRY(cm_path_join(out->path, sizeof out->path, in->path, name));
    out->file = open_folder(in->file, name, O_NOFOLLOW);
    return out->file < 0 ? fail_open(in, name, "open the folder") : CM_OK;
}

void cm_dir_close(cm_dir *dir) {
    if (dir->file >= 0) close(dir->file);
    dir->file = -1;
}

cm_dir_kind cm_dir_look(const cm_dir *dir, const char *name) {
    struct stat about;
    if (fstatat(handle_of(dir), name, &about, AT_SYMLINK_NOFOLLOW) != 0) return CM_DIR_NONE;
    if (S_ISREG(about.st_mode)) return CM_DIR_FILE;
    if (S_ISDIR(about.st_mode)) return CM_DIR_FOLDER;
    return S_ISLNK(about.st_mode) ? CM_DIR_LINK : CM_DIR_OTHER;
}

cm_status cm_dir_measure(const cm_dir *dir, const char *name, cm_dir_file *out) {
    struct stat about;
    *out = (cm_dir_file){.bytes = 0};
    if (fstatat(handle_of(dir), name, &about, AT_SYMLINK_NOFOLLOW) != 0) return fail_at(dir, name, "look at");
    if (S_ISDIR(about.st_mode)) errno = EISDIR;
    if (!S_ISREG(about.st_mode)) return fail_open(dir, name, "look at");
    *out = (cm_dir_file){(uint64_t)about.st_size, (uint64_t)about.st_nlink};
    return CM_OK;
}

bool cm_dir_link(const cm_dir *dir, const char *name, char *out, size_t size) {
    const ssize_t n = readlinkat(handle_of(dir), name, out, size);
    if (n <= 0 || (size_t)n >= size) return false;
    out[n] = '\0';
    return true;
}

cm_status cm_dir_each(const cm_dir *dir, cm_status (*visit)(void *context, const char *name), void *context) {
    const int folder = open_folder(dir->file, ".", 0); /* a position of its own */
    DIR *list = folder < 0 ? NULL : fdopendir(folder);
    if (!list) {
        cm_status status = fail_in_folder(dir, "list the folder");
        if (folder >= 0) close(folder);
        return status;
    }
    cm_status status = CM_OK;
    for (struct dirent *entry; status == CM_OK && (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) status = visit(context, entry->d_name);
    }
    closedir(list);
    return status;
}

cm_status cm_dir_make(const cm_dir *dir, const char *name) {
    if (mkdirat(dir->file, name, 0777) == 0) return CM_OK;
    if (errno == EEXIST && cm_dir_look(dir, name) == CM_DIR_FOLDER) return CM_OK;
    return fail_open(dir, name, "make the folder");
}

cm_status cm_dir_sync(const cm_dir *dir) {
    int result;
    do result = fsync(dir->file);
    while (cm_is_eintr(result));
    return result == 0 || errno == EINVAL || errno == EROFS ? CM_OK : fail_in_folder(dir, "sync the folder");
}

/* What is removed: an entry of the open folder `at`, `depth` folders down. `path` is for messages: that of the
 * outermost. */
static cm_status remove_entry(int at, const char *name, int depth, const char *path);

static cm_status remove_all_in(int folder, int depth, const char *path) {
    DIR *list = fdopendir(folder);
    if (!list) {
        cm_status status = cm_file_fail(path, "list the folder");
        close(folder);
        return status;
    }
    cm_status status = CM_OK;
    for (struct dirent *entry; status == CM_OK && (entry = readdir(list));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = remove_entry(folder, entry->d_name, depth, path);
    }
    closedir(list);
    return status;
}

static cm_status remove_entry(int at, const char *name, int depth, const char *path) {
    struct stat about;
    if (fstatat(at, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? CM_OK : cm_file_fail(path, "look into the folder");
    const bool is_folder = S_ISDIR(about.st_mode);
    if (is_folder && depth == DEPTH)
        return cm_fail(CM_ERR_IO, "%s: folders in it are nested too deeply to be ours: remove it yourself", path);
    if (is_folder) {
        const int folder = open_folder(at, name, O_NOFOLLOW);
        if (folder < 0) return errno == ENOENT ? CM_OK : cm_file_fail(path, "open the folder");
        CM_TRY(remove_all_in(folder, depth + 1, path));
    }
    if (unlinkat(at, name, is_folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT) return CM_OK;
    return cm_file_fail(path, "remove");
}

cm_status cm_dir_unlink(const cm_dir *dir, const char *name) {
    return unlinkat(dir->file, name, 0) == 0 || errno == ENOENT ? CM_OK : fail_at(dir, name, "remove");
}

cm_status cm_dir_remove(const cm_dir *dir, const char *name) {
    char path[PATH_MAX];
    if (dir) CM_TRY(cm_path_join(path, sizeof path, dir->path, name));
    return remove_entry(handle_of(dir), name, 0, dir ? path : name);
}

cm_status cm_directory_remove(const char *path) {
    if (cm_file_is_named(path) && cm_dir_look(NULL, path) != CM_DIR_FOLDER)
        return cm_fail(CM_ERR_IO, "%s: cannot remove: no folder", path);
    return cm_dir_remove(NULL, path);
}

/* ---- files ---- */

cm_status cm_dir_open_file(const cm_dir *dir, const char *name, int flags, int *file) {
    struct stat about;
    do *file = openat(handle_of(dir), name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    while (cm_is_eintr(*file));
    if (*file < 0) return fail_open(dir, name, "open");
    if (fstat(*file, &about) == 0 && S_ISREG(about.st_mode)) return CM_OK;
    close(*file);
    *file = -1;
    return cm_fail(CM_ERR_IO, "%s%s%s: not a regular file", dir ? dir->path : "", dir ? "/" : "", name);
}

cm_status cm_dir_append(const cm_dir *dir, const char *name, int *file) {
    struct stat about;
    CM_TRY(cm_dir_open_file(dir, name, O_WRONLY | O_CREAT | O_APPEND, file));
    if (fstat(*file, &about) == 0 && about.st_nlink <= 1) return CM_OK;
    close(*file);
    *file = -1;
    return cm_fail(CM_ERR_IO,
                   "%s%s%s: has another name elsewhere (a hard link), so that writing to it would change that file, "
                   "too: put a copy in its place",
                   dir ? dir->path : "", dir ? "/" : "", name);
}

cm_status cm_dir_read(const cm_dir *dir, const char *name, size_t limit, char **data, size_t *size) {
    char path[PATH_MAX];
    int file;
    *data = NULL, *size = 0;
    if (dir) CM_TRY(cm_path_join(path, sizeof path, dir->path, name));
    CM_TRY(cm_dir_open_file(dir, name, O_RDONLY, &file));
    cm_status status = cm_file_read_open(file, dir ? path : name, limit, data, size);
    close(file);
    return status;
}

cm_status cm_dir_share(const cm_dir *from, const char *name, const cm_dir *to) {
    cm_dir_file file;
    CM_TRY(cm_dir_measure(from, name, &file));
    return linkat(from->file, name, to->file, name, 0) == 0 ? CM_OK : fail_at(to, name, "make a link of that name");
}
