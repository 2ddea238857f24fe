#include "replay/frame.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include "core/arena.h"
#include "core/memory.h"

enum {
    PLAIN,
    PACKED_WHOLE, /* with the checksum of the packed bytes */
    PACKED,
    BLOCK = 64 * 1024,
    WINDOW_LOG = 23 /* the longest that zstd has at the levels that there are: 8 MiB */
};

void cm_bytes_free(cm_bytes *bytes) {
    free(bytes->data);
    *bytes = (cm_bytes){0};
}

cm_status cm_bytes_extend(cm_bytes *bytes, size_t size, unsigned char **out) {
    if (size > bytes->capacity - bytes->size) {
        size_t capacity = bytes->capacity + bytes->capacity / 2;
        if (capacity < bytes->size + size) capacity = bytes->size + size;
        unsigned char *data = capacity >= size ? realloc(bytes->data, capacity) : NULL;
        if (!data) return cm_memory_fail((double)capacity, "to load the replay");
        bytes->data = data;
        bytes->capacity = capacity;
    }
    *out = bytes->data + bytes->size;
    bytes->size += size;
    return CM_OK;
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

struct cm_packer {
    uint64_t size;             /* bytes that it was given */
    XXH3_state_t *hash;        /* NULL: they are not hashed */
    const cm_sink *sink;       /* NULL: they are not written */
    ZSTD_CCtx *zstd;           /* NULL: they are written as they are */
    unsigned char out[BLOCK];  /* that zstd has packed */
    unsigned char turned[512]; /* numbers as files have them */
};

static cm_status fail_zstd(size_t code) {
    return cm_fail(CM_ERR_MEMORY, "replay: cannot compress what is saved: %s", ZSTD_getErrorName(code));
}

/* Packs bytes, or with `end` what zstd still holds. */
static cm_status pack(cm_packer *p, const void *bytes, size_t size, bool end) {
    ZSTD_inBuffer in = {bytes, size, 0};
    for (size_t left = 1; end ? left > 0 : in.pos < in.size;) {
        ZSTD_outBuffer out = {p->out, BLOCK, 0};
        left = ZSTD_compressStream2(p->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) return fail_zstd(left);
        if (out.pos > 0) CM_TRY(p->sink->write(p->sink->context, p->out, out.pos));
    }
    return CM_OK;
}

static cm_status pack_bytes(cm_packer *p, const void *bytes, size_t size) {
    p->size += size;
    if (p->hash) XXH3_64bits_update(p->hash, bytes, size);
    if (!p->sink) return CM_OK;
    return p->zstd ? pack(p, bytes, size, false) : p->sink->write(p->sink->context, bytes, size);
}

cm_status cm_packer_put(cm_packer *p, const void *numbers, size_t width, size_t count) {
    const unsigned char *from = numbers;
    if (width * count == 0) return CM_OK;
    if (cm_little_endian() || width == 1) return pack_bytes(p, numbers, width * count);
    while (count > 0) {
        const size_t some = count < sizeof p->turned / width ? count : sizeof p->turned / width;
        cm_copy_little(p->turned, from, width, some);
        CM_TRY(pack_bytes(p, p->turned, some * width));
        from += some * width;
        count -= some;
    }
    return CM_OK;
}

static void put32(unsigned char *out, uint32_t value) { cm_copy_little(out, &value, sizeof value, 1); }
static void put64(unsigned char *out, uint64_t value) { cm_copy_little(out, &value, sizeof value, 1); }

static void make_header(const cm_frame *frame, uint32_t compression, uint64_t payload, unsigned char *header) {
    memcpy(header, frame->magic, 8);
    put32(header + 8, compression);
    put32(header + 12, frame->observation_size);
    put32(header + 16, frame->observation_type | frame->frames << 8 | frame->numbers << 16);
    put32(header + 20, frame->actions);
    put64(header + 24, frame->a);
    put64(header + 32, frame->b);
    put64(header + 40, payload);
    put64(header + 48, compression == PLAIN ? payload : 0);
}

static cm_status begin_zstd(cm_packer *p, int level, uint64_t payload) {
    p->zstd = ZSTD_createCCtx();
    if (!p->zstd) return cm_fail(CM_ERR_MEMORY, "replay: no memory to compress what is saved");
    size_t code = ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(code)) code = ZSTD_CCtx_setPledgedSrcSize(p->zstd, payload);
    return ZSTD_isError(code) ? fail_zstd(code) : CM_OK;
}

