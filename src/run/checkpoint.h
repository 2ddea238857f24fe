/* Checkpoints: directories that are either complete or not there.
 *
 *     RUN/checkpoints/00000640/   one checkpoint, named after the updates made; manifest.json lists its files
 *     RUN/latest, RUN/best        symbolic links to the one that a run goes on from and the one that evaluated best
 *
 * A checkpoint is written in a folder next to its final name, every file and the folder fsynced, then renamed; a
 * process that is killed at any moment leaves the previous checkpoint as it was and a folder ".writing-*" that the next
 * start removes. Other names in checkpoints/ are left alone. Files that never change (replay segments) are hard-linked
 * from the checkpoint before.
 *
 * Each module of a run takes part through a cm_checkpoint_part; what it writes is up to it. Loading runs no code and
 * trusts no length: a file is handed out only after its size and checksum agree with the manifest, and one that is
 * larger than the plan of the run allows is refused before it is read.
 * One process at a time may write to a store (run/directory.h holds the lock), or the ranks of one run together: each
 * writes files of its own into the one staging folder. When all have succeeded, rank 0 writes the manifest of all files
 * and gives the folder its name; else it removes the folder.
 */
#ifndef CM_RUN_CHECKPOINT_H
#define CM_RUN_CHECKPOINT_H

#include "core/json.h"
#include "core/status.h"
#include "distributed/comm.h"
#include "run/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_checkpoint_store cm_checkpoint_store;
typedef struct cm_checkpoint_writer cm_checkpoint_writer; /* one checkpoint being written; lives during save */
typedef struct cm_checkpoint_reader cm_checkpoint_reader; /* one checkpoint being read; lives during load */

typedef struct cm_checkpoint_part {
    const char *name; /* for errors: "replay" */
    void *context;
    uint64_t (*bytes)(void *context); /* about so many bytes will be written */
    cm_status (*save)(void *context, cm_checkpoint_writer *writer);
    cm_status (*load)(void *context, cm_checkpoint_reader *reader);
} cm_checkpoint_part;

/* ---- for parts: writing. File names: letters, digits, '.', '-', '_'; each once per checkpoint. ---- */

cm_status cm_checkpoint_put(cm_checkpoint_writer *writer, const char *name, const void *data, size_t size) CM_MUST_USE;
cm_status cm_checkpoint_put_arrays(cm_checkpoint_writer *writer, const char *name, const cm_array *arrays,
                                   int count) CM_MUST_USE;
cm_status cm_checkpoint_put_json(cm_checkpoint_writer *writer, const char *name,
                                 const cm_json_writer *json) CM_MUST_USE;

/* A file in pieces: bytes given to *sink until `end`. One at a time. */
cm_status cm_checkpoint_begin(cm_checkpoint_writer *writer, const char *name, cm_sink *sink) CM_MUST_USE;
cm_status cm_checkpoint_end(cm_checkpoint_writer *writer) CM_MUST_USE;

/* A file that takes long to make: its bytes are staged as they are, by begin_staged, the sink and `end`; then the
 * thread that finishes the checkpoint calls `pack`, which makes the file of them and of nothing else. Only where
 * cm_checkpoint_is_staging: a checkpoint is finished by a thread, and few files are staged so far. */
typedef cm_status cm_checkpoint_pack(const cm_source *staged, const cm_sink *sink);
bool cm_checkpoint_is_staging(const cm_checkpoint_writer *writer);
cm_status cm_checkpoint_begin_staged(cm_checkpoint_writer *writer, const char *name, cm_checkpoint_pack *pack,
                                     cm_sink *sink) CM_MUST_USE;

/* Takes an unchanged file over from the checkpoint before: a hard link, or every second time a copy, whose checksum is
 * compared. *kept is false if that has none of this name, or has it no more as it was written: then it is to be written
 * again. */
cm_status cm_checkpoint_keep(cm_checkpoint_writer *writer, const char *name, bool *kept) CM_MUST_USE;

/* ---- for parts: reading ---- */

/* A file of at most `most` bytes, checked: to be read in pieces and closed by the caller, or whole (the caller frees
 * *data; a NUL follows the last byte). */
cm_status cm_checkpoint_open(cm_checkpoint_reader *reader, const char *name, uint64_t most, cm_source *out) CM_MUST_USE;
cm_status cm_checkpoint_get(cm_checkpoint_reader *reader, const char *name, uint64_t most, char **data,
                            size_t *size) CM_MUST_USE;
/* Arrays and JSON have bounds of their own: the arrays', and CM_JSON_SMALL. */
cm_status cm_checkpoint_get_arrays(cm_checkpoint_reader *reader, const char *name, const cm_array *arrays,
                                   int count) CM_MUST_USE;
cm_status cm_checkpoint_get_json(cm_checkpoint_reader *reader, const char *name, cm_json_doc **out) CM_MUST_USE;
int cm_checkpoint_files(const cm_checkpoint_reader *reader);
const char *cm_checkpoint_file(const cm_checkpoint_reader *reader, int index);

/* ---- for the run ---- */

enum {
    CM_CHECKPOINT_LATEST = -1,
    CM_CHECKPOINT_BEST = -2,
    CM_CHECKPOINT_PREFERRED = -3 /* the best if any was evaluated, else the latest: what plays */
};

