/* What a replay saves, in memory. */
#ifndef CM_TESTS_BYTES_H
#define CM_TESTS_BYTES_H

#include <string.h>

#include "replay/frame.h"

static inline cm_status cm_bytes_append(void *bytes, const void *data, size_t size) {
    unsigned char *out;
    CM_TRY(cm_bytes_extend((cm_bytes *)bytes, size, &out));
    memcpy(out, data, size);
    return CM_OK;
}

/* Where what is written takes the place of *bytes. */
static inline cm_sink cm_bytes_sink(cm_bytes *bytes) {
    bytes->size = 0;
    return (cm_sink){bytes, cm_bytes_append};
}

static inline cm_source cm_bytes_source(const cm_bytes *bytes) {
    cm_source source;
    cm_source_memory(&source, bytes->data, bytes->size, "bytes");
    return source;
}

#endif
