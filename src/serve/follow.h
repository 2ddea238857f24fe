/* metrics.jsonl of a run, read as it grows: in bounded steps, into bounded memory. A file that was replaced or cut, as
 * by a run that was resumed from an earlier checkpoint, is read again from its start. */
#ifndef CM_SERVE_FOLLOW_H
#define CM_SERVE_FOLLOW_H

#include <sys/types.h>

#include "run/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_FOLLOW_ROWS = 4096, CM_FOLLOW_STEP = 1 << 20 };

/* For readers. Rows are in the order of the file. When there are more than CM_FOLLOW_ROWS every second goes, those with
 * an evaluation last, and its times are added to those of the next; `generation` counts how often rows that were there
 * have changed their places. */
typedef struct cm_follow {
    cm_metrics *rows; /* [count], owned */
    int count;
    int64_t stride, lines;     /* a line of `stride` is kept, of those read */
    double left_out[CM_TIMES]; /* seconds of rows that were left out since the last that was kept */
    int64_t damaged;           /* lines that are none of metrics, left out */
    uint64_t generation;
    bool is_behind; /* there is more to read at once */
    bool is_within; /* in a line that is too long */
    off_t offset;   /* bytes that were read */
    ino_t inode;
} cm_follow;

/* Zeroed but for the memory of its rows; freed with cm_follow_free. */
cm_status cm_follow_begin(cm_follow *follow) CM_MUST_USE;
void cm_follow_free(cm_follow *follow);

/* Reads at most CM_FOLLOW_STEP bytes more of the run's file. Returns whether rows have come or gone. One that is not
 * there, or cannot be read, has none. */
bool cm_follow_read(cm_follow *follow, const char *run);

/* The last whole line of a run's file, which has at most 64 KiB; false: there is none. */
bool cm_follow_last(const char *run, cm_metrics *out);

#ifdef __cplusplus
}
#endif
#endif
