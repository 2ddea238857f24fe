/* Frames that are stored once, in files: see saved.h. */
#include <math.h>

#include "replay/observation.h"
#include "replay/saved.h"

enum { HAS_LEAD = 1 << 30 }; /* added to the steps of a segment */

static bool are_stacks(const cm_replay *replay) { return replay->config.frames > 1; }

/* ---- writing ---- */

static cm_status put_frame(const cm_frame_store *s, cm_frame_reader *reader, int32_t frame, cm_packer *out) {
    const size_t width = s->unit > 0.0f ? 1 : sizeof(float);
    const unsigned char *bytes;
    CM_TRY(cm_frame_store_read(s, reader, frame, &bytes));
    return cm_packer_put(out, bytes, width, s->shape.size);
}

static cm_status put_chain(const cm_replay *replay, cm_frame_reader *reader, int32_t slot, int32_t rows,
                           cm_packer *out) {
    const cm_frame_store *s = replay->frames;
    const int32_t lead = rows > 0 && replay->row[slot].flags & FLAG_LEAD ? s->shape.count - 1 : 0;
    int32_t stack[CM_FRAMES_MOST];
    if (are_stacks(replay)) CM_TRY(cm_packer_put(out, &lead, sizeof lead, 1));
    if (lead > 0) cm_frame_store_find(s, replay->frame[slot], stack);
    for (int32_t k = 0; k < lead; k++) CM_TRY(put_frame(s, reader, stack[k], out));
    for (int32_t i = 0; i < rows; i++) CM_TRY(put_frame(s, reader, replay->frame[cm_slot_add(replay, slot, i)], out));
    return CM_OK;
}

cm_status cm_saved_put_frames(const cm_replay *replay, int32_t slot, int32_t rows, cm_packer *out) {
    cm_frame_reader reader;
    cm_arena arena = {.base = NULL, .capacity = SIZE_MAX};
    cm_frame_reader_lay_out(&reader, &arena, replay->frames, 1);
    CM_TRY(cm_arena_create(&arena, arena.used, "saving the replay"));
    cm_frame_reader_lay_out(&reader, &arena, replay->frames, 1);
    cm_status status = cm_frame_reader_open(&reader, replay->frames);
    if (status == CM_OK) status = put_chain(replay, &reader, slot, rows, out);
    cm_frame_reader_close(&reader);
    cm_arena_destroy(&arena);
    return status;
}

cm_status cm_saved_put_steps(const cm_replay *replay, int32_t slot, cm_packer *out) {
    const cm_replay_row *row = &replay->row[slot];
    const int32_t steps = row->left | (row->flags & FLAG_LEAD ? HAS_LEAD : 0);
    return cm_packer_put(out, &steps, sizeof steps, 1);
}

/* ---- reading ---- */

static cm_status read_packed(const cm_frame_store *s, unsigned char *to, cm_cursor *in) {
    enum { TOGETHER = 1024 };
    float numbers[TOGETHER];
    for (size_t left = s->shape.size; left > 0;) {
        const size_t count = left < TOGETHER ? left : TOGETHER;
        CM_TRY(cm_cursor_get(in, numbers, sizeof *numbers, count));
        CM_TRY(cm_observation_pack(numbers, count, s->unit, to));
        to += count, left -= count;
    }
    return CM_OK;
}

static cm_status read_frame(const cm_frame_store *s, int32_t frame, cm_cursor *in) {
    unsigned char *to = cm_frame_store_space(s, s->environments, frame);
    const float *numbers = (const float *)(const void *)to;
    if (s->unit > 0.0f && in->observation_type == CM_FRAME_FLOAT32) return read_packed(s, to, in);
    if (s->unit > 0.0f) return cm_cursor_get(in, to, 1, s->shape.size);
    CM_TRY(cm_cursor_get(in, to, sizeof(float), s->shape.size));
    for (size_t i = 0; i < s->shape.size; i++)
        if (!isfinite(numbers[i]))
            return cm_fail(CM_ERR_INPUT, "number %zu of an observation is %g: take another checkpoint (--checkpoint N)",
                           i + 1, (double)numbers[i]);
    return CM_OK;
}

