/* Inside of a checkpoint that is being written or read: what checkpoint.c (the store), checkpoint_save.c (saving) and
 * checkpoint_io.c (the files) share. */
#ifndef CM_RUN_CHECKPOINT_IO_H
#define CM_RUN_CHECKPOINT_IO_H

#include <pthread.h>
#include <xxhash.h>

#include "core/directory.h"
#include "run/checkpoint.h"
#include "run/manifest.h"

#define CM_CHECKPOINT_FOLDER  "checkpoints"
#define CM_CHECKPOINT_STAGING ".writing-" /* what names of staging folders begin with */
enum { CM_CHECKPOINT_NAME = 64 };         /* bytes of a name in the folder */

struct cm_checkpoint_store {
    cm_dir run; /* the run's folder; closed if it was not there */
    int keep;
    cm_comm *comm; /* borrowed, or `single` */
    cm_comm single;
    int64_t previous;      /* last one saved or loaded here; -1: none */
    cm_manifest manifest;  /* its files, owned; after saving, on ranks after the first: those that the rank wrote */
    double began, seconds; /* clock at the last save; how long it took */

    /* the save that is finished by a thread */
    cm_checkpoint_writer *pending; /* owned; the thread's until it has ended; NULL: there is none */
    pthread_t thread;
    bool has_thread; /* else it was finished by the caller: there was none to be had */
    bool is_ready;   /* atomic */
    cm_status status;
    char message[1024]; /* of the error */
};

static inline bool cm_checkpoint_leads(const cm_checkpoint_store *store) { return store->comm->rank == 0; }

/* A file that is to be made of a staged one. */
typedef struct cm_checkpoint_staged {
    char name[CM_MANIFEST_NAME];
    cm_checkpoint_pack *pack;
} cm_checkpoint_staged;

enum { CM_CHECKPOINT_STAGED = 8 };

struct cm_checkpoint_writer {
    char staging[64];     /* name of the staging folder in checkpoints/ */
    cm_dir directory;     /* that folder */
    cm_manifest manifest; /* of what has been written so far, owned */

    cm_manifest *previous; /* of the checkpoint before, borrowed; NULL if none */
    cm_dir previous_directory;

    /* the file between begin and end */
    cm_file_writer *file; /* NULL outside */
    char name[CM_MANIFEST_NAME];
    uint64_t bytes;
    XXH3_state_t *hash; /* owned */

    /* of one that is finished later, cm_checkpoint_make_durable */
    bool is_deferred, is_staged; /* the file between begin and end is the last one of `staged` */
    cm_checkpoint_staged staged[CM_CHECKPOINT_STAGED];
    int staged_count;
    cm_manifest owed; /* files of the checkpoint before that are to be copied, owned */
    int *unsynced;    /* [unsynced_count] descriptors of files that are written and not yet synced, owned */
    int unsynced_count, unsynced_capacity;
};

struct cm_checkpoint_reader {
    cm_dir directory;
    cm_manifest manifest; /* owned */
};

/* ---- checkpoint.c ---- */

void cm_checkpoint_warn(void); /* of an error that changes nothing of what is saved */
/* CM_ERR_IO "FOLDER/NAME: cannot VERB: REASON", by errno. */
cm_status cm_checkpoint_fail_at(const char *folder, const char *name, const char *verb);
void cm_checkpoint_name(int64_t update, char out[CM_CHECKPOINT_NAME]);
/* Opens checkpoints/, which may have been made since the last time; the checkpoint `update` in it. */
cm_status cm_checkpoint_enter_folder(const cm_checkpoint_store *store, cm_dir *out) CM_MUST_USE;
cm_status cm_checkpoint_enter_number(const cm_checkpoint_store *store, int64_t update, cm_dir *out) CM_MUST_USE;
/* Removes a checkpoint so that a kill on the way leaves no half of it under its name. */
cm_status cm_checkpoint_discard(const cm_dir *folder, int64_t update) CM_MUST_USE;
/* Of the checkpoints up to `latest` the `keep` newest stay, and the best. What cannot be removed is warned of. */
cm_status cm_checkpoint_discard_old(cm_checkpoint_store *store, const cm_dir *folder, int64_t latest) CM_MUST_USE;

/* ---- checkpoint_io.c ---- */

/* What cm_checkpoint_keep and cm_checkpoint_end have left to do where the writer defers it: files of staged ones,
 * copies, whose checksums are compared, and the fsync of every file. For any thread. Errors: CM_ERR_IO, also for a
 * damaged file. */
cm_status cm_checkpoint_make_durable(cm_checkpoint_writer *writer) CM_MUST_USE;
void cm_checkpoint_close_unsynced(cm_checkpoint_writer *writer); /* closes them as they are */

/* Whether a file of a checkpoint belongs to another one, too: the next one has a copy of its own, so that what damages
 * a file is in two checkpoints at most. */
bool cm_checkpoint_is_shared(const cm_dir_file *file);

#endif
