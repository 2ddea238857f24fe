/* The list of the files of a checkpoint: name, size and XXH3-128 of each, kept in its manifest.json. */
#ifndef CM_RUN_MANIFEST_H
#define CM_RUN_MANIFEST_H

#include "core/directory.h"
#include "core/source.h"
#include "run/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* So many files, of some 900 ranks, are a text of at most CM_MANIFEST_BYTES, which takes some 40 MiB to read. */
enum { CM_MANIFEST_NAME = 96, CM_MANIFEST_FILES = 1 << 15 };
#define CM_MANIFEST_BYTES  ((size_t)8 << 20)
#define CM_MANIFEST_FORMAT "cumind-checkpoint-1"

typedef struct cm_manifest_file {
    char name[CM_MANIFEST_NAME]; /* letters, digits, '.', '-', '_'; does not begin with '.' */
    uint64_t bytes;
    char hash[CM_HASH_HEX]; /* XXH3-128, hexadecimal */
} cm_manifest_file;

typedef struct cm_manifest {
    int64_t update; /* optimizer updates of the run when it was written */
    int count, capacity;
    cm_manifest_file *file; /* [count], owned */
    int32_t *place;         /* [2 capacity] hash table of the names: a row of `file`, or -1; owned */
    uint64_t compared;      /* names that were compared so far, what its cost grows with */
} cm_manifest;

void cm_manifest_reset(cm_manifest *manifest); /* frees the list; a zeroed struct is an empty manifest */

/* Appends a row. Errors: CM_ERR_INPUT for a bad or repeated name, or more than CM_MANIFEST_FILES; CM_ERR_MEMORY. */
cm_status cm_manifest_add(cm_manifest *manifest, const char *name, uint64_t bytes, const char *hash) CM_MUST_USE;
const cm_manifest_file *cm_manifest_find(cm_manifest *manifest, const char *name); /* NULL if absent */

/* Writes it as manifest.json of a folder; reads it back, replacing what `manifest` held. Errors: CM_ERR_IO (a damaged
 * file included) with the file's name and what is wrong with it. */
cm_status cm_manifest_write(const cm_manifest *manifest, const cm_dir *directory) CM_MUST_USE;
cm_status cm_manifest_read(cm_manifest *manifest, const cm_dir *directory) CM_MUST_USE;

/* Opens the file `name` of a folder, of at most `most` bytes, once its size and checksum have been compared with the
 * manifest; it is read in pieces, so that it allocates no memory. The caller closes *out. Errors: CM_ERR_IO
 * "DIRECTORY/NAME: reason", CM_ERR_INPUT if the manifest does not list it or it is larger. */
cm_status cm_manifest_open(cm_manifest *manifest, const cm_dir *directory, const char *name, uint64_t most,
                           cm_source *out) CM_MUST_USE;

/* The same, read whole into *data, a NUL after it; the caller frees it. */
cm_status cm_manifest_fetch(cm_manifest *manifest, const cm_dir *directory, const char *name, uint64_t most,
                            char **data, size_t *size) CM_MUST_USE;

/* Opens it once. */
cm_status cm_manifest_verify(cm_manifest *manifest, const cm_dir *directory, const char *name) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
