/* Folders by handle. What lies in one is reached by its name in it and never through a link, so that nothing outside
 * the folder is read or written, whoever has put it together. Files are regular files: a FIFO, socket or device is
 * refused at once. Names are single components, never "." or "..".
 *
 * Errors of all functions: CM_ERR_IO "FOLDER/NAME: reason", if nothing else is said.
 */
#ifndef CM_CORE_DIRECTORY_H
#define CM_CORE_DIRECTORY_H

#include <linux/limits.h>

#include "core/file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_dir {
    int file;            /* descriptor; -1: closed */
    char path[PATH_MAX]; /* for messages: as it was opened */
} cm_dir;

/* Opens the folder `path` (as the user names it: links are followed), or the folder `name` in `in`. On error *out is
 * closed. */
cm_status cm_dir_open(cm_dir *out, const char *path) CM_MUST_USE;
cm_status cm_dir_enter(cm_dir *out, const cm_dir *in, const char *name) CM_MUST_USE;
void cm_dir_close(cm_dir *dir); /* a closed one stays closed */

typedef enum cm_dir_kind { CM_DIR_NONE, CM_DIR_FILE, CM_DIR_FOLDER, CM_DIR_LINK, CM_DIR_OTHER } cm_dir_kind;

/* What has this name in the folder; NONE also if that cannot be seen (errno says why). */
cm_dir_kind cm_dir_look(const cm_dir *dir, const char *name);

/* Size of the file `name`, and how many names it has: hard links. */
typedef struct cm_dir_file {
    uint64_t bytes, names;
} cm_dir_file;
cm_status cm_dir_measure(const cm_dir *dir, const char *name, cm_dir_file *out) CM_MUST_USE;

/* Where the link `name` leads, as it is written; false: it is no link, or longer than out[size]. */
bool cm_dir_link(const cm_dir *dir, const char *name, char *out, size_t size);

/* Calls visit(context, name) for all that is in the folder, in no order, but "." and "..", until one returns an error.
 */
cm_status cm_dir_each(const cm_dir *dir, cm_status (*visit)(void *context, const char *name),
                      void *context) CM_MUST_USE;

/* ---- files. `dir` NULL: `name` is a path, whose last component is no link. ---- */

/* Opens a regular file with these flags of open(2) into *file, which the caller closes. */
cm_status cm_dir_open_file(const cm_dir *dir, const char *name, int flags, int *file) CM_MUST_USE;

/* Opens a file to append to, made if it is not there. One with another name somewhere, a hard link, is refused. */
cm_status cm_dir_append(const cm_dir *dir, const char *name, int *file) CM_MUST_USE;

/* Like cm_file_read, cm_file_begin and cm_file_write. */
cm_status cm_dir_read(const cm_dir *dir, const char *name, size_t limit, char **data, size_t *size) CM_MUST_USE;
cm_status cm_dir_begin(const cm_dir *dir, const char *name, cm_file_writer **out) CM_MUST_USE;
cm_status cm_dir_write(const cm_dir *dir, const char *name, const void *data, size_t size) CM_MUST_USE;
/* Like cm_dir_write without its fsync, which takes tens of milliseconds of some disks: readers see all of the file or
 * the one before, but after a power cut it may be empty. For what is looked at, and can be done without. */
cm_status cm_dir_write_unsynced(const cm_dir *dir, const char *name, const void *data, size_t size) CM_MUST_USE;

/* ---- changes ---- */

/* Makes the folder `name`; one that is there is fine. */
cm_status cm_dir_make(const cm_dir *dir, const char *name) CM_MUST_USE;

/* Removes the file or link `name`; a missing one is fine, a folder is an error. */
cm_status cm_dir_unlink(const cm_dir *dir, const char *name) CM_MUST_USE;

/* Removes `name`, a folder with everything in it; links are removed, not followed. A missing one is fine. `dir` NULL:
 * `name` is a path. Errors: as above; CM_ERR_IO, too, if folders in it are nested more than 64 deep, and they stay. */
cm_status cm_dir_remove(const cm_dir *dir, const char *name) CM_MUST_USE;

/* Gives the file `name` of `from` that name in `to`, too: a hard link. */
cm_status cm_dir_share(const cm_dir *from, const char *name, const cm_dir *to) CM_MUST_USE;

cm_status cm_dir_sync(const cm_dir *dir) CM_MUST_USE; /* fsync of the folder itself */

#ifdef __cplusplus
}
#endif
#endif
