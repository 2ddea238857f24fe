#include "backend/cuda/ops/sampled.h"

#include "backend/cuda/ops/ops.h"

cm_status cm_cuda_sample_actions(cm_stream *stream, const cm_call *call) {
    const cm_tensor *p = CM_ARG(call, sample_actions, p), *logits = CM_ARG(call, sample_actions, logits);
    cm_sample_args args = {.memory = cm_rows_of(CM_ARG(call, sample_actions, memory)),
                           .logits = cm_rows_of(logits),
                           .p = cm_rows_of(p),
                           .seed = cm_rows_of(CM_ARG(call, sample_actions, seed)),
                           .form = call->attr.form,
                           .draws = logits->dim[1]};
    CM_LAUNCH(stream, call, cm_sample_rows, &args, p->dim[0], 1);
    return CM_OK;
}

cm_status cm_cuda_sampled_action(cm_stream *stream, const cm_call *call) {
    const cm_tensor *memory = CM_ARG(call, sampled_action, memory);
    cm_sampled_args args = {.memory = cm_rows_of(memory),
                            .seed = cm_rows_of(CM_ARG(call, sampled_action, seed)),
                            .choice = CM_ARG(call, sampled_action, choice)->data,
                            .action = CM_ARG(call, sampled_action, action)->data,
                            .draws = memory->dim[1] - CM_SAMPLING_SEED};
    CM_LAUNCH(stream, call, cm_sampled_each, &args, memory->dim[0], 1);
    return CM_OK;
}

cm_status cm_cuda_action_numbers(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, action_numbers, y);
    cm_numbers_args args = {.y = cm_rows_of(y),
                            .action = CM_ARG(call, action_numbers, action)->data,
                            .form = call->attr.form,
                            .limit = cm_policy_actions(call->attr.form),
                            .scaled = call->attr.encoding == CM_ENCODE_SCALED};
    CM_LAUNCH(stream, call, cm_numbers_each, &args, (int64_t)cm_tensor_count(y), 1);
    return CM_OK;
}
