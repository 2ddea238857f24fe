#include "backend/cuda/ops/prefix.h"

#include "backend/cuda/ops/ops.h"

cm_status cm_cuda_prefix_step(cm_stream *stream, const cm_call *call) {
    const cm_tensor *memory = CM_ARG(call, prefix_step, memory), *h = CM_ARG(call, prefix_step, h);
    cm_prefix_args args = {.memory = cm_rows_of(memory),
                           .h = cm_rows_of(h),
                           .c = cm_rows_of(CM_ARG(call, prefix_step, c)),
                           .before = cm_rows_of(CM_ARG(call, prefix_step, before)),
                           .prefix = CM_ARG(call, prefix_step, prefix)->data,
                           .reward = CM_ARG(call, prefix_step, reward)->data,
                           .H = h->dim[1],
                           .horizon = call->attr.horizon};
    CM_LAUNCH(stream, call, cm_prefix_step_each, &args, (int64_t)cm_tensor_count(memory), 1);
    return CM_OK;
}
