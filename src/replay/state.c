/* The state: all that changes. Payload, after a frame whose a is the number of environments and whose b tells whether
 * there are priorities:
 *
 *     ring rows, first row in use, rows in use i32; number of the oldest segment, of the next one, late updates u64
 *     steps of each segment, oldest first [segments] i32
 *     if prioritized: priority [rows in use] f32, trained [rows in use] u8
 *     each open episode: steps u64; rows, shown steps i32; its rows (saved.h); if prioritized: priority [shown steps]
 * f32
 */
#include <math.h>

#include "replay/saved.h"

enum { OPEN_FLAGS = FLAG_EXPLORED | FLAG_FREE | FLAG_TRAINED };

static const char magic[] = "CMRPSTA1";
static const char what[] = "replay state";

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

static cm_status check_committed(const cm_replay *replay) {
    bool waits = replay->loading;
    for (int e = 0; e < replay->config.environments; e++)
        waits = waits || replay->open[e].rows != replay->open[e].committed || replay->open[e].fresh > 0;
    if (waits) return cm_fail(CM_ERR_STATE, "replay: saved while steps wait for a commit");
    return CM_OK;
}

static cm_status put_trained(const cm_replay *replay, int32_t slot, int32_t rows, cm_packer *out) {
    for (int32_t i = 0; i < rows; i++) {
        const uint8_t trained = replay->row[cm_slot_add(replay, slot, i)].flags & FLAG_TRAINED;
        CM_TRY(cm_packer_put(out, &trained, 1, 1));
    }
    return CM_OK;
}

static cm_status put_ring(const cm_replay *replay, cm_packer *out) {
    const int32_t place[3] = {replay->ring, replay->tail, replay->used};
    const uint64_t counters[3] = {replay->first_segment, replay->next_segment, replay->late_updates};
    CM_TRY(cm_packer_put(out, place, sizeof place[0], 3));
    CM_TRY(cm_packer_put(out, counters, sizeof counters[0], 3));
    int32_t slot = replay->tail;
    for (uint64_t i = replay->first_segment; i < replay->next_segment; i++) {
        CM_TRY(cm_saved_put_steps(replay, slot, out));
        slot = cm_slot_add(replay, slot, replay->row[slot].left + 1);
    }
    if (!replay->config.prioritized) return CM_OK;
    CM_TRY(cm_saved_put_field(replay, replay->tail, replay->used, FIELD_PRIORITY, out));
    return put_trained(replay, replay->tail, replay->used, out);
}

static cm_status put_open(const cm_replay *replay, int environment, cm_packer *out) {
    const cm_open_episode *episode = &replay->open[environment];
    const int32_t sizes[2] = {episode->rows, episode->visible};
    int32_t base = cm_open_slot(replay, environment, 0);
    CM_TRY(cm_packer_put(out, &episode->steps, sizeof episode->steps, 1));
    CM_TRY(cm_packer_put(out, sizes, sizeof sizes[0], 2));
    CM_TRY(cm_saved_put(replay, base, episode->rows, OPEN_FLAGS, out));
    if (!replay->config.prioritized) return CM_OK;
    return cm_saved_put_field(replay, base, episode->visible, FIELD_PRIORITY, out);
}

static cm_status put_state(const void *context, cm_packer *out) {
    const cm_replay *replay = context;
    CM_TRY(put_ring(replay, out));
    for (int e = 0; e < replay->config.environments; e++) CM_TRY(put_open(replay, e, out));
    return CM_OK;
}

cm_status cm_replay_state_write(const cm_replay *replay, int compression, const cm_sink *sink) {
    CM_TRY(check_committed(replay));
    const uint64_t environments = (uint64_t)replay->config.environments;
    const cm_frame frame = cm_saved_frame(replay, magic, environments, replay->config.prioritized);
    return cm_frame_write(&frame, compression, put_state, replay, sink);
}

cm_status cm_replay_state_pack(const cm_source *state, const cm_sink *sink) {
    return cm_frame_repack(state, magic, what, CM_SEGMENT_ZSTD, sink);
}

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

static cm_status get_ring(const cm_replay *replay, cm_cursor *in, cm_saved_ring *out) {
    int32_t place[3];
    uint64_t counters[3];
    CM_TRY(cm_cursor_get(in, place, sizeof place[0], 3));
    CM_TRY(cm_cursor_get(in, counters, sizeof counters[0], 3));
    *out = (cm_saved_ring){place[0], place[1], place[2], counters[0], counters[1], counters[2], *in};
    uint64_t segments = out->next - out->first;
    if (out->next < out->first || out->next == UINT64_MAX || segments > in->left / sizeof(int32_t))
        return cm_fail(CM_ERR_INPUT, "segments %llu .. %llu do not fit", (unsigned long long)out->first,
                       (unsigned long long)out->next);
    int64_t rows = 0;
    for (uint64_t i = 0; i < segments; i++) {
        int32_t steps;
        bool has_lead;
        CM_TRY(cm_saved_get_steps(replay, in, &steps, &has_lead));
        if (steps < 1 || steps > replay->config.segment_steps)
            return cm_fail(CM_ERR_INPUT, "segment %llu has %d steps, must be in 1 .. %d (segment_steps)",
                           (unsigned long long)(out->first + i), steps, replay->config.segment_steps);
        rows += steps + 1;
    }
    if (rows != out->used || out->used > out->ring || out->tail < 0 || out->tail >= out->ring)
        return cm_fail(CM_ERR_INPUT, "%lld rows do not make %d from row %d of %d", (long long)rows, out->used,
                       out->tail, out->ring);
    return CM_OK;
}

