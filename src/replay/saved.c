/* What segment.c, state.c and deal.c share: rows in files, see saved.h. */
#include "replay/saved.h"
#include "replay/observation.h"
#include "replay/policy.h"

#include <math.h>

enum { STEP_BYTES = 18 };

/* ---- fields -------------------------------------------------------------------------------------------------------
 */

/* Rows from `slot` on before the end of the ring, at most `rows`. */
static int32_t first_rows(const cm_replay *replay, int32_t slot, int32_t rows) {
    return slot < replay->ring && rows > replay->ring - slot ? replay->ring - slot : rows;
}

cm_status cm_saved_put_field(const cm_replay *replay, int32_t slot, int32_t rows, int field, cm_packer *out) {
    const cm_field_info *info = &replay->info[field];
    const unsigned char *base = replay->field[field];
    int32_t first = first_rows(replay, slot, rows);
    CM_TRY(cm_packer_put(out, base + (size_t)slot * info->width * info->columns, info->width,
                         (size_t)first * info->columns));
    return cm_packer_put(out, base, info->width, (size_t)(rows - first) * info->columns);
}

cm_status cm_saved_get_field(cm_replay *replay, int32_t slot, int32_t rows, int field, cm_cursor *in) {
    const cm_field_info *info = &replay->info[field];
    unsigned char *base = replay->field[field];
    int32_t first = first_rows(replay, slot, rows);
    CM_TRY(cm_cursor_get(in, base + (size_t)slot * info->width * info->columns, info->width,
                         (size_t)first * info->columns));
    return cm_cursor_get(in, base, info->width, (size_t)(rows - first) * info->columns);
}

/* ---- observations ----
 *
 * Files hold them as the replay does, but for those of a time when there were no bytes. */

static uint32_t observation_type(const cm_replay *replay) {
    return replay->config.observation_unit > 0.0f ? CM_FRAME_BYTES : CM_FRAME_FLOAT32;
}

static uint32_t frames_of(const cm_replay *replay) {
    return replay->config.frames > 1 ? (uint32_t)replay->config.frames : 0;
}

static bool is_to_pack(const cm_replay *replay, const cm_cursor *in) {
    return observation_type(replay) == CM_FRAME_BYTES && in->observation_type == CM_FRAME_FLOAT32;
}

static cm_status pack_observation(const cm_replay *replay, uint8_t *row, cm_cursor *in) {
    enum { TOGETHER = 1024 };
    float numbers[TOGETHER];
    for (size_t left = replay->info[FIELD_OBSERVATION].columns; left > 0;) {
        const size_t count = left < TOGETHER ? left : TOGETHER;
        CM_TRY(cm_cursor_get(in, numbers, sizeof *numbers, count));
        CM_TRY(cm_observation_pack(numbers, count, replay->config.observation_unit, row));
        row += count;
        left -= count;
    }
    return CM_OK;
}

static cm_status get_observations(cm_replay *replay, int32_t slot, int32_t rows, cm_cursor *in) {
    if (!is_to_pack(replay, in)) return cm_saved_get_field(replay, slot, rows, FIELD_OBSERVATION, in);
    const size_t columns = replay->info[FIELD_OBSERVATION].columns;
    for (int32_t i = 0; i < rows; i++)
        CM_TRY(pack_observation(replay, replay->observation + (size_t)cm_slot_add(replay, slot, i) * columns, in));
    return CM_OK;
}

