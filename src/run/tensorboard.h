/* What a run says to TensorBoard, in RUN/tensorboard/: every number of metrics.jsonl under the tag of its row
 * (run/metrics.h), as a scalar; its configuration as hyper-parameters and as text; on demand histograms.
 *
 * There is one curve, whatever became of the run: when it goes on, events beyond its checkpoint are cut off, a torn
 * event too; rows of metrics.jsonl that have none are written again; and the new file begins with the start of a
 * session, by which a reader that is running drops what it has read beyond.
 *
 * Messages are those of tensorboard/compat/proto/{event,summary,tensor}.proto and
 * tensorboard/plugins/hparams/plugin_data.proto. An event that cannot be written is lost with a warning (run/lost.h).
 */
#ifndef CM_RUN_TENSORBOARD_H
#define CM_RUN_TENSORBOARD_H

#include "config/config.h"
#include "run/event_file.h"
#include "run/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_tensorboard {
    cm_event_file file; /* its descriptor is -1 where nothing is written */
    int64_t lost;       /* events, since one could be written */
} cm_tensorboard;

static inline bool cm_tensorboard_is_open(const cm_tensorboard *board) { return board->file.records.file >= 0; }

/* Cuts the events of a run's folder at the first of a step beyond `last`, if there are any. `last` < 0: all of them. */
cm_status cm_tensorboard_cut(const cm_dir *run, int64_t last, cm_event_history *out) CM_MUST_USE;

/* Makes the next file, behind what the history says. On error *out is closed. */
cm_status cm_tensorboard_open(cm_tensorboard *out, const cm_dir *run, const cm_event_history *history) CM_MUST_USE;
void cm_tensorboard_close(cm_tensorboard *board);

/* A session that goes on from step `last`, -1 for a new run: what was read of later steps does not count. Readers drop
 * nothing at the first start that they see, so that every session has one. */
void cm_tensorboard_put_start(cm_tensorboard *board, int64_t last);
/* The configuration, at `step`: hyper-parameters and a table as text. */
void cm_tensorboard_put_configuration(cm_tensorboard *board, const cm_config *config, int64_t step);
/* That the run has finished. */
void cm_tensorboard_put_end(cm_tensorboard *board, int64_t step);

/* The numbers that a row has; `time` in seconds since 1970. */
void cm_tensorboard_put_row(cm_tensorboard *board, const cm_metrics *row, int64_t step, double time);

/* A picture, as the bytes of a GIF or PNG file. */
void cm_tensorboard_put_image(cm_tensorboard *board, const char *tag, const void *bytes, size_t size, int width,
                              int height, int64_t step);

/* A histogram of data[n] times `scale`, in 30 equal buckets, with the tag GROUP/NAME; none if a number is not finite.
 */
void cm_tensorboard_put_histogram(cm_tensorboard *board, const char *group, const char *name, const float *data,
                                  size_t n, float scale, int64_t step);

#ifdef __cplusplus
}
#endif
#endif