/* Opens the store of a run directory, which may be a stranger's: all in it is reached by handles, no link is followed,
 * and `latest` and `best` count only where they name a checkpoint of this run. Reads nothing yet. `keep` >= 1 newest
 * checkpoints stay, and the best. `comm`: of the ranks that save and load together, borrowed; NULL: this process alone.
 */
cm_status cm_checkpoint_store_create(const char *run, int keep, cm_comm *comm, cm_checkpoint_store **out) CM_MUST_USE;
void cm_checkpoint_store_destroy(cm_checkpoint_store *store);

/* Removes what dead writers have left: .writing-* and .removed-*, no other name. What cannot be removed is a warning.
 * Only for the process that holds the run's lock. */
cm_status cm_checkpoint_clean(cm_checkpoint_store *store) CM_MUST_USE;

/* Bytes that the next checkpoint of these parts will take, as far as they know. */
uint64_t cm_checkpoint_bytes(const cm_checkpoint_part *parts, int count);

/* Whether the disk has space for the next checkpoint, so that nothing is written that would fill it. Collective.
 * Errors: CM_ERR_IO says what is needed and what is there. */
cm_status cm_checkpoint_check_space(const cm_checkpoint_store *store, const cm_checkpoint_part *parts,
                                    int count) CM_MUST_USE;

/* Writes the checkpoint `update`, points `latest` at it and removes the ones that are no longer kept. Of several ranks
 * each saves its own parts, whose file names differ from those of the others. Collective. Errors: CM_ERR_IO; an error
 * of one of several ranks is that of all and names it. Older checkpoints are never touched. */
cm_status cm_checkpoint_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts,
                             int count) CM_MUST_USE;

/* The same of one rank, and what takes long is left to a thread of the store: copies of old files, fsync of all, the
 * folder's name, `latest`, removal of what is no longer kept. On return the parts are in a staging folder, so they may
 * change again. Until cm_checkpoint_wait the checkpoint before is the latest one, and no other call may save, load or
 * point. Errors: as above, before anything is left to the thread. */
cm_status cm_checkpoint_begin_save(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts,
                                   int count) CM_MUST_USE;
/* Whether what was begun is complete, or has failed, so that waiting for it takes no time; false: nothing was begun. */
bool cm_checkpoint_is_ready(const cm_checkpoint_store *store);
/* Waits for the checkpoint that was begun, if there is one. Errors: CM_ERR_IO, also where an old file that was to be
 * copied is damaged; then there is none of that number, and those before it are as they were. */
cm_status cm_checkpoint_wait(cm_checkpoint_store *store) CM_MUST_USE;
/* Seconds from the beginning of the last save until it was complete; 0: there was none. After cm_checkpoint_wait. */
double cm_checkpoint_seconds(const cm_checkpoint_store *store);

/* Reads the checkpoint `update` (or CM_CHECKPOINT_LATEST, _BEST, _PREFERRED) into the parts, in order. Collective; all
 * ranks read the same checkpoint, and an error of one is that of all. Errors: CM_ERR_STATE if there is none yet,
 * CM_ERR_INPUT if none of that number or it is of another run; CM_ERR_IO "file: reason; the newest intact checkpoint is
 * N" for a damaged one. Parts may have changed by then. */
cm_status cm_checkpoint_load(cm_checkpoint_store *store, int64_t update, const cm_checkpoint_part *parts, int count,
                             int64_t *loaded) CM_MUST_USE;

/* The checkpoint just loaded or saved becomes `latest`, or `best`. */
cm_status cm_checkpoint_point_latest(cm_checkpoint_store *store, int64_t update) CM_MUST_USE;
cm_status cm_checkpoint_point_best(cm_checkpoint_store *store, int64_t update) CM_MUST_USE;

/* Number that CM_CHECKPOINT_LATEST, _BEST or _PREFERRED means, -1 if there is none. */
int64_t cm_checkpoint_find(const cm_checkpoint_store *store, int64_t which);

/* Whether there is no checkpoint though there was one: `latest` points at what is gone. */
bool cm_checkpoint_is_lost(const cm_checkpoint_store *store);
/* Numbers of all checkpoints, ascending, at most `capacity` of the newest; returns how many. */
int cm_checkpoint_list(const cm_checkpoint_store *store, int64_t *out, int capacity);
/* Opens the folder of the one that is meant; the caller closes it. Its files are not checked. Errors: CM_ERR_STATE if
 * there is none, CM_ERR_IO. */
cm_status cm_checkpoint_enter(const cm_checkpoint_store *store, int64_t which, cm_dir *out) CM_MUST_USE;
/* Whether the files of one are all as its manifest says, but for those that may_lack(name) says it may be without
 * (NULL: none). Reads them. Errors: CM_ERR_IO names the first that is not. */
cm_status cm_checkpoint_verify(const cm_checkpoint_store *store, int64_t update,
                               bool (*may_lack)(const char *name)) CM_MUST_USE;
/* The newest one that is; -1: none. */
int64_t cm_checkpoint_newest_intact(const cm_checkpoint_store *store, bool (*may_lack)(const char *name));
/* Bytes that the next checkpoint will write to take over a file of this name: those of a copy, or 0. */
uint64_t cm_checkpoint_copy_bytes(const cm_checkpoint_store *store, const char *name);

#ifdef __cplusplus
}
#endif
#endif
