/* Segments: the rows of pieces, which never change. */
#include "replay/segment.h"

#include <math.h>

#include "replay/frame.h"
#include "replay/internal.h"
#include "replay/saved.h"

static const char magic[] = "CMRPSEG1";
static const char what[] = "replay segment";

/* ---- rows of any slots, shared with the state ----------------------------------------------------------------------
 */

cm_status cm_saved_put_rows(const cm_replay *replay, int32_t slot, int32_t rows, int field, cm_bytes *out) {
    const cm_field_info *info = &replay->info[field];
    size_t stride = info->width * info->columns;
    int32_t first = slot < replay->ring && rows > replay->ring - slot ? replay->ring - slot : rows;
    CM_TRY(cm_bytes_put(out, replay->field[field] + (size_t)slot * stride, info->width, (size_t)first * info->columns));
    return cm_bytes_put(out, replay->field[field], info->width, (size_t)(rows - first) * info->columns);
}

cm_status cm_saved_get_rows(cm_replay *replay, int32_t slot, int32_t rows, int field, cm_cursor *in) {
    const cm_field_info *info = &replay->info[field];
    size_t stride = info->width * info->columns;
    int32_t first = slot < replay->ring && rows > replay->ring - slot ? replay->ring - slot : rows;
    CM_TRY(cm_cursor_get(in, replay->field[field] + (size_t)slot * stride, info->width, (size_t)first * info->columns));
    return cm_cursor_get(in, replay->field[field], info->width, (size_t)(rows - first) * info->columns);
}

static bool policy_is_valid(const float *policy, int actions) {
    double sum = 0.0;
    for (int a = 0; a < actions; a++) {
        if (!(policy[a] >= 0.0f)) return false;
        sum += (double)policy[a];
    }
    return fabs(sum - 1.0) < 1e-3;
}

cm_status cm_saved_check_row(const cm_replay *replay, int32_t slot, bool step) {
    int32_t action = replay->action[slot];
    if (action < 0 || action >= replay->config.actions)
        return cm_fail(CM_ERR_INPUT, "action %d, must be in 0 .. %d", action, replay->config.actions - 1);
    if (!isfinite(replay->reward[slot]) || !isfinite(replay->root_value[slot]))
        return cm_fail(CM_ERR_INPUT, "a reward or root value is not finite");
    if (step &&
        !policy_is_valid(replay->policy + (size_t)slot * (size_t)replay->config.actions, replay->config.actions))
        return cm_fail(CM_ERR_INPUT, "a policy does not sum to 1");
    return CM_OK;
}

cm_status cm_saved_check_shape(const cm_replay *replay, const cm_frame *frame, const char *name) {
    const cm_replay_config *c = &replay->config;
    if (frame->observation_size == (uint32_t)c->observation_size && frame->actions == (uint32_t)c->actions &&
        frame->observation_type == (uint32_t)c->observation_type)
        return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s: of observations of %u elements (type %u) and %u actions; the replay has %d (type %d) and %d",
                   name, frame->observation_size, frame->observation_type, frame->actions, c->observation_size,
                   (int)c->observation_type, c->actions);
}

