/* Files of segments: rows, which never change. */
#include "replay/segment.h"

#include "replay/saved.h"

static const char magic[] = "CMRPSEG1";
static const char what[] = "segment file";

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

/* The first row of a segment that is in the ring. */
static int32_t find_segment(const cm_replay *replay, uint64_t segment, uint64_t from_segment, int32_t from_slot) {
    int32_t slot = from_slot;
    for (uint64_t i = from_segment; i < segment; i++) slot = cm_slot_add(replay, slot, replay->row[slot].left + 1);
    return slot;
}

static cm_status put_segment(const cm_replay *replay, int32_t slot, cm_packer *out) {
    int32_t steps = replay->row[slot].left;
    CM_TRY(cm_packer_put(out, &steps, sizeof steps, 1));
    return cm_saved_put(replay, slot, steps + 1, FLAG_SAVED, out);
}

typedef struct segments {
    const cm_replay *replay;
    uint64_t first, count;
} segments;

static cm_status put_segments(const void *context, cm_packer *out) {
    const segments *p = context;
    const cm_replay *replay = p->replay;
    int32_t slot = find_segment(replay, p->first, replay->first_segment, replay->tail);
    for (uint64_t i = 0; i < p->count; i++) {
        CM_TRY(put_segment(replay, slot, out));
        slot = cm_slot_add(replay, slot, replay->row[slot].left + 1);
    }
    return CM_OK;
}

cm_status cm_replay_segments_write(const cm_replay *replay, uint64_t first, uint64_t count, int compression,
                                   const cm_sink *sink) {
    if (first < replay->first_segment || first > replay->next_segment || count > replay->next_segment - first)
        return cm_fail(CM_ERR_INPUT, "replay: segments %llu and %llu more are not all there, only %llu .. %llu",
                       (unsigned long long)first, (unsigned long long)count, (unsigned long long)replay->first_segment,
                       (unsigned long long)replay->next_segment);
    const segments all = {replay, first, count};
    const cm_frame frame = cm_saved_frame(replay, magic, first, count);
    return cm_frame_write(&frame, compression, put_segments, &all, sink);
}

cm_status cm_replay_segments_pack(const cm_source *file, const cm_sink *sink) {
    return cm_frame_repack(file, magic, what, CM_SEGMENT_ZSTD, sink);
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

cm_status cm_replay_segments_range(const cm_source *file, uint64_t *first, uint64_t *count) {
    cm_frame frame;
    CM_TRY(cm_frame_look(file, magic, what, &frame));
    if (frame.b > UINT64_MAX - frame.a) return cm_fail(CM_ERR_INPUT, "%s: segment numbers out of range", what);
    *first = frame.a;
    *count = frame.b;
    return CM_OK;
}

cm_status cm_saved_get_segment(cm_replay *replay, int32_t slot, int32_t steps, cm_cursor *in) {
    CM_TRY(cm_saved_get(replay, slot, steps + 1, FLAG_SAVED, true, in));
    for (int32_t t = 0; t <= steps; t++) {
        uint8_t kind = replay->row[cm_slot_add(replay, slot, t)].flags & FLAG_LAST;
        bool last = kind == FLAG_TERMINATED || kind == FLAG_TRUNCATED || kind == FLAG_CUT;
        if (t == steps ? !last : kind != 0) return cm_fail(CM_ERR_INPUT, "row %d of %d ends it by %d", t, steps, kind);
    }
    return CM_OK;
}

static cm_status get_steps(const cm_replay *replay, cm_cursor *in, int32_t *steps) {
    CM_TRY(cm_cursor_get(in, steps, sizeof *steps, 1));
    if (*steps >= 1 && *steps <= replay->config.segment_steps) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%d steps, must be in 1 .. %d (segment_steps: the longest episode, or memory_steps / num_envs)",
                   *steps, replay->config.segment_steps);
}

/* Fills in a segment that the state has laid out. */
static cm_status fill_segment(void *context, uint64_t segment, int32_t steps, cm_cursor *in) {
    cm_replay *replay = context;
    if (segment < replay->first_segment || segment >= replay->next_segment)
        return cm_saved_skip_rows(replay, steps + 1, in);
    if (segment < replay->load_segment) {
        replay->load_segment = replay->first_segment;
        replay->load_slot = replay->tail;
    }
    int32_t slot = find_segment(replay, segment, replay->load_segment, replay->load_slot);
    replay->load_segment = segment;
    replay->load_slot = slot;
    if (replay->row[slot].left != steps)
        return cm_fail(CM_ERR_INPUT, "%d steps, the state says %d", steps, replay->row[slot].left);
    return cm_saved_get_segment(replay, slot, steps, in);
}