static cm_status get_lead(const cm_replay *replay, cm_cursor *in, int32_t *lead) {
    const int32_t whole = replay->config.frames - 1;
    *lead = 0;
    if (!are_stacks(replay)) return CM_OK;
    CM_TRY(cm_cursor_get(in, lead, sizeof *lead, 1));
    if (*lead == 0 || *lead == whole) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%d frames before its first row, must be 0 or %d", *lead, whole);
}

/* What a segment was promised it gets; of one that is cut short the chain goes back with its rows. */
static cm_status read_chain(cm_replay *replay, int32_t slot, int32_t rows, int32_t lead, cm_cursor *in) {
    cm_frame_store *s = replay->frames;
    int32_t frame = -1;
    cm_status status = CM_OK;
    for (int32_t i = -lead; i < rows && status == CM_OK; i++) {
        frame = cm_frame_store_take(s, frame);
        status = read_frame(s, frame, in);
        if (status == CM_OK) status = cm_frame_store_write(s, s->environments, frame);
        if (i >= 0) replay->frame[cm_slot_add(replay, slot, i)] = frame;
    }
    return status;
}

cm_status cm_saved_get_frames(cm_replay *replay, int32_t slot, int32_t rows, bool ends, cm_cursor *in) {
    cm_frame_store *s = replay->frames;
    cm_replay_row *first = &replay->row[slot];
    const bool is_promised = ends && replay->loading;
    int32_t lead;
    CM_TRY(get_lead(replay, in, &lead));
    if (rows == 0) return CM_OK;
    if (is_promised && (lead > 0) != ((first->flags & FLAG_LEAD) != 0))
        return cm_fail(CM_ERR_INPUT, "%d frames before its first row, where the state says otherwise", lead);
    if (is_promised) {
        const int32_t there = replay->frame[cm_slot_add(replay, slot, rows - 1)]; /* of a file that is read again */
        if (there >= 0) cm_frame_store_release(s, there);
        if (there < 0) s->promised -= rows + lead;
    } else {
        cm_frames_make_room(replay, (int64_t)rows + lead);
    }
    if (lead > 0) first->flags |= FLAG_LEAD;
    return read_chain(replay, slot, rows, lead, in);
}

cm_status cm_saved_skip_frames(const cm_replay *replay, int32_t rows, int64_t *count, cm_cursor *in) {
    const cm_frame_store *s = replay->frames;
    const bool is_wide = s->unit == 0.0f || in->observation_type == CM_FRAME_FLOAT32;
    const uint64_t bytes = s->shape.size * (is_wide ? sizeof(float) : 1);
    int32_t lead;
    CM_TRY(get_lead(replay, in, &lead));
    if (count) *count = (int64_t)rows + lead;
    return cm_cursor_skip(in, bytes * ((uint64_t)rows + (uint64_t)lead));
}

cm_status cm_saved_get_steps(const cm_replay *replay, cm_cursor *in, int32_t *steps, bool *has_lead) {
    CM_TRY(cm_cursor_get(in, steps, sizeof *steps, 1));
    *has_lead = are_stacks(replay) && *steps > 0 && (*steps & HAS_LEAD) != 0;
    if (*has_lead) *steps -= HAS_LEAD;
    return CM_OK;
}

void cm_saved_lay_out(cm_replay *replay, int32_t steps, bool has_lead) {
    const int32_t slot = cm_slot_add(replay, replay->tail, replay->used);
    for (int32_t t = 0; t <= steps; t++, replay->used++) {
        const int32_t at = cm_slot_add(replay, replay->tail, replay->used);
        replay->row[at] = (cm_replay_row){.left = steps - t};
        if (replay->frames) replay->frame[at] = -1;
    }
    if (has_lead) replay->row[slot].flags = FLAG_LEAD;
    if (!replay->frames) return;
    replay->frames->promised += cm_segment_frames(replay, steps, has_lead);
}
