/* Priorities that wait for the next commit, in a checkpoint between two updates. Payload, after a frame whose a is
 * their number, in the order in which they came: place i32, priority f32. A place is that of a row: 1 for the newest of
 * the ring, 2 for the one before it; -1 for the first row of all lanes, -2 for the next one. */
#include <math.h>

#include "replay/saved.h"

static const char magic[] = "CMRPUPD1";
static const char what[] = "waiting priorities";

static int32_t place_of(const cm_replay *replay, int32_t slot) {
    if (slot >= replay->ring) return replay->ring - slot - 1;
    const int32_t from_tail = slot >= replay->tail ? slot - replay->tail : slot - replay->tail + replay->ring;
    return replay->used - from_tail;
}

static cm_status put_all(const void *context, cm_packer *out) {
    const cm_replay *replay = context;
    for (int32_t i = 0; i < replay->updates; i++) {
        const int32_t slot = replay->updated[i], place = place_of(replay, slot);
        CM_TRY(cm_packer_put(out, &place, sizeof place, 1));
        CM_TRY(cm_packer_put(out, &replay->update[slot], sizeof(float), 1));
    }
    return CM_OK;
}

cm_status cm_replay_pending_write(const cm_replay *replay, int compression, const cm_sink *sink) {
    const cm_frame frame = cm_saved_frame(replay, magic, (uint64_t)replay->updates, 0);
    return cm_frame_write(&frame, compression, put_all, replay, sink);
}

/* The slot of a row that has a step; -1: there is none. */
static int32_t slot_at(const cm_replay *replay, int32_t place) {
    int32_t slot = -1;
    if (place > 0 && place <= replay->used) slot = cm_slot_add(replay, replay->tail, replay->used - place);
    if (place < 0 && place >= replay->ring - replay->slots) slot = replay->ring - place - 1;
    return slot >= 0 && cm_slot_left(replay, slot) > 0 ? slot : -1;
}

static cm_status get_one(cm_replay *replay, cm_cursor *in) {
    int32_t place;
    float priority;
    CM_TRY(cm_cursor_get(in, &place, sizeof place, 1));
    CM_TRY(cm_cursor_get(in, &priority, sizeof priority, 1));
    if (place > replay->used) return CM_OK; /* of a segment that is no longer kept */
    const int32_t slot = slot_at(replay, place);
    if (slot < 0 || priority < 0.0f || replay->update[slot] != -1.0f)
        return cm_fail(CM_ERR_INPUT, "%s: %g for the row %d", what, (double)priority, place);
    replay->updated[replay->updates++] = slot;
    replay->update[slot] = priority;
    return CM_OK;
}

static cm_status get_all(cm_replay *replay, uint64_t count, cm_cursor *in) {
    if (in->left != count * (sizeof(int32_t) + sizeof(float)))
        return cm_fail(CM_ERR_INPUT, "%s: %llu bytes for %llu of them", what, (unsigned long long)in->left,
                       (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++) CM_TRY(get_one(replay, in));
    return cm_frame_end(in, what);
}

cm_status cm_replay_pending_read(cm_replay *replay, const cm_source *pending) {
    cm_frame frame;
    cm_cursor in;
    CM_TRY(cm_replay_claim(replay, "loading"));
    CM_TRY(cm_frame_open(pending, magic, what, &frame, &in));
    cm_status status = cm_saved_check_shape(replay, &frame, what);
    if (status == CM_OK && frame.a > (uint64_t)(replay->config.prioritized ? replay->slots : 0))
        status = cm_fail(CM_ERR_INPUT, "%s: %llu of them", what, (unsigned long long)frame.a);
    if (status == CM_OK) status = get_all(replay, frame.a, &in);
    cm_cursor_close(&in);
    return status;
}