/* Segments on their way into a replay that others share with it. */
typedef struct appending {
    cm_replay *replay;
    uint64_t share, shares;
    float newest;   /* priority of new data, under new_is_max */
    uint64_t steps; /* of all segments so far, those of the others too */
} appending;

/* Adds a segment, if it is in the share, as the newest one. */
static cm_status append_segment(void *context, uint64_t segment, int32_t steps, cm_cursor *in) {
    appending *a = context;
    cm_replay *replay = a->replay;
    const uint64_t before = replay->collected + a->steps / a->shares;
    a->steps += (uint64_t)steps;
    if (segment % a->shares != a->share) return cm_saved_skip_rows(replay, steps + 1, in);
    int32_t slot = cm_ring_reserve(replay, steps), row = slot;
    for (int32_t t = 0; t <= steps; t++, row = cm_slot_add(replay, row, 1)) replay->row[row] = (cm_replay_row){0};
    CM_TRY(cm_saved_get_segment(replay, slot, steps, in));
    row = slot;
    for (int32_t t = 0; t <= steps; t++, row = cm_slot_add(replay, row, 1))
        replay->row[row].index = (uint32_t)(before + (uint64_t)t);
    cm_ring_adopt(replay, slot, steps, 0, a->newest);
    return CM_OK;
}

/* Counts steps as collected, by all environments of all replays alike, so that ages go on from them. */
static void count_steps(cm_replay *replay, uint64_t steps, uint64_t shares) {
    const uint64_t own = (uint64_t)replay->config.environments, all = own * shares;
    for (uint64_t e = 0; e < own; e++) replay->open[e].steps += (steps + all - 1) / all;
    cm_replay_count_collected(replay);
}

static cm_status read_segments(const cm_replay *replay, const cm_frame *frame, cm_cursor *in,
                               cm_saved_segment_visitor *visit, void *context) {
    CM_TRY(cm_saved_check_shape(replay, frame, what));
    for (uint64_t i = 0; i < frame->b; i++) {
        int32_t steps = 0;
        cm_status status = get_steps(replay, in, &steps);
        if (status == CM_OK) status = visit(context, frame->a + i, steps, in);
        if (status != CM_OK) {
            return cm_fail_in(CM_ERR_INPUT, "%s: segment %llu", what, (unsigned long long)(frame->a + i));
        }
    }
    return cm_frame_end(in, what);
}

cm_status cm_saved_each_segment(const cm_replay *replay, const cm_source *file, cm_saved_segment_visitor *visit,
                                void *context) {
    cm_frame frame;
    cm_cursor in;
    uint64_t first, count;
    CM_TRY(cm_replay_segments_range(file, &first, &count));
    CM_TRY(cm_frame_open(file, magic, what, &frame, &in));
    cm_status status = read_segments(replay, &frame, &in, visit, context);
    cm_cursor_close(&in);
    return status;
}

cm_status cm_replay_segments_read(cm_replay *replay, const cm_source *file) {
    if (!replay->loading) return cm_fail(CM_ERR_STATE, "replay: segments are read before the state");
    cm_status status = cm_saved_each_segment(replay, file, fill_segment, replay);
    if (status != CM_OK) cm_saved_abandon(replay);
    return status;
}

cm_status cm_replay_segments_append(cm_replay *replay, const cm_source *file, int share, int shares) {
    appending a = {.replay = replay, .share = (uint64_t)share, .shares = (uint64_t)shares};
    CM_TRY(cm_replay_claim(replay, "append of segments"));
    if (replay->loading) return cm_fail(CM_ERR_STATE, "replay: segments are appended before loading has ended");
    cm_replay_unflatten(replay);
    a.newest = cm_replay_newest_priority(replay);
    cm_status status = cm_saved_each_segment(replay, file, append_segment, &a);
    count_steps(replay, a.steps, a.shares);
    cm_replay_refresh(replay);
    return status;
}
