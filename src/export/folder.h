/* A folder that is written whole: its files are made in another one, next to it or, where it is there already, in it,
 * and get their names when all are complete. Whatever is in the folder besides stays. */
#ifndef CM_EXPORT_FOLDER_H
#define CM_EXPORT_FOLDER_H

#include <linux/limits.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_EXPORT_FILES = 8 };

typedef struct cm_export_folder {
    char path[PATH_MAX], staged[PATH_MAX];
    bool is_new;
    const char *file[CM_EXPORT_FILES]; /* that it is to have; static */
    int files;
} cm_export_folder;

/* CM_ERR_INPUT for what is no folder, or one that is not empty unless `overwrite`. */
cm_status cm_export_folder_check(const char *path, bool overwrite) CM_MUST_USE;
/* Into a zeroed struct. Makes the parents, too. Errors: as above; CM_ERR_IO. Abandon it after one. */
cm_status cm_export_folder_begin(cm_export_folder *folder, const char *path, bool overwrite) CM_MUST_USE;
cm_status cm_export_folder_write(cm_export_folder *folder, const char *name, const void *data, size_t size) CM_MUST_USE;
/* Where a file is to be written by another function, into out[PATH_MAX]. */
cm_status cm_export_folder_place(cm_export_folder *folder, const char *name, char *out) CM_MUST_USE;
/* All files get their names. */
cm_status cm_export_folder_commit(cm_export_folder *folder) CM_MUST_USE;
void cm_export_folder_abandon(cm_export_folder *folder); /* what was written goes; nothing after a commit */

#ifdef __cplusplus
}
#endif
#endif
