/* The list of the files of a checkpoint: name, size and XXH3-128 of each, kept in its manifest.json. */
#ifndef CM_RUN_MANIFEST_H
#define CM_RUN_MANIFEST_H

#include "core/directory.h"
#include "run/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_MANIFEST_NAME = 96 };
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
} cm_manifest;

void cm_manifest_reset(cm_manifest *manifest); /* frees the list; a zeroed struct is an empty manifest */

/* Appends a row. Errors: CM_ERR_INPUT for a bad or repeated name, CM_ERR_MEMORY. */
cm_status cm_manifest_add(cm_manifest *manifest, const char *name, uint64_t bytes, const char *hash) CM_MUST_USE;
const cm_manifest_file *cm_manifest_find(const cm_manifest *manifest, const char *name); /* NULL if absent */

/* Writes it as manifest.json of a folder; reads it back, replacing what `manifest` held. Errors: CM_ERR_IO (a damaged
 * file included) with the file's name and what is wrong with it. */
cm_status cm_manifest_write(const cm_manifest *manifest, const cm_dir *directory) CM_MUST_USE;
cm_status cm_manifest_read(cm_manifest *manifest, const cm_dir *directory) CM_MUST_USE;

/* Reads the file `name` of a folder whole into *data (the caller frees it) after its size and checksum have been
 * compared with the manifest. Errors: CM_ERR_IO "DIRECTORY/NAME: reason", CM_ERR_INPUT if the manifest does not list
 * it. */
cm_status cm_manifest_fetch(const cm_manifest *manifest, const cm_dir *directory, const char *name, char **data,
                            size_t *size) CM_MUST_USE;

/* Fetches every file once. */
cm_status cm_manifest_verify(const cm_manifest *manifest, const cm_dir *directory) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