/* Lays the ring out: where each segment will be. The oldest that do not fit a smaller ring are dropped; how many rows.
 */
static cm_status set_layout(cm_replay *replay, cm_saved_ring *from, int32_t *dropped_rows) {
    bool same = from->ring == replay->ring;
    uint64_t segments = from->next - from->first;
    replay->tail = same ? from->tail : 0;
    replay->used = 0;
    uint64_t dropped = 0;
    *dropped_rows = 0;
    for (uint64_t i = 0; i < segments; i++) {
        int32_t steps;
        bool has_lead;
        CM_TRY(cm_saved_get_steps(replay, &from->steps, &steps, &has_lead));
        if (from->used - *dropped_rows > replay->ring) {
            dropped++;
            *dropped_rows += steps + 1;
            continue;
        }
        cm_saved_lay_out(replay, steps, has_lead);
    }
    replay->first_segment = replay->load_segment = from->first + dropped;
    replay->next_segment = from->next;
    replay->load_slot = replay->tail;
    replay->late_updates = from->late;
    return CM_OK;
}

cm_status cm_saved_check_priorities(const cm_replay *replay, int32_t slot, int32_t rows) {
    for (int32_t i = 0; i < rows; i++) {
        float p = replay->priority[cm_slot_add(replay, slot, i)];
        if (!(p >= 0.0f && isfinite(p))) return cm_fail(CM_ERR_INPUT, "a priority is %g", (double)p);
    }
    return CM_OK;
}

static cm_status get_priorities(cm_replay *replay, int32_t dropped_rows, cm_cursor *in) {
    CM_TRY(cm_cursor_skip(in, (size_t)dropped_rows * sizeof(float)));
    CM_TRY(cm_saved_get_field(replay, replay->tail, replay->used, FIELD_PRIORITY, in));
    CM_TRY(cm_cursor_skip(in, (size_t)dropped_rows));
    for (int32_t i = 0; i < replay->used; i++) {
        uint8_t trained = 0;
        CM_TRY(cm_cursor_get(in, &trained, 1, 1));
        replay->row[cm_slot_add(replay, replay->tail, i)].flags |= trained & FLAG_TRAINED;
    }
    return cm_saved_check_priorities(replay, replay->tail, replay->used);
}

/* Steps ever appended, rows and shown steps of an open episode. */
static cm_status get_sizes(const cm_replay *replay, cm_cursor *in, uint64_t *steps, int32_t sizes[2]) {
    CM_TRY(cm_cursor_get(in, steps, sizeof *steps, 1));
    CM_TRY(cm_cursor_get(in, sizes, sizeof sizes[0], 2));
    int32_t rows = sizes[0], visible = sizes[1];
    if (rows >= 0 && rows <= replay->config.segment_steps && visible >= 0 &&
        (visible == 0 || visible == cm_open_complete(replay, rows)))
        return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%d rows with %d shown, at most %d (segment_steps)", rows, visible,
                   replay->config.segment_steps);
}

cm_status cm_saved_get_open(cm_replay *replay, int environment, cm_cursor *in) {
    uint64_t steps;
    int32_t sizes[2], base = cm_open_slot(replay, environment, 0);
    CM_TRY(get_sizes(replay, in, &steps, sizes));
    int32_t rows = sizes[0], visible = sizes[1];
    for (int32_t t = 0; t < rows; t++) replay->row[base + t] = (cm_replay_row){0};
    CM_TRY(cm_saved_get(replay, base, rows, OPEN_FLAGS, false, in));
    if (replay->config.prioritized) {
        CM_TRY(cm_saved_get_field(replay, base, visible, FIELD_PRIORITY, in));
        CM_TRY(cm_saved_check_priorities(replay, base, visible));
    }
    if (replay->frames) cm_frames_open(replay, environment, rows);
    replay->open[environment] =
        (cm_open_episode){.steps = steps, .rows = rows, .committed = rows, .visible = visible, .open = rows > 0};
    return CM_OK;
}

