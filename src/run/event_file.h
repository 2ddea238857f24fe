/* Event files of TensorBoard: a folder of files that hold one record per event, and of which each session of a run
 * writes the next one.
 *
 * A record is a TFRecord: its length (8 bytes, little endian), a checksum of that, the event, a checksum of it. An
 * event is a message of Protocol Buffers with a time, a step and what happened. Every file begins with one that says
 * "brain.Event:2". Readers take the files in the order of their names, which begin with the time of their making.
 * Sources: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto.
 */
#ifndef CM_RUN_EVENT_FILE_H
#define CM_RUN_EVENT_FILE_H

#include "core/append.h"
#include "core/protobuf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a folder of event files holds after it was cut. */
typedef struct cm_event_history {
    char newest[NAME_MAX + 1]; /* the last of its files, by name; "": there was none */
    int64_t known;             /* largest step of its summaries; -1: there is none */
} cm_event_history;

/* Cuts every event file of a folder at the first event of a step beyond `last`, and where an event is torn or damaged;
 * one that has nothing left goes. Files of other names stay as they are. Reads each file once, in pieces.
 * Errors: CM_ERR_IO, also for a file of that name that is a link, and for one that is to be cut and has another name.
 */
cm_status cm_event_files_cut(const cm_dir *dir, int64_t last, cm_event_history *out) CM_MUST_USE;

typedef struct cm_event_file {
    cm_append_file records;
    cm_proto event; /* what is written next: frames of events */
    size_t frame;   /* where the last one begins */
} cm_event_file;

/* Makes the next file of a folder, whose name comes after `newest` in every case: its time is the present one or later,
 * and behind 9999999999, which no time follows, names of that time are counted. Close is allowed on a zeroed one whose
 * descriptor is -1. Errors: CM_ERR_IO, CM_ERR_INPUT if `newest` is too long to be counted on. */
cm_status cm_event_file_create(cm_event_file *file, const cm_dir *dir, const char *newest) CM_MUST_USE;
void cm_event_file_close(cm_event_file *file);

/* An event: what is put into the message that begin returns is in it. `time`: seconds since 1970. End writes it, or
 * nothing. Errors: those of cm_append_write, CM_ERR_MEMORY. */
cm_proto *cm_event_begin(cm_event_file *file, double time, int64_t step);
cm_status cm_event_end(cm_event_file *file) CM_MUST_USE;

/* Fields of an event, which hold messages. */
enum { CM_EVENT_SUMMARY = 5, CM_EVENT_SESSION_LOG = 7 };

#ifdef __cplusplus
}
#endif
#endif
