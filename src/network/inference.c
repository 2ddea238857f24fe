#include "network/inference.h"

#include <stdlib.h>
#include <string.h>

#include "backend/sampling.h"
#include "core/arena.h"
#include "device/mirror.h"
#include "network/prefix.h"
#include "network/sampled.h"

/* One recorded pass with its block of inputs. */
typedef struct part {
    cm_tape *tape;
    cm_pass *pass;
    cm_mirror input;
    cm_var policy, value, reward, drawn;
} part;

/* Where the caller writes. */
typedef struct inputs {
    cm_var observation, root_slots, root_legal, root_seed, parent_slots, actions, codes, child_slots;
    cm_var after_parent_slots, after_actions, after_child_slots;
} inputs;

struct cm_inference {
    const cm_network *network; /* borrowed */
    cm_stream *stream;         /* borrowed */
    int rows, draws;
    int width;                        /* floats of a slot: a hidden state, and the memories of prefix.h and sampled.h */
    cm_buffer pool;                   /* [slots, width] */
    part root, recurrent, afterstate; /* the last one with chance */
    inputs inputs;
    cm_inference_arrays arrays;
};

static bool has_chance(const cm_network *network) { return cm_network_get_config(network)->model == CM_NETWORK_CHANCE; }

/* State variables are rows of the pool: vectors; a plane network sees them as [B, H, W, C]. */
static cm_var as_nhwc(const cm_network *network, cm_tape *tape, cm_var x) {
    int size[3];
    if (!cm_network_has_planes(network)) return x;
    cm_network_state_planes(cm_network_get_config(network), size);
    return cm_tape_reshape_nhwc(tape, x, size[0], size[1], size[2]);
}

static bool has_prefix(const cm_network *network) { return cm_network_memory_size(network) > 0; }

/* The hidden states in a pool. */
static cm_var states_of(const cm_network *network, cm_tape *tape, cm_var pool) {
    return cm_tape_columns(tape, pool, 0, cm_network_state_size(network));
}

static cm_var gather_states(const cm_network *network, cm_tape *tape, cm_var pool, cm_var slots) {
    return as_nhwc(network, tape, cm_tape_gather_rows(tape, states_of(network, tape, pool), slots));
}

static void scatter_states(const cm_network *network, cm_tape *tape, cm_var pool, cm_var states, cm_var slots) {
    cm_tape_scatter_rows(tape, states_of(network, tape, pool), cm_tape_flatten(tape, states), slots);
}

static cm_var matrix_input(cm_tape *tape, int rows, int columns) {
    const int dim[2] = {rows, columns};
    return cm_tape_input(tape, CM_F32, 2, dim);
}

static cm_var index_input(cm_tape *tape, int rows) { return cm_tape_input(tape, CM_I32, 1, &rows); }

/* The decoded reward of a step; CM_NO_VAR of none. */
static cm_var decode_reward(const cm_network *network, cm_tape *tape, cm_var logits) {
    return logits == CM_NO_VAR ? CM_NO_VAR
                               : cm_tape_support_decode(tape, logits, &cm_network_get_config(network)->reward_support);
}

static void keep_outputs(const cm_network *network, part *p, cm_outputs out, cm_var reward) {
    p->policy = out.policy;
    p->value = cm_tape_support_decode(p->tape, out.value, &cm_network_get_config(network)->value_support);
    p->reward = reward;
    cm_tape_result(p->tape, p->policy);
    cm_tape_result(p->tape, p->value);
    cm_tape_result(p->tape, p->reward);
}

/* Where a pass writes its states. */
typedef struct place {
    cm_var pool, slots;
} place;

/* With draws: what a search may choose from at the new states, in place of the whole policy. legal as in
 * cm_tape_sample_actions. */
static void draw(const cm_inference *inf, part *p, place at, cm_outputs *out, cm_var legal, cm_var seed) {
    if (inf->draws == 0) return;
    const cm_sample_rule rule = {legal, cm_network_policy(inf->network), inf->draws};
    const cm_sample_vars drawn = cm_tape_sample_actions(p->tape, out->policy, seed, &rule);
    cm_sampled_keep(p->tape, at.pool, at.slots, &drawn);
    out->policy = drawn.logits;
    p->drawn = drawn.memory;
}

