#include "export/functions.h"

#include <string.h>

/* What a function is recorded with. */
typedef struct recording {
    cm_function *f;
    const cm_network *network;
    const cm_network_config *config;
    const cm_function_options *options;
    int rows;
} recording;

bool cm_function_exists(const cm_network *network, cm_function_kind kind) {
    const cm_network_model model = cm_network_get_config(network)->model;
    if (kind == CM_FUNCTION_AFTERSTATE) return model == CM_NETWORK_CHANCE;
    return kind != CM_FUNCTION_RECURRENT || model != CM_NETWORK_PREDICTION;
}

/* ---- ports ---- */

/* A port of a variable, [batch, ...], planes with channels first. */
static cm_function_port make_port(const recording *r, const char *name, cm_var var, cm_port_kind kind) {
    const cm_tensor *shape = cm_tape_shape(r->f->tape, var);
    cm_function_port port = {.port = {name, CM_ONNX_FLOAT, shape->ndim, {CM_ONNX_BATCH}}, .kind = kind, .var = var};
    const bool turns = shape->ndim == 4 && kind != CM_PORT_OBSERVATION;
    for (int d = 1; d < shape->ndim; d++) port.port.dim[d] = shape->dim[!turns ? d : d == 1 ? 3 : d - 1];
    return port;
}

static cm_var add_input(const recording *r, const char *name, int ndim, const int *dim, cm_port_kind kind) {
    const cm_var var = cm_tape_input(r->f->tape, kind == CM_PORT_ACTION ? CM_I32 : CM_F32, ndim, dim);
    if (var == CM_NO_VAR) return CM_NO_VAR;
    cm_function_port port = make_port(r, name, var, kind);
    if (kind == CM_PORT_ACTION || kind == CM_PORT_CODE) {
        port.port = (cm_onnx_port){name, CM_ONNX_INT64, 1, {CM_ONNX_BATCH}};
        port.below = kind == CM_PORT_ACTION ? r->config->actions : r->config->codes;
    }
    if (kind == CM_PORT_OBSERVATION && r->options->unit > 0.0f) port.port.type = CM_ONNX_UINT8;
    r->f->input[r->f->inputs++] = port;
    return var;
}

static void add_output(const recording *r, const char *name, cm_var var) {
    if (var == CM_NO_VAR) return;
    r->f->output[r->f->outputs++] = make_port(r, name, var, CM_PORT_PLAIN);
}

static cm_var observation_input(const recording *r) {
    const cm_network_config *c = r->config;
    const int dim[4] = {r->rows, c->observation[0], c->observation[1], c->observation[2]};
    return add_input(r, "observation", c->observation_ndim + 1, dim, CM_PORT_OBSERVATION);
}

static cm_var state_input(const recording *r, const char *name) {
    const int flat[2] = {r->rows, cm_network_state_size(r->network)};
    int planes[4] = {r->rows};
    if (!cm_network_has_planes(r->network)) return add_input(r, name, 2, flat, CM_PORT_PLAIN);
    cm_network_state_planes(r->config, planes + 1);
    return add_input(r, name, 4, planes, CM_PORT_PLAIN);
}

static cm_var action_input(const recording *r) { return add_input(r, "action", 1, &r->rows, CM_PORT_ACTION); }

static cm_var row_input(const recording *r, const char *name, int columns, cm_port_kind kind) {
    const int dim[2] = {r->rows, columns};
    return add_input(r, name, 2, dim, kind);
}

/* ---- functions ---- */

/* A value or reward: its logits, or what they stand for. */
static void add_head(const recording *r, const char *name, const char *logits_name, cm_var logits,
                     const cm_support *support) {
    if (logits == CM_NO_VAR) return;
    if (support->size > 1 && !r->options->decodes) {
        add_output(r, logits_name, logits);
    } else {
        add_output(r, name, cm_tape_support_decode(r->f->tape, logits, support));
    }
}

static void add_value(const recording *r, cm_var logits) {
    add_head(r, "value", "value_logits", logits, &r->config->value_support);
}

static void record_initial(const recording *r) {
    cm_tape *tape = r->f->tape;
    const cm_hidden state = cm_network_representation(r->network, tape, observation_input(r));
    const cm_outputs out = cm_network_predict(r->network, tape, state, false);
    if (r->config->model != CM_NETWORK_PREDICTION) add_output(r, "state", state.scaled);
    add_output(r, "policy_logits", out.policy);
    add_value(r, out.value);
}

static void record_policy(const recording *r) {
    cm_tape *tape = r->f->tape;
    const cm_hidden state = cm_network_representation(r->network, tape, observation_input(r));
    const cm_outputs out = cm_network_predict(r->network, tape, state, false);
    add_output(r, "policy", cm_tape_softmax(tape, out.policy, CM_NO_VAR, cm_network_policy(r->network)));
    add_output(r, "value", cm_tape_support_decode(tape, out.value, &r->config->value_support));
}

