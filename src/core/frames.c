#include "core/frames.h"

/* The compiler makes loops of their own of the usual numbers of channels. */
static inline __attribute__((always_inline)) void
stack_cells(size_t cells, size_t channels, int count, const float *const *frame, int first, int last, float *stack) {
    const size_t width = (size_t)count * channels;
    for (size_t cell = 0; cell < cells; cell++, stack += width)
        for (int k = first; k < last; k++)
            for (size_t c = 0; c < channels; c++) stack[(size_t)k * channels + c] = frame[k][cell * channels + c];
}

static inline __attribute__((always_inline)) void stack_byte_cells(size_t cells, size_t channels, int count,
                                                                   const uint8_t *const *frame, float unit, int first,
                                                                   int last, float *stack) {
    const size_t width = (size_t)count * channels;
    for (size_t cell = 0; cell < cells; cell++, stack += width)
        for (int k = first; k < last; k++)
            for (size_t c = 0; c < channels; c++)
                stack[(size_t)k * channels + c] = (float)frame[k][cell * channels + c] * unit;
}

void cm_frames_stack(const cm_frames_shape *s, const float *const *frame, int first, int last, float *stack) {
    const size_t cells = s->size / s->channels;
    stack_cells(cells, s->channels, s->count, frame, first, last, stack);
}

void cm_frames_stack_bytes(const cm_frames_shape *s, const uint8_t *const *frame, float unit, int first, int last,
                           float *stack) {
    const size_t cells = s->size / s->channels;
    switch (s->channels) {
    case 1: stack_byte_cells(cells, 1, s->count, frame, unit, first, last, stack); break;
    case 3: stack_byte_cells(cells, 3, s->count, frame, unit, first, last, stack); break;
    default: stack_byte_cells(cells, s->channels, s->count, frame, unit, first, last, stack);
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
