/* Frames that are kept once: where observations are stacks of K frames, or frames lie outside of the block of rows.
 *
 * The frames of a segment are a chain: where its episode goes on from another segment the K - 1 before its first row,
 * then one for each row. A row knows its own frame, and the stack of a row is its frame and the K - 1 before it in the
 * chain, the first of which stands for those before it. So a segment needs no other one, and nothing of a frame is
 * copied when its row moves from the open episode into the ring.
 *
 * What an environment may need until the next commit is set aside for it at a commit. So appending takes frames without
 * a lock, and never finds none. */
#ifndef CM_REPLAY_FRAME_STORE_H
#define CM_REPLAY_FRAME_STORE_H

#include "core/arena.h"
#include "core/frames.h"
#include "core/status.h"
#include "replay/packed_frames.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the frames of one environment are doing. */
typedef struct cm_frame_writer {
    int32_t newest;    /* of the open chain, -1: it has none */
    int32_t committed; /* the same at the last commit */
    int32_t taken;     /* of those that are set aside */
    int32_t written;   /* since the last commit */
} cm_frame_writer;

typedef struct cm_frame_store {
    /* constant */
    cm_frames_shape shape; /* K, numbers of a frame, channels */
    float unit;            /* > 0: bytes times this; 0: float32 */
    size_t bytes;          /* of a frame */
    int environments;
    int32_t capacity; /* frames */
    int32_t each;     /* set aside for each environment */
    bool is_file;     /* frames lie in a file */
    bool is_packed;   /* frames are compressed */
    /* content */
    int file; /* of capacity frames, -1: it is not open                   */
    cm_packed_frames packed;
    unsigned char *data;     /* [capacity, bytes]; of a file, or packed, [E + 1, bytes], for frames on their way there:
                              * those of each     environment and those that are loaded */
    int32_t *before;         /* [capacity] the one before it in its chain, -1: none       */
    int32_t *free;           /* [capacity] of which free_count are: the numbers of unused frames */
    int32_t *spare;          /* [E, each] set aside                                      */
    cm_frame_writer *writer; /* [E] */
    int32_t free_count;
    bool is_told;     /* that compressed frames do not shrink enough */
    bool has_failed;  /* a position could not be looked at (cm_replay_look): told by the next commit; atomic */
    int64_t used;     /* in chains, as of the last commit */
    int64_t promised; /* while loading: to segments whose rows are there, and frames are not */
} cm_frame_store;

/* Numbers of one step's frames at most, for cm_frame_store.each. */
int32_t cm_frame_store_each(int count, int commit_steps, int segment_steps);

/* Takes its arrays from `arena`; shape, unit, environments, capacity and each are set. */
void cm_frame_store_lay_out(cm_frame_store *store, cm_arena *arena);
void cm_frame_store_reset(cm_frame_store *store); /* all is free, and so much set aside for each */

/* After laying out, and before its memory goes. Errors: CM_ERR_MEMORY. */
cm_status cm_frame_store_open(cm_frame_store *store) CM_MUST_USE;
void cm_frame_store_close(cm_frame_store *store);

/* Frames that have been read from a file or unpacked, so that the windows of a batch read each once. */
typedef struct cm_frame_reader {
    int32_t slots;        /* of the cache                                      */
    uint32_t now;         /* reads so far                                      */
    uint32_t *last;       /* [slots] when it was read; the oldest is overwritten */
    int32_t *number;      /* [slots] -1: none                                  */
    unsigned char *bytes; /* [slots, bytes of a frame] */
    unsigned char *space; /* of a packed frame */
    void *decompress;     /* ZSTD_DCtx, owned; NULL where nothing is packed */
} cm_frame_reader;

/* Takes its arrays from `arena`: space for 2 K frames and `positions` more; nothing where frames lie in memory. */
void cm_frame_reader_lay_out(cm_frame_reader *reader, cm_arena *arena, const cm_frame_store *store, int positions);
/* After that. Errors: CM_ERR_MEMORY. */
cm_status cm_frame_reader_open(cm_frame_reader *reader, const cm_frame_store *store) CM_MUST_USE;
void cm_frame_reader_close(cm_frame_reader *reader);
void cm_frame_reader_forget(cm_frame_reader *reader); /* before frames may have changed */

/* The bytes of a frame: valid until 2 K other ones have been read. Errors: CM_ERR_IO. */
cm_status cm_frame_store_read(const cm_frame_store *store, cm_frame_reader *reader, int32_t frame,
                              const unsigned char **out) CM_MUST_USE;

/* Where a frame is to be written, by environment `writer`, or E: by who loads; and writes it. Errors: CM_ERR_IO. */
unsigned char *cm_frame_store_space(const cm_frame_store *store, int writer, int32_t frame);
cm_status cm_frame_store_write(cm_frame_store *store, int writer, int32_t frame) CM_MUST_USE;

/* Opens the file. Errors: as cm_replay_open_file. */
cm_status cm_frame_file_open(cm_frame_store *store, const char *folder) CM_MUST_USE;

/* frame[K]: those of the stack whose newest is `newest`. */
void cm_frame_store_find(const cm_frame_store *store, int32_t newest, int32_t frame[CM_FRAMES_MOST]);

/* Writes the newest frame of stack[K, ...] behind the open chain of an environment, or with `begins` as the first of a
 * new one; *frame is its number. Errors: CM_ERR_INPUT for a number that is no multiple of the unit; nothing has changed
 * then. */
cm_status cm_frame_store_append(cm_frame_store *store, int environment, bool begins, const float *stack,
                                int32_t *frame) CM_MUST_USE;

/* After an append: a new chain of all K frames of the same stack. Errors: CM_ERR_IO. */
cm_status cm_frame_store_begin_again(cm_frame_store *store, int environment, const float *stack) CM_MUST_USE;

/* Whether all K frames of a stack are the same one. */
bool cm_frame_store_is_first(const cm_frame_store *store, const float *stack);

void cm_frame_store_undo(cm_frame_store *store); /* what has been written since the last commit */

/* In a commit: counts what was written; then, when others have made space, sets frames aside again. */
void cm_frame_store_count(cm_frame_store *store);
void cm_frame_store_refill(cm_frame_store *store);

/* Whether compressed frames have used up their space, however many frames there are. */
bool cm_frame_store_is_packed_full(const cm_frame_store *store);

/* Whether `more` frames fit next to those in use and those that are set aside. */
bool cm_frame_store_fits(const cm_frame_store *store, int64_t more);

/* A free frame, to be filled, behind `before` (-1: it is the first); there must be one. */
int32_t cm_frame_store_take(cm_frame_store *store, int32_t before);

/* Frees a chain from its last frame on. */
void cm_frame_store_release(cm_frame_store *store, int32_t last);

#ifdef __cplusplus
}
#endif
#endif
