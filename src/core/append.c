#include "core/append.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/retry.h"

cm_status cm_append_open(cm_append_file *out, const cm_dir *dir, const char *name) {
    struct stat about;
    out->file = -1, out->bytes = 0, out->is_torn = false;
    CM_TRY(cm_path_join(out->path, sizeof out->path, dir->path, name));
    CM_TRY(cm_dir_append(dir, name, &out->file));
    if (fstat(out->file, &about) == 0) {
        out->bytes = about.st_size;
        return CM_OK;
    }
    cm_status status = cm_file_fail(out->path, "read");
    cm_append_close(out);
    return status;
}

void cm_append_close(cm_append_file *file) {
    if (file->file >= 0) close(file->file);
    file->file = -1;
}

static int cut(int file, int64_t bytes) {
    int result;
    do result = ftruncate(file, bytes);
    while (cm_is_eintr(result));
    return result;
}

cm_status cm_append_cut(cm_append_file *file, int64_t bytes) {
    if (cut(file->file, bytes) != 0) return cm_file_fail(file->path, "cut it back to the checkpoint");
    file->bytes = bytes, file->is_torn = false;
    return CM_OK;
}

/* No record goes after a half one. */
static cm_status mend(cm_append_file *file) {
    if (file->is_torn && cut(file->file, file->bytes) != 0)
        return cm_file_fail(file->path, "remove what was written in part");
    file->is_torn = false;
    return CM_OK;
}

cm_status cm_append_write(cm_append_file *file, const void *data, size_t size) {
    CM_TRY(mend(file));
    ssize_t written;
    do written = write(file->file, data, size);
    while (cm_is_eintr(written));
    if (written == (ssize_t)size) {
        file->bytes += written;
        return CM_OK;
    }
    errno = written < 0 ? errno : ENOSPC;
    cm_status status = cm_file_fail(file->path, "write");
    file->is_torn = written > 0;
    return mend(file) == CM_OK ? status : CM_ERR_IO;
}
