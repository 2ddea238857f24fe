/* Frames in memory, each compressed by zstd. A packed frame lies in chunks of one size, so frames of any size come and
 * go without gaps. Writing is for one thread at a time, which the lock sees to; reading is for any number of them. */
#ifndef CM_REPLAY_PACKED_FRAMES_H
#define CM_REPLAY_PACKED_FRAMES_H

#include <pthread.h>

#include "core/arena.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_packed_frames {
    /* constant */
    size_t bytes; /* of a frame */
    size_t chunk; /* bytes      */
    size_t bound; /* of a packed frame */
    int32_t frames, chunks;
    int32_t most;   /* chunks of a frame at most */
    void *compress; /* ZSTD_CCtx, owned; NULL while only measuring */
    pthread_mutex_t lock;
    /* content */
    unsigned char *data;  /* [chunks, chunk] */
    unsigned char *space; /* [bound] of the one that is packed */
    int32_t *next;        /* [chunks] the next one of its frame, or of the free ones; -1: none */
    int32_t *first;       /* [frames] -1: it is not there */
    int32_t *size;        /* [frames] bytes */
    int32_t free;         /* the first free one of those that were in use, -1: none */
    int32_t fresh;        /* from here on none was ever in use */
    int32_t free_count;   /* of both kinds */
} cm_packed_frames;

/* Space for `frames` of `bytes` each that are packed to a quarter, and for `whole` that do not shrink. */
void cm_packed_frames_lay_out(cm_packed_frames *packed, cm_arena *arena, int32_t frames, size_t bytes, int64_t whole);
cm_status cm_packed_frames_open(cm_packed_frames *packed) CM_MUST_USE; /* Errors: CM_ERR_MEMORY */
void cm_packed_frames_close(cm_packed_frames *packed);

void cm_packed_frames_clear(cm_packed_frames *packed);

/* Packs bytes[] as a frame. Errors: CM_ERR_MEMORY if there is no space for it. */
cm_status cm_packed_frames_write(cm_packed_frames *packed, int32_t frame, const unsigned char *bytes) CM_MUST_USE;
void cm_packed_frames_drop(cm_packed_frames *packed, int32_t frame); /* which may not be there */

/* out[bytes] = a frame; decompress: a ZSTD_DCtx; space[bound]. Errors: CM_ERR_IO if it does not unpack: it is damaged.
 */
cm_status cm_packed_frames_read(const cm_packed_frames *packed, int32_t frame, void *decompress, unsigned char *space,
                                unsigned char *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
