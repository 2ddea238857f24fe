/* What segment.c, state.c and deal.c share: rows in files. */
#ifndef CM_REPLAY_SAVED_H
#define CM_REPLAY_SAVED_H

#include "replay/frame.h"
#include "replay/internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row in a file: observation, policy and legal mask, each for all rows of a run, and then row by row reward f32, root
 * value f32, action i32, index u32, to_play u8, flags u8. Where a replay keeps bytes of observations, files of float32
 * ones, as they were once, are read, too. Of stacks of K frames there are in place of the observations the number of
 * frames before the first row, 0 or K - 1, i32, these frames, and a frame of each row. */

/* `rows` rows from `slot` on, of their flags those in `mask`. */
cm_status cm_saved_put(const cm_replay *replay, int32_t slot, int32_t rows, uint8_t mask, cm_packer *out) CM_MUST_USE;

/* Reads them back and checks every number; flags beyond `mask` are an error, FLAG_TRAINED that is there stays. The last
 * row of a segment (`ends`) needs no policy. */
cm_status cm_saved_get(cm_replay *replay, int32_t slot, int32_t rows, uint8_t mask, bool ends,
                       cm_cursor *in) CM_MUST_USE;

/* One field of `rows` rows from `slot` on. */
cm_status cm_saved_put_field(const cm_replay *replay, int32_t slot, int32_t rows, int field,
                             cm_packer *out) CM_MUST_USE;
cm_status cm_saved_get_field(cm_replay *replay, int32_t slot, int32_t rows, int field, cm_cursor *in) CM_MUST_USE;

/* ---- saved_frames.c: what a file has in place of observations where they are stacks of frames ---- */

/* The frames of `rows` rows from `slot` on. */
cm_status cm_saved_put_frames(const cm_replay *replay, int32_t slot, int32_t rows, cm_packer *out) CM_MUST_USE;

/* Into frames that are free. `ends`: of a segment, whose first row tells, while a replay is loaded, whether frames come
 * before it; else, and of open episodes, it is told by what is read. */
cm_status cm_saved_get_frames(cm_replay *replay, int32_t slot, int32_t rows, bool ends, cm_cursor *in) CM_MUST_USE;

/* Passes over those of `rows` rows; *count, if wanted, is how many they were. */
cm_status cm_saved_skip_frames(const cm_replay *replay, int32_t rows, int64_t *count, cm_cursor *in) CM_MUST_USE;

/* The number of steps of a segment in a state, and whether frames come before its first row, in one i32. */
cm_status cm_saved_put_steps(const cm_replay *replay, int32_t slot, cm_packer *out) CM_MUST_USE;
cm_status cm_saved_get_steps(const cm_replay *replay, cm_cursor *in, int32_t *steps, bool *has_lead) CM_MUST_USE;

/* Lays out the rows of a segment whose frames come later; removes the oldest ones where these do not fit. */
void cm_saved_lay_out(cm_replay *replay, int32_t steps, bool has_lead);

/* Passes over `rows` rows. */
cm_status cm_saved_skip_rows(const cm_replay *replay, int32_t rows, cm_cursor *in) CM_MUST_USE;

/* ---- segment.c ---- */

/* Takes, or passes over, the steps + 1 rows of a segment that the cursor stands before. */
typedef cm_status cm_saved_segment_visitor(void *context, uint64_t segment, int32_t steps, cm_cursor *in);

/* Gives every segment of a file to `visit`. The errors of both name the segment. */
cm_status cm_saved_each_segment(const cm_replay *replay, const cm_source *file, cm_saved_segment_visitor *visit,
                                void *context) CM_MUST_USE;

/* Reads the rows of a segment into slots that are free or wait for it. */
cm_status cm_saved_get_segment(cm_replay *replay, int32_t slot, int32_t steps, cm_cursor *in) CM_MUST_USE;

/* ---- state.c ---- */

/* The ring as a state describes it. */
typedef struct cm_saved_ring {
    int32_t ring, tail, used;
    uint64_t first, next, late;
    cm_cursor steps; /* [next - first] i32, checked */
} cm_saved_ring;

/* Checks the frame of a state of one of the replay's size, or of all `shards` of that size together, unpacks it into
 * *space and reads its beginning, up to the priorities. *environments is the number of its open episodes. */
cm_status cm_saved_open_state(const cm_replay *replay, const cm_source *state, uint64_t shards, cm_bytes *space,
                              cm_cursor *in, uint64_t *environments, cm_saved_ring *out) CM_MUST_USE;

/* The open episode of one environment, read or passed over; *steps: all that it ever had. */
cm_status cm_saved_get_open(cm_replay *replay, int environment, cm_cursor *in) CM_MUST_USE;
cm_status cm_saved_skip_open(const cm_replay *replay, cm_cursor *in, uint64_t *steps) CM_MUST_USE;

cm_status cm_saved_check_priorities(const cm_replay *replay, int32_t slot, int32_t rows) CM_MUST_USE;

/* ---- headers ---- */

cm_frame cm_saved_frame(const cm_replay *replay, const char *name, uint64_t a, uint64_t b);
cm_status cm_saved_check_shape(const cm_replay *replay, const cm_frame *frame, const char *name) CM_MUST_USE;

/* Gives loading up: the replay is empty; this thread's error message stays. */
void cm_saved_abandon(cm_replay *replay);

#ifdef __cplusplus
}
#endif
#endif
