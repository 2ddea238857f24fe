/* Where bytes go to, and where they come from: whoever writes or reads in pieces needs no memory for the whole. */
#ifndef CM_CORE_SOURCE_H
#define CM_CORE_SOURCE_H

#include <linux/limits.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes bytes in order. */
typedef struct cm_sink {
    void *context;
    cm_status (*write)(void *context, const void *data, size_t size);
} cm_sink;

/* Bytes that are read by their place: those of an open file, or of memory. */
typedef struct cm_source {
    const unsigned char *bytes; /* [size], borrowed; NULL: they are in the file */
    int file;                   /* descriptor, owned; -1: none */
    uint64_t size;
    char path[PATH_MAX]; /* for messages */
} cm_source;

/* Bytes in memory, which have to stay; `name` is for messages. */
void cm_source_memory(cm_source *out, const void *bytes, size_t size, const char *name);
/* An open file of `size` bytes, which *out owns from now on. */
void cm_source_file(cm_source *out, int file, uint64_t size, const char *path);
void cm_source_close(cm_source *source);

/* Bytes [at, at + size). Errors: CM_ERR_INPUT "PATH: cut short" if they are not all there, CM_ERR_IO. */
cm_status cm_source_read(const cm_source *source, uint64_t at, void *out, size_t size) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