cm_frame cm_saved_frame(const cm_replay *replay, const char *name, uint64_t a, uint64_t b) {
    const cm_replay_config *c = &replay->config;
    return (cm_frame){name, (uint32_t)c->observation_size, (uint32_t)c->observation_type, (uint32_t)c->actions, a, b};
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

/* The first row of a piece that is in the ring. */
static int32_t find_piece(const cm_replay *replay, uint64_t piece, uint64_t from_piece, int32_t from_slot) {
    int32_t slot = from_slot;
    for (uint64_t i = from_piece; i < piece; i++) slot = cm_slot_add(replay, slot, replay->left[slot] + 1);
    return slot;
}

static cm_status put_piece(const cm_replay *replay, int32_t slot, cm_bytes *out) {
    int32_t steps = replay->left[slot], last = cm_slot_add(replay, slot, steps);
    CM_TRY(cm_bytes_put(out, &steps, sizeof steps, 1));
    for (int f = 0; f < SAVED_FIELDS; f++) {
        if (f != FIELD_FLAGS) CM_TRY(cm_saved_put_rows(replay, slot, steps + 1, f, out));
    }
    for (int32_t t = 0; t <= steps; t++, slot = cm_slot_add(replay, slot, 1)) {
        uint8_t flags = replay->flags[slot] & (slot == last ? FLAG_SAVED : FLAG_EXPLORED);
        CM_TRY(cm_bytes_put(out, &flags, 1, 1));
    }
    return CM_OK;
}

cm_status cm_replay_segment_write(const cm_replay *replay, uint64_t first, uint64_t count, int compression,
                                  cm_bytes *out) {
    if (first < replay->first_piece || first > replay->next_piece || count > replay->next_piece - first)
        return cm_fail(CM_ERR_INPUT, "replay: pieces %llu and %llu more are not all there, only %llu .. %llu",
                       (unsigned long long)first, (unsigned long long)count, (unsigned long long)replay->first_piece,
                       (unsigned long long)replay->next_piece);
    cm_bytes payload = {0};
    int32_t slot = find_piece(replay, first, replay->first_piece, replay->tail);
    cm_status status = CM_OK;
    for (uint64_t i = 0; i < count && status == CM_OK; i++) {
        status = put_piece(replay, slot, &payload);
        slot = cm_slot_add(replay, slot, replay->left[slot] + 1);
    }
    cm_frame frame = cm_saved_frame(replay, magic, first, count);
    if (status == CM_OK) status = cm_frame_write(&frame, &payload, compression, out);
    cm_bytes_free(&payload);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

cm_status cm_replay_segment_range(const void *data, size_t size, uint64_t *first, uint64_t *count) {
    cm_frame frame;
    CM_TRY(cm_frame_check(data, size, magic, what, &frame));
    if (frame.b > UINT64_MAX - frame.a) return cm_fail(CM_ERR_INPUT, "%s: piece numbers out of range", what);
    *first = frame.a;
    *count = frame.b;
    return CM_OK;
}

/* Reads the rows of a piece into slots that are free or wait for it, and checks them. */
static cm_status get_piece(cm_replay *replay, int32_t slot, int32_t steps, cm_cursor *in) {
    for (int f = 0; f < SAVED_FIELDS; f++) {
        if (f != FIELD_FLAGS) CM_TRY(cm_saved_get_rows(replay, slot, steps + 1, f, in));
    }
    for (int32_t t = 0; t <= steps; t++, slot = cm_slot_add(replay, slot, 1)) {
        uint8_t flags, kind;
        CM_TRY(cm_cursor_get(in, &flags, 1, 1));
        kind = flags & FLAG_LAST;
        bool last_kind = kind == FLAG_TERMINATED || kind == FLAG_TRUNCATED || kind == FLAG_CUT;
        if ((flags & ~FLAG_SAVED) || (t == steps ? !last_kind : kind != 0))
            return cm_fail(CM_ERR_INPUT, "step %d of %d has flags %d", t, steps, flags);
        CM_TRY(cm_saved_check_row(replay, slot, t < steps));
        replay->flags[slot] = (uint8_t)((replay->flags[slot] & FLAG_TRAINED) | flags);
    }
    return CM_OK;
}

static cm_status get_steps(const cm_replay *replay, cm_cursor *in, int32_t *steps) {
    CM_TRY(cm_cursor_get(in, steps, sizeof *steps, 1));
    if (*steps >= 1 && *steps <= replay->config.segment_steps) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%d steps, must be in 1 .. %d (segment_steps)", *steps, replay->config.segment_steps);
}

static cm_status skip_piece(const cm_replay *replay, int32_t steps, cm_cursor *in) {
    size_t bytes = 0;
    for (int f = 0; f < SAVED_FIELDS; f++) bytes += replay->info[f].width * replay->info[f].columns;
    bytes *= (size_t)steps + 1;
    if (bytes > in->left) return cm_fail(CM_ERR_INPUT, "cut short: %zu bytes are missing", bytes - in->left);
    in->at += bytes;
    in->left -= bytes;
    return CM_OK;
}

/* Fills in a piece that the state has laid out. */
static cm_status fill_piece(cm_replay *replay, uint64_t piece, cm_cursor *in) {
    int32_t steps;
    CM_TRY(get_steps(replay, in, &steps));
    if (piece < replay->first_piece || piece >= replay->next_piece) return skip_piece(replay, steps, in);
    if (piece < replay->load_piece) {
        replay->load_piece = replay->first_piece;
        replay->load_slot = replay->tail;
    }
    int32_t slot = find_piece(replay, piece, replay->load_piece, replay->load_slot);
    replay->load_piece = piece;
    replay->load_slot = slot;
    if (replay->left[slot] != steps)
        return cm_fail(CM_ERR_INPUT, "%d steps, the state says %d", steps, replay->left[slot]);
    return get_piece(replay, slot, steps, in);
}

/* Adds a piece as the newest one. */
static cm_status append_piece(cm_replay *replay, uint64_t piece, cm_cursor *in) {
    int32_t steps;
    (void)piece;
    CM_TRY(get_steps(replay, in, &steps));
    int32_t slot = cm_ring_reserve(replay, steps), row = slot;
    for (int32_t t = 0; t <= steps; t++, row = cm_slot_add(replay, row, 1)) replay->flags[row] = 0;
    CM_TRY(get_piece(replay, slot, steps, in));
    cm_ring_adopt(replay, slot, steps, 0, cm_replay_newest_priority(replay));
    return CM_OK;
}

static cm_status read_pieces(cm_replay *replay, const void *data, size_t size, cm_bytes *room,
                             cm_status (*read)(cm_replay *replay, uint64_t piece, cm_cursor *in)) {
    cm_frame frame;
    cm_cursor in;
    uint64_t first = 0, count = 0;
    CM_TRY(cm_replay_segment_range(data, size, &first, &count));
    CM_TRY(cm_frame_check(data, size, magic, what, &frame));
    CM_TRY(cm_saved_check_shape(replay, &frame, what));
    CM_TRY(cm_frame_open(data, size, what, room, &in));
    for (uint64_t i = 0; i < count; i++) {
        if (read(replay, first + i, &in) != CM_OK)
            return cm_fail_in(CM_ERR_INPUT, "%s: piece %llu", what, (unsigned long long)(first + i));
    }
    if (in.left > 0) return cm_fail(CM_ERR_INPUT, "%s: %zu bytes too many", what, in.left);
    return CM_OK;
}

cm_status cm_replay_segment_read(cm_replay *replay, const void *data, size_t size) {
    if (!replay->loading) return cm_fail(CM_ERR_STATE, "replay: a segment is read before the state");
    cm_bytes room = {0};
    cm_status status = read_pieces(replay, data, size, &room, fill_piece);
    cm_bytes_free(&room);
    if (status != CM_OK) cm_saved_abandon(replay);
    return status;
}

cm_status cm_replay_segment_append(cm_replay *replay, const void *data, size_t size) {
    CM_TRY(cm_replay_claim(replay, "append of a segment"));
    if (replay->loading) return cm_fail(CM_ERR_STATE, "replay: a segment is appended before loading has ended");
    cm_bytes room = {0};
    cm_replay_unflatten(replay);
    cm_status status = read_pieces(replay, data, size, &room, append_piece);
    cm_bytes_free(&room);
    cm_replay_refresh(replay);
    return status;
}
