#include "network/network.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "network/chance.h"

struct cm_network {
    cm_network_config config;
    cm_param_table table;
};

static cm_builder builder(const cm_network *network, cm_tape *tape) {
    cm_builder b = {&network->config, (cm_param_table *)(uintptr_t)&network->table, tape, false};
    return b;
}

static cm_hidden hidden(cm_builder *b, cm_var raw) {
    cm_hidden state = {raw, b->config->minmax ? cm_tape_minmax(b->tape, raw) : raw};
    return state;
}

/* NAME.0, NAME.1, ...: `count` equal dense layers. */
static cm_var stack(cm_builder *b, const char *name, int count, cm_var x, const cm_layer *layer) {
    for (int i = 0; i < count; i++) {
        char full[CM_PARAM_NAME];
        snprintf(full, sizeof full, "%s.%d", name, i);
        x = cm_layer_dense(b, full, x, layer);
    }
    return x;
}

/* ---- family cumind (networks 1) ---- */

static cm_var cumind_vector(cm_builder *b, cm_var x) {
    const cm_network_config *c = b->config;
    for (int i = 0; i < c->blocks; i++) {
        char name[CM_PARAM_NAME];
        snprintf(name, sizeof name, "representation.layers.%d", i);
        cm_layer layer = cm_layer_make(c->hidden, CM_NORM_NONE, i + 1 < c->blocks ? CM_ACT_RELU : CM_ACT_NONE);
        x = cm_layer_dense(b, name, x, &layer);
    }
    return x;
}

static cm_var cumind_image(cm_builder *b, cm_var x) {
    const cm_network_config *c = b->config;
    cm_layer stem = cm_layer_make(c->channels, CM_NORM_NONE, CM_ACT_RELU);
    cm_layer output = cm_layer_make(c->hidden, CM_NORM_NONE, CM_ACT_NONE);
    x = cm_layer_blocks(b, "representation.blocks", cm_layer_conv(b, "representation.stem", x, 3, 2, &stem), true);
    return cm_layer_dense(b, "representation.output", cm_tape_global_mean(b->tape, x), &output);
}

static cm_var cumind_dynamics(cm_builder *b, cm_var state, cm_var action) {
    cm_layer layer = cm_layer_make(b->config->hidden, CM_NORM_NONE, CM_ACT_RELU);
    cm_var x = cm_layer_embedding(b, "dynamics.embedding", state, action);
    for (int i = 0; i < b->config->blocks; i++) {
        char name[CM_PARAM_NAME];
        snprintf(name, sizeof name, "dynamics.layers.%d", i);
        x = cm_tape_add(b->tape, x, cm_layer_dense(b, name, x, &layer), CM_ACT_NONE);
    }
    return x;
}

static cm_outputs cumind_predict(cm_builder *b, cm_hidden state, bool with_reward) {
    const cm_network_config *c = b->config;
    cm_outputs out = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    cm_layer policy = cm_layer_make(c->actions, CM_NORM_NONE, CM_ACT_NONE);
    cm_layer value = cm_layer_make(c->value_support.size, CM_NORM_NONE, CM_ACT_NONE);
    cm_layer reward = cm_layer_make(c->reward_support.size, CM_NORM_NONE, CM_ACT_NONE);
    policy.zero = value.zero = reward.zero = c->zero_init;
    if (with_reward) out.reward = cm_layer_dense(b, "dynamics.reward", state.raw, &reward);
    out.policy = cm_layer_dense(b, "prediction.policy", state.scaled, &policy);
    out.value = cm_layer_dense(b, "prediction.value", state.scaled, &value);
    return out;
}

/* ---- family mlp (networks 2 and 12) ---- */