/* Of a row that keeps float32 numbers; bytes are all numbers. */
static cm_status check_observation(const cm_replay *replay, int32_t slot) {
    const size_t columns = replay->info[FIELD_OBSERVATION].columns;
    const float *numbers = (const float *)(const void *)(replay->observation + (size_t)slot * columns * sizeof(float));
    if (replay->config.observation_unit > 0.0f || replay->frames) return CM_OK;
    for (size_t i = 0; i < columns; i++) {
        if (!isfinite(numbers[i]))
            return cm_fail(CM_ERR_INPUT,
                           "number %zu of its observation is %g: take another checkpoint (--checkpoint N)", i + 1,
                           (double)numbers[i]);
    }
    return CM_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------------------
 */

static cm_status put_step(const cm_replay_row *row, uint8_t mask, cm_packer *out) {
    uint8_t flags = row->flags & mask;
    CM_TRY(cm_packer_put(out, &row->reward, sizeof(float), 1));
    CM_TRY(cm_packer_put(out, &row->root_value, sizeof(float), 1));
    CM_TRY(cm_packer_put(out, &row->action, sizeof(int32_t), 1));
    CM_TRY(cm_packer_put(out, &row->index, sizeof(uint32_t), 1));
    CM_TRY(cm_packer_put(out, &row->to_play, 1, 1));
    return cm_packer_put(out, &flags, 1, 1);
}

static cm_status get_step(const cm_replay *replay, cm_replay_row *row, uint8_t mask, cm_cursor *in) {
    uint8_t flags = 0;
    CM_TRY(cm_cursor_get(in, &row->reward, sizeof(float), 1));
    CM_TRY(cm_cursor_get(in, &row->root_value, sizeof(float), 1));
    CM_TRY(cm_cursor_get(in, &row->action, sizeof(int32_t), 1));
    CM_TRY(cm_cursor_get(in, &row->index, sizeof(uint32_t), 1));
    CM_TRY(cm_cursor_get(in, &row->to_play, 1, 1));
    CM_TRY(cm_cursor_get(in, &flags, 1, 1));
    if (flags & ~mask) return cm_fail(CM_ERR_INPUT, "flags %d", flags);
    row->flags = (uint8_t)((row->flags & (FLAG_TRAINED | FLAG_LEAD)) | flags);
    if (row->action < 0 || row->action >= replay->config.actions)
        return cm_fail(CM_ERR_INPUT, "action %d, must be in 0 .. %d", row->action, replay->config.actions - 1);
    if (!isfinite(row->reward) || !isfinite(row->root_value))
        return cm_fail(CM_ERR_INPUT, "reward %g, root value %g", (double)row->reward, (double)row->root_value);
    return CM_OK;
}

cm_status cm_saved_put(const cm_replay *replay, int32_t slot, int32_t rows, uint8_t mask, cm_packer *out) {
    CM_TRY(replay->frames ? cm_saved_put_frames(replay, slot, rows, out)
                          : cm_saved_put_field(replay, slot, rows, FIELD_OBSERVATION, out));
    for (int f = FIELD_OBSERVATION + 1; f < FIELD_ROW; f++) CM_TRY(cm_saved_put_field(replay, slot, rows, f, out));
    for (int32_t i = 0; i < rows; i++) CM_TRY(put_step(&replay->row[cm_slot_add(replay, slot, i)], mask, out));
    return CM_OK;
}

cm_status cm_saved_get(cm_replay *replay, int32_t slot, int32_t rows, uint8_t mask, bool ends, cm_cursor *in) {
    CM_TRY(replay->frames ? cm_saved_get_frames(replay, slot, rows, ends, in)
                          : get_observations(replay, slot, rows, in));
    for (int f = FIELD_OBSERVATION + 1; f < FIELD_ROW; f++) CM_TRY(cm_saved_get_field(replay, slot, rows, f, in));
    for (int32_t i = 0; i < rows; i++) {
        int32_t at = cm_slot_add(replay, slot, i);
        cm_status status = check_observation(replay, at);
        if (status == CM_OK) status = get_step(replay, &replay->row[at], mask, in);
        bool last = ends && i == rows - 1;
        if (status == CM_OK && !last) status = cm_policy_check(replay, at);
        if (status != CM_OK) return cm_fail_in(status, "row %d", i);
    }
    return CM_OK;
}

cm_status cm_saved_skip_rows(const cm_replay *replay, int32_t rows, cm_cursor *in) {
    size_t bytes = STEP_BYTES;
    const int first = replay->frames ? FIELD_OBSERVATION + 1 : FIELD_OBSERVATION;
    if (replay->frames) CM_TRY(cm_saved_skip_frames(replay, rows, NULL, in));
    for (int f = first; f < FIELD_ROW; f++) bytes += replay->info[f].width * replay->info[f].columns;
    if (!replay->frames && is_to_pack(replay, in))
        bytes += (sizeof(float) - 1) * replay->info[FIELD_OBSERVATION].columns;
    return cm_cursor_skip(in, (uint64_t)bytes * (uint64_t)rows);
}

/* ---- headers ------------------------------------------------------------------------------------------------------
 */

/* What a header says of the form of policies. */
static uint32_t numbers_of(const cm_replay *replay) {
    enum { OF_ANGLES = 1 << 5 }; /* more than there may be numbers; at most 1001 times it is below CM_FRAME_ENTRIES */
    const cm_policy_form form = replay->config.form;
    if (replay->config.entries > 0) return CM_FRAME_ENTRIES + (uint32_t)replay->config.entries;
    if (form.angles) return OF_ANGLES * (uint32_t)form.values + (uint32_t)form.numbers;
    return form.numbers > 1 ? (uint32_t)form.numbers : 0;
}

static const char *form_of(uint32_t numbers) {
    return numbers > CM_FRAME_ENTRIES ? "of few drawn actions" : numbers > 0 ? "per number" : "joint";
}

cm_status cm_saved_check_shape(const cm_replay *replay, const cm_frame *frame, const char *name) {
    const cm_replay_config *c = &replay->config;
    if (frame->numbers != (uint32_t)numbers_of(replay))
        return cm_fail(CM_ERR_INPUT,
                       "%s: its policies are %s, those of the replay %s (policy_distribution, num_sampled_actions)",
                       name, form_of(frame->numbers), form_of(numbers_of(replay)));
    const bool is_readable =
        frame->observation_type == CM_FRAME_FLOAT32 || frame->observation_type == observation_type(replay);
    if (frame->frames != frames_of(replay))
        return cm_fail(CM_ERR_INPUT, "%s: of stacks of %u frames, those of the replay have %u (frame_stack)", name,
                       frame->frames > 0 ? frame->frames : 1, frames_of(replay) > 0 ? frames_of(replay) : 1);
    if (frame->observation_size == (uint32_t)c->observation_size && frame->actions == (uint32_t)c->actions &&
        is_readable)
        return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s: of observations of %u elements (type %u) and %u actions; the replay has %d (type %d) and %d: "
                   "it is of another task",
                   name, frame->observation_size, frame->observation_type, frame->actions, c->observation_size,
                   (int)observation_type(replay), c->actions);
}

cm_frame cm_saved_frame(const cm_replay *replay, const char *name, uint64_t a, uint64_t b) {
    const cm_replay_config *c = &replay->config;
    return (cm_frame){.magic = name,
                      .observation_size = (uint32_t)c->observation_size,
                      .observation_type = observation_type(replay),
                      .frames = frames_of(replay),
                      .numbers = numbers_of(replay),
                      .actions = (uint32_t)c->actions,
                      .a = a,
                      .b = b};
}