/* The payload is measured for the header, hashed with the header's checksum as seed, and then written. */
static cm_status write_frame(cm_packer *p, const cm_frame *frame, int level, cm_frame_put *put, const void *context,
                             const cm_sink *sink) {
    unsigned char header[CM_FRAME_HEADER];
    XXH3_state_t *hash = p->hash;
    p->hash = NULL;
    CM_TRY(put(context, p));
    const uint64_t payload = p->size;
    make_header(frame, level == CM_SEGMENT_PLAIN ? PLAIN : PACKED, payload, header);
    XXH3_64bits_reset_withSeed(hash, XXH3_64bits(header, CM_FRAME_HEADER - 8));
    p->hash = hash;
    CM_TRY(put(context, p));
    put64(header + 56, XXH3_64bits_digest(hash));
    p->hash = NULL;
    p->sink = sink;
    CM_TRY(sink->write(sink->context, header, sizeof header));
    if (level == CM_SEGMENT_PLAIN) return put(context, p);
    CM_TRY(begin_zstd(p, level, payload));
    CM_TRY(put(context, p));
    return pack(p, NULL, 0, true);
}

cm_status cm_frame_write(const cm_frame *frame, int compression, cm_frame_put *put, const void *context,
                         const cm_sink *sink) {
    cm_packer *p = NULL;
    if (compression < 0 || compression > 19)
        return cm_fail(CM_ERR_INPUT, "replay: compression %d, must be in 0 .. 19", compression);
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "saving the replay"));
    XXH3_state_t *hash = XXH3_createState();
    p->hash = hash;
    cm_status status = hash ? write_frame(p, frame, compression, put, context, sink)
                            : cm_fail(CM_ERR_MEMORY, "replay: no memory for a checksum");
    ZSTD_freeCCtx(p->zstd);
    XXH3_freeState(hash);
    free(p);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

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

struct cm_unpacker {
    const cm_source *source;
    uint64_t at; /* of the source, the next that is read */
    uint32_t compression;
    uint64_t sum;             /* checksum of the header */
    XXH3_state_t *hash;       /* of the payload so far, or of what is stored */
    ZSTD_DStream *zstd;       /* NULL: stored as it is */
    ZSTD_inBuffer in;         /* of `stored` */
    bool has_ended;           /* zstd's frame */
    unsigned char out[BLOCK]; /* of the payload */
    unsigned char stored[BLOCK];
};

static cm_status fail_unpacking(void) { return cm_fail(CM_ERR_INPUT, "damaged, it does not unpack"); }

static cm_status read_stored(cm_unpacker *u, unsigned char *out, size_t *size) {
    const uint64_t left = u->source->size - u->at;
    *size = left < BLOCK ? (size_t)left : BLOCK;
    CM_TRY(cm_source_read(u->source, u->at, out, *size));
    u->at += *size;
    return CM_OK;
}

/* The next bytes into u->out; *size 0: zstd's frame has ended. */
static cm_status unpack(cm_unpacker *u, size_t *size) {
    *size = 0;
    while (!u->has_ended && *size == 0) {
        if (u->in.pos == u->in.size && u->at < u->source->size) {
            CM_TRY(read_stored(u, u->stored, &u->in.size));
            u->in.pos = 0;
        }
        ZSTD_outBuffer out = {u->out, BLOCK, 0};
        const size_t before = u->in.pos, more = ZSTD_decompressStream(u->zstd, &out, &u->in);
        *size = out.pos;
        if (ZSTD_isError(more) || (more != 0 && out.pos == 0 && u->in.pos == before)) return fail_unpacking();
        u->has_ended = more == 0;
    }
    return CM_OK;
}

/* More of the payload, of which some is left. */
static cm_status refill(cm_cursor *cursor) {
    cm_unpacker *u = cursor->unpacker;
    CM_TRY(u->zstd ? unpack(u, &cursor->ready) : read_stored(u, u->out, &cursor->ready));
    if (cursor->ready == 0 || cursor->ready > cursor->left) return fail_unpacking();
    if (u->compression == PACKED) XXH3_64bits_update(u->hash, u->out, cursor->ready);
    cursor->at = u->out;
    return CM_OK;
}

static cm_status fail_short(const cm_cursor *cursor, uint64_t bytes) {
    return cm_fail(CM_ERR_INPUT, "cut short: %llu bytes are missing", (unsigned long long)(bytes - cursor->left));
}