static cm_var mlp_representation(cm_builder *b, cm_var x) {
    const cm_network_config *c = b->config;
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

static cm_var mlp_dynamics(cm_builder *b, cm_var state, cm_var action) {
    const cm_network_config *c = b->config;
    cm_action_input encoded = {action, c->encoding, c->actions};
    cm_layer first = cm_layer_make(c->hidden, c->norm, CM_ACT_RELU), second = first;
    first.action = &encoded;
    if (c->body == CM_BODY_PLAIN) second = cm_layer_make(c->hidden, CM_NORM_NONE, CM_ACT_NONE);
    cm_var x = cm_layer_dense(b, "dynamics.transition.0", state, &first);
    x = cm_layer_dense(b, "dynamics.transition.1", x, &second);
    return c->residual_dynamics ? cm_tape_add(b->tape, x, state, CM_ACT_NONE) : x;
}

/* Heads whose hidden layers read the same variable are computed as one layer. */
static void mlp_heads(cm_builder *b, const char *const *heads, const int *outputs, int count, cm_var x, cm_var *out) {
    const cm_network_config *c = b->config;
    char names[3][CM_PARAM_NAME];
    const char *hidden_names[3];
    cm_var y[3] = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s.hidden", heads[i]);
        hidden_names[i] = names[i];
    }
    cm_layer hidden_layer = cm_layer_make(c->head_hidden, c->norm, CM_ACT_RELU);
    cm_layer_merged(b, hidden_names, count, x, &hidden_layer, y);
    for (int i = 0; i < count; i++) {
        char name[CM_PARAM_NAME];
        snprintf(name, sizeof name, "%s.output", heads[i]);
        cm_layer output = cm_layer_make(outputs[i], CM_NORM_NONE, CM_ACT_NONE);
        output.zero = c->zero_init;
        out[i] = cm_layer_dense(b, name, y[i], &output);
    }
}

static cm_outputs mlp_predict(cm_builder *b, cm_hidden state, bool with_reward) {
    const cm_network_config *c = b->config;
    static const char *const heads[3] = {"prediction.policy_head", "prediction.value_head", "dynamics.reward_head"};
    int outputs[3] = {c->actions, c->value_support.size, c->reward_support.size};
    cm_layer trunk = cm_layer_make(c->hidden, c->norm, CM_ACT_RELU);
    cm_var out[3] = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    cm_var reward_input = state.raw;
    if (with_reward && c->residual_dynamics) reward_input = stack(b, "dynamics.reward_trunk", 2, state.raw, &trunk);
    cm_var input = stack(b, "prediction.trunk", c->trunk_layers, state.scaled, &trunk);
    if (with_reward && reward_input == input) {
        mlp_heads(b, heads, outputs, 3, input, out);
    } else {
        mlp_heads(b, heads, outputs, 2, input, out);
        if (with_reward) mlp_heads(b, heads + 2, outputs + 2, 1, reward_input, out + 2);
    }
    cm_outputs result = {out[0], out[1], out[2]};
    return result;
}

static cm_outputs mlp_predict_chance(cm_builder *b, cm_hidden afterstate) {
    const cm_network_config *c = b->config;
    static const char *const heads[2] = {"afterstate.chance_head", "afterstate.value_head"};
    int outputs[2] = {c->codes, c->value_support.size};
    cm_layer trunk = cm_layer_make(c->hidden, c->norm, CM_ACT_RELU);
    cm_var out[2] = {CM_NO_VAR, CM_NO_VAR};
    mlp_heads(b, heads, outputs, 2, stack(b, "afterstate.trunk", c->trunk_layers, afterstate.scaled, &trunk), out);
    return (cm_outputs){out[0], out[1], CM_NO_VAR};
}

/* ---- family resnet (networks 3 and 12) ---- */

static cm_var resnet_representation(cm_builder *b, cm_var x) {
    cm_layer stem = cm_layer_make(b->config->channels, CM_NORM_BATCH, CM_ACT_RELU);
    stem.no_bias = true;
    return cm_layer_blocks(b, "representation.blocks", cm_layer_conv(b, "representation.stem", x, 3, 1, &stem), false);
}

static cm_var resnet_dynamics(cm_builder *b, cm_var state, cm_var action) {
    cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    cm_layer stem = cm_layer_make(b->config->channels, CM_NORM_BATCH, CM_ACT_RELU);
    stem.no_bias = true;
    stem.residual = state;
    cm_var x = cm_tape_action_encoding(b->tape, state, &encoded);
    return cm_layer_blocks(b, "dynamics.blocks", cm_layer_conv(b, "dynamics.stem", x, 3, 1, &stem), false);
}

static cm_var resnet_head(cm_builder *b, const char *head, int outputs, cm_var x) {
    const cm_network_config *c = b->config;
    char name[CM_PARAM_NAME];
    cm_layer conv = cm_layer_make(c->head_channels, CM_NORM_BATCH, CM_ACT_RELU);
    cm_layer hidden_layer = cm_layer_make(c->head_hidden, CM_NORM_BATCH, CM_ACT_RELU);
    cm_layer output = cm_layer_make(outputs, CM_NORM_NONE, CM_ACT_NONE);
    output.zero = c->zero_init;
    snprintf(name, sizeof name, "%s.conv", head);
    x = cm_tape_flatten(b->tape, cm_layer_conv(b, name, x, 1, 1, &conv));
    snprintf(name, sizeof name, "%s.hidden", head);
    x = cm_layer_dense(b, name, x, &hidden_layer);
    snprintf(name, sizeof name, "%s.output", head);
    return cm_layer_dense(b, name, x, &output);
}

