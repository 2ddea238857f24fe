#include "export/folder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/directory.h"
#include "core/log.h"

/* "a//" -> "a" */
static cm_status copy_path(const char *path, char out[PATH_MAX]) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length == 0) return cm_fail(CM_ERR_INPUT, "the name of a folder to write is empty");
    const int n = snprintf(out, PATH_MAX, "%.*s", (int)length, path);
    return n < PATH_MAX - 64 ? CM_OK : cm_fail(CM_ERR_INPUT, "%s: the name is too long", path);
}

static cm_status count_entry(void *context, const char *name) {
    (void)name;
    ++*(int *)context;
    return CM_OK;
}

static cm_status check_empty(const char *path) {
    cm_dir dir;
    int entries = 0;
    CM_TRY(cm_dir_open(&dir, path));
    cm_status status = cm_dir_each(&dir, count_entry, &entries);
    cm_dir_close(&dir);
    if (status != CM_OK || entries == 0) return status;
    return cm_fail(CM_ERR_INPUT, "%s: the folder is not empty: choose another one, or add --overwrite", path);
}

cm_status cm_export_folder_check(const char *path, bool overwrite) {
    char name[PATH_MAX];
    CM_TRY(copy_path(path, name));
    if (!cm_file_is_named(name)) return CM_OK;
    if (!cm_file_is_directory(name))
        return cm_fail(CM_ERR_INPUT, "%s: is there, and no folder: choose another name", name);
    return overwrite ? CM_OK : check_empty(name);
}

cm_status cm_export_folder_begin(cm_export_folder *folder, const char *path, bool overwrite) {
    CM_TRY(cm_export_folder_check(path, overwrite));
    CM_TRY(copy_path(path, folder->path));
    folder->is_new = !cm_file_is_named(folder->path);
    if (folder->is_new) CM_TRY(cm_directory_make_parent(folder->path));
    char staged[PATH_MAX];
    snprintf(staged, sizeof staged, "%.*s%s%ld", PATH_MAX - 64, folder->path,
             folder->is_new ? ".writing-" : "/.writing-", (long)getpid());
    CM_TRY(cm_directory_remove(staged));
    CM_TRY(cm_directory_make_last(staged));
    memcpy(folder->staged, staged, sizeof staged);
    return CM_OK;
}

cm_status cm_export_folder_place(cm_export_folder *folder, const char *name, char *out) {
    if (folder->files == CM_EXPORT_FILES) return cm_fail(CM_ERR_STATE, "%s: too many files", folder->path);
    folder->file[folder->files++] = name;
    return cm_path_join(out, PATH_MAX, folder->staged, name);
}

cm_status cm_export_folder_write(cm_export_folder *folder, const char *name, const void *data, size_t size) {
    char path[PATH_MAX];
    CM_TRY(cm_export_folder_place(folder, name, path));
    return cm_file_write(path, data, size);
}

static cm_status move_file(const cm_export_folder *folder, const char *name) {
    char from[PATH_MAX], to[PATH_MAX];
    CM_TRY(cm_path_join(from, sizeof from, folder->staged, name));
    CM_TRY(cm_path_join(to, sizeof to, folder->path, name));
    return rename(from, to) == 0 ? CM_OK : cm_file_fail(to, "write");
}

static cm_status move_files(const cm_export_folder *folder) {
    for (int i = 0; i < folder->files; i++) CM_TRY(move_file(folder, folder->file[i]));
    return cm_directory_remove(folder->staged);
}

static cm_status move_all(const cm_export_folder *folder) {
    if (!folder->is_new) return move_files(folder);
    return rename(folder->staged, folder->path) == 0 ? CM_OK : cm_file_fail(folder->path, "write");
}

cm_status cm_export_folder_commit(cm_export_folder *folder) {
    CM_TRY(move_all(folder));
    folder->staged[0] = '\0';
    return CM_OK;
}

void cm_export_folder_abandon(cm_export_folder *folder) {
    cm_status removed = folder->staged[0] ? cm_directory_remove(folder->staged) : CM_OK;
    if (removed != CM_OK) cm_log(CM_WARNING, "%s", cm_error_message());
    folder->staged[0] = '\0';
}
