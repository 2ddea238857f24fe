#include "run/event_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/log.h"
#include "core/source.h"

/* Bytes of a record besides its event; of an event that tell its step and kind; that are read at once. */
enum { HEADER = 12, FOOTER = 4, HEAD = 32, PIECE = 1 << 16 };
/* Fields of an event. */
enum { WALL_TIME = 1, STEP = 2, FILE_VERSION = 3 };

static const char prefix[] = "events.out.tfevents.";
enum { PREFIX = sizeof prefix - 1, DIGITS = 10 };

/* As TFRecords have it: the checksum of data that holds checksums is a poor one. */
static uint32_t checksum(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

/* ---- reading ---- */

/* The beginning of an event that stands whole in a file. */
typedef struct record {
    unsigned char head[HEAD];
    size_t size;    /* of the head */
    uint64_t bytes; /* of the record */
} record;

/* Reads `length` bytes of data at `at`, and the footer. */
static cm_status read_data(const cm_source *file, uint64_t at, uint64_t length, record *out, bool *is_whole) {
    unsigned char piece[PIECE];
    uint32_t crc = 0, stored;
    out->size = length < HEAD ? (size_t)length : HEAD;
    for (uint64_t done = 0; done < length;) {
        const size_t n = length - done < PIECE ? (size_t)(length - done) : PIECE;
        CM_TRY(cm_source_read(file, at + done, piece, n));
        if (done == 0) memcpy(out->head, piece, out->size);
        crc = cm_crc32c(crc, piece, n);
        done += n;
    }
    CM_TRY(cm_source_read(file, at + length, &stored, sizeof stored));
    *is_whole = stored == checksum(crc);
    return CM_OK;
}

/* *is_whole false: the file ends before the record does, or this is not what its checksums say. */
static cm_status read_record(const cm_source *file, uint64_t at, record *out, bool *is_whole) {
    unsigned char header[HEADER];
    uint64_t length;
    uint32_t stored;
    *is_whole = false;
    if (file->size - at < HEADER + FOOTER) return CM_OK;
    CM_TRY(cm_source_read(file, at, header, HEADER));
    memcpy(&length, header, sizeof length);
    memcpy(&stored, header + sizeof length, sizeof stored);
    if (stored != checksum(cm_crc32c(0, header, sizeof length))) return CM_OK;
    if (length > file->size - at - HEADER - FOOTER) return CM_OK;
    out->bytes = HEADER + length + FOOTER;
    return read_data(file, at + HEADER, length, out, is_whole);
}

/* The step of an event, 0 where it has none, and the number of the field behind it. */
static int64_t step_of(const record *r, unsigned *what) {
    size_t at = r->size > 9 && r->head[0] >> 3 == WALL_TIME ? 9 : 0;
    uint64_t step = 0;
    if (at < r->size && r->head[at] == STEP << 3) {
        unsigned shift = 0;
        do {
            if (++at == r->size) break;
            if (shift < 64) step |= (uint64_t)(r->head[at] & 0x7f) << shift;
            shift += 7;
        } while (r->head[at] & 0x80);
        at++;
    }
    *what = at < r->size ? r->head[at] >> 3 : 0u;
    return (int64_t)step;
}

/* What of a file stays: bytes, events; the largest step of its summaries, -1: none. */
typedef struct kept {
    uint64_t bytes;
    int64_t events, known;
    bool is_damaged; /* what follows is no event */
} kept;

static cm_status scan(const cm_source *file, int64_t last, kept *out) {
    *out = (kept){.known = -1};
    while (out->bytes < file->size) {
        record r;
        bool is_whole;
        unsigned what;
        CM_TRY(read_record(file, out->bytes, &r, &is_whole));
        out->is_damaged = !is_whole;
        if (!is_whole) return CM_OK;
        const int64_t step = step_of(&r, &what);
        if (step > last) return CM_OK;
        if (what == CM_EVENT_SUMMARY && step > out->known) out->known = step;
        out->bytes += r.bytes;
        out->events++;
    }
    return CM_OK;
}

static cm_status scan_file(const cm_dir *dir, const char *name, uint64_t size, int64_t last, kept *out) {
    char path[PATH_MAX];
    cm_source source;
    int file;
    CM_TRY(cm_path_join(path, sizeof path, dir->path, name));
    CM_TRY(cm_dir_open_file(dir, name, O_RDONLY, &file));
    cm_source_file(&source, file, size, path);
    cm_status status = scan(&source, last, out);
    cm_source_close(&source);
    return status;
}

/* ---- cutting ---- */

/* The time in the name of an event file; -1: it is none. */
static int64_t time_of(const char *name) {
    if (strncmp(name, prefix, PREFIX) != 0 || strspn(name + PREFIX, "0123456789") != DIGITS) return -1;
    return name[PREFIX + DIGITS] == '.' ? strtoll(name + PREFIX, NULL, 10) : -1;
}

static cm_status cut_file(const cm_dir *dir, const char *name, uint64_t bytes) {
    cm_append_file file;
    CM_TRY(cm_append_open(&file, dir, name));
    cm_status status = cm_append_cut(&file, (int64_t)bytes);
    cm_append_close(&file);
    return status;
}

typedef struct visit {
    const cm_dir *dir;
    int64_t last;
    cm_event_history *out;
} visit;

static cm_status visit_file(void *context, const char *name) {
    const visit *v = context;
    cm_dir_file file;
    kept k;
    if (time_of(name) < 0) return CM_OK;
    if (strcmp(name, v->out->newest) > 0) snprintf(v->out->newest, sizeof v->out->newest, "%s", name);
    CM_TRY(cm_dir_measure(v->dir, name, &file));
    CM_TRY(scan_file(v->dir, name, file.bytes, v->last, &k));
    if (k.known > v->out->known) v->out->known = k.known;
    if (k.is_damaged)
        cm_log(CM_INFO, "%s/%s: is torn or damaged behind %lld events, which are kept", v->dir->path, name,
               (long long)k.events);
    if (k.events <= 1 && k.known < 0) return cm_dir_unlink(v->dir, name); /* the first is that of every file */
    return k.bytes < file.bytes ? cut_file(v->dir, name, k.bytes) : CM_OK;
}

cm_status cm_event_files_cut(const cm_dir *dir, int64_t last, cm_event_history *out) {
    visit v = {dir, last, out};
    *out = (cm_event_history){.known = -1};
    return cm_dir_each(dir, visit_file, &v);
}

/* ---- names ---- */

enum { COUNT_DIGITS = 8 }; /* of ".00000001" */
static const int64_t last_time = 9999999999, last_count = 99999999;

static void name_time(int64_t time, char name[NAME_MAX + 1]) {
    char host[64] = "";
    if (gethostname(host, sizeof host) != 0 || strchr(host, '/')) host[0] = '\0';
    host[sizeof host - 1] = '\0';
    snprintf(name, NAME_MAX + 1, "%s%010lld.%s.%ld.0", prefix, (long long)time, host[0] ? host : "localhost",
             (long)getpid());
}

/* The number that ends a name, ".00000001"; 0: there is none that could be counted on. */
static int64_t count_of(const char *name) {
    const char *end = strrchr(name, '.') + 1;
    const bool is_count = strlen(end) == COUNT_DIGITS && strspn(end, "0123456789") == COUNT_DIGITS;
    const int64_t count = is_count ? strtoll(end, NULL, 10) : 0;
    return count < last_count ? count : 0;
}

/* A name of the same time that comes next. */
static cm_status name_count(const char *newest, char name[NAME_MAX + 1]) {
    const int64_t count = count_of(newest);
    const size_t length = strlen(newest) - (count > 0 ? COUNT_DIGITS + 1 : 0);
    const int n = snprintf(name, NAME_MAX + 1, "%.*s.%0*lld", (int)length, newest, COUNT_DIGITS, (long long)count + 1);
    if (n <= NAME_MAX) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%.40s...: the name is too long for one of an event file that comes after it", newest);
}

/* ---- writing ---- */

cm_status cm_event_file_create(cm_event_file *file, const cm_dir *dir, const char *newest) {
    char name[NAME_MAX + 1];
    const int64_t now = (int64_t)cm_clock_unix(), next = time_of(newest) + 1;
    *file = (cm_event_file){.records.file = -1};
    if (next > last_time) {
        CM_TRY(name_count(newest, name));
    } else {
        name_time(now > next ? now : next, name);
    }
    return cm_append_open(&file->records, dir, name);
}

void cm_event_file_close(cm_event_file *file) {
    cm_append_close(&file->records);
    cm_proto_free(&file->event);
}

static void begin_frame(cm_event_file *file, double time) {
    static const unsigned char header[HEADER];
    file->frame = file->event.size;
    cm_proto_append(&file->event, header, HEADER);
    cm_proto_put_double(&file->event, WALL_TIME, time);
}

static void end_frame(cm_event_file *file) {
    if (cm_proto_check(&file->event) != CM_OK) return;
    unsigned char *header = file->event.bytes + file->frame;
    const uint64_t length = file->event.size - file->frame - HEADER;
    memcpy(header, &length, sizeof length);
    const uint32_t of_length = checksum(cm_crc32c(0, header, sizeof length)),
                   of_data = checksum(cm_crc32c(0, header + HEADER, length));
    memcpy(header + sizeof length, &of_length, sizeof of_length);
    cm_proto_append(&file->event, &of_data, FOOTER);
}

cm_proto *cm_event_begin(cm_event_file *file, double time, int64_t step) {
    cm_proto_reset(&file->event);
    if (file->records.bytes == 0) {
        begin_frame(file, time);
        cm_proto_put_text(&file->event, FILE_VERSION, "brain.Event:2");
        end_frame(file);
    }
    begin_frame(file, time);
    cm_proto_put_int(&file->event, STEP, step);
    return &file->event;
}

cm_status cm_event_end(cm_event_file *file) {
    end_frame(file);
    CM_TRY(cm_proto_check(&file->event));
    return cm_append_write(&file->records, file->event.bytes, file->event.size);
}
