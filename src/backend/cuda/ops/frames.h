/* The kernel of stacks of frames. A number of a frame that is out of range makes NaN (shape.h). */
#ifndef CM_BACKEND_CUDA_OPS_FRAMES_H
#define CM_BACKEND_CUDA_OPS_FRAMES_H

#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

/* Frames [frames, H, W, C], pictures [*, H, W, count * C]. */
typedef struct cm_frames_args {
    void *y;
    cm_dtype type;        /* of y: float32, or of 16 bits */
    const uint8_t *bytes; /* frames of bytes, times unit; NULL: */
    const float *floats;  /* frames of float32 */
    float unit;
    const int32_t *index, *shift; /* rows of count, of 2 */
    int64_t index_stride, shift_stride;
    const float *factor;
    int frames, H, W, C, count;
} cm_frames_args;

static CM_HD inline int cm_frames_within(int at, int size) { return at < 0 ? 0 : at < size ? at : size - 1; }

/* Item: a pixel of a picture, and one of its frames; 1 lane. */
CM_KERNEL void cm_frames_each(const cm_frames_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_place pixel = cm_place_of(item, k->count), picture = cm_place_of(pixel.row, (int64_t)k->H * k->W);
    const cm_place cell = cm_place_of(picture.column, k->W);
    const int32_t *index = k->index + picture.row * k->index_stride, *shift = k->shift + picture.row * k->shift_stride;
    const int frame = index[pixel.column], h = cm_frames_within((int)cell.row + shift[0], k->H);
    const int w = cm_frames_within((int)cell.column + shift[1], k->W);
    const bool is_none = index[0] == -1, is_known = frame >= 0 && frame < k->frames;
    const int64_t from = (((int64_t)frame * k->H + h) * k->W + w) * k->C, to = item * k->C;
    const float factor = k->factor[picture.row];
    (void)lanes;
    for (int c = 0; c < k->C; c++) {
        float value = is_none ? 0.0f : NAN;
        if (is_known && !is_none)
            value = (k->bytes ? (float)k->bytes[from + c] * k->unit : k->floats[from + c]) * factor;
        if (k->type == CM_F32) {
            ((float *)k->y)[to + c] = value;
        } else {
            ((uint16_t *)k->y)[to + c] = cm_to_half(value, k->type);
        }
    }
}

#define CM_FRAMES_KERNELS(X) X(cm_frames_each, cm_frames_args)
CM_FRAMES_KERNELS(CM_KERNEL_ENTRY)

#endif
