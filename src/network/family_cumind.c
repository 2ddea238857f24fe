/* CuMind's own networks: networks 1. */
#include <stdio.h>

#include "network/family.h"

static cm_var of_vector(cm_builder *b, cm_var x) {
    const cm_network_config *c = b->config;
    for (int i = 0; i < c->blocks; i++) {
        char name[CM_PARAM_NAME];
        snprintf(name, sizeof name, "representation.layers.%d", i);
        cm_layer layer = cm_layer_make(c->hidden, CM_NORM_NONE, i + 1 < c->blocks ? CM_ACT_RELU : CM_ACT_NONE);
        x = cm_layer_dense(b, name, x, &layer);
    }
    return x;
}

static cm_var of_image(cm_builder *b, cm_var x) {
    const cm_network_config *c = b->config;
    cm_layer stem = cm_layer_make(c->channels, CM_NORM_NONE, CM_ACT_RELU);
    cm_layer output = cm_layer_make(c->hidden, CM_NORM_NONE, CM_ACT_NONE);
    x = cm_layer_blocks(b, "representation.blocks", cm_layer_conv(b, "representation.stem", x, 3, 2, &stem), true);
    return cm_layer_dense(b, "representation.output", cm_tape_global_mean(b->tape, x), &output);
}

static cm_var representation(cm_builder *b, cm_var x) {
    return b->config->observation_ndim == 1 ? of_vector(b, x) : of_image(b, x);
}

static cm_var dynamics(cm_builder *b, cm_var state, cm_var action) {
    cm_layer layer = cm_layer_make(b->config->hidden, CM_NORM_NONE, CM_ACT_RELU);
    cm_var x = cm_layer_embedding(b, "dynamics.embedding", state, action);
    for (int i = 0; i < b->config->blocks; i++) {
        char name[CM_PARAM_NAME];
        snprintf(name, sizeof name, "dynamics.layers.%d", i);
        x = cm_tape_add(b->tape, x, cm_layer_dense(b, name, x, &layer), CM_ACT_NONE);
    }
    return x;
}

static cm_outputs predict(cm_builder *b, cm_hidden state, bool with_reward) {
    const cm_network_config *c = b->config;
    cm_outputs out = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    cm_layer policy = cm_layer_make(cm_layer_policy_size(b), CM_NORM_NONE, CM_ACT_NONE);
    cm_layer value = cm_layer_make(c->value_support.size, CM_NORM_NONE, CM_ACT_NONE);
    cm_layer reward = cm_layer_make(c->reward_support.size, CM_NORM_NONE, CM_ACT_NONE);
    policy.zero = value.zero = reward.zero = c->zero_init;
    if (with_reward) out.reward = cm_layer_dense(b, "dynamics.reward", state.raw, &reward);
    out.policy = cm_layer_dense(b, "prediction.policy", state.scaled, &policy);
    out.value = cm_layer_dense(b, "prediction.value", state.scaled, &value);
    return out;
}

const cm_family cm_family_cumind = {
    .representation = representation,
    .dynamics = dynamics,
    .predict = predict,
};
