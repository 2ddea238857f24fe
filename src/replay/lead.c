/* Frames of segments: what the ring and the open episodes do with frames that are stored once. */
#include "replay/internal.h"

void cm_frames_release_segment(cm_replay *replay, int32_t first, int32_t last) {
    if (replay->frame[last] >= 0) {
        cm_frame_store_release(replay->frames, replay->frame[last]);
        return;
    }
    const int32_t steps = last >= first ? last - first : last - first + replay->ring; /* laid out, not filled yet */
    replay->frames->promised -= cm_segment_frames(replay, steps, replay->row[first].flags & FLAG_LEAD);
}

void cm_frames_open(cm_replay *replay, int environment, int32_t rows) {
    cm_frame_writer *writer = &replay->frames->writer[environment];
    writer->newest = rows > 0 ? replay->frame[cm_open_slot(replay, environment, rows - 1)] : -1;
    writer->committed = writer->newest;
}

void cm_frames_begin_segment(cm_replay *replay, int environment, int32_t slot, bool is_last) {
    const cm_frame_store *frames = replay->frames;
    if (frames->shape.count > 1) replay->row[slot].flags |= FLAG_LEAD;
    replay->frame[slot] = is_last ? frames->writer[environment].newest : frames->before[replay->frame[slot + 1]];
}