static cm_outputs resnet_predict(cm_builder *b, cm_hidden state, bool with_reward) {
    const cm_network_config *c = b->config;
    cm_outputs out = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    if (with_reward) out.reward = resnet_head(b, "dynamics.reward_head", c->reward_support.size, state.raw);
    cm_var x = cm_layer_blocks(b, "prediction.blocks", state.scaled, false);
    out.policy = resnet_head(b, "prediction.policy_head", c->actions, x);
    out.value = resnet_head(b, "prediction.value_head", c->value_support.size, x);
    return out;
}

static cm_outputs resnet_predict_chance(cm_builder *b, cm_hidden afterstate) {
    const cm_network_config *c = b->config;
    cm_var x = cm_layer_blocks(b, "afterstate.prediction", afterstate.scaled, false);
    cm_var codes = resnet_head(b, "afterstate.chance_head", c->codes, x);
    return (cm_outputs){codes, resnet_head(b, "afterstate.value_head", c->value_support.size, x), CM_NO_VAR};
}

/* ---- all families ---- */

static cm_hidden representation(cm_builder *b, cm_var observation) {
    switch (b->config->family) {
    case CM_FAMILY_CUMIND:
        return hidden(b,
                      b->config->observation_ndim == 1 ? cumind_vector(b, observation) : cumind_image(b, observation));
    case CM_FAMILY_MLP: return hidden(b, mlp_representation(b, cm_tape_flatten(b->tape, observation)));
    case CM_FAMILY_RESNET: return hidden(b, resnet_representation(b, observation));
    }
    return (cm_hidden){CM_NO_VAR, CM_NO_VAR};
}

static cm_hidden dynamics(cm_builder *b, cm_var state, cm_var action) {
    switch (b->config->family) {
    case CM_FAMILY_CUMIND: return hidden(b, cumind_dynamics(b, state, action));
    case CM_FAMILY_MLP: return hidden(b, mlp_dynamics(b, state, action));
    case CM_FAMILY_RESNET: return hidden(b, resnet_dynamics(b, state, action));
    }
    return (cm_hidden){CM_NO_VAR, CM_NO_VAR};
}

