#include "network/inference.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "device/mirror.h"

/* One recorded pass with its block of inputs. */
typedef struct part {
    cm_tape *tape;
    cm_pass *pass;
    cm_mirror input;
    cm_var policy, value, reward;
} part;

struct cm_inference {
    const cm_network *network; /* borrowed */
    cm_stream *stream;         /* borrowed */
    int rows;
    size_t state_bytes;               /* of one hidden state */
    cm_buffer pool;                   /* [slots, D] */
    part root, recurrent, afterstate; /* the last one with chance */
    cm_inference_arrays arrays;
};

typedef struct inputs {
    cm_var observation, root_slots, parent_slots, actions, codes, child_slots;
    cm_var after_parent_slots, after_actions, after_child_slots;
} inputs;

static bool has_chance(const cm_network *network) { return cm_network_get_config(network)->model == CM_NETWORK_CHANCE; }

/* State variables are rows of the pool: vectors; a plane network sees them as [B, H, W, C]. */
static cm_var as_planes(const cm_network *network, cm_tape *tape, cm_var x) {
    const cm_network_config *c = cm_network_get_config(network);
    if (c->family != CM_FAMILY_RESNET) return x;
    return cm_tape_reshape_planes(tape, x, c->observation[0], c->observation[1], c->channels);
}

static cm_var index_input(cm_tape *tape, int rows) { return cm_tape_input(tape, CM_I32, 1, &rows); }

static void keep_outputs(const cm_network *network, part *p, cm_outputs out) {
    const cm_network_config *c = cm_network_get_config(network);
    p->policy = out.policy;
    p->value = cm_tape_support_decode(p->tape, out.value, &c->value_support);
    p->reward = out.reward == CM_NO_VAR ? CM_NO_VAR : cm_tape_support_decode(p->tape, out.reward, &c->reward_support);
    cm_tape_result(p->tape, p->policy);
    cm_tape_result(p->tape, p->value);
    cm_tape_result(p->tape, p->reward);
}

static void record_root(cm_inference *inf, int slots, inputs *in) {
    const cm_network_config *c = cm_network_get_config(inf->network);
    cm_tape *tape = inf->root.tape;
    int dim[4] = {inf->rows, c->observation[0], c->observation[1], c->observation[2]};
    in->observation = cm_tape_input(tape, CM_F32, c->observation_ndim + 1, dim);
    in->root_slots = index_input(tape, inf->rows);
    cm_var pool = cm_tape_pool(tape, slots, cm_network_state_size(inf->network));
    cm_hidden state = cm_network_representation(inf->network, tape, in->observation);
    cm_tape_scatter_rows(tape, pool, cm_tape_flatten(tape, state.scaled), in->root_slots);
    keep_outputs(inf->network, &inf->root, cm_network_predict(inf->network, tape, state, false));
}

static void record_recurrent(cm_inference *inf, int slots, inputs *in) {
    cm_tape *tape = inf->recurrent.tape;
    int codes[2] = {inf->rows, cm_network_get_config(inf->network)->codes};
    bool chance = has_chance(inf->network);
    in->parent_slots = index_input(tape, inf->rows);
    in->actions = chance ? CM_NO_VAR : index_input(tape, inf->rows);
    in->codes = chance ? cm_tape_input(tape, CM_F32, 2, codes) : CM_NO_VAR;
    in->child_slots = index_input(tape, inf->rows);
    cm_var pool = cm_tape_pool(tape, slots, cm_network_state_size(inf->network));
    cm_var parent = as_planes(inf->network, tape, cm_tape_gather_rows(tape, pool, in->parent_slots));
    cm_hidden next = chance ? cm_network_outcome(inf->network, tape, parent, in->codes)
                            : cm_network_dynamics(inf->network, tape, parent, in->actions);
    cm_tape_scatter_rows(tape, pool, cm_tape_flatten(tape, next.scaled), in->child_slots);
    keep_outputs(inf->network, &inf->recurrent, cm_network_predict(inf->network, tape, next, true));
}

static void record_afterstate(cm_inference *inf, int slots, inputs *in) {
    cm_tape *tape = inf->afterstate.tape;
    in->after_parent_slots = index_input(tape, inf->rows);
    in->after_actions = index_input(tape, inf->rows);
    in->after_child_slots = index_input(tape, inf->rows);
    cm_var pool = cm_tape_pool(tape, slots, cm_network_state_size(inf->network));
    cm_var parent = as_planes(inf->network, tape, cm_tape_gather_rows(tape, pool, in->after_parent_slots));
    cm_hidden after = cm_network_afterstate(inf->network, tape, parent, in->after_actions);
    cm_tape_scatter_rows(tape, pool, cm_tape_flatten(tape, after.scaled), in->after_child_slots);
    keep_outputs(inf->network, &inf->afterstate, cm_network_predict_chance(inf->network, tape, after));
}

static cm_status build_pass(cm_inference *inf, part *p, cm_stream *stream, float *parameters, float *state) {
    CM_TRY(cm_tape_finish(p->tape));
    CM_TRY(cm_mirror_create(&p->input, stream->backend->device, cm_tape_bytes(p->tape, CM_MEM_INPUT) + CM_ALIGN,
                            "inputs of an inference pass"));
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = parameters,
                                [CM_MEM_STATE] = state,
                                [CM_MEM_INPUT] = p->input.block.base,
                                [CM_MEM_POOL] = inf->pool.base};
    return cm_pass_create(p->tape, stream, base, &p->pass);
}

