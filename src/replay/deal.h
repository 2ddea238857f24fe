/* Dealing: what the replays of N ranks have saved goes on in those of M.
 *
 * A shard is the replay of one rank: its open episodes are those of the environments [first, first + E) of the whole
 * run. Every shard of M reads the states of all N and takes
 *   - the open episodes of its own environments;
 *   - its share of the segments. They are put in the order of their age: by the steps that lie behind a segment in the
 * shard that has saved it, more first; of equal ones by the number of that shard. In this order each goes to the shard
 * of M that has got least: the fewest segments where max_episodes is set, else the fewest rows; of equal ones the
 * first. So every segment is in one shard, with its priorities, and which one depends on what was saved alone. A shard
 * that a limit of its own makes too small for its share (limits are the same share of the whole) drops the oldest.
 *
 *     loading   cm_replay_deal_create, cm_replay_deal_segments for each file of every shard, in any order,
 *               cm_replay_load_end, cm_replay_deal_destroy
 *
 * Segments whose file is lost may be left out (`whole`): they are as good as dropped, and the others close up.
 *
 * The age of a step goes by the steps of its shard's environments, which go in step. A segment keeps the time of its
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
