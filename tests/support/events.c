#include "support/events.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"

/* ---- messages ---- */

static uint64_t take_varint(cm_part *m) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        ck_assert_msg(m->size > 0 && shift < 70, "a number without an end");
        const unsigned char byte = *m->at++;
        m->size--;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

static cm_part take(cm_part *m, size_t size) {
    ck_assert_msg(size <= m->size, "%zu bytes where %zu are left", size, m->size);
    const cm_part out = {m->at, size};
    m->at += size, m->size -= size;
    return out;
}

bool cm_part_next(cm_part *m, cm_part_field *out) {
    double wide;
    float narrow;
    if (m->size == 0) return false;
    const uint64_t key = take_varint(m);
    *out = (cm_part_field){.number = (unsigned)(key >> 3), .kind = (unsigned)(key & 7)};
    switch (out->kind) {
    case 0: out->integer = (int64_t)take_varint(m); break;
    case 1:
        memcpy(&wide, take(m, sizeof wide).at, sizeof wide);
        out->real = wide;
        break;
    case 2: out->bytes = take(m, take_varint(m)); break;
    case 5:
        memcpy(&narrow, take(m, sizeof narrow).at, sizeof narrow);
        out->real = (double)narrow;
        break;
    default: ck_abort_msg("field %u of kind %u", out->number, out->kind);
    }
    return true;
}

bool cm_part_find(cm_part message, unsigned number, cm_part_field *out) {
    while (cm_part_next(&message, out))
        if (out->number == number) return true;
    return false;
}

cm_part cm_part_at(cm_part message, const char *path) {
    const char *at = path;
    while (*at) {
        char *end;
        cm_part_field field;
        const unsigned number = (unsigned)strtoul(at, &end, 10);
        ck_assert_msg(cm_part_find(message, number, &field) && field.kind == 2, "no field %u of %s", number, path);
        message = field.bytes;
        at = end;
    }
    return message;
}

bool cm_part_is(cm_part part, const char *text) {
    return part.size == strlen(text) && memcmp(part.at, text, part.size) == 0;
}

/* ---- records ---- */

uint32_t cm_record_checksum(const unsigned char *bytes, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1u ? 0x82f63b78u : 0u);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint64_t take_little_endian(cm_part *m, size_t bytes) {
    const cm_part part = take(m, bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint64_t)part.at[i] << 8 * i;
    return value;
}

static void read_file(const char *folder, const char *name, cm_events *out) {
    char path[512];
    char *text;
    size_t size;
    ck_assert_int_lt(out->files, 16);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_msg(cm_file_read(path, 1 << 24, &text, &size) == CM_OK, "%s", cm_error_message());
    out->bytes[out->files] = (unsigned char *)text;
    snprintf(out->name[out->files], sizeof out->name[0], "%s", name);
    cm_part left = {(const unsigned char *)text, size};
    while (left.size > 0) {
        const unsigned char *head = left.at;
        const uint64_t length = take_little_endian(&left, 8);
        ck_assert_uint_eq(take_little_endian(&left, 4), cm_record_checksum(head, 8));
        const cm_part event = take(&left, length);
        ck_assert_uint_eq(take_little_endian(&left, 4), cm_record_checksum(event.at, event.size));
        ck_assert_int_lt(out->count, 4096);
        out->file[out->count] = out->files;
        out->event[out->count++] = event;
    }
    out->files++;
}

void cm_events_read(const char *folder, cm_events *out) {
    struct dirent **entries;
    out->files = out->count = 0;
    const int count = scandir(folder, &entries, NULL, alphasort);
    ck_assert_msg(count >= 0, "%s is not there", folder);
    for (int i = 0; i < count; i++) {
        if (strstr(entries[i]->d_name, "tfevents")) read_file(folder, entries[i]->d_name, out);
        free(entries[i]);
    }
    free(entries);
}

void cm_events_free(cm_events *events) {
    for (int i = 0; i < events->files; i++) free(events->bytes[i]);
}

int64_t cm_event_step(cm_part event) {
    cm_part_field step;
    return cm_part_find(event, 2, &step) ? step.integer : 0;
}

/* The number of a summary's value with that tag. */
static bool find_scalar(cm_part summary, const char *tag, double *out) {
    cm_part_field value, field;
    while (cm_part_next(&summary, &value)) {
        if (!cm_part_is(cm_part_at(value.bytes, "1"), tag) || !cm_part_find(value.bytes, 2, &field)) continue;
        *out = field.real;
        return true;
    }
    return false;
}

int cm_events_scalars(const cm_events *events, const char *tag, double *value, int64_t *step, int most) {
    int count = 0;
    for (int i = 0; i < events->count; i++) {
        cm_part_field summary;
        double number;
        if (!cm_part_find(events->event[i], 5, &summary) || !find_scalar(summary.bytes, tag, &number)) continue;
        ck_assert_int_lt(count, most);
        value[count] = number;
        step[count++] = cm_event_step(events->event[i]);
    }
    return count;
}
