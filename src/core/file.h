/* Checked files. Whatever is written under its final name is complete: write next to it, fsync, rename. Paths are those
 * that a user gives: links are followed. What lies in a folder that may be a stranger's is for core/directory.h. */
#ifndef CM_CORE_FILE_H
#define CM_CORE_FILE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CM_ERR_IO "PATH: cannot VERB: REASON; what may be done about it", by errno. */
cm_status cm_file_fail(const char *path, const char *verb);

/* Reads a whole regular file of at most `limit` bytes into *data (owned by the caller, freed with free(); a NUL follows
 * the last byte) and its size into *size. Errors: CM_ERR_IO names the path and the reason; CM_ERR_INPUT if it is too
 * large or not a regular file. */
cm_status cm_file_read(const char *path, size_t limit, char **data, size_t *size) CM_MUST_USE;

/* Opens a regular file for reading; the caller closes it. Errors: as above. */
cm_status cm_file_open(const char *path, int *file) CM_MUST_USE;

/* Like cm_file_read, of an open file; `path` is for messages. */
cm_status cm_file_read_open(int file, const char *path, size_t limit, char **data, size_t *size) CM_MUST_USE;

/* What is, or was, in a file. */
typedef struct cm_file_bytes {
    void *data;
    size_t size;
} cm_file_bytes;

/* Replaces `path`, or the file that it is a link to, atomically: writes path.tmp-PID next to it, fsyncs file and
 * folder, renames. On error nothing changed. What is no regular file is not replaced. */
cm_status cm_file_write(const char *path, const void *data, size_t size) CM_MUST_USE;

/* The same in pieces, for large files: begin, append ..., then commit (fsync, rename, fsync of the folder) or abandon.
 * A failed append or commit leaves `path` as it was; after any commit or abandon the writer is gone. */
typedef struct cm_file_writer cm_file_writer;
cm_status cm_file_begin(const char *path, cm_file_writer **out) CM_MUST_USE;
cm_status cm_file_append(cm_file_writer *writer, const void *data, size_t size) CM_MUST_USE;
cm_status cm_file_commit(cm_file_writer *writer) CM_MUST_USE;
/* Commits without fsync, which may take seconds: the file has its name, and until *file, which the caller closes, has
 * been given to cm_file_sync, and then its folder been synced, a power cut may empty it. -1 after an error. */
cm_status cm_file_commit_unsynced(cm_file_writer *writer, int *file) CM_MUST_USE;
cm_status cm_file_sync(int file, const char *path) CM_MUST_USE; /* fsync; `path` is for messages */
void cm_file_abandon(cm_file_writer *writer);                   /* NULL is allowed */

bool cm_file_exists(const char *path);
bool cm_file_is_named(const char *path);   /* exists, or is a link that leads nowhere */
bool cm_file_is_regular(const char *path); /* behind links, like the next */
bool cm_file_is_directory(const char *path);
/* Whether a write to an output that failed for `reason` (errno) did because it has no reader: a closed pipe, no
 * descriptor, a terminal that was closed (`is_terminal` from before that). */
bool cm_file_is_unread(int reason, bool is_terminal);
cm_status cm_directory_make(const char *path) CM_MUST_USE;      /* with parents; an existing directory is fine */
cm_status cm_directory_make_last(const char *path) CM_MUST_USE; /* the same in parents that are there */
cm_status
cm_directory_make_parent(const char *path) CM_MUST_USE; /* the folder that `path` is to stand in, with its parents */
cm_status cm_directory_remove(const char *path)
    CM_MUST_USE; /* with everything in it; a missing one is fine; links are not followed */

/* Bytes free for this user on the file system that holds `path`. */
cm_status cm_disk_free(const char *path, uint64_t *bytes) CM_MUST_USE;

/* Joins into out[size]: "a/b". CM_ERR_INPUT if it does not fit. */
cm_status cm_path_join(char *out, size_t size, const char *a, const char *b) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
