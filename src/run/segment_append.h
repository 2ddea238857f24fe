/* The finished games in a checkpoint, added to a memory. */
#ifndef CM_RUN_SEGMENT_APPEND_H
#define CM_RUN_SEGMENT_APPEND_H

#include "replay/replay.h"
#include "run/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Older segments first, those of several ranks by their numbers: of what does not fit the newest stay. Of `shares`
 * memories that share them this is number `share`. Errors: those of cm_replay_segments_append, with the file's name. */
cm_status cm_segment_files_append(cm_checkpoint_reader *reader, cm_replay *replay, int share, int shares) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
