/* Positions of the memory that a run's checkpoint keeps (run/positions.h): what self-play has met, drawn uniformly. */
#ifndef CM_RUN_MEMORY_POSITIONS_H
#define CM_RUN_MEMORY_POSITIONS_H

#include "run/positions.h"
#include "run/session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws about `count` >= 1 positions of finished games, with the actions that followed, from the checkpoint (a number
 * or CM_CHECKPOINT_...) of a run of the session's task. Of a memory of more than 100,000 steps or 256 MiB the newest
 * are taken. Where the checkpoint has fewer than a quarter of `count` positions, there are none: out->batches is 0.
 * Errors: those of reading; CM_ERR_INPUT for a memory of another task; CM_ERR_MEMORY. cm_positions_free also after one.
 */
cm_status cm_memory_positions_draw(const char *run, int64_t checkpoint, const cm_session *session, int count,
                                   uint64_t seed, cm_positions *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