static void record_root(cm_inference *inf, int slots, inputs *in) {
    const cm_network_config *c = cm_network_get_config(inf->network);
    cm_tape *tape = inf->root.tape;
    int dim[4] = {inf->rows, c->observation[0], c->observation[1], c->observation[2]};
    in->observation = cm_tape_input(tape, CM_F32, c->observation_ndim + 1, dim);
    in->root_slots = index_input(tape, inf->rows);
    const bool has_mask = inf->draws > 0 && !c->per_number;
    in->root_legal = has_mask ? matrix_input(tape, inf->rows, c->actions) : CM_NO_VAR;
    in->root_seed = inf->draws > 0 ? matrix_input(tape, inf->rows, CM_SAMPLING_SEED) : CM_NO_VAR;
    cm_var pool = cm_tape_pool(tape, slots, inf->width);
    cm_hidden state = cm_network_representation(inf->network, tape, in->observation);
    scatter_states(inf->network, tape, pool, state.scaled, in->root_slots);
    if (has_prefix(inf->network)) cm_prefix_begin(inf->network, tape, pool, in->root_slots);
    cm_outputs out = cm_network_predict(inf->network, tape, state, false);
    draw(inf, &inf->root, (place){pool, in->root_slots}, &out, in->root_legal, in->root_seed);
    keep_outputs(inf->network, &inf->root, out, CM_NO_VAR);
    cm_tape_result(tape, inf->root.drawn);
}

/* The step from the parents by what the caller chose: an action, one of those drawn there, or a code. */
static cm_hidden step(const cm_inference *inf, cm_var pool, const inputs *in, cm_sampled_vars *chosen) {
    cm_tape *tape = inf->recurrent.tape;
    cm_var parent = gather_states(inf->network, tape, pool, in->parent_slots);
    if (has_chance(inf->network)) return cm_network_outcome(inf->network, tape, parent, in->codes);
    *chosen = (cm_sampled_vars){in->actions, CM_NO_VAR};
    if (inf->draws > 0) *chosen = cm_sampled_choose(tape, pool, in->parent_slots, in->actions, inf->draws);
    return cm_network_dynamics(inf->network, tape, parent, chosen->action);
}

static void record_recurrent(cm_inference *inf, int slots, inputs *in) {
    cm_tape *tape = inf->recurrent.tape;
    bool chance = has_chance(inf->network);
    in->parent_slots = index_input(tape, inf->rows);
    in->actions = chance ? CM_NO_VAR : index_input(tape, inf->rows);
    in->codes = chance ? matrix_input(tape, inf->rows, cm_network_get_config(inf->network)->codes) : CM_NO_VAR;
    in->child_slots = index_input(tape, inf->rows);
    cm_var pool = cm_tape_pool(tape, slots, inf->width), edge[2] = {in->parent_slots, in->child_slots};
    cm_sampled_vars chosen = {CM_NO_VAR, CM_NO_VAR};
    cm_hidden next = step(inf, pool, in, &chosen);
    scatter_states(inf->network, tape, pool, next.scaled, in->child_slots);
    cm_outputs out = cm_network_predict(inf->network, tape, next, !has_prefix(inf->network));
    cm_var reward = has_prefix(inf->network) ? cm_prefix_step(inf->network, tape, pool, next.raw, edge)
                                             : decode_reward(inf->network, tape, out.reward);
    draw(inf, &inf->recurrent, (place){pool, in->child_slots}, &out, CM_NO_VAR, chosen.seed);
    keep_outputs(inf->network, &inf->recurrent, out, reward);
}

