#include "network/rollout.h"

#include <math.h>
#include <stdlib.h>

#include "backend/int8.h"
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
    CM_TRY(cm_mirror_create_pinned(&r->input, use->stream->backend->device,
                                   cm_tape_bytes(r->tape, CM_MEM_INPUT) + CM_ALIGN, "inputs of a rollout"));
    void *base[CM_MEM_COUNT] = {
        [CM_MEM_PARAMETER] = use->parameters, [CM_MEM_STATE] = use->state, [CM_MEM_INPUT] = r->input.block.base};
    return cm_pass_create(r->tape, use->stream, base, &r->pass);
}

cm_status cm_rollout_create(const cm_network_use *use, int steps, cm_rollout **out) {
    cm_rollout *r = NULL;
    *out = NULL;
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

static cm_status push_inputs(cm_rollout *r) {
    return cm_stream_push(r->stream, r->input.block.base, r->input.host, cm_tape_bytes(r->tape, CM_MEM_INPUT));
}

cm_status cm_rollout_run(cm_rollout *r) {
    CM_TRY(push_inputs(r));
    CM_TRY(cm_pass_forward(r->pass));
    return cm_pass_fetch(r->pass);
}

const float *cm_rollout_policy(const cm_rollout *r, int k) { return cm_pass_result(r->pass, r->policy[k]); }
const float *cm_rollout_value(const cm_rollout *r, int k) { return cm_pass_result(r->pass, r->value[k]); }

/* ---- ranges ---- */

/* What finds the largest number of a tensor wherever it lies: the maxima that fake_quantise writes, with a range of
 * which nothing is known. */
typedef struct meter {
    cm_buffer copy;  /* of the tensor, which nothing reads */
    cm_mirror found; /* the maxima, [CM_INT8_PARTS], and the range */
} meter;

static void meter_close(meter *m) {
    cm_buffer_destroy(&m->copy);
    cm_mirror_destroy(&m->found);
}

/* What a layer reads; NULL: the call is none. */
static const cm_tensor *input_of(const cm_call *call) {
    if (call->op == CM_OP_dense) return CM_ARG(call, dense, x);
    return call->op == CM_OP_conv2d ? CM_ARG(call, conv2d, x) : NULL;
}

static cm_status meter_open(meter *m, const cm_rollout *r) {
    const cm_call_list list = cm_pass_calls(r->pass);
    const cm_device *device = r->stream->backend->device;
    size_t most = 1;
    for (int i = 0; i < list.count; i++) {
        const cm_tensor *x = input_of(&list.calls[i]);
        if (x && cm_tensor_count(x) > most) most = cm_tensor_count(x);
    }
    CM_TRY(cm_buffer_create(&m->copy, device, most * sizeof(float), "measuring layers"));
    return cm_mirror_create(&m->found, device, (CM_INT8_PARTS + 1) * sizeof(float), "measuring layers");
}

static cm_status find_largest(const meter *m, cm_stream *stream, const cm_tensor *x, float *most) {
    float *found = (float *)(void *)m->found.block.base;
    cm_call call = {.op = CM_OP_fake_quantise};
    call.t[CM_T_fake_quantise_y] = cm_tensor_make(m->copy.base, CM_F32, x->ndim, x->dim);
    call.t[CM_T_fake_quantise_most] = cm_tensor_1d(found, CM_F32, CM_INT8_PARTS);
    call.t[CM_T_fake_quantise_x] = *x;
    call.t[CM_T_fake_quantise_range] = cm_tensor_1d(found + CM_INT8_PARTS, CM_F32, 1);
    CM_TRY(cm_call_eager(stream, &call));
    CM_TRY(cm_stream_read(stream, m->found.host, found, CM_INT8_PARTS * sizeof *found));
    *most = cm_int8_range(m->found.host, CM_INT8_PARTS);
    return CM_OK;
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

static cm_status measure(cm_rollout *r, const meter *m, float *ranges) {
    const cm_call_list list = cm_pass_calls(r->pass);
    CM_TRY(push_inputs(r));
    for (int i = 0; i < list.count; i++) {
        const cm_call *call = &list.calls[i];
        const cm_tensor *x = input_of(call);
        float most = 0.0f;
        if (x) {
            CM_TRY(find_largest(m, r->stream, x, &most));
            raise_ranges(r, call->op == CM_OP_dense ? CM_ARG(call, dense, weight) : CM_ARG(call, conv2d, weight), most,
                         ranges);
        }
        CM_TRY(cm_call_run(r->stream, call));
    }
    return cm_pass_fetch(r->pass);
}

cm_status cm_rollout_measure(cm_rollout *r, float *ranges) {
    meter m = {.copy = {.base = NULL}};
    cm_status status = meter_open(&m, r);
    if (status == CM_OK) status = measure(r, &m, ranges);
    meter_close(&m);
    return status;
}
