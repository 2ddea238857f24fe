/* sample_actions, sampled_action and action_numbers. */
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"
#include "backend/sampling.h"

cm_status cm_ref_sample_actions(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *memory = CM_ARG(call, sample_actions, memory), *logits = CM_ARG(call, sample_actions, logits);
    const cm_tensor *p = CM_ARG(call, sample_actions, p), *seed = CM_ARG(call, sample_actions, seed);
    const int draws = logits->dim[1];
    for (int b = 0; b < p->dim[0]; b++) {
        float *to = ref_row(memory, b);
        cm_sampling_draw(ref_row(p, b), call->attr.form, ref_row(seed, b), draws, to, ref_row(logits, b));
        memcpy(to + draws, ref_row(seed, b), CM_SAMPLING_SEED * sizeof(float));
    }
    return CM_OK;
}

cm_status cm_ref_sampled_action(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *memory = CM_ARG(call, sampled_action, memory), *choice = CM_ARG(call, sampled_action, choice);
    const cm_tensor *seed = CM_ARG(call, sampled_action, seed);
    const int draws = memory->dim[1] - CM_SAMPLING_SEED;
    int32_t *action = CM_ARG(call, sampled_action, action)->data;
    CM_TRY(ref_check_range(call, "choice", choice, draws));
    for (int b = 0; b < memory->dim[0]; b++) {
        const float *from = ref_row(memory, b);
        action[b] = (int32_t)from[ref_int(choice, b)];
        cm_sampling_below(from + draws, ref_int(choice, b), ref_row(seed, b));
    }
    return CM_OK;
}

cm_status cm_ref_action_numbers(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const cm_tensor *y = CM_ARG(call, action_numbers, y), *action = CM_ARG(call, action_numbers, action);
    const cm_policy_form form = call->attr.form;
    const bool is_scaled = call->attr.encoding == CM_ENCODE_SCALED;
    CM_TRY(ref_check_range(call, "action", action, cm_policy_actions(form)));
    for (int b = 0; b < y->dim[0]; b++) {
        float *to = ref_row(y, b);
        for (int i = 0; i < y->dim[1]; i++) to[i] = is_scaled ? cm_policy_scaled(form, ref_int(action, b), i) : 0.0f;
        for (int d = 0; d < form.numbers && !is_scaled; d++)
            to[d * form.values + cm_policy_entry(form, ref_int(action, b), d)] = 1.0f;
    }
    return CM_OK;
}
