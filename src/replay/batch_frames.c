/* The frames of batches: of each row those that its positions show, once. */
#include <string.h>

#include "core/frames.h"
#include "replay/batch.h"
#include "replay/internal.h"

void cm_batch_lay_out_frames(const cm_replay *replay, cm_batch *batch, cm_arena *arena) {
    const cm_replay_config *c = &replay->config;
    const size_t rows = (size_t)batch->config.rows, k1 = (size_t)batch->unroll + 1;
    cm_batch_frames *f = &batch->frames;
    f->count = c->frames > 1 ? c->frames : 1;
    f->each = f->count + (batch->config.consistency ? batch->unroll : 0);
    f->channels = c->frame_channels;
    f->unit = c->observation_unit;
    f->bytes = (size_t)cm_frame_size(c) * (f->unit > 0.0f ? 1 : sizeof(float));
    f->data = cm_arena_alloc(arena, rows * (size_t)f->each * f->bytes);
    f->index = cm_arena_alloc(arena, rows * k1 * (size_t)f->count * sizeof *f->index);
    f->shift = cm_arena_alloc(arena, rows * 4 * sizeof *f->shift);
    f->factor = cm_arena_alloc(arena, rows * 2 * sizeof *f->factor);
    f->number = cm_arena_alloc(arena, (size_t)f->each * sizeof *f->number);
}

/* ---- filling ---- */

/* One row of a batch while it is filled. */
typedef struct filling {
    const cm_replay *replay;
    cm_batch *batch;
    size_t row;
    const int32_t *elements; /* of the row's symmetry; NULL: there are none */
    int32_t used;            /* places of frames that are taken */
} filling;

/* number[n]: the frames of a position, wherever they lie. */
static void find_numbers(const cm_replay *replay, int32_t slot, int32_t number[CM_FRAMES_MOST]) {
    number[0] = slot;
    if (replay->frames) cm_frame_store_find(replay->frames, replay->frame[slot], number);
}

static cm_status find_bytes(const filling *g, int32_t number, const unsigned char **bytes) {
    const cm_replay *replay = g->replay;
    if (replay->frames) return cm_frame_store_read(replay->frames, g->batch->reader, number, bytes);
    *bytes = replay->observation + (size_t)number * g->batch->frames.bytes;
    return CM_OK;
}

static void copy_frame(const filling *g, const unsigned char *from, unsigned char *to) {
    const size_t bytes = g->batch->frames.bytes, width = g->batch->frames.unit > 0.0f ? 1 : sizeof(float);
    if (!g->elements) memcpy(to, from, bytes);
    for (size_t i = 0; g->elements && i < bytes / width; i++)
        memcpy(to + i * width, from + (size_t)g->elements[i] * width, width);
}

/* The frame's place in the row. Neighbouring positions share most of theirs, so the newest are looked at first. */
static int32_t place_frame(filling *g, int32_t number) {
    const cm_batch_frames *f = &g->batch->frames;
    const unsigned char *bytes;
    for (int32_t i = g->used; i-- > 0;)
        if (f->number[i] == number) return i;
    const cm_status status = find_bytes(g, number, &bytes);
    if (status == CM_OK) {
        copy_frame(g, bytes, f->data + (g->row * (size_t)f->each + (size_t)g->used) * f->bytes);
    } else {
        g->batch->status = status;
    }
    f->number[g->used] = number;
    return g->used++;
}

static void draw_augmentation(const cm_batch *batch, size_t row) {
    const cm_batch_config *c = &batch->config;
    const cm_batch_frames *f = &batch->frames;
    cm_rng rng = cm_rng_init(cm_key_make(c->seed, CM_RNG_PICTURE, c->first_row + row), batch->update);
    for (size_t i = 2 * row; i < 2 * (row + 1); i++) {
        const cm_augment_draw draw = cm_augment_next(&c->augmentation, &rng);
        f->shift[2 * i] = draw.down, f->shift[2 * i + 1] = draw.right;
        f->factor[i] = draw.factor;
    }
}

void cm_batch_gather_frames(const cm_replay *replay, cm_batch *batch, int row) {
    const cm_batch_frames *f = &batch->frames;
    const size_t symmetry = (size_t)batch->symmetry[row] * (size_t)cm_frame_size(&replay->config);
    const int32_t slot = batch->slot[row], left = cm_slot_left(replay, slot);
    filling g = {.replay = replay, .batch = batch, .row = (size_t)row};
    if (replay->config.symmetries > 1) g.elements = replay->symmetry_elements + symmetry;
    int32_t number[CM_FRAMES_MOST] = {0}, *index = f->index + g.row * (size_t)(batch->unroll + 1) * (size_t)f->count;
    for (int k = 0; k <= batch->unroll; k++, index += f->count) {
        const bool is_there = k == 0 || (batch->config.consistency && k <= left);
        if (is_there) find_numbers(replay, cm_slot_add(replay, slot, k), number);
        for (int i = 0; i < f->count; i++) index[i] = is_there ? place_frame(&g, number[i]) : -1;
    }
    draw_augmentation(batch, g.row);
}

/* ---- looking ---- */

static void stack_frames(const cm_batch *batch, int row, const int32_t *index, float *out) {
    const cm_batch_frames *f = &batch->frames;
    const size_t size = (size_t)(batch->observation_size / f->count);
    const cm_frames_shape shape = {f->count, size, f->count > 1 ? (size_t)f->channels : size};
    const uint8_t *bytes[CM_FRAMES_MOST];
    const float *floats[CM_FRAMES_MOST];
    for (int i = 0; i < f->count; i++) {
        bytes[i] = f->data + ((size_t)row * (size_t)f->each + (size_t)index[i]) * f->bytes;
        floats[i] = (const float *)(const void *)bytes[i];
    }
    if (f->unit > 0.0f) {
        cm_frames_stack_bytes(&shape, bytes, f->unit, 0, f->count, out);
    } else {
        cm_frames_stack(&shape, floats, 0, f->count, out);
    }
}

void cm_batch_observe(const cm_batch *batch, int row, int k, float *out) {
    const size_t size = (size_t)batch->observation_size, at = (size_t)row * (size_t)batch->unroll + (size_t)k;
    if (!batch->config.frames) {
        const float *of =
            k == 0 ? batch->observation + (size_t)row * size : batch->target_observations + (at - 1) * size;
        memcpy(out, of, size * sizeof *out);
        return;
    }
    const int32_t *index = batch->frames.index + (at + (size_t)row) * (size_t)batch->frames.count;
    if (*index < 0) {
        memset(out, 0, size * sizeof *out);
    } else {
        stack_frames(batch, row, index, out);
    }
}
