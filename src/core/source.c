#include "core/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/retry.h"

void cm_source_memory(cm_source *out, const void *bytes, size_t size, const char *name) {
    out->bytes = bytes;
    out->file = -1;
    out->size = size;
    snprintf(out->path, sizeof out->path, "%s", name);
}

void cm_source_file(cm_source *out, int file, uint64_t size, const char *path) {
    out->bytes = NULL;
    out->file = file;
    out->size = size;
    snprintf(out->path, sizeof out->path, "%s", path);
}

void cm_source_close(cm_source *source) {
    if (source->file >= 0) close(source->file);
    source->file = -1;
}

static cm_status fail_short(const cm_source *source, uint64_t missing) {
    return cm_fail(CM_ERR_INPUT, "%s: cut short: %llu bytes are missing", source->path, (unsigned long long)missing);
}

static cm_status read_file(const cm_source *source, uint64_t at, char *out, size_t size) {
    while (size > 0) {
        ssize_t n;
        do n = pread(source->file, out, size, (off_t)at);
        while (cm_is_eintr(n));
        if (n < 0) return cm_file_fail(source->path, "read");
        if (n == 0) return fail_short(source, size);
        out += n, at += (uint64_t)n, size -= (size_t)n;
    }
    return CM_OK;
}

cm_status cm_source_read(const cm_source *source, uint64_t at, void *out, size_t size) {
    const uint64_t there = at < source->size ? source->size - at : 0;
    if (size > there) return fail_short(source, size - there);
    if (!source->bytes) return read_file(source, at, out, size);
    if (size > 0) memcpy(out, source->bytes + at, size);
    return CM_OK;
}
