/* Multi-layer perceptrons, whose states are vectors: networks 2 and 12. */
#include <stdio.h>

#include "network/family.h"

/* What it reads: a picture's places each with what is around it. */
static cm_var stem(cm_builder *b, cm_var observation) {
    const cm_layer conv = cm_layer_make(b->config->stem, CM_NORM_NONE, CM_ACT_RELU);
    return b->config->stem > 0 ? cm_layer_conv(b, "representation.stem", observation, 3, 1, &conv) : observation;
}

static cm_var representation(cm_builder *b, cm_var observation) {
    const cm_network_config *c = b->config;
    const cm_var x = cm_tape_flatten(b->tape, stem(b, observation));
    if (c->body == CM_BODY_PLAIN) {
        cm_layer first = cm_layer_make(c->hidden, c->norm, CM_ACT_RELU);
        cm_layer second = cm_layer_make(c->hidden, CM_NORM_NONE, CM_ACT_NONE);
        return cm_layer_dense(b, "representation.1", cm_layer_dense(b, "representation.0", x, &first), &second);
    }
    cm_layer input = cm_layer_make(c->hidden, c->norm, CM_ACT_GELU_TANH);
    cm_layer output = cm_layer_make(c->hidden, CM_NORM_LAYER, CM_ACT_NONE);
    output.zero = c->zero_init;
    return cm_layer_dense(b, "representation.output", cm_layer_dense(b, "representation.input", x, &input), &output);
}

/* The second layer of a transition, and its residual. */
static cm_var finish_transition(cm_builder *b, const char *name, cm_var x, cm_var from) {
    const cm_network_config *c = b->config;
    bool plain = c->body == CM_BODY_PLAIN;
    cm_layer second = cm_layer_make(c->hidden, plain ? CM_NORM_NONE : c->norm, plain ? CM_ACT_NONE : CM_ACT_RELU);
    x = cm_layer_dense(b, name, x, &second);
    return c->residual_dynamics ? cm_tape_add(b->tape, x, from, CM_ACT_NONE) : x;
}

/* Names of a transition's layers. */
typedef struct transition_names {
    const char *first, *embedding, *code, *second;
} transition_names;

/* What a code [B, C] makes of a state. The first layer reads both, each by a weight of its own, so that gradients reach
 * the code. */
static cm_var apply_code(cm_builder *b, const transition_names *names, cm_var state, cm_var code) {
    cm_layer linear = cm_layer_make(b->config->hidden, CM_NORM_NONE, CM_ACT_NONE), of_code = linear;
    cm_layer first = cm_layer_make(b->config->hidden, b->config->norm, CM_ACT_RELU);
    of_code.no_bias = true;
    cm_var x = cm_layer_dense(b, names->first, state, &linear);
    x = cm_tape_add(b->tape, x, cm_layer_dense(b, names->code, code, &of_code), CM_ACT_NONE);
    return finish_transition(b, names->second, cm_layer_after(b, names->first, x, &first), state);
}

/* What an action makes of a state. */
static cm_var apply_action(cm_builder *b, const transition_names *names, cm_var state, cm_var action) {
    if (b->config->action_embedding > 0)
        return apply_code(b, names, state, cm_layer_action_units(b, names->embedding, action));
    if (cm_layer_reads_numbers(b)) return apply_code(b, names, state, cm_layer_numbers(b, action, b->config->encoding));
    cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    cm_layer first = cm_layer_make(b->config->hidden, b->config->norm, CM_ACT_RELU);
    first.action = &encoded;
    return finish_transition(b, names->second, cm_layer_dense(b, names->first, state, &first), state);
}

static cm_var dynamics(cm_builder *b, cm_var state, cm_var action) {
    static const transition_names names = {"dynamics.transition.0", "dynamics.action", "dynamics.numbers",
                                           "dynamics.transition.1"};
    return apply_action(b, &names, state, action);
}