static cm_outputs predict(cm_builder *b, cm_hidden state, bool with_reward) {
    switch (b->config->family) {
    case CM_FAMILY_CUMIND: return cumind_predict(b, state, with_reward);
    case CM_FAMILY_MLP: return mlp_predict(b, state, with_reward);
    case CM_FAMILY_RESNET: return resnet_predict(b, state, with_reward);
    }
    return (cm_outputs){CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
}

static cm_outputs predict_chance(cm_builder *b, cm_hidden afterstate) {
    return b->config->family == CM_FAMILY_RESNET ? resnet_predict_chance(b, afterstate)
                                                 : mlp_predict_chance(b, afterstate);
}

static cm_var project(cm_builder *b, cm_var state) {
    const cm_network_config *c = b->config;
    cm_layer inner = cm_layer_make(c->projection_hidden, c->norm, CM_ACT_RELU);
    cm_layer last = cm_layer_make(c->projection_output, c->norm, CM_ACT_NONE);
    cm_var x = stack(b, "consistency.projection", 2, cm_tape_flatten(b->tape, state), &inner);
    return cm_layer_dense(b, "consistency.projection.2", x, &last);
}

static cm_var project_predict(cm_builder *b, cm_var state) {
    const cm_network_config *c = b->config;
    cm_layer inner = cm_layer_make(c->predictor_hidden, c->norm, CM_ACT_RELU);
    cm_layer output = cm_layer_make(c->projection_output, CM_NORM_NONE, CM_ACT_NONE);
    cm_var x = cm_layer_dense(b, "consistency.predictor.hidden", project(b, state), &inner);
    return cm_layer_dense(b, "consistency.predictor.output", x, &output);
}

cm_hidden cm_network_representation(const cm_network *network, cm_tape *tape, cm_var observation) {
    cm_builder b = builder(network, tape);
    return representation(&b, observation);
}

cm_hidden cm_network_dynamics(const cm_network *network, cm_tape *tape, cm_var state, cm_var action) {
    cm_builder b = builder(network, tape);
    return dynamics(&b, state, action);
}

cm_outputs cm_network_predict(const cm_network *network, cm_tape *tape, cm_hidden state, bool with_reward) {
    cm_builder b = builder(network, tape);
    return predict(&b, state, with_reward);
}

cm_hidden cm_network_afterstate(const cm_network *network, cm_tape *tape, cm_var state, cm_var action) {
    cm_builder b = builder(network, tape);
    return hidden(&b, cm_chance_afterstate(&b, state, action));
}

cm_outputs cm_network_predict_chance(const cm_network *network, cm_tape *tape, cm_hidden afterstate) {
    cm_builder b = builder(network, tape);
    return predict_chance(&b, afterstate);
}

cm_hidden cm_network_outcome(const cm_network *network, cm_tape *tape, cm_var afterstate, cm_var code) {
    cm_builder b = builder(network, tape);
    return hidden(&b, cm_chance_outcome(&b, afterstate, code));
}

cm_var cm_network_encode(const cm_network *network, cm_tape *tape, cm_var observations) {
    cm_builder b = builder(network, tape);
    return cm_chance_encode(&b, observations);
}

cm_var cm_network_project(const cm_network *network, cm_tape *tape, cm_var state) {
    cm_builder b = builder(network, tape);
    return project(&b, state);
}

cm_var cm_network_project_predict(const cm_network *network, cm_tape *tape, cm_var state) {
    cm_builder b = builder(network, tape);
    return project_predict(&b, state);
}

/* ---- the description ---- */

void cm_network_config_from_options(cm_network_config *config, const cm_network_options *options, int ndim,
                                    const int *observation, int actions, bool consistency) {
    const cm_network_options *o = options;
    *config = (cm_network_config){.family = (cm_network_family)o->family,
                                  .observation_ndim = ndim,
                                  .actions = actions,
                                  .hidden = o->hidden_dim,
                                  .blocks = o->num_blocks,
                                  .channels = o->conv_channels,
                                  .head_channels = o->head_channels,
                                  .head_hidden = o->head_hidden,
                                  .trunk_layers = o->trunk_layers,
                                  .body = (cm_network_body)o->body,
                                  .norm = (cm_network_norm)o->norm,
                                  .minmax = o->state_norm == CM_STATE_NORM_MINMAX,
                                  .residual_dynamics = o->residual_dynamics,
                                  .encoding = (cm_encoding)o->action_encoding,
                                  .value_support = {(float)o->value_support_min, (float)o->value_support_max,
                                                    o->value_support_size, o->value_transform},
                                  .reward_support = {(float)o->reward_support_min, (float)o->reward_support_max,
                                                     o->reward_support_size, o->value_transform},
                                  .zero_init = o->zero_init_heads && o->family != CM_FAMILY_CUMIND,
                                  .init = o->initializer == CM_INITIALIZER_LECUN_NORMAL ? CM_INIT_LECUN_NORMAL
                                                                                        : CM_INIT_UNIFORM_FAN_IN,
                                  .codes = o->chance_codes,
                                  .encoder = true,
                                  .consistency = consistency,
                                  .projection_hidden = o->consistency_hidden,
                                  .projection_output = o->consistency_output,
                                  .predictor_hidden = o->consistency_predictor};
    if (config->family == CM_FAMILY_RESNET) config->norm = CM_NORM_BATCH;
    if (config->family == CM_FAMILY_CUMIND) config->norm = CM_NORM_NONE;
    for (int i = 0; i < ndim && i < 3; i++) config->observation[i] = observation[i];
}

static cm_status check_config(const cm_network_config *c) {
    if (c->observation_ndim != 1 && c->observation_ndim != 3) {
        return cm_fail(CM_ERR_INPUT,
                       "Unsupported observation shape: rank %d, must be 1 (vector) or 3 (height, width, channels)",
                       c->observation_ndim);
    }
    for (int i = 0; i < c->observation_ndim; i++) {
        if (c->observation[i] < 1)
            return cm_fail(CM_ERR_INPUT, "observation shape: dimension %d is %d, must be >= 1", i, c->observation[i]);
    }
    if (c->actions < 1) return cm_fail(CM_ERR_INPUT, "number of actions is %d, must be >= 1", c->actions);
    if (c->family == CM_FAMILY_RESNET && c->observation_ndim != 3) {
        return cm_fail(CM_ERR_INPUT,
                       "network family resnet needs observations of rank 3, these have rank %d; use mlp or cumind",
                       c->observation_ndim);
    }
    if (c->family == CM_FAMILY_RESNET && c->norm != CM_NORM_BATCH) {
        return cm_fail(CM_ERR_INPUT, "network family resnet always has norm \"batch\"");
    }
    if (c->family == CM_FAMILY_MLP && c->encoding == CM_ENCODE_BOARD) {
        return cm_fail(CM_ERR_INPUT, "action encoding \"board\" is for family resnet; mlp takes onehot or scaled");
    }
    if (c->model == CM_NETWORK_PREDICTION && c->consistency) {
        return cm_fail(CM_ERR_INPUT, "consistency heads need dynamics, and this network has only a prediction");
    }
    if (c->model == CM_NETWORK_CHANCE && c->family == CM_FAMILY_CUMIND) {
        return cm_fail(CM_ERR_INPUT, "networks with chance are of family mlp or resnet, not cumind");
    }
    if (c->model == CM_NETWORK_CHANCE && c->codes < 1) {
        return cm_fail(CM_ERR_INPUT, "number of chance codes is %d, must be >= 1", c->codes);
    }
    if (c->value_support.size < 1 || c->reward_support.size < 1) {
        return cm_fail(CM_ERR_INPUT, "a support must have at least one atom");
    }
    return CM_OK;
}

/* The two halves of a step with chance, and the encoder. */
static cm_hidden define_chance(cm_builder *b, cm_hidden state, cm_var action) {
    const cm_network_config *c = b->config;
    int pair[2] = {1, 2}, code[2] = {1, c->codes};
    for (int i = 0; i < c->observation_ndim; i++) pair[1] *= c->observation[i];
    cm_hidden after = hidden(b, cm_chance_afterstate(b, state.scaled, action));
    predict_chance(b, after);
    if (c->encoder) cm_chance_encode(b, cm_tape_input(b->tape, CM_F32, 2, pair));
    return hidden(b, cm_chance_outcome(b, after.scaled, cm_tape_input(b->tape, CM_F32, 2, code)));
}

static void define_dynamics(cm_builder *b, cm_hidden state) {
    int one = 1;
    cm_var action = cm_tape_input(b->tape, CM_I32, 1, &one);
    bool chance = b->config->model == CM_NETWORK_CHANCE;
    cm_hidden next = chance ? define_chance(b, state, action) : dynamics(b, state.scaled, action);
    predict(b, next, true);
    if (b->config->consistency) project_predict(b, next.scaled);
}

/* Runs every function once on a scratch tape: what they ask for is the table. */
static cm_status define(cm_network *network) {
    const cm_network_config *c = &network->config;
    cm_builder b = {c, &network->table, NULL, true};
    CM_TRY(cm_tape_create(false, CM_F32, &b.tape));
    int dim[4] = {1, c->observation[0], c->observation[1], c->observation[2]};
    cm_hidden state = representation(&b, cm_tape_input(b.tape, CM_F32, c->observation_ndim + 1, dim));
    if (c->model == CM_NETWORK_PREDICTION) {
        predict(&b, state, false);
    } else {
        define_dynamics(&b, state);
    }
    cm_status status = cm_tape_finish(b.tape);
    cm_tape_destroy(b.tape);
    return status;
}

cm_status cm_network_create(const cm_network_config *config, cm_network **out) {
    *out = NULL;
    CM_TRY(check_config(config));
    cm_network *network;
    CM_TRY(cm_alloc(&network, 1, sizeof *network, "a network"));
    network->config = *config;
    cm_status status = define(network);
    if (status != CM_OK) {
        cm_network_destroy(network);
        return status;
    }
    *out = network;
    return CM_OK;
}

void cm_network_destroy(cm_network *network) {
    if (!network) return;
    cm_param_table_destroy(&network->table);
    free(network);
}

const cm_network_config *cm_network_get_config(const cm_network *network) { return &network->config; }

const cm_param_table *cm_network_parameters(const cm_network *network) { return &network->table; }

bool cm_network_is_rowwise(const cm_network *network) { return network->config.norm != CM_NORM_BATCH; }

int cm_network_state_size(const cm_network *network) {
    const cm_network_config *c = &network->config;
    return c->family == CM_FAMILY_RESNET ? c->observation[0] * c->observation[1] * c->channels : c->hidden;
}

int cm_network_observation_size(const cm_network *network) {
    int size = 1;
    for (int i = 0; i < network->config.observation_ndim; i++) size *= network->config.observation[i];
    return size;
}
