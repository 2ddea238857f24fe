/* Inside of a checkpoint that is being written or read: what checkpoint.c (the store) and checkpoint_io.c (the files)
 * share. */
#ifndef CM_RUN_CHECKPOINT_IO_H
#define CM_RUN_CHECKPOINT_IO_H

#include <xxhash.h>

#include "core/directory.h"
#include "run/checkpoint.h"
#include "run/manifest.h"

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
};

struct cm_checkpoint_reader {
    cm_dir directory;
    cm_manifest manifest; /* owned */
};

/* Whether a file of a checkpoint belongs to another one, too: the next one has a copy of its own, so that what damages
 * a file is in two checkpoints at most. */
bool cm_checkpoint_is_shared(const cm_dir_file *file);

#endif