/* Heads whose hidden layers read the same variable are computed as one layer. */
static void make_heads(cm_builder *b, const char *const *heads, const int *outputs, int count, cm_var x, cm_var *out) {
    const cm_network_config *c = b->config;
    char names[3][CM_PARAM_NAME];
    const char *hidden_names[3];
    cm_var y[3] = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s.hidden", heads[i]);
        hidden_names[i] = names[i];
    }
    cm_layer hidden_layer = cm_layer_make(c->head_hidden, c->norm, cm_layer_head_activation(b));
    cm_layer_merged(b, hidden_names, count, x, &hidden_layer, y);
    for (int i = 0; i < count; i++) {
        char name[CM_PARAM_NAME];
        snprintf(name, sizeof name, "%s.output", heads[i]);
        cm_layer output = cm_layer_make(outputs[i], CM_NORM_NONE, CM_ACT_NONE);
        output.zero = c->zero_init;
        out[i] = cm_layer_dense(b, name, y[i], &output);
    }
}

/* What the head of rewards, or the LSTM in front of it, reads. */
static cm_var reward_input(cm_builder *b, cm_var state) {
    cm_layer trunk = cm_layer_make(b->config->hidden, b->config->norm, CM_ACT_RELU);
    return b->config->residual_dynamics ? cm_layer_stack(b, "dynamics.reward_trunk", 2, state, &trunk) : state;
}

static cm_outputs predict(cm_builder *b, cm_hidden state, bool with_reward) {
    const cm_network_config *c = b->config;
    static const char *const heads[3] = {"prediction.policy_head", "prediction.value_head", "dynamics.reward_head"};
    int outputs[3] = {cm_layer_policy_size(b), c->value_support.size, c->reward_support.size};
    cm_layer trunk = cm_layer_make(c->hidden, c->norm, CM_ACT_RELU);
    cm_var out[3] = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    cm_var of_reward = with_reward ? reward_input(b, state.raw) : CM_NO_VAR;
    cm_var input = cm_layer_stack(b, "prediction.trunk", c->trunk_layers, state.scaled, &trunk);
    if (with_reward && of_reward == input) {
        make_heads(b, heads, outputs, 3, input, out);
    } else {
        make_heads(b, heads, outputs, 2, input, out);
        if (with_reward) make_heads(b, heads + 2, outputs + 2, 1, of_reward, out + 2);
    }
    cm_outputs result = {out[0], out[1], out[2]};
    return result;
}

/* ---- with value prefixes ---- */

static cm_var prefix_head(cm_builder *b, cm_var h) {
    static const char *const head = "dynamics.reward_head";
    cm_var out = CM_NO_VAR;
    make_heads(b, &head, &b->config->reward_support.size, 1, h, &out);
    return out;
}

/* ---- with chance ---- */

static cm_var afterstate(cm_builder *b, cm_var state, cm_var action) {
    static const transition_names names = {"afterstate.transition.0", "afterstate.action", "afterstate.numbers",
                                           "afterstate.transition.1"};
    return apply_action(b, &names, state, action);
}

static cm_var outcome(cm_builder *b, cm_var afterstate, cm_var code) {
    static const transition_names names = {"dynamics.transition.0", NULL, "dynamics.code", "dynamics.transition.1"};
    return apply_code(b, &names, afterstate, code);
}

static cm_outputs predict_chance(cm_builder *b, cm_hidden afterstate) {
    const cm_network_config *c = b->config;
    static const char *const heads[2] = {"afterstate.chance_head", "afterstate.value_head"};
    int outputs[2] = {c->codes, c->value_support.size};
    cm_layer trunk = cm_layer_make(c->hidden, c->norm, CM_ACT_RELU);
    cm_var out[2] = {CM_NO_VAR, CM_NO_VAR};
    make_heads(b, heads, outputs, 2, cm_layer_stack(b, "afterstate.trunk", c->trunk_layers, afterstate.scaled, &trunk),
               out);
    return (cm_outputs){out[0], out[1], CM_NO_VAR};
}

const cm_family cm_family_mlp = {
    .representation = representation,
    .dynamics = dynamics,
    .predict = predict,
    .prefix_input = reward_input,
    .prefix_head = prefix_head,
    .afterstate = afterstate,
    .predict_chance = predict_chance,
    .outcome = outcome,
};
