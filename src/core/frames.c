#include "core/frames.h"

#include <string.h>

static void stack_byte_cells(size_t cells, size_t channels, int count, const uint8_t *const *frame, float unit,
                             int first, int last, float *stack) {
    const size_t width = (size_t)count * channels;
    for (size_t cell = 0; cell < cells; cell++, stack += width)
        for (int k = first; k < last; k++)
            for (size_t c = 0; c < channels; c++)
                stack[(size_t)k * channels + c] = (float)frame[k][cell * channels + c] * unit;
}

void cm_frames_stack(const cm_frames_shape *s, const float *const *frame, int first, int last, float *stack) {
    const size_t width = (size_t)s->count * s->channels, cells = s->size / s->channels;
    for (size_t cell = 0; cell < cells; cell++, stack += width)
        for (int k = first; k < last; k++)
            for (size_t c = 0; c < s->channels; c++)
                stack[(size_t)k * s->channels + c] = frame[k][cell * s->channels + c];
}

/* ---- whole stacks of bytes: put in order first, then made numbers by a loop of its own, which the compiler makes
 * vector instructions of ---- */

enum { BUFFER = 4096 }; /* bytes that are put in order at once */

/* out[cells, K, C] = the bytes of all frames of `cells` cells from cell `at` on. */
static inline __attribute__((always_inline)) void interleave(size_t cells, size_t channels, int count,
                                                             const uint8_t *const *frame, size_t at, uint8_t *out) {
    const size_t width = (size_t)count * channels;
    for (int k = 0; k < count; k++) {
        const uint8_t *restrict from = frame[k] + at * channels;
        uint8_t *restrict to = out + (size_t)k * channels;
        for (size_t cell = 0; cell < cells; cell++)
            for (size_t c = 0; c < channels; c++) to[cell * width + c] = from[cell * channels + c];
    }
}

/* The same of one channel and four frames. */
static void interleave_four(size_t cells, const uint8_t *const *frame, size_t at, uint8_t *restrict out) {
    const uint8_t *restrict a = frame[0] + at, *restrict b = frame[1] + at;
    const uint8_t *restrict c = frame[2] + at, *restrict d = frame[3] + at;
    for (size_t i = 0; i < cells; i++, out += 4) out[0] = a[i], out[1] = b[i], out[2] = c[i], out[3] = d[i];
}

/* The same of three channels: four bytes are copied, and the next copy writes over the last one. */
static inline __attribute__((always_inline)) void
interleave_colours(size_t cells, int count, const uint8_t *const *frame, size_t at, uint8_t *out) {
    for (size_t cell = 0; cell + 1 < cells; cell++)
        for (int k = 0; k < count; k++, out += 3) memcpy(out, frame[k] + 3 * (at + cell), 4);
    for (int k = 0; k < count; k++, out += 3) memcpy(out, frame[k] + 3 * (at + cells - 1), 3);
}

static void interleave_cells(const cm_frames_shape *s, const uint8_t *const *frame, size_t at, size_t cells,
                             uint8_t *out) {
    if (s->channels == 1 && s->count == 4) {
        interleave_four(cells, frame, at, out);
    } else if (s->channels == 3 && s->count == 4) {
        interleave_colours(cells, 4, frame, at, out);
    } else if (s->channels == 3) {
        interleave_colours(cells, s->count, frame, at, out);
    } else {
        interleave(cells, s->channels, s->count, frame, at, out);
    }
}

static void scale_bytes(const uint8_t *restrict bytes, float unit, size_t count, float *restrict out) {
    for (size_t i = 0; i < count; i++) out[i] = (float)bytes[i] * unit;
}

/* `most` cells at once. */
static void stack_whole(const cm_frames_shape *s, const uint8_t *const *frame, float unit, size_t most, float *stack) {
    uint8_t bytes[BUFFER] = {0};
    const size_t width = (size_t)s->count * s->channels, cells = s->size / s->channels;
    for (size_t at = 0; at < cells; at += most) {
        const size_t some = cells - at < most ? cells - at : most;
        interleave_cells(s, frame, at, some, bytes);
        scale_bytes(bytes, unit, some * width, stack + at * width);
    }
}

void cm_frames_stack_bytes(const cm_frames_shape *s, const uint8_t *const *frame, float unit, int first, int last,
                           float *stack) {
    const size_t cells = s->size / s->channels, most = BUFFER / ((size_t)s->count * s->channels);
    if (first == 0 && last == s->count && most > 0) {
        stack_whole(s, frame, unit, most, stack);
    } else {
        stack_byte_cells(cells, s->channels, s->count, frame, unit, first, last, stack);
    }
}

void cm_frames_take(const cm_frames_shape *s, const float *stack, int k, float *frame) {
    const size_t width = (size_t)s->count * s->channels, at = (size_t)k * s->channels, cells = s->size / s->channels;
    for (size_t cell = 0; cell < cells; cell++)
        for (size_t c = 0; c < s->channels; c++) frame[cell * s->channels + c] = stack[cell * width + at + c];
}

/* In place each number goes to where no later one comes from: cell i of the last frame to i K C + (K - 1) C, which is
 * before (K - 1) cells C + i C unless it is the last cell, whose place it has. */
void cm_frames_place(const cm_frames_shape *s, const float *frame, int k, float *stack) {
    const size_t width = (size_t)s->count * s->channels, at = (size_t)k * s->channels, cells = s->size / s->channels;
    for (size_t cell = 0; cell < cells; cell++)
        for (size_t c = 0; c < s->channels; c++) stack[cell * width + at + c] = frame[cell * s->channels + c];
}
