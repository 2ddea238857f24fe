/* Dealing: what the replays of N ranks have saved is distributed over the replays of M ranks.
 *
 * A shard is the replay of one rank. Its open episodes are those of the environments [first, first + E) of the whole
 * run. Each of the M shards reads the states of all N and keeps
 *   - the open episodes of its own environments;
 *   - its share of the segments.
 *
 * Segments are dealt in the order of their age: the number of steps that follow a segment in the shard that saved it,
 * more first, then the number of that shard. Each segment goes to the shard of M that has got least so far: the fewest
 * segments if max_episodes is set, else the fewest rows; the first one of equals. So every segment, with its
 * priorities, is in one shard, and which one depends on the saved content alone. Limits are the same share of the whole
 * for every shard; a shard that its limits make too small for its segments drops the oldest.
 *
 *     loading   cm_replay_deal_create, cm_replay_deal_segments for each file of every shard, in any order,
 *               cm_replay_load_end, cm_replay_deal_destroy
 *
 * Segments whose file is lost may be left out (`whole`): they count as dropped, and the others close up.
 *
 * The environments of a shard step in lockstep, and their steps give the age of a step. A segment keeps the time of its
 * steps.
 */
#ifndef CM_REPLAY_DEAL_H
#define CM_REPLAY_DEAL_H

#include "core/file.h"
#include "replay/segment.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_replay_deal cm_replay_deal;

/* Segments [first, first + count) of a saving shard, which a file holds. */
typedef struct cm_replay_range {
    int64_t shard;
    uint64_t first, count;
} cm_replay_range;

typedef struct cm_replay_ranges {
    cm_replay_range *of; /* [count] */
    int count;
} cm_replay_ranges;

/* What there is to be dealt, and what of it is left out, of all shards. */
typedef struct cm_replay_losses {
    int64_t segments, steps;           /* in the states */
    int64_t lost_segments, lost_steps; /* in no file */
} cm_replay_losses;

/* Begins loading, see cm_replay_state_read: `states`[count] are those of the saving shards, in the order of their
 * environments, which together are all of the run; of the `shards` that they are dealt to, each with as many
 * environments, the replay is number `shard`. `replay` is borrowed until the deal is destroyed, `states` are not kept.
 * Errors: CM_ERR_INPUT, CM_ERR_MEMORY, CM_ERR_STATE; the replay is empty then. */
cm_status cm_replay_deal_create(cm_replay *replay, int shard, int shards, const cm_file_bytes *states, int count,
                                cm_replay_deal **out) CM_MUST_USE;

/* The same of what the files `whole` hold, NULL: of all; *losses: what none of them does. */
cm_status cm_replay_deal_whole(cm_replay *replay, int shard, int shards, const cm_file_bytes *states, int count,
                               const cm_replay_ranges *whole, cm_replay_losses *losses,
                               cm_replay_deal **out) CM_MUST_USE;
void cm_replay_deal_destroy(cm_replay_deal *deal); /* NULL is allowed */

/* Takes what is the replay's own of a file of the saving shard `shard`. Errors: CM_ERR_INPUT; the replay is empty
 * then. */
cm_status cm_replay_deal_segments(cm_replay_deal *deal, int64_t shard, const cm_source *file) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