/* Where the host writes an input. */
static void *input_at(const part *p, cm_var var) { return (char *)p->input.host + cm_tape_offset(p->tape, var); }

static void find_root(cm_inference *inf, const inputs *in) {
    cm_inference_arrays *a = &inf->arrays;
    const part *p = &inf->root;
    a->observation = input_at(p, in->observation);
    a->root_slots = input_at(p, in->root_slots);
    a->root_policy = cm_pass_result(p->pass, p->policy);
    a->root_value = cm_pass_result(p->pass, p->value);
}

static void find_recurrent(cm_inference *inf, const inputs *in) {
    cm_inference_arrays *a = &inf->arrays;
    const part *p = &inf->recurrent;
    a->parent_slots = input_at(p, in->parent_slots);
    if (in->actions != CM_NO_VAR) a->actions = input_at(p, in->actions);
    if (in->codes != CM_NO_VAR) a->codes = input_at(p, in->codes);
    a->child_slots = input_at(p, in->child_slots);
    a->policy = cm_pass_result(p->pass, p->policy);
    a->value = cm_pass_result(p->pass, p->value);
    a->reward = cm_pass_result(p->pass, p->reward);
}

static void find_afterstate(cm_inference *inf, const inputs *in) {
    cm_inference_arrays *a = &inf->arrays;
    const part *p = &inf->afterstate;
    a->after_parent_slots = input_at(p, in->after_parent_slots);
    a->after_actions = input_at(p, in->after_actions);
    a->after_child_slots = input_at(p, in->after_child_slots);
    a->after_codes = cm_pass_result(p->pass, p->policy);
    a->after_value = cm_pass_result(p->pass, p->value);
}

static cm_status build(cm_inference *inf, cm_stream *stream, int slots, cm_dtype compute, float *parameters,
                       float *state) {
    inputs in;
    CM_TRY(cm_buffer_create(&inf->pool, stream->backend->device, (size_t)slots * inf->state_bytes + CM_ALIGN,
                            "the pool of hidden states"));
    CM_TRY(cm_tape_create(false, compute, &inf->root.tape));
    CM_TRY(cm_tape_create(false, compute, &inf->recurrent.tape));
    record_root(inf, slots, &in);
    record_recurrent(inf, slots, &in);
    CM_TRY(build_pass(inf, &inf->root, stream, parameters, state));
    CM_TRY(build_pass(inf, &inf->recurrent, stream, parameters, state));
    find_root(inf, &in);
    find_recurrent(inf, &in);
    if (!has_chance(inf->network)) return CM_OK;
    CM_TRY(cm_tape_create(false, compute, &inf->afterstate.tape));
    record_afterstate(inf, slots, &in);
    CM_TRY(build_pass(inf, &inf->afterstate, stream, parameters, state));
    find_afterstate(inf, &in);
    return CM_OK;
}

cm_status cm_inference_create(const cm_network *network, cm_stream *stream, int rows, int slots, cm_dtype compute,
                              float *parameters, float *state, cm_inference **out) {
    *out = NULL;
    cm_inference *inf;
    CM_TRY(cm_alloc(&inf, 1, sizeof *inf, "an inference object"));
    inf->network = network;
    inf->stream = stream;
    inf->rows = rows;
    inf->state_bytes = (size_t)cm_network_state_size(network) * sizeof(float);
    cm_status status = build(inf, stream, slots, compute, parameters, state);
    if (status != CM_OK) {
        cm_inference_destroy(inf);
        return status;
    }
    *out = inf;
    return CM_OK;
}

static void destroy_part(part *p) {
    cm_pass_destroy(p->pass);
    cm_tape_destroy(p->tape);
    cm_mirror_destroy(&p->input);
}

void cm_inference_destroy(cm_inference *inference) {
    if (!inference) return;
    destroy_part(&inference->root);
    destroy_part(&inference->recurrent);
    destroy_part(&inference->afterstate);
    cm_buffer_destroy(&inference->pool);
    free(inference);
}

const cm_inference_arrays *cm_inference_get(const cm_inference *inference) { return &inference->arrays; }

int cm_inference_rows(const cm_inference *inference) { return inference->rows; }

size_t cm_inference_bytes(const cm_inference *inference) {
    size_t bytes = inference->pool.bytes;
    const part *parts[3] = {&inference->root, &inference->recurrent, &inference->afterstate};
    for (int i = 0; i < 3 && parts[i]->tape; i++) {
        bytes += cm_tape_bytes(parts[i]->tape, CM_MEM_INPUT) + cm_tape_bytes(parts[i]->tape, CM_MEM_WORK) +
                 cm_tape_bytes(parts[i]->tape, CM_MEM_RESULT);
    }
    return bytes;
}

double cm_inference_root_flops(const cm_inference *inference) { return cm_tape_flops(inference->root.tape); }

double cm_inference_recurrent_flops(const cm_inference *inference) { return cm_tape_flops(inference->recurrent.tape); }

/* Inputs to the device, the pass, results back. */
static cm_status run(cm_inference *inf, part *p) {
    CM_TRY(cm_stream_write(inf->stream, p->input.block.base, p->input.host, cm_tape_bytes(p->tape, CM_MEM_INPUT)));
    CM_TRY(cm_pass_forward(p->pass));
    return cm_pass_fetch(p->pass);
}

cm_status cm_inference_root(cm_inference *inference) { return run(inference, &inference->root); }

cm_status cm_inference_recurrent(cm_inference *inference) { return run(inference, &inference->recurrent); }

cm_status cm_inference_afterstate(cm_inference *inference) { return run(inference, &inference->afterstate); }
