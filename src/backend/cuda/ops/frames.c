#include "backend/cuda/ops/frames.h"

#include "backend/cuda/ops/ops.h"

cm_status cm_cuda_stack_frames(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, stack_frames, y), *frames = CM_ARG(call, stack_frames, frames);
    const cm_tensor *index = CM_ARG(call, stack_frames, index), *shift = CM_ARG(call, stack_frames, shift);
    cm_frames_args args = {.y = y->data,
                           .type = y->dtype,
                           .bytes = frames->dtype == CM_U8 ? frames->data : NULL,
                           .floats = frames->dtype == CM_F32 ? frames->data : NULL,
                           .unit = call->attr.scale,
                           .index = index->data,
                           .shift = shift->data,
                           .index_stride = index->stride,
                           .shift_stride = shift->stride,
                           .factor = CM_ARG(call, stack_frames, factor)->data,
                           .frames = frames->dim[0],
                           .H = frames->dim[1],
                           .W = frames->dim[2],
                           .C = frames->dim[3],
                           .count = index->dim[1]};
    CM_LAUNCH(stream, call, cm_frames_each, &args, (int64_t)cm_tensor_count(y) / args.C, 1);
    return CM_OK;
}
