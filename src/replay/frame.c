#include "replay/frame.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/memory.h"

void cm_bytes_free(cm_bytes *bytes) {
    free(bytes->data);
    *bytes = (cm_bytes){0};
}

cm_status cm_bytes_extend(cm_bytes *bytes, size_t size, unsigned char **out) {
    if (size > bytes->capacity - bytes->size) {
        size_t capacity = bytes->capacity + bytes->capacity / 2;
        if (capacity < bytes->size + size) capacity = bytes->size + size;
        unsigned char *data = capacity >= size ? realloc(bytes->data, capacity) : NULL;
        if (!data) return cm_memory_fail((double)capacity, "to save or load the replay");
        bytes->data = data;
        bytes->capacity = capacity;
    }
    *out = bytes->data + bytes->size;
    bytes->size += size;
    return CM_OK;
}

cm_status cm_bytes_put(cm_bytes *bytes, const void *numbers, size_t width, size_t count) {
    unsigned char *out = NULL;
    if (width * count == 0) return CM_OK;
    CM_TRY(cm_bytes_extend(bytes, width * count, &out));
    cm_copy_little(out, numbers, width, count);
    return CM_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static void put32(unsigned char *out, uint32_t value) { cm_copy_little(out, &value, sizeof value, 1); }
static void put64(unsigned char *out, uint64_t value) { cm_copy_little(out, &value, sizeof value, 1); }

static uint32_t get32(const unsigned char *in) {
    uint32_t value;
    cm_copy_little(&value, in, sizeof value, 1);
    return value;
}

static uint64_t get64(const unsigned char *in) {
    uint64_t value;
    cm_copy_little(&value, in, sizeof value, 1);
    return value;
}

/* Of the header up to its own place, and of what is stored behind it. */
static uint64_t checksum(const unsigned char *data, size_t stored) {
    return XXH3_64bits_withSeed(data + CM_FRAME_HEADER, stored, XXH3_64bits(data, CM_FRAME_HEADER - 8));
}

static cm_status store_payload(const cm_bytes *payload, int compression, cm_bytes *out) {
    unsigned char *to = NULL;
    if (compression == CM_SEGMENT_PLAIN) return cm_bytes_put(out, payload->data, 1, payload->size);
    size_t bound = ZSTD_compressBound(payload->size);
    CM_TRY(cm_bytes_extend(out, bound, &to));
    size_t stored = ZSTD_compress(to, bound, payload->data, payload->size, compression);
    if (ZSTD_isError(stored))
        return cm_fail(CM_ERR_MEMORY, "replay: cannot compress what is saved: %s", ZSTD_getErrorName(stored));
    out->size = CM_FRAME_HEADER + stored;
    return CM_OK;
}

cm_status cm_frame_write(const cm_frame *frame, const cm_bytes *payload, int compression, cm_bytes *out) {
    unsigned char *header = NULL;
    if (compression < 0 || compression > 19)
        return cm_fail(CM_ERR_INPUT, "replay: compression %d, must be in 0 .. 19", compression);
    out->size = 0;
    CM_TRY(cm_bytes_extend(out, CM_FRAME_HEADER, &header));
    CM_TRY(store_payload(payload, compression, out));
    header = out->data;
    memcpy(header, frame->magic, 8);
    put32(header + 8, compression != CM_SEGMENT_PLAIN);
    put32(header + 12, frame->observation_size);
    put32(header + 16, frame->observation_type | frame->numbers << 16);
    put32(header + 20, frame->actions);
    put64(header + 24, frame->a);
    put64(header + 32, frame->b);
    put64(header + 40, payload->size);
    put64(header + 48, out->size - CM_FRAME_HEADER);
    put64(header + 56, checksum(header, out->size - CM_FRAME_HEADER));
    return CM_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

cm_status cm_cursor_get(cm_cursor *cursor, void *numbers, size_t width, size_t count) {
    if (width != 0 && count > cursor->left / width)
        return cm_fail(CM_ERR_INPUT, "cut short: %zu bytes are missing", count * width - cursor->left);
    if (count > 0) cm_copy_little(numbers, cursor->at, width, count);
    cursor->at += width * count;
    cursor->left -= width * count;
    return CM_OK;
}

cm_status cm_frame_check(const void *data, size_t size, const char *magic, const char *what, cm_frame *frame) {
    const unsigned char *header = data;
    if (size < CM_FRAME_HEADER || memcmp(header, magic, 8) != 0)
        return cm_fail(CM_ERR_INPUT, "%s: not one (%zu bytes that do not begin with \"%s\")", what, size, magic);
    uint64_t payload = get64(header + 40), stored = get64(header + 48);
    if (stored != size - CM_FRAME_HEADER)
        return cm_fail(CM_ERR_INPUT, "%s: has %zu bytes, its header says %llu", what, size,
                       (unsigned long long)stored + CM_FRAME_HEADER);
    if (get64(header + 56) != checksum(header, size - CM_FRAME_HEADER))
        return cm_fail(CM_ERR_INPUT, "%s: damaged, its checksum does not agree", what);
    /* zstd packs no more than 128 KiB into 4 bytes. */
    bool packed = get32(header + 8) == 1;
    if (get32(header + 8) > 1 || (!packed && payload != stored) || (packed && payload / 32768 > stored))
        return cm_fail(CM_ERR_INPUT, "%s: %llu bytes cannot come from %llu", what, (unsigned long long)payload,
                       (unsigned long long)stored);
    *frame = (cm_frame){.magic = magic,
                        .observation_size = get32(header + 12),
                        .observation_type = get32(header + 16) & UINT16_MAX,
                        .numbers = get32(header + 16) >> 16,
                        .actions = get32(header + 20),
                        .a = get64(header + 24),
                        .b = get64(header + 32)};
    return CM_OK;
}

cm_status cm_frame_open(const void *data, size_t size, const char *what, cm_bytes *room, cm_cursor *out) {
    const unsigned char *header = data;
    size_t payload = (size_t)get64(header + 40), stored = size - CM_FRAME_HEADER;
    const uint32_t type = get32(header + 16) & UINT16_MAX;
    *out = (cm_cursor){header + CM_FRAME_HEADER, stored, type};
    if (get32(header + 8) == 0) return CM_OK;
    unsigned char *unpacked = NULL;
    room->size = 0;
    CM_TRY(cm_bytes_extend(room, payload, &unpacked));
    size_t got = ZSTD_decompress(unpacked, payload, header + CM_FRAME_HEADER, stored);
    if (ZSTD_isError(got) || got != payload) return cm_fail(CM_ERR_INPUT, "%s: damaged, it does not unpack", what);
    *out = (cm_cursor){unpacked, payload, type};
    return CM_OK;
}
