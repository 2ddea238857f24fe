/* A file that grows by whole records: lines, events. A record stands there whole or not at all: one that finds no space
 * is taken off again, at the latest before the next one is written. A record is one system call, so that a process that
 * is killed leaves whole ones.
 *
 * Errors: CM_ERR_IO "PATH: cannot VERB: reason".
 */
#ifndef CM_CORE_APPEND_H
#define CM_CORE_APPEND_H

#include "core/directory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_append_file {
    int file;            /* descriptor; -1: closed */
    int64_t bytes;       /* of whole records: the file's size */
    bool is_torn;        /* half a record stands after them, which could not be taken off */
    char path[PATH_MAX]; /* for messages */
} cm_append_file;

/* Opens `name`, made if it is not there (cm_dir_append: a link is refused). On error *out is closed. */
cm_status cm_append_open(cm_append_file *out, const cm_dir *dir, const char *name) CM_MUST_USE;
void cm_append_close(cm_append_file *file); /* a closed one stays closed */

/* Takes off what follows the first `bytes`. */
cm_status cm_append_cut(cm_append_file *file, int64_t bytes) CM_MUST_USE;

/* Appends data[size], or nothing. Allocates nothing. After an error the next one may be written all the same. */
cm_status cm_append_write(cm_append_file *file, const void *data, size_t size) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
