#include "network/rollout.h"

#include <math.h>
#include <stdlib.h>

#include "core/arena.h"
#include "device/mirror.h"

struct cm_rollout {
    const cm_network *network; /* borrowed */
    cm_stream *stream;         /* borrowed */
    const float *parameters;   /* borrowed */
    int rows, steps;
    cm_tape *tape;
    cm_pass *pass;
    cm_mirror input;
    cm_var observation, action[CM_ROLLOUT_STEPS], code[CM_ROLLOUT_STEPS];
    cm_var policy[CM_ROLLOUT_STEPS + 1], value[CM_ROLLOUT_STEPS + 1];
};

/* ---- recording ---- */

static void predict(cm_rollout *r, cm_hidden state, int k) {
    const cm_network_config *c = cm_network_get_config(r->network);
    const cm_outputs out = cm_network_predict(r->network, r->tape, state, k > 0 && c->prefix_horizon == 0);
    r->policy[k] = out.policy;
    r->value[k] = cm_tape_support_decode(r->tape, out.value, &c->value_support);
    cm_tape_result(r->tape, r->policy[k]);
    cm_tape_result(r->tape, r->value[k]);
}

static cm_hidden step(cm_rollout *r, cm_hidden state, int k) {
    const cm_network_config *c = cm_network_get_config(r->network);
    r->action[k] = cm_tape_input(r->tape, CM_I32, 1, &r->rows);
    r->code[k] = CM_NO_VAR;
    if (c->model != CM_NETWORK_CHANCE) return cm_network_dynamics(r->network, r->tape, state.scaled, r->action[k]);
    const int dim[2] = {r->rows, c->codes};
    const cm_hidden after = cm_network_afterstate(r->network, r->tape, state.scaled, r->action[k]);
    cm_network_predict_chance(r->network, r->tape, after);
    r->code[k] = cm_tape_input(r->tape, CM_F32, 2, dim);
    return cm_network_outcome(r->network, r->tape, after.scaled, r->code[k]);
}

static void record(cm_rollout *r) {
    const cm_network_config *c = cm_network_get_config(r->network);
    const int dim[4] = {r->rows, c->observation[0], c->observation[1], c->observation[2]};
    r->observation = cm_tape_input(r->tape, CM_F32, c->observation_ndim + 1, dim);
    cm_hidden state = cm_network_representation(r->network, r->tape, r->observation);
    predict(r, state, 0);
    for (int k = 0; k < r->steps; k++) {
        state = step(r, state, k);
        predict(r, state, k + 1);
    }
}

static cm_status build(cm_rollout *r, const cm_network_use *use) {
    CM_TRY(cm_tape_create(false, use->compute, &r->tape));
    record(r);
    CM_TRY(cm_tape_finish_inference(r->tape, use->stream->backend));
    CM_TRY(cm_mirror_create(&r->input, use->stream->backend->device, cm_tape_bytes(r->tape, CM_MEM_INPUT) + CM_ALIGN,
                            "inputs of a rollout"));
    void *base[CM_MEM_COUNT] = {
        [CM_MEM_PARAMETER] = use->parameters, [CM_MEM_STATE] = use->state, [CM_MEM_INPUT] = r->input.block.base};
    return cm_pass_create(r->tape, use->stream, base, &r->pass);
}

cm_status cm_rollout_create(const cm_network_use *use, int steps, cm_rollout **out) {
    cm_rollout *r = NULL;
    *out = NULL;
    if (!use->stream->backend->device->is_host)
        return cm_fail(CM_ERR_INPUT, "a network is measured on backend cpu or ref, not %s",
                       use->stream->backend->kind->name);
    CM_TRY(cm_alloc(&r, 1, sizeof *r, "a rollout"));
    const bool has_model = cm_network_get_config(use->network)->model != CM_NETWORK_PREDICTION;
    r->network = use->network, r->stream = use->stream, r->parameters = use->parameters;
    r->rows = use->rows;
    r->steps = !has_model ? 0 : steps < CM_ROLLOUT_STEPS ? steps : CM_ROLLOUT_STEPS;
    const cm_status status = build(r, use);
    if (status == CM_OK) {
        *out = r;
    } else {
        cm_rollout_destroy(r);
    }
    return status;
}

void cm_rollout_destroy(cm_rollout *r) {
    if (!r) return;
    cm_pass_destroy(r->pass);
    cm_tape_destroy(r->tape);
    cm_mirror_destroy(&r->input);
    free(r);
}

/* ---- running ---- */

static void *input_at(const cm_rollout *r, cm_var var) {
    return var == CM_NO_VAR ? NULL : (char *)r->input.host + cm_tape_offset(r->tape, var);
}

float *cm_rollout_observations(cm_rollout *r) { return input_at(r, r->observation); }
int32_t *cm_rollout_actions(cm_rollout *r, int k) { return input_at(r, r->action[k]); }
float *cm_rollout_codes(cm_rollout *r, int k) { return input_at(r, r->code[k]); }
int cm_rollout_steps(const cm_rollout *r) { return r->steps; }

cm_status cm_rollout_run(cm_rollout *r) {
    CM_TRY(cm_pass_forward(r->pass));
    return cm_pass_fetch(r->pass);
}

const float *cm_rollout_policy(const cm_rollout *r, int k) { return cm_pass_result(r->pass, r->policy[k]); }
const float *cm_rollout_value(const cm_rollout *r, int k) { return cm_pass_result(r->pass, r->value[k]); }

/* ---- ranges ---- */

static float largest(const cm_tensor *x) {
    const size_t rows = (size_t)x->dim[0], columns = (size_t)cm_tensor_row_size(x);
    float most = 0.0f;
    for (size_t b = 0; b < rows; b++) {
        const float *row = (const float *)x->data + b * (size_t)x->stride;
        for (size_t i = 0; i < columns; i++) most = fmaxf(most, fabsf(row[i]));
    }
    return most;
}

/* The rows of the table that make up a weight, which are several of a merged layer. */
static void raise_ranges(const cm_rollout *r, const cm_tensor *weight, float range, float *ranges) {
    const cm_param_table *table = cm_network_parameters(r->network);
    const size_t first = (size_t)((const float *)weight->data - r->parameters), end = first + cm_tensor_count(weight);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (!p->state && p->offset >= first && p->offset < end) ranges[i] = fmaxf(ranges[i], range);
    }
}

cm_status cm_rollout_measure(cm_rollout *r, float *ranges) {
    const cm_call_list list = cm_pass_calls(r->pass);
    for (int i = 0; i < list.count; i++) {
        const cm_call *call = &list.calls[i];
        if (call->op == CM_OP_dense)
            raise_ranges(r, CM_ARG(call, dense, weight), largest(CM_ARG(call, dense, x)), ranges);
        if (call->op == CM_OP_conv2d)
            raise_ranges(r, CM_ARG(call, conv2d, weight), largest(CM_ARG(call, conv2d, x)), ranges);
        CM_TRY(cm_call_run(r->stream, call));
    }
    return cm_pass_fetch(r->pass);
}
