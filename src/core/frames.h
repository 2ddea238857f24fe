/* Stacks of frames: an observation that shows the newest K pictures of a task.
 *
 * A frame is [cells, C]: C channels innermost, or [C] with one cell. A stack is [cells, K, C], so [H, W, K C] of
 * pictures and [K C] of vectors: of each cell the numbers of the oldest frame first. */
#ifndef CM_CORE_FRAMES_H
#define CM_CORE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_FRAMES_MOST = 32 }; /* K */

typedef struct cm_frames_shape {
    int count;       /* K, 1 .. CM_FRAMES_MOST                       */
    size_t size;     /* numbers of a frame: cells * channels */
    size_t channels; /* C                                        */
} cm_frames_shape;

/* stack[size, K] = the numbers of frame[k], k of first .. last - 1, in their places; the others are left alone. Bytes
 * are multiplied by `unit`. */
void cm_frames_stack(const cm_frames_shape *shape, const float *const *frame, int first, int last, float *stack);
void cm_frames_stack_bytes(const cm_frames_shape *shape, const uint8_t *const *frame, float unit, int first, int last,
                           float *stack);

/* frame[size] = frame k of a stack. */
void cm_frames_take(const cm_frames_shape *shape, const float *stack, int k, float *frame);

/* Frame k of the stack = frame[size], which for k = K - 1 may be the end of the stack itself, stack + (K - 1) size. */
void cm_frames_place(const cm_frames_shape *shape, const float *frame, int k, float *stack);

#ifdef __cplusplus
}
#endif
#endif
