/* What segment.c and state.c share: rows in files. */
#ifndef CM_REPLAY_SAVED_H
#define CM_REPLAY_SAVED_H

#include "replay/frame.h"
#include "replay/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a row in a file: observation, policy and legal mask, each for all rows of a run, and then row by row reward
 * f32, root value f32, action i32, index u32, to_play u8, flags u8. */
size_t cm_saved_row_bytes(const cm_replay *replay);

/* `rows` rows from `slot` on, of their flags those in `mask`. */
cm_status cm_saved_put(const cm_replay *replay, int32_t slot, int32_t rows, uint8_t mask, cm_bytes *out) CM_MUST_USE;

/* Reads them back and checks every number; flags beyond `mask` are an error, FLAG_TRAINED that is there stays. The last
 * row of a piece (`ends`) needs no policy. */
cm_status cm_saved_get(cm_replay *replay, int32_t slot, int32_t rows, uint8_t mask, bool ends,
                       cm_cursor *in) CM_MUST_USE;

/* One field of `rows` rows from `slot` on. */
cm_status cm_saved_put_field(const cm_replay *replay, int32_t slot, int32_t rows, int field, cm_bytes *out) CM_MUST_USE;
cm_status cm_saved_get_field(cm_replay *replay, int32_t slot, int32_t rows, int field, cm_cursor *in) CM_MUST_USE;

cm_frame cm_saved_frame(const cm_replay *replay, const char *name, uint64_t a, uint64_t b);
cm_status cm_saved_check_shape(const cm_replay *replay, const cm_frame *frame, const char *name) CM_MUST_USE;

/* Gives loading up: the replay is empty; this thread's error message stays. */
void cm_saved_abandon(cm_replay *replay);

#ifdef __cplusplus
}
#endif
#endif