/* The next bytes, or with `out` NULL passed over. */
static cm_status read_bytes(cm_cursor *cursor, unsigned char *out, uint64_t bytes) {
    if (bytes > cursor->left) return fail_short(cursor, bytes);
    while (bytes > 0) {
        if (cursor->ready == 0) CM_TRY(refill(cursor));
        const size_t some = bytes < cursor->ready ? (size_t)bytes : cursor->ready;
        if (out) memcpy(out, cursor->at, some), out += some;
        cursor->at += some, cursor->ready -= some, cursor->left -= some;
        bytes -= some;
    }
    return CM_OK;
}

cm_status cm_cursor_get(cm_cursor *cursor, void *numbers, size_t width, size_t count) {
    unsigned char *out = numbers;
    if (width != 0 && count > cursor->left / width) return fail_short(cursor, (uint64_t)width * count);
    CM_TRY(read_bytes(cursor, out, (uint64_t)width * count));
    if (cm_little_endian()) return CM_OK;
    for (unsigned char *number = out; width > 1 && number < out + width * count; number += width) {
        for (size_t i = 0; i < width / 2; i++) {
            const unsigned char byte = number[i];
            number[i] = number[width - 1 - i], number[width - 1 - i] = byte;
        }
    }
    return CM_OK;
}

cm_status cm_cursor_skip(cm_cursor *cursor, uint64_t bytes) { return read_bytes(cursor, NULL, bytes); }

/* Whether the sizes of a header can be: zstd packs no more than 128 KiB into 4 bytes. */
static bool is_possible(uint32_t compression, uint64_t payload, uint64_t stored) {
    return compression == PLAIN ? payload == stored : compression <= PACKED && payload / 32768 <= stored;
}

static cm_status read_header(const cm_source *source, const char *magic, const char *what, unsigned char *header) {
    const bool has_one = source->size >= CM_FRAME_HEADER;
    if (has_one) CM_TRY(cm_source_read(source, 0, header, CM_FRAME_HEADER));
    if (!has_one || memcmp(header, magic, 8) != 0)
        return cm_fail(CM_ERR_INPUT, "%s: not one (%llu bytes that do not begin with \"%s\")", what,
                       (unsigned long long)source->size, magic);
    const uint32_t compression = get32(header + 8);
    const uint64_t payload = get64(header + 40), said = get64(header + 48), stored = source->size - CM_FRAME_HEADER;
    if (said != (compression == PACKED ? 0 : stored))
        return cm_fail(CM_ERR_INPUT, "%s: has %llu bytes, its header says %llu", what, (unsigned long long)source->size,
                       (unsigned long long)said + CM_FRAME_HEADER);
    if (is_possible(compression, payload, stored)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: %llu bytes cannot come from %llu", what, (unsigned long long)payload,
                   (unsigned long long)stored);
}

static void read_frame(const unsigned char *header, const char *magic, cm_frame *frame) {
    *frame = (cm_frame){.magic = magic,
                        .observation_size = get32(header + 12),
                        .observation_type = get32(header + 16) & UINT8_MAX,
                        .frames = get32(header + 16) >> 8 & UINT8_MAX,
                        .numbers = get32(header + 16) >> 16,
                        .actions = get32(header + 20),
                        .a = get64(header + 24),
                        .b = get64(header + 32)};
}

cm_status cm_frame_look(const cm_source *source, const char *magic, const char *what, cm_frame *frame) {
    unsigned char header[CM_FRAME_HEADER];
    CM_TRY(read_header(source, magic, what, header));
    read_frame(header, magic, frame);
    return CM_OK;
}

static cm_status check_sum(const cm_unpacker *u, const char *what) {
    if (XXH3_64bits_digest(u->hash) == u->sum) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: damaged, its checksum does not agree", what);
}

/* Of what is stored, before any of it is unpacked. */
static cm_status check_stored(cm_unpacker *u, const char *what) {
    for (u->at = CM_FRAME_HEADER; u->at < u->source->size;) {
        size_t size;
        CM_TRY(read_stored(u, u->stored, &size));
        XXH3_64bits_update(u->hash, u->stored, size);
    }
    return check_sum(u, what);
}

