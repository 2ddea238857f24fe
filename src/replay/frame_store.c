#include "replay/frame_store.h"

#include <string.h>

#include "replay/observation.h"

/* ---- memory ---- */

/* A step may be the only one of its episode, which has two frames then; a segment that is cut begins with K. */
int32_t cm_frame_store_each(int count, int commit_steps, int segment_steps) {
    const int64_t cuts = (int64_t)commit_steps / segment_steps + 1;
    return (int32_t)(2 * (int64_t)commit_steps + 1 + cuts * count);
}

void cm_frame_store_lay_out(cm_frame_store *s, cm_arena *arena) {
    const size_t capacity = (size_t)s->capacity, environments = (size_t)s->environments;
    s->bytes = s->shape.size * (s->unit > 0.0f ? 1 : sizeof(float));
    s->file = -1;
    s->data = cm_arena_alloc(arena, (s->is_file || s->is_packed ? environments + 1 : capacity) * s->bytes);
    if (s->is_packed)
        cm_packed_frames_lay_out(&s->packed, arena, s->capacity, s->bytes, (int64_t)s->environments * s->each);
    s->before = cm_arena_alloc(arena, capacity * sizeof *s->before);
    s->free = cm_arena_alloc(arena, capacity * sizeof *s->free);
    s->spare = cm_arena_alloc(arena, environments * (size_t)s->each * sizeof *s->spare);
    s->writer = cm_arena_alloc(arena, environments * sizeof *s->writer);
}

/* The first frames are the first that are taken, so memory is written to only as far as it is needed. */
void cm_frame_store_reset(cm_frame_store *s) {
    s->free_count = s->capacity;
    if (s->is_packed) cm_packed_frames_clear(&s->packed);
    s->used = s->promised = 0;
    for (int32_t i = 0; i < s->capacity; i++) s->free[i] = s->capacity - 1 - i;
    for (int e = 0; e < s->environments; e++) s->writer[e] = (cm_frame_writer){-1, -1, s->each, 0};
    cm_frame_store_refill(s);
}

/* Frames that are set aside. */
static int64_t aside_of(const cm_frame_store *s) { return (int64_t)s->environments * s->each; }

bool cm_frame_store_is_packed_full(const cm_frame_store *s) {
    return s->is_packed && s->packed.free_count < aside_of(s) * s->packed.most;
}

bool cm_frame_store_fits(const cm_frame_store *s, int64_t more) {
    const int64_t aside = aside_of(s);
    if (cm_frame_store_is_packed_full(s)) return false;
    return s->used + s->promised + more + aside <= s->capacity;
}

void cm_frame_store_refill(cm_frame_store *s) {
    for (int e = 0; e < s->environments; e++) {
        int32_t *spare = s->spare + (size_t)e * (size_t)s->each;
        for (int32_t i = 0; i < s->writer[e].taken; i++) spare[i] = s->free[--s->free_count];
        s->writer[e].taken = 0;
    }
}

/* ---- chains ---- */

void cm_frame_store_find(const cm_frame_store *s, int32_t newest, int32_t frame[CM_FRAMES_MOST]) {
    frame[s->shape.count - 1] = newest;
    for (int k = s->shape.count - 1; k > 0; k--) {
        const int32_t before = s->before[frame[k]];
        frame[k - 1] = before < 0 ? frame[k] : before;
    }
}

int32_t cm_frame_store_take(cm_frame_store *s, int32_t before) {
    const int32_t frame = s->free[--s->free_count];
    s->before[frame] = before;
    s->used++;
    return frame;
}

void cm_frame_store_release(cm_frame_store *s, int32_t last) {
    for (int32_t frame = last; frame >= 0; frame = s->before[frame]) {
        s->free[s->free_count++] = frame;
        s->used--;
        if (s->is_packed) cm_packed_frames_drop(&s->packed, frame);
    }
}

/* ---- writing ---- */

static cm_status pack(const cm_frame_store *s, const float *stack, int k, unsigned char *to) {
    if (s->unit > 0.0f) return cm_observation_pack_frame(&s->shape, stack, k, s->unit, to);
    cm_frames_take(&s->shape, stack, k, (float *)(void *)to);
    return CM_OK;
}

/* Writes frame k of a stack as the next one of an environment. */
static cm_status add(cm_frame_store *s, int environment, bool begins, const float *stack, int k) {
    cm_frame_writer *w = &s->writer[environment];
    const int32_t frame = s->spare[(size_t)environment * (size_t)s->each + (size_t)w->taken];
    CM_TRY(pack(s, stack, k, cm_frame_store_space(s, environment, frame)));
    CM_TRY(cm_frame_store_write(s, environment, frame));
    s->before[frame] = begins ? -1 : w->newest;
    w->newest = frame;
    w->taken++;
    w->written++;
    return CM_OK;
}

cm_status cm_frame_store_append(cm_frame_store *s, int environment, bool begins, const float *stack, int32_t *frame) {
    CM_TRY(add(s, environment, begins, stack, s->shape.count - 1));
    *frame = s->writer[environment].newest;
    return CM_OK;
}

cm_status cm_frame_store_begin_again(cm_frame_store *s, int environment, const float *stack) {
    for (int k = 0; k < s->shape.count; k++) CM_TRY(add(s, environment, k == 0, stack, k));
    return CM_OK;
}

bool cm_frame_store_is_first(const cm_frame_store *s, const float *stack) {
    const size_t channels = s->shape.channels, cells = s->shape.size / channels;
    for (size_t cell = 0; cell < cells; cell++, stack += (size_t)s->shape.count * channels)
        for (int k = 1; k < s->shape.count; k++)
            if (memcmp(stack, stack + (size_t)k * channels, channels * sizeof *stack) != 0) return false;
    return true;
}

void cm_frame_store_undo(cm_frame_store *s) {
    for (int e = 0; e < s->environments; e++) {
        cm_frame_writer *w = &s->writer[e];
        for (int32_t i = 0; s->is_packed && i < w->taken; i++)
            cm_packed_frames_drop(&s->packed, s->spare[(size_t)e * (size_t)s->each + (size_t)i]);
        *w = (cm_frame_writer){w->committed, w->committed, 0, 0};
    }
}

void cm_frame_store_count(cm_frame_store *s) {
    for (int e = 0; e < s->environments; e++) {
        s->used += s->writer[e].written;
        s->writer[e].written = 0;
        s->writer[e].committed = s->writer[e].newest;
    }
}