static void record_afterstate(const recording *r) {
    cm_tape *tape = r->f->tape;
    const cm_var state = state_input(r, "state");
    const cm_hidden after = cm_network_afterstate(r->network, tape, state, action_input(r));
    const cm_outputs out = cm_network_predict_chance(r->network, tape, after);
    add_output(r, "afterstate", after.scaled);
    add_output(r, "code_logits", out.policy);
    add_value(r, out.value);
}

static cm_hidden record_step(const recording *r) {
    cm_tape *tape = r->f->tape;
    if (r->config->model == CM_NETWORK_CHANCE) {
        const cm_var after = state_input(r, "afterstate");
        return cm_network_outcome(r->network, tape, after, row_input(r, "code", r->config->codes, CM_PORT_CODE));
    }
    const cm_var state = state_input(r, "state");
    return cm_network_dynamics(r->network, tape, state, action_input(r));
}

/* The reward by the prefix, and what the next step needs. */
static cm_var add_prefix(const recording *r, cm_var raw) {
    cm_tape *tape = r->f->tape;
    const int L = r->config->lstm;
    const cm_var before = row_input(r, "memory", cm_network_memory_size(r->network), CM_PORT_MEMORY);
    const cm_lstm_state start = {cm_tape_columns(tape, before, 0, L), cm_tape_columns(tape, before, L, L)};
    const cm_var input = cm_network_prefix_input(r->network, tape, raw);
    const cm_lstm_state next = cm_network_prefix_lstm(r->network, tape, input, 1, start);
    const cm_var logits = cm_network_prefix(r->network, tape, next.h);
    const cm_var prefix = cm_tape_support_decode(tape, logits, &r->config->reward_support);
    const cm_prefix_vars step =
        cm_tape_prefix_step(tape, prefix, next, cm_tape_columns(tape, before, 2 * L, 2), r->config->prefix_horizon);
    add_output(r, "reward", step.reward);
    return step.memory;
}

static void record_recurrent(const recording *r) {
    const bool has_prefix = cm_network_memory_size(r->network) > 0;
    const cm_hidden next = record_step(r);
    const cm_outputs out = cm_network_predict(r->network, r->f->tape, next, !has_prefix);
    add_output(r, "next_state", next.scaled);
    const cm_var memory = has_prefix ? add_prefix(r, next.raw) : CM_NO_VAR;
    if (!has_prefix) add_head(r, "reward", "reward_logits", out.reward, &r->config->reward_support);
    add_output(r, "policy_logits", out.policy);
    add_value(r, out.value);
    add_output(r, "next_memory", memory);
}

static const struct {
    const char *name;
    void (*record)(const recording *r);
} functions[CM_FUNCTION_COUNT] = {
    [CM_FUNCTION_INITIAL] = {"initial_inference", record_initial},
    [CM_FUNCTION_AFTERSTATE] = {"afterstate_inference", record_afterstate},
    [CM_FUNCTION_RECURRENT] = {"recurrent_inference", record_recurrent},
    [CM_FUNCTION_POLICY] = {"policy", record_policy},
};

cm_status cm_function_open(cm_function *f, const cm_network *network, const cm_function_options *options,
                           cm_function_kind kind, int rows) {
    *f = (cm_function){.name = functions[kind].name};
    const recording r = {f, network, cm_network_get_config(network), options, rows};
    CM_TRY(cm_tape_create(false, CM_F32, &f->tape));
    functions[kind].record(&r);
    cm_tape_use_int8(f->tape);
    return cm_tape_finish(f->tape);
}

void cm_function_close(cm_function *f) {
    cm_tape_destroy(f->tape);
    f->tape = NULL;
}

/* ---- as a graph ---- */

/* From what goes into the graph to what the tape has. */
static void translate_input(cm_translation *t, const cm_function_port *in, float unit) {
    cm_onnx_value value = cm_onnx_input(t->graph, &in->port);
    if (in->port.type == CM_ONNX_UINT8) value = cm_translate_scale(t, value, unit);
    if (in->kind == CM_PORT_CODE) value = cm_translate_one_hot(t, value, in->below);
    if (in->kind == CM_PORT_OBSERVATION && in->port.ndim == 4) value = cm_translate_channels_first(t, value);
    cm_translate_write(t, in->var, value);
}

static void translate(cm_translation *t, const cm_function *f, float unit) {
    for (int i = 0; i < f->inputs; i++) translate_input(t, &f->input[i], unit);
    cm_translate_calls(t);
    for (int i = 0; i < f->outputs; i++)
        cm_onnx_output(t->graph, cm_translate_read(t, f->output[i].var), &f->output[i].port);
    cm_onnx_prune(t->graph);
}

cm_status cm_function_graph(const cm_function *f, const cm_function_options *options, const cm_export_weights *weights,
                            cm_onnx_graph **out) {
    cm_translation t;
    CM_TRY(cm_onnx_graph_create(f->name, out));
    cm_status status = cm_translation_open(&t, f->tape, weights, *out);
    if (status == CM_OK) translate(&t, f, options->unit);
    cm_translation_close(&t);
    if (status == CM_OK) status = cm_onnx_graph_finish(*out);
    if (status == CM_OK) return CM_OK;
    cm_onnx_graph_destroy(*out);
    *out = NULL;
    return status;
}
