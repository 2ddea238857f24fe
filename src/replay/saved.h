/* What segment.c and state.c share: rows in files. */
#ifndef CM_REPLAY_SAVED_H
#define CM_REPLAY_SAVED_H

#include "replay/frame.h"
#include "replay/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One field of `rows` rows from `slot` on. */
cm_status cm_saved_put_rows(const cm_replay *replay, int32_t slot, int32_t rows, int field, cm_bytes *out) CM_MUST_USE;
cm_status cm_saved_get_rows(cm_replay *replay, int32_t slot, int32_t rows, int field, cm_cursor *in) CM_MUST_USE;

/* Checks the numbers of a row just read; `step`: one with a policy, not a last row. */
cm_status cm_saved_check_row(const cm_replay *replay, int32_t slot, bool step) CM_MUST_USE;

cm_frame cm_saved_frame(const cm_replay *replay, const char *name, uint64_t a, uint64_t b);
cm_status cm_saved_check_shape(const cm_replay *replay, const cm_frame *frame, const char *name) CM_MUST_USE;

/* Gives loading up: the replay is empty; this thread's error message stays. */
void cm_saved_abandon(cm_replay *replay);

#ifdef __cplusplus
}
#endif
#endif