static void record_afterstate(cm_inference *inf, int slots, inputs *in) {
    cm_tape *tape = inf->afterstate.tape;
    in->after_parent_slots = index_input(tape, inf->rows);
    in->after_actions = index_input(tape, inf->rows);
    in->after_child_slots = index_input(tape, inf->rows);
    cm_var pool = cm_tape_pool(tape, slots, inf->width);
    cm_var parent = gather_states(inf->network, tape, pool, in->after_parent_slots);
    cm_hidden after = cm_network_afterstate(inf->network, tape, parent, in->after_actions);
    scatter_states(inf->network, tape, pool, after.scaled, in->after_child_slots);
    if (has_prefix(inf->network))
        cm_prefix_pass_on(inf->network, tape, pool, in->after_parent_slots, in->after_child_slots);
    keep_outputs(inf->network, &inf->afterstate, cm_network_predict_chance(inf->network, tape, after), CM_NO_VAR);
}

static cm_status build_pass(cm_inference *inf, part *p, const cm_network_use *use) {
    const cm_backend *backend = use->stream->backend;
    CM_TRY(cm_tape_finish_inference(p->tape, backend));
    CM_TRY(cm_mirror_create_pinned(&p->input, backend->device, cm_tape_bytes(p->tape, CM_MEM_INPUT) + CM_ALIGN,
                                   "inputs of an inference pass"));
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = use->parameters,
                                [CM_MEM_STATE] = use->state,
                                [CM_MEM_INPUT] = p->input.block.base,
                                [CM_MEM_POOL] = inf->pool.base};
    return cm_pass_create(p->tape, use->stream, base, &p->pass);
}

/* Where an input or a result stands: for the host, or on the device; CM_NO_VAR: nowhere. */
static void *place_of(const part *p, cm_var var, bool on_device) {
    if (var == CM_NO_VAR) return NULL;
    if (on_device) return cm_pass_data(p->pass, var);
    if (var == p->policy || var == p->value || var == p->reward || var == p->drawn)
        return (void *)(uintptr_t)cm_pass_result(p->pass, var);
    return (char *)p->input.host + cm_tape_offset(p->tape, var);
}

static cm_inference_arrays find_arrays(const cm_inference *inf, bool on_device) {
    const part *root = &inf->root, *next = &inf->recurrent, *after = &inf->afterstate;
    const inputs *in = &inf->inputs;
    cm_inference_arrays a = {
        .observation = place_of(root, in->observation, on_device),
        .root_slots = place_of(root, in->root_slots, on_device),
        .root_policy = place_of(root, root->policy, on_device),
        .root_value = place_of(root, root->value, on_device),
        .root_legal = place_of(root, in->root_legal, on_device),
        .root_seed = place_of(root, in->root_seed, on_device),
        .root_drawn = place_of(root, root->drawn, on_device),
        .parent_slots = place_of(next, in->parent_slots, on_device),
        .actions = place_of(next, in->actions, on_device),
        .codes = place_of(next, in->codes, on_device),
        .child_slots = place_of(next, in->child_slots, on_device),
        .policy = place_of(next, next->policy, on_device),
        .value = place_of(next, next->value, on_device),
        .reward = place_of(next, next->reward, on_device),
    };
    if (!has_chance(inf->network)) return a;
    a.after_parent_slots = place_of(after, in->after_parent_slots, on_device);
    a.after_actions = place_of(after, in->after_actions, on_device);
    a.after_child_slots = place_of(after, in->after_child_slots, on_device);
    a.after_codes = place_of(after, after->policy, on_device);
    a.after_value = place_of(after, after->value, on_device);
    return a;
}

static cm_status build(cm_inference *inf, const cm_network_use *use, int slots) {
    CM_TRY(cm_buffer_create(&inf->pool, use->stream->backend->device,
                            (size_t)slots * (size_t)inf->width * sizeof(float) + CM_ALIGN,
                            "the pool of hidden states"));
    CM_TRY(cm_tape_create(false, use->compute, &inf->root.tape));
    CM_TRY(cm_tape_create(false, use->compute, &inf->recurrent.tape));
    record_root(inf, slots, &inf->inputs);
    record_recurrent(inf, slots, &inf->inputs);
    CM_TRY(build_pass(inf, &inf->root, use));
    CM_TRY(build_pass(inf, &inf->recurrent, use));
    if (!has_chance(inf->network)) return CM_OK;
    CM_TRY(cm_tape_create(false, use->compute, &inf->afterstate.tape));
    record_afterstate(inf, slots, &inf->inputs);
    return build_pass(inf, &inf->afterstate, use);
}

