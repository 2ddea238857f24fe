/* Segments: the rows of pieces, which never change. */
#include "replay/segment.h"

#include "replay/saved.h"

static const char magic[] = "CMRPSEG1";
static const char what[] = "replay segment";

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

/* The first row of a piece that is in the ring. */
static int32_t find_piece(const cm_replay *replay, uint64_t piece, uint64_t from_piece, int32_t from_slot) {
    int32_t slot = from_slot;
    for (uint64_t i = from_piece; i < piece; i++) slot = cm_slot_add(replay, slot, replay->row[slot].left + 1);
    return slot;
}

static cm_status put_piece(const cm_replay *replay, int32_t slot, cm_packer *out) {
    int32_t steps = replay->row[slot].left;
    CM_TRY(cm_packer_put(out, &steps, sizeof steps, 1));
    return cm_saved_put(replay, slot, steps + 1, FLAG_SAVED, out);
}

typedef struct pieces {
    const cm_replay *replay;
    uint64_t first, count;
} pieces;

static cm_status put_pieces(const void *context, cm_packer *out) {
    const pieces *p = context;
    const cm_replay *replay = p->replay;
    int32_t slot = find_piece(replay, p->first, replay->first_piece, replay->tail);
    for (uint64_t i = 0; i < p->count; i++) {
        CM_TRY(put_piece(replay, slot, out));
        slot = cm_slot_add(replay, slot, replay->row[slot].left + 1);
    }
    return CM_OK;
}

cm_status cm_replay_segment_write(const cm_replay *replay, uint64_t first, uint64_t count, int compression,
                                  const cm_sink *sink) {
    if (first < replay->first_piece || first > replay->next_piece || count > replay->next_piece - first)
        return cm_fail(CM_ERR_INPUT, "replay: pieces %llu and %llu more are not all there, only %llu .. %llu",
                       (unsigned long long)first, (unsigned long long)count, (unsigned long long)replay->first_piece,
                       (unsigned long long)replay->next_piece);
    const pieces all = {replay, first, count};
    const cm_frame frame = cm_saved_frame(replay, magic, first, count);
    return cm_frame_write(&frame, compression, put_pieces, &all, sink);
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

cm_status cm_replay_segment_range(const cm_source *segment, uint64_t *first, uint64_t *count) {
    cm_frame frame;
    CM_TRY(cm_frame_look(segment, magic, what, &frame));
    if (frame.b > UINT64_MAX - frame.a) return cm_fail(CM_ERR_INPUT, "%s: piece numbers out of range", what);
    *first = frame.a;
    *count = frame.b;
    return CM_OK;
}

cm_status cm_saved_get_piece(cm_replay *replay, int32_t slot, int32_t steps, cm_cursor *in) {
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

/* Fills in a piece that the state has laid out. */
static cm_status fill_piece(void *context, uint64_t piece, int32_t steps, cm_cursor *in) {
    cm_replay *replay = context;
    if (piece < replay->first_piece || piece >= replay->next_piece) return cm_saved_skip_rows(replay, steps + 1, in);
    if (piece < replay->load_piece) {
        replay->load_piece = replay->first_piece;
        replay->load_slot = replay->tail;
    }
    int32_t slot = find_piece(replay, piece, replay->load_piece, replay->load_slot);
    replay->load_piece = piece;
    replay->load_slot = slot;
    if (replay->row[slot].left != steps)
        return cm_fail(CM_ERR_INPUT, "%d steps, the state says %d", steps, replay->row[slot].left);
    return cm_saved_get_piece(replay, slot, steps, in);
}

/* Pieces on their way into a replay that others share with it. */
typedef struct appending {
    cm_replay *replay;
    uint64_t share, shares;
    float newest;   /* priority of new data, under new_is_max */
    uint64_t steps; /* of all pieces so far, those of the others too */
} appending;

/* Adds a piece, if it is in the share, as the newest one. */
static cm_status append_piece(void *context, uint64_t piece, int32_t steps, cm_cursor *in) {
    appending *a = context;
    cm_replay *replay = a->replay;
    const uint64_t before = replay->collected + a->steps / a->shares;
    a->steps += (uint64_t)steps;
    if (piece % a->shares != a->share) return cm_saved_skip_rows(replay, steps + 1, in);
    int32_t slot = cm_ring_reserve(replay, steps), row = slot;
    for (int32_t t = 0; t <= steps; t++, row = cm_slot_add(replay, row, 1)) replay->row[row] = (cm_replay_row){0};
    CM_TRY(cm_saved_get_piece(replay, slot, steps, in));
    row = slot;
    for (int32_t t = 0; t <= steps; t++, row = cm_slot_add(replay, row, 1))
        replay->row[row].index = (uint32_t)(before + (uint64_t)t);
    cm_ring_adopt(replay, slot, steps, 0, a->newest);
    return CM_OK;
}

/* Counts steps as collected, by all environments of all replays alike, so that ages go on from them. */
static void count_steps(cm_replay *replay, uint64_t steps, uint64_t shares) {
    const uint64_t own = (uint64_t)replay->config.environments, all = own * shares;
    for (uint64_t e = 0; e < own; e++) replay->lane[e].steps += (steps + all - 1) / all;
    cm_replay_count_collected(replay);
}

static cm_status read_pieces(const cm_replay *replay, const cm_frame *frame, cm_cursor *in, cm_saved_take_piece *take,
                             void *context) {
    CM_TRY(cm_saved_check_shape(replay, frame, what));
    for (uint64_t i = 0; i < frame->b; i++) {
        int32_t steps = 0;
        cm_status status = get_steps(replay, in, &steps);
        if (status == CM_OK) status = take(context, frame->a + i, steps, in);
        if (status != CM_OK) {
            return cm_fail_in(CM_ERR_INPUT, "%s: piece %llu", what, (unsigned long long)(frame->a + i));
        }
    }
    return cm_frame_end(in, what);
}

cm_status cm_saved_each_piece(const cm_replay *replay, const cm_source *segment, cm_saved_take_piece *take,
                              void *context) {
    cm_frame frame;
    cm_cursor in;
    uint64_t first, count;
    CM_TRY(cm_replay_segment_range(segment, &first, &count));
    CM_TRY(cm_frame_open(segment, magic, what, &frame, &in));
    cm_status status = read_pieces(replay, &frame, &in, take, context);
    cm_cursor_close(&in);
    return status;
}

cm_status cm_replay_segment_read(cm_replay *replay, const cm_source *segment) {
    if (!replay->loading) return cm_fail(CM_ERR_STATE, "replay: a segment is read before the state");
    cm_status status = cm_saved_each_piece(replay, segment, fill_piece, replay);
    if (status != CM_OK) cm_saved_abandon(replay);
    return status;
}

cm_status cm_replay_segment_append(cm_replay *replay, const cm_source *segment, int share, int shares) {
    appending a = {.replay = replay, .share = (uint64_t)share, .shares = (uint64_t)shares};
    CM_TRY(cm_replay_claim(replay, "append of a segment"));
    if (replay->loading) return cm_fail(CM_ERR_STATE, "replay: a segment is appended before loading has ended");
    cm_replay_unflatten(replay);
    a.newest = cm_replay_newest_priority(replay);
    cm_status status = cm_saved_each_piece(replay, segment, append_piece, &a);
    count_steps(replay, a.steps, a.shares);
    cm_replay_refresh(replay);
    return status;
}
