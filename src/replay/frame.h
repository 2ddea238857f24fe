/* The outer form of what a replay saves: a header of 64 bytes, checked as a whole, and a payload, perhaps compressed.
 * All numbers are little-endian.
 *
 *     0  magic[8]   8  compression u32   12  observation_size u32   16  observation_type u16   18  numbers u16
 *    20  actions u32
 *    24  a u64     32  b u64             40  payload bytes u64      48  stored bytes u64       56  XXH3 u64
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

/* ---- writing ---- */

/* Room for `size` bytes behind those that are there; counts them. Errors: CM_ERR_MEMORY. */
cm_status cm_bytes_extend(cm_bytes *bytes, size_t size, unsigned char **out) CM_MUST_USE;
cm_status cm_bytes_put(cm_bytes *bytes, const void *numbers, size_t width, size_t count) CM_MUST_USE;

enum { CM_FRAME_FLOAT32, CM_FRAME_BYTES }; /* how a row's observation is stored */

typedef struct cm_frame {
    const char *magic; /* 8 characters */
    uint32_t observation_size, observation_type, actions;
    uint32_t numbers; /* D of policies per number, 0 of joint ones */
    uint64_t a, b;
} cm_frame;

/* *out = the frame around payload. compression: CM_SEGMENT_PLAIN or a zstd level. */
cm_status cm_frame_write(const cm_frame *frame, const cm_bytes *payload, int compression, cm_bytes *out) CM_MUST_USE;

/* ---- reading ---- */

/* What is left of a payload. */
typedef struct cm_cursor {
    const unsigned char *at;
    size_t left;
    uint32_t observation_type; /* of the frame */
} cm_cursor;

/* The next count numbers. Errors: CM_ERR_INPUT "cut short". */
cm_status cm_cursor_get(cm_cursor *cursor, void *numbers, size_t width, size_t count) CM_MUST_USE;

/* Checks a frame of the given magic; `frame` gets the header's numbers. `what` names it in errors. */
cm_status cm_frame_check(const void *data, size_t size, const char *magic, const char *what,
                         cm_frame *frame) CM_MUST_USE;

/* The payload of a checked frame: in `data` itself, or unpacked into *room. */
cm_status cm_frame_open(const void *data, size_t size, const char *what, cm_bytes *room, cm_cursor *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