cm_status cm_inference_create(const cm_network_use *use, int slots, cm_inference **out) {
    *out = NULL;
    if (use->draws > 0 && has_chance(use->network))
        return cm_fail(CM_ERR_INPUT, "a network with chance has no inference with drawn actions");
    if (use->draws == 0 && cm_network_get_config(use->network)->per_number)
        return cm_fail(CM_ERR_INPUT, "a network with a policy per number has inference with drawn actions alone");
    cm_inference *inf;
    CM_TRY(cm_alloc(&inf, 1, sizeof *inf, "an inference object"));
    inf->network = use->network;
    inf->stream = use->stream;
    inf->rows = use->rows;
    inf->draws = use->draws;
    inf->root.drawn = inf->recurrent.drawn = inf->afterstate.drawn = CM_NO_VAR;
    inf->width =
        cm_network_state_size(use->network) + cm_network_memory_size(use->network) + cm_sampled_memory_size(use->draws);
    cm_status status = build(inf, use, slots);
    if (status != CM_OK) {
        cm_inference_destroy(inf);
        return status;
    }
    inf->arrays = find_arrays(inf, false);
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

cm_inference_arrays cm_inference_on_device(const cm_inference *inference) { return find_arrays(inference, true); }

cm_status cm_inference_read_states(cm_inference *inf, int count, float *states) {
    const size_t bytes = (size_t)count * (size_t)inf->width * sizeof(float);
    return cm_stream_read(inf->stream, states, inf->pool.base, bytes);
}

cm_status cm_inference_write_states(cm_inference *inf, int count, const float *states) {
    const size_t bytes = (size_t)count * (size_t)inf->width * sizeof(float);
    return cm_stream_write(inf->stream, inf->pool.base, states, bytes);
}

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

bool cm_inference_root_is_fused(const cm_inference *inference) { return cm_pass_is_fused(inference->root.pass); }

/* From where the caller has written them: the writer of the next ones has waited for what was made of these. */
static cm_status write_inputs(cm_inference *inf, part *p) {
    return cm_stream_push(inf->stream, p->input.block.base, p->input.host, cm_tape_bytes(p->tape, CM_MEM_INPUT));
}

/* Inputs to the device, the pass, results back. */
static cm_status run(cm_inference *inf, part *p) {
    CM_TRY(write_inputs(inf, p));
    CM_TRY(cm_pass_forward(p->pass));
    return cm_pass_fetch(p->pass);
}

cm_status cm_inference_root(cm_inference *inference) { return run(inference, &inference->root); }

cm_status cm_inference_recurrent(cm_inference *inference) { return run(inference, &inference->recurrent); }

cm_status cm_inference_afterstate(cm_inference *inference) { return run(inference, &inference->afterstate); }

cm_status cm_inference_write_root(cm_inference *inference) { return write_inputs(inference, &inference->root); }

cm_status cm_inference_launch_root(cm_inference *inference) { return cm_pass_launch(inference->root.pass); }

cm_status cm_inference_fetch_root(cm_inference *inference) { return cm_pass_fetch(inference->root.pass); }

cm_status cm_inference_launch_recurrent(cm_inference *inference) { return cm_pass_launch(inference->recurrent.pass); }

cm_status cm_inference_launch_afterstate(cm_inference *inference) { return cm_pass_launch(inference->afterstate.pass); }

cm_call_list cm_inference_recurrent_calls(const cm_inference *inference) {
    return cm_pass_calls(inference->recurrent.pass);
}

cm_call_list cm_inference_afterstate_calls(const cm_inference *inference) {
    const cm_call_list none = {.count = 0};
    return inference->afterstate.pass ? cm_pass_calls(inference->afterstate.pass) : none;
}
