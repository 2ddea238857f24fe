/* The files of a replay's segments that checkpoints share. Finished episodes never change, so each is written to one
 * file, which later checkpoints link or copy (cm_checkpoint_keep). A save adds one file of what is new, and forgets
 * those whose segments have all left the ring. When there are too many files, the two neighbours that hold the fewest
 * segments become one: so no save writes much more than what is new.
 *
 *     replay-segment-FIRST-COUNT.bin            of rank 0, or of a process alone (replay/segment.h)
 *     rank-R-replay-segment-FIRST-COUNT.bin     of rank R
 */
#ifndef CM_RUN_SEGMENT_FILES_H
#define CM_RUN_SEGMENT_FILES_H

#include "replay/segment.h"
#include "run/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SEGMENT_FILES = 256, CM_SEGMENT_FILE_NAME = 96 };

typedef struct cm_segment_file {
    uint64_t first, count; /* segments first .. first + count - 1 */
} cm_segment_file;

/* Begin with {.ranks = n}. */
typedef struct cm_segment_files {
    cm_segment_file of[CM_SEGMENT_FILES]; /* [count], in order and without a gap */
    int count;
    int rank, ranks; /* of this process, 0 .. ranks - 1, of those that save together, >= 1 */
} cm_segment_files;

/* "rank-R-" before the name, of ranks after the first. */
void cm_rank_file_name(int64_t rank, const char *name, char out[CM_SEGMENT_FILE_NAME]);
void cm_segment_file_name(const cm_segment_files *files, int index, char out[CM_SEGMENT_FILE_NAME]);
/* The rank whose segment file has this name, and the number of its first segment; -1: it is none. */
int64_t cm_segment_file_rank(const char *name, uint64_t *first);

/* Notes a file that was loaded, in any order; then puts them in order. Those that find no space are written again. */
void cm_segment_files_add(cm_segment_files *files, cm_segment_file file);
void cm_segment_files_sort(cm_segment_files *files);

/* The segments that the next save writes, about: [0] those that are new, [1] two files that become one. */
void cm_segment_files_fresh(const cm_segment_files *files, const cm_replay *replay, cm_segment_file out[2]);

/* Bytes that `count` new segments take on the disk until they are packed, about; 0: they are not staged. */
uint64_t cm_segment_files_staged(const cm_replay *replay, uint64_t count);

/* All segments of the ring into a checkpoint: files that are kept, and new ones. Errors: CM_ERR_IO. */
cm_status cm_segment_files_save(cm_segment_files *files, const cm_replay *replay,
                                cm_checkpoint_writer *writer) CM_MUST_USE;

/* What changes of a replay, open episodes with it, as CM_FILE_REPLAY_STATE of the rank. Errors: CM_ERR_IO; CM_ERR_STATE
 * if steps wait for a commit. */
#define CM_FILE_REPLAY_STATE "replay-state.bin"
cm_status cm_replay_state_save(const cm_replay *replay, int rank, cm_checkpoint_writer *writer) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
