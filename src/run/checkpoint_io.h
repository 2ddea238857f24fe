/* Inside of a checkpoint that is being written or read: what checkpoint.c (the store) and checkpoint_io.c (the files)
 * share. */
#ifndef CM_RUN_CHECKPOINT_IO_H
#define CM_RUN_CHECKPOINT_IO_H

#include <limits.h>
#include <xxhash.h>

#include "core/file.h"
#include "run/checkpoint.h"
#include "run/manifest.h"

struct cm_checkpoint_writer {
    char directory[PATH_MAX]; /* the staging folder */
    cm_manifest manifest;     /* of what has been written so far, owned */

    const cm_manifest *previous; /* of the checkpoint before, borrowed; NULL if none */
    char previous_directory[PATH_MAX];

    /* the file between begin and end */
    cm_file_writer *file; /* NULL outside */
    char name[CM_MANIFEST_NAME];
    uint64_t bytes;
    XXH3_state_t *hash; /* owned */
};

struct cm_checkpoint_reader {
    char directory[PATH_MAX];
    cm_manifest manifest; /* owned */
};

#endif
