/* Stacks of frames that are kept once. */
#include <string.h>

#include "backend/ref/loops.h"
#include "core/frames.h"

/* One picture of a call. */
typedef struct picture {
    const cm_call *call;
    int height, width, channels; /* channels of a frame */
    const char *frame[CM_FRAMES_MOST];
    size_t element; /* bytes of a number of a frame */
    int count;
} picture;

static int int_at(const cm_tensor *t, int r, int c) { return ref_int(t, r * t->stride + c); }

static int clamp(int value, int most) { return value < 0 ? 0 : value > most ? most : value; }

/* to <- `rows` rows of the stack, from row `first` on. */
static void stack_rows(const picture *p, int first, int rows, float *to) {
    const size_t row = (size_t)p->width * (size_t)p->channels, at = (size_t)first * row * p->element;
    cm_frames_shape s = {.count = p->count, .size = (size_t)rows * row, .channels = (size_t)p->channels};
    const uint8_t *bytes[CM_FRAMES_MOST];
    const float *floats[CM_FRAMES_MOST];
    if (s.count == 1) s.channels = s.size; /* the same, at once */
    for (int k = 0; k < p->count; k++) {
        bytes[k] = (const uint8_t *)(p->frame[k] + at);
        floats[k] = (const float *)(const void *)(p->frame[k] + at);
    }
    if (p->element == 1) {
        cm_frames_stack_bytes(&s, bytes, p->call->attr.scale, 0, s.count, to);
    } else {
        cm_frames_stack(&s, floats, 0, s.count, to);
    }
}

/* to[count] <- the pixel `from`, which may be one of them. */
static void repeat(float *to, const float *from, int count, size_t width) {
    for (int i = 0; i < count; i++) memmove(to + (size_t)i * width, from, width * sizeof *to);
}

/* Pixel x of a row becomes that of x + right, in place. */
static void shift_row(const picture *p, int right, float *row) {
    const size_t width = (size_t)p->count * (size_t)p->channels, last = (size_t)(p->width - 1) * width;
    const int left = right < 0 ? -right : 0, after = right > 0 ? right : 0, inside = p->width - left - after;
    memmove(row + (size_t)left * width, row + (size_t)after * width, (size_t)inside * width * sizeof *row);
    repeat(row, row, left, width);
    repeat(row + (size_t)(left + inside) * width, row + last, after, width);
}

static cm_status find_frames(const cm_call *call, int i, picture *p) {
    const cm_tensor *frames = CM_ARG(call, stack_frames, frames), *index = CM_ARG(call, stack_frames, index);
    for (int k = 0; k < p->count; k++) {
        const int number = int_at(index, i, k);
        if (number < 0 || number >= frames->dim[0])
            return cm_fail(CM_ERR_INPUT, "stack_frames: index[%d, %d] is %d, must be in [0, %d)", i, k, number,
                           frames->dim[0]);
        p->frame[k] = (const char *)frames->data + (size_t)number * (size_t)frames->stride * p->element;
    }
    return CM_OK;
}

static void make_picture(const picture *p, int down, int right, float factor, float *to) {
    const size_t row = (size_t)p->width * (size_t)p->count * (size_t)p->channels;
    const int most = p->width - 1, across = right < -most ? -most : right > most ? most : right;
    if (down == 0 && across == 0) stack_rows(p, 0, p->height, to);
    for (int y = 0; (down != 0 || across != 0) && y < p->height; y++) {
        stack_rows(p, clamp(y + down, p->height - 1), 1, to + (size_t)y * row);
        shift_row(p, across, to + (size_t)y * row);
    }
    for (size_t i = 0; factor != 1.0f && i < (size_t)p->height * row; i++) to[i] *= factor;
}

cm_status cm_ref_stack_frames(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, stack_frames, y), *frames = CM_ARG(call, stack_frames, frames);
    const cm_tensor *index = CM_ARG(call, stack_frames, index), *shift = CM_ARG(call, stack_frames, shift);
    const cm_tensor *factor = CM_ARG(call, stack_frames, factor);
    picture p = {.call = call,
                 .height = frames->dim[1],
                 .width = frames->dim[2],
                 .channels = frames->dim[3],
                 .element = cm_dtype_size(frames->dtype),
                 .count = index->dim[1]};
    for (int i = 0; i < y->dim[0]; i++) {
        if (int_at(index, i, 0) == -1) {
            memset(ref_row(y, i), 0, (size_t)cm_tensor_row_size(y) * sizeof(float));
            continue;
        }
        CM_TRY(find_frames(call, i, &p));
        make_picture(&p, int_at(shift, i, 0), int_at(shift, i, 1), ref_at(factor, i), ref_row(y, i));
    }
    return CM_OK;
}