cm_status cm_saved_skip_open(const cm_replay *replay, cm_cursor *in, uint64_t *steps) {
    int32_t sizes[2];
    CM_TRY(get_sizes(replay, in, steps, sizes));
    CM_TRY(cm_saved_skip_rows(replay, sizes[0], in));
    return cm_cursor_skip(in, replay->config.prioritized ? (size_t)sizes[1] * sizeof(float) : 0);
}

/* What a state holds is in the replay, too, where bytes may be what float32 were. */
static uint64_t most_bytes(const cm_replay *replay, const cm_frame *frame, uint64_t shards) {
    const bool are_packed = replay->config.observation_unit > 0.0f && frame->observation_type == CM_FRAME_FLOAT32;
    return (are_packed ? sizeof(float) : 1) * shards * (replay->plan.bytes + replay->plan.file_bytes);
}

cm_status cm_saved_open_state(const cm_replay *replay, const cm_source *state, uint64_t shards, cm_bytes *space,
                              cm_cursor *in, uint64_t *environments, cm_saved_ring *out) {
    const bool prioritized = replay->config.prioritized;
    cm_frame frame;
    CM_TRY(cm_frame_look(state, magic, what, &frame));
    CM_TRY(cm_saved_check_shape(replay, &frame, what));
    if (frame.b != (uint64_t)prioritized)
        return cm_fail(CM_ERR_INPUT, "%s: %s priorities; the replay is %s them", what, frame.b ? "with" : "without",
                       prioritized ? "with" : "without");
    CM_TRY(cm_frame_unpack(state, magic, what, most_bytes(replay, &frame, shards), &frame, space, in));
    *environments = frame.a;
    if (get_ring(replay, in, out) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "%s", what);
    return CM_OK;
}

static cm_status read_state(cm_replay *replay, const cm_source *state, cm_bytes *space) {
    const cm_replay_config *c = &replay->config;
    cm_cursor in;
    cm_saved_ring from;
    uint64_t environments;
    int32_t dropped_rows;
    CM_TRY(cm_saved_open_state(replay, state, 1, space, &in, &environments, &from));
    if (environments != (uint64_t)c->environments)
        return cm_fail(CM_ERR_INPUT, "%s: of %llu environments; the replay has %d", what,
                       (unsigned long long)environments, c->environments);
    CM_TRY(set_layout(replay, &from, &dropped_rows));
    if (c->prioritized && get_priorities(replay, dropped_rows, &in) != CM_OK)
        return cm_fail_in(CM_ERR_INPUT, "%s", what);
    cm_frames_make_room(replay, 0);
    for (int e = 0; e < c->environments; e++) {
        if (cm_saved_get_open(replay, e, &in) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "%s: environment %d", what, e);
    }
    if (in.left > 0) return cm_fail(CM_ERR_INPUT, "%s: %llu bytes too many", what, (unsigned long long)in.left);
    return CM_OK;
}

cm_status cm_replay_state_read(cm_replay *replay, const cm_source *state) {
    CM_TRY(cm_replay_claim(replay, "loading"));
    cm_replay_empty(replay);
    replay->loading = true;
    cm_bytes space = {0};
    cm_status status = read_state(replay, state, &space);
    cm_bytes_free(&space);
    if (status != CM_OK) cm_saved_abandon(replay);
    return status;
}

void cm_saved_abandon(cm_replay *replay) {
    uint64_t next = replay->next_segment;
    cm_replay_empty(replay);
    replay->first_segment = replay->next_segment = next;
}

/* ---- the end of loading -------------------------------------------------------------------------------------------
 */

static void set_leaf(cm_replay *replay, int32_t slot, void *context) {
    (void)context;
    cm_replay_set_leaf(replay, slot);
}

cm_status cm_replay_load_end(cm_replay *replay) {
    if (!replay->loading) return cm_fail(CM_ERR_STATE, "replay: loading ended before its begin");
    int32_t slot = replay->tail;
    replay->steps = replay->episodes = 0;
    for (uint64_t i = replay->first_segment; i < replay->next_segment; i++) {
        int32_t steps = replay->row[slot].left, last = cm_slot_add(replay, slot, steps);
        if (!(replay->row[last].flags & FLAG_LAST)) {
            cm_saved_abandon(replay);
            return cm_fail(CM_ERR_INPUT, "replay: segment %llu is in no file", (unsigned long long)i);
        }
        uint8_t terminal = replay->row[last].flags & FLAG_TERMINATED ? FLAG_TERMINAL : 0;
        for (int32_t t = 0; t < steps; t++, slot = cm_slot_add(replay, slot, 1)) replay->row[slot].flags |= terminal;
        replay->steps += steps;
        replay->episodes += !(replay->row[last].flags & FLAG_CUT);
        slot = cm_slot_add(replay, last, 1);
    }
    cm_replay_count_collected(replay);
    cm_replay_visit(replay, set_leaf, NULL);
    replay->loading = false;
    cm_replay_refresh(replay);
    return CM_OK;
}
