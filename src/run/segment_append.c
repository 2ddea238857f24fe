#include "run/segment_append.h"

#include <stdlib.h>

#include "core/arena.h"
#include "replay/segment.h"
#include "run/segment_files.h"

/* A segment file in a checkpoint: which file it is. */
typedef struct old_file {
    uint64_t first;
    int file;
} old_file;

static int by_first(const void *a, const void *b) {
    const old_file *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : x->file - y->file;
}

static cm_status append_file(cm_checkpoint_reader *reader, const char *name, cm_replay *replay, int share, int shares) {
    cm_source file;
    CM_TRY(cm_checkpoint_open(reader, name, UINT64_MAX, &file));
    cm_status status = cm_replay_segments_append(replay, &file, share, shares);
    cm_source_close(&file);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s", file.path);
}

cm_status cm_segment_files_append(cm_checkpoint_reader *reader, cm_replay *replay, int share, int shares) {
    const int files = cm_checkpoint_files(reader);
    old_file *found = NULL;
    int count = 0;
    CM_TRY(cm_alloc(&found, (size_t)files + 1, sizeof *found, "the memory of a run"));
    for (int i = 0; i < files; i++) {
        found[count].file = i;
        if (cm_segment_file_rank(cm_checkpoint_file(reader, i), &found[count].first) >= 0) count++;
    }
    qsort(found, (size_t)count, sizeof *found, by_first);
    cm_status status = CM_OK;
    for (int i = 0; i < count && status == CM_OK; i++)
        status = append_file(reader, cm_checkpoint_file(reader, found[i].file), replay, share, shares);
    free(found);
    return status;
}
