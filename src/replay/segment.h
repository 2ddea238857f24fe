/* Saving and loading a replay.
 *
 * Segments (episodes, or parts of long ones) are numbered in the order in which they entered the ring, and they never
 * change there. So each is saved once, in files of consecutive segments. What does change is one small state: which
 * segments are left and where they lie, priorities, open episodes, counters.
 *
 *     saving    after a commit: cm_replay_segments_write for segments that are in no file yet; cm_replay_state_write
 *     loading   cm_replay_state_read, cm_replay_segments_read for each file in any order, cm_replay_load_end
 *
 * With the same configuration a loaded replay draws bit for bit what the saved one would have drawn. If `bytes`,
 * max_steps or max_episodes have changed, it keeps the newest segments that fit.
 *
 * All numbers are little-endian. Nothing read is trusted: magic, sizes, checksum (XXH3) and every value used as an
 * index are checked, and an error names what is wrong. Files of segments are written and read in chunks, so neither
 * allocates memory that grows with them. A state is smaller than the replay and is read whole. Segments that are no
 * longer kept may be missing from the files; a segment that is kept may not.
 */
#ifndef CM_REPLAY_SEGMENT_H
#define CM_REPLAY_SEGMENT_H

#include "core/source.h"
#include "replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SEGMENT_PLAIN = 0, CM_SEGMENT_ZSTD = 3 }; /* compression: none, or a zstd level 1 .. 19 */

/* Writes a file of the segments [first, first + count). Errors: CM_ERR_INPUT if one is not in the ring; those of the
 * sink. */
cm_status cm_replay_segments_write(const cm_replay *replay, uint64_t first, uint64_t count, int compression,
                                   const cm_sink *sink) CM_MUST_USE;

/* A file of segments, or a state, again, packed by CM_SEGMENT_ZSTD: needs no replay, so that any thread may do it while
 * the replay goes on. Errors: CM_ERR_INPUT if it is none or damaged; those of the sink. */
cm_status cm_replay_segments_pack(const cm_source *file, const cm_sink *sink) CM_MUST_USE;
cm_status cm_replay_state_pack(const cm_source *state, const cm_sink *sink) CM_MUST_USE;

/* Writes the state, without priorities that wait for a commit. Errors: CM_ERR_STATE if steps wait for one; those of the
 * sink. */
cm_status cm_replay_state_write(const cm_replay *replay, int compression, const cm_sink *sink) CM_MUST_USE;

/* Writes the priorities that wait for the next commit. Errors: those of the sink. */
cm_status cm_replay_pending_write(const cm_replay *replay, int compression, const cm_sink *sink) CM_MUST_USE;

/* After cm_replay_load_end: they wait again. Errors: CM_ERR_INPUT if it is none of that, is damaged, or has a
 * priority for a row that is not there. */
cm_status cm_replay_pending_read(cm_replay *replay, const cm_source *pending) CM_MUST_USE;

/* Segments [*first, *first + *count) that a file holds, from its header alone. */
cm_status cm_replay_segments_range(const cm_source *file, uint64_t *first, uint64_t *count) CM_MUST_USE;

/* Begins loading: the replay is emptied and laid out again. Until cm_replay_load_end only the calls below work.
 * Errors: CM_ERR_INPUT if data is not a state, is damaged, or is of a replay with other observations, actions or
 * environments, or with longer segments; the replay is empty then. */
cm_status cm_replay_state_read(cm_replay *replay, const cm_source *state) CM_MUST_USE;

/* Fills in those of the file's segments that are kept. Errors: CM_ERR_INPUT; the replay is empty then. */
cm_status cm_replay_segments_read(cm_replay *replay, const cm_source *file) CM_MUST_USE;

/* Ends loading. Errors: CM_ERR_INPUT names a segment that no file held; the replay is empty then. */
cm_status cm_replay_load_end(cm_replay *replay) CM_MUST_USE;

/* Adds segments of a file that another replay has saved as the newest ones of this: those whose number leaves the
 * remainder `share` (0 .. shares - 1) when divided by `shares`, so that several replays may share them. The file's
 * steps count as collected now, in the order of the segments and by all shares alike; priorities are those of new data.
 * Errors: CM_ERR_INPUT; CM_ERR_STATE while something draws. Segments before the one with the error have been added. */
cm_status cm_replay_segments_append(cm_replay *replay, const cm_source *file, int share, int shares) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