static cm_status begin_reading(cm_unpacker *u, const unsigned char *header, const char *what) {
    u->compression = get32(header + 8);
    u->sum = get64(header + 56);
    u->hash = XXH3_createState();
    if (u->compression != PLAIN) u->zstd = ZSTD_createDStream();
    if (!u->hash || (u->compression != PLAIN && !u->zstd))
        return cm_fail(CM_ERR_MEMORY, "%s: no memory to read it", what);
    if (u->zstd) (void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    XXH3_64bits_reset_withSeed(u->hash, XXH3_64bits(header, CM_FRAME_HEADER - 8));
    if (u->compression != PACKED) CM_TRY(check_stored(u, what));
    u->in = (ZSTD_inBuffer){u->stored, 0, 0};
    u->at = CM_FRAME_HEADER;
    return CM_OK;
}

cm_status cm_frame_open(const cm_source *source, const char *magic, const char *what, cm_frame *frame, cm_cursor *out) {
    unsigned char header[CM_FRAME_HEADER];
    *out = (cm_cursor){.unpacker = NULL};
    CM_TRY(read_header(source, magic, what, header));
    read_frame(header, magic, frame);
    CM_TRY(cm_alloc(&out->unpacker, 1, sizeof *out->unpacker, "loading the replay"));
    out->unpacker->source = source;
    out->observation_type = frame->observation_type;
    out->left = get64(header + 40);
    cm_status status = begin_reading(out->unpacker, header, what);
    if (status != CM_OK) cm_cursor_close(out);
    return status;
}

cm_status cm_frame_end(cm_cursor *cursor, const char *what) {
    cm_unpacker *u = cursor->unpacker;
    size_t more = 0;
    if (cursor->left > 0)
        return cm_fail(CM_ERR_INPUT, "%s: %llu bytes too many", what, (unsigned long long)cursor->left);
    if (u->zstd && (unpack(u, &more) != CM_OK || more > 0 || u->in.pos < u->in.size || u->at < u->source->size))
        return cm_fail(CM_ERR_INPUT, "%s: damaged, it does not unpack", what);
    return u->compression == PACKED ? check_sum(u, what) : CM_OK;
}

void cm_cursor_close(cm_cursor *cursor) {
    if (!cursor->unpacker) return;
    ZSTD_freeDStream(cursor->unpacker->zstd);
    XXH3_freeState(cursor->unpacker->hash);
    free(cursor->unpacker);
    cursor->unpacker = NULL;
}

static cm_status unpack_whole(cm_cursor *in, const char *what, uint64_t most, cm_bytes *space) {
    unsigned char *all = NULL;
    if (in->left > most)
        return cm_fail(CM_ERR_INPUT, "%s: %llu bytes unpacked, where this replay has at most %llu", what,
                       (unsigned long long)in->left, (unsigned long long)most);
    space->size = 0;
    CM_TRY(cm_bytes_extend(space, (size_t)in->left, &all));
    if (read_bytes(in, all, in->left) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "%s", what);
    return cm_frame_end(in, what);
}

cm_status cm_frame_unpack(const cm_source *source, const char *magic, const char *what, uint64_t most, cm_frame *frame,
                          cm_bytes *space, cm_cursor *out) {
    cm_cursor in;
    CM_TRY(cm_frame_open(source, magic, what, frame, &in));
    cm_status status = unpack_whole(&in, what, most, space);
    cm_cursor_close(&in);
    *out = (cm_cursor){
        .at = space->data, .ready = space->size, .left = space->size, .observation_type = frame->observation_type};
    return status;
}

/* ---- from one to another ------------------------------------------------------------------------------------------
 */

typedef struct repacking {
    const cm_source *source;
    const char *magic, *what;
} repacking;

static cm_status pass_on(cm_cursor *in, cm_packer *out) {
    unsigned char some[BLOCK];
    while (in->left > 0) {
        const size_t size = in->left < BLOCK ? (size_t)in->left : BLOCK;
        CM_TRY(cm_cursor_get(in, some, 1, size));
        CM_TRY(cm_packer_put(out, some, 1, size));
    }
    return CM_OK;
}

static cm_status put_payload(const void *context, cm_packer *out) {
    const repacking *r = context;
    cm_frame frame;
    cm_cursor in;
    CM_TRY(cm_frame_open(r->source, r->magic, r->what, &frame, &in));
    cm_status status = pass_on(&in, out);
    if (status == CM_OK) status = cm_frame_end(&in, r->what);
    cm_cursor_close(&in);
    return status;
}

cm_status cm_frame_repack(const cm_source *source, const char *magic, const char *what, int compression,
                          const cm_sink *sink) {
    const repacking r = {source, magic, what};
    cm_frame frame;
    CM_TRY(cm_frame_look(source, magic, what, &frame));
    return cm_frame_write(&frame, compression, put_payload, &r, sink);
}
