#include "core/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* Kinds of fields, as they are written; the most bytes of a varint. */
enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2, FOUR_BYTES = 5, VARINT_BYTES = 10, FIRST_CAPACITY = 4096 };

void cm_proto_reset(cm_proto *out) { out->size = 0, out->is_short = false; }

void cm_proto_free(cm_proto *out) {
    free(out->bytes);
    *out = (cm_proto){.bytes = NULL};
}

cm_status cm_proto_check(const cm_proto *out) {
    return out->is_short ? cm_fail(CM_ERR_MEMORY, "no memory for a message of %zu bytes", out->capacity) : CM_OK;
}

static bool grow(cm_proto *out, size_t size) {
    size_t capacity = out->capacity ? out->capacity : FIRST_CAPACITY;
    while (capacity - out->size < size) capacity *= 2;
    unsigned char *bytes = realloc(out->bytes, capacity);
    if (bytes) out->bytes = bytes, out->capacity = capacity;
    return bytes != NULL;
}

void cm_proto_append(cm_proto *out, const void *bytes, size_t size) {
    if (size > out->capacity - out->size && !grow(out, size)) out->is_short = true;
    if (out->is_short || size == 0) return;
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

/* Seven bits a byte, the lowest first. */
static size_t varint(uint64_t value, unsigned char out[VARINT_BYTES]) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) out[n++] = (unsigned char)(value | 0x80);
    out[n++] = (unsigned char)value;
    return n;
}

static void put_varint(cm_proto *out, uint64_t value) {
    unsigned char bytes[VARINT_BYTES];
    cm_proto_append(out, bytes, varint(value, bytes));
}

static void put_key(cm_proto *out, uint32_t field, unsigned kind) { put_varint(out, (uint64_t)field << 3 | kind); }

void cm_proto_put_int(cm_proto *out, uint32_t field, int64_t value) {
    put_key(out, field, VARINT);
    put_varint(out, (uint64_t)value);
}

void cm_proto_put_float(cm_proto *out, uint32_t field, float value) {
    put_key(out, field, FOUR_BYTES);
    cm_proto_append(out, &value, sizeof value);
}

void cm_proto_put_double(cm_proto *out, uint32_t field, double value) {
    put_key(out, field, EIGHT_BYTES);
    cm_proto_append(out, &value, sizeof value);
}

void cm_proto_put_bytes(cm_proto *out, uint32_t field, const void *bytes, size_t size) {
    put_key(out, field, LENGTH);
    put_varint(out, size);
    cm_proto_append(out, bytes, size);
}

void cm_proto_put_text(cm_proto *out, uint32_t field, const char *text) {
    cm_proto_put_bytes(out, field, text, strlen(text));
}

void cm_proto_put_doubles(cm_proto *out, uint32_t field, const double *values, int count) {
    cm_proto_put_bytes(out, field, values, (size_t)count * sizeof *values);
}

size_t cm_proto_begin(cm_proto *out, uint32_t field) {
    put_key(out, field, LENGTH);
    return out->size;
}

/* The length goes in front of what has been put, which gives way. */
void cm_proto_end(cm_proto *out, size_t begun) {
    unsigned char length[VARINT_BYTES];
    const size_t size = out->is_short ? 0 : out->size - begun, n = varint(size, length);
    cm_proto_append(out, length, n);
    if (out->is_short) return;
    memmove(out->bytes + begun + n, out->bytes + begun, size);
    memcpy(out->bytes + begun, length, n);
}
