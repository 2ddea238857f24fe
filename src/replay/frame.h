/* The outer form of what a replay saves: a header of 64 bytes and a payload, perhaps compressed. Both are written and
 * read in chunks, so neither allocates memory that grows with the payload. All numbers are little-endian.
 *
 *     0  magic[8]   8  compression u32   12  observation_size u32   16  observation_type u8   17  frames u8
 *    18  numbers u16
 *    20  actions u32
 *    24  a u64     32  b u64             40  payload bytes u64      48  stored bytes u64       56  XXH3 u64
 *
 * compression 0: the payload as it is. 2: zstd; stored bytes are 0 (all that follow), and the checksum is that of the
 * payload. 1, only read: zstd, with number and checksum of the stored bytes. The checksum is seeded by that of the
 * header before it.
 */
#ifndef CM_REPLAY_FRAME_H
#define CM_REPLAY_FRAME_H

#include <string.h>

#include "core/status.h"
#include "replay/segment.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_FRAME_HEADER = 64 };

static inline bool cm_little_endian(void) { return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__; }

/* Copies count numbers of `width` bytes between memory and a file: the same bytes, or each one reversed. */
static inline void cm_copy_little(void *to, const void *from, size_t width, size_t count) {
    if (cm_little_endian() || width == 1) {
        memcpy(to, from, width * count);
        return;
    }
    const unsigned char *in = (const unsigned char *)from;
    unsigned char *out = (unsigned char *)to;
    for (size_t i = 0; i < count * width; i++) out[i] = in[i - i % width + width - 1 - i % width];
}

/* A growing run of bytes; begin with {0}. */
typedef struct cm_bytes {
    unsigned char *data; /* owned */
    size_t size, capacity;
} cm_bytes;
void cm_bytes_free(cm_bytes *bytes);
/* Space for `size` bytes after those that are there; counts them. Errors: CM_ERR_MEMORY. */
cm_status cm_bytes_extend(cm_bytes *bytes, size_t size, unsigned char **out) CM_MUST_USE;

enum { CM_FRAME_FLOAT32, CM_FRAME_BYTES }; /* how a row's observation is stored */

enum { CM_FRAME_ENTRIES = 1 << 15 };

typedef struct cm_frame {
    const char *magic; /* 8 characters */
    uint32_t observation_size, observation_type, actions;
    uint32_t frames;  /* K of stacks of frames, 0: there are none */
    uint32_t numbers; /* D of policies per number, with angles 32 n + D, 0 of joint ones, CM_FRAME_ENTRIES + N of those
                         kept as N entries */
    uint64_t a, b;
} cm_frame;

/* ---- writing ---- */

/* Takes a payload, number by number. */
typedef struct cm_packer cm_packer;
cm_status cm_packer_put(cm_packer *packer, const void *numbers, size_t width, size_t count) CM_MUST_USE;

/* Gives the payload to the packer, and the same again when it is called again: it is measured, hashed and written. */
typedef cm_status cm_frame_put(const void *context, cm_packer *packer);

/* The frame around what `put` gives goes to the sink. compression: CM_SEGMENT_PLAIN or a zstd level. Errors: those of
 * `put` and the sink, CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_frame_write(const cm_frame *frame, int compression, cm_frame_put *put, const void *context,
                         const cm_sink *sink) CM_MUST_USE;

/* The frame of a source, of the given magic, goes to the sink with another compression. Errors: as cm_frame_write and
 * cm_frame_open. */
cm_status cm_frame_repack(const cm_source *source, const char *magic, const char *what, int compression,
                          const cm_sink *sink) CM_MUST_USE;

/* ---- reading ---- */

typedef struct cm_unpacker cm_unpacker;

/* What is left of a payload. */
typedef struct cm_cursor {
    const unsigned char *at; /* [ready] of it that are in memory */
    size_t ready;
    uint64_t left;             /* all of it */
    uint32_t observation_type; /* of the frame */
    cm_unpacker *unpacker; /* brings the rest, owned; NULL: all is ready, and copies of the cursor go their own way */
} cm_cursor;

/* The next count numbers; the next bytes passed over. Errors: CM_ERR_INPUT "cut short", or damaged. */
cm_status cm_cursor_get(cm_cursor *cursor, void *numbers, size_t width, size_t count) CM_MUST_USE;
cm_status cm_cursor_skip(cm_cursor *cursor, uint64_t bytes) CM_MUST_USE;

/* The numbers of a header of the given magic. Errors: CM_ERR_INPUT; `what` names it there. */
cm_status cm_frame_look(const cm_source *source, const char *magic, const char *what, cm_frame *frame) CM_MUST_USE;

/* Opens the payload, to be read in chunks; `source` is borrowed until cm_cursor_close. Errors: as above, CM_ERR_MEMORY.
 */
cm_status cm_frame_open(const cm_source *source, const char *magic, const char *what, cm_frame *frame,
                        cm_cursor *out) CM_MUST_USE;
/* After the last chunk: all has been read, and the checksum agrees. */
cm_status cm_frame_end(cm_cursor *cursor, const char *what) CM_MUST_USE;
void cm_cursor_close(cm_cursor *cursor);

/* The whole payload, of at most `most` bytes, in *space. */
cm_status cm_frame_unpack(const cm_source *source, const char *magic, const char *what, uint64_t most, cm_frame *frame,
                          cm_bytes *space, cm_cursor *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
