/* Residual networks, whose states are planes: networks 0.6, 3 and 12. */
#include <stdio.h>

#include "network/family.h"

/* The layer in front of residual blocks; `from` is added after its norm. */
static cm_layer stem_from(const cm_builder *b, cm_var from) {
    cm_layer stem = cm_layer_make(b->config->channels, CM_NORM_BATCH, CM_ACT_RELU);
    stem.no_bias = true;
    stem.residual = from;
    return stem;
}

/* A layer that is recomputed like a block. */
static cm_var stem_layer(cm_builder *b, const char *name, cm_var x, int stride, const cm_layer *stem) {
    cm_tape_begin_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    const cm_var y = cm_layer_conv(b, name, x, 3, stride, stem);
    cm_tape_end_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    return y;
}

/* Twice the channels, half the size; its shortcut is a convolution, too. */
static cm_var widen(cm_builder *b, cm_var x) {
    cm_tape_begin_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    cm_layer first = stem_from(b, CM_NO_VAR), shortcut = cm_layer_make(b->config->channels, CM_NORM_NONE, CM_ACT_NONE);
    shortcut.no_bias = true;
    cm_var y = cm_layer_conv(b, "representation.widen.conv1", x, 3, 2, &first);
    cm_layer second = stem_from(b, cm_layer_conv(b, "representation.widen.shortcut", x, 3, 2, &shortcut));
    y = cm_layer_conv(b, "representation.widen.conv2", y, 3, 1, &second);
    cm_tape_end_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    return y;
}

/* Networks 0.6. */
static cm_var downsample(cm_builder *b, cm_var x) {
    cm_layer stem = cm_layer_make(b->config->channels / 2, CM_NORM_BATCH, CM_ACT_RELU);
    stem.no_bias = true;
    x = stem_layer(b, "representation.stem", x, 2, &stem);
    x = widen(b, cm_layer_block(b, "representation.half", x, false));
    x = cm_tape_avg_pool(b->tape, cm_layer_block(b, "representation.quarter", x, false));
    x = cm_layer_block(b, "representation.eighth", x, false);
    return cm_network_halvings(b->config) > 3 ? cm_tape_avg_pool(b->tape, x) : x;
}

static cm_var representation(cm_builder *b, cm_var x) {
    cm_layer stem = stem_from(b, CM_NO_VAR);
    x = b->config->downsample ? downsample(b, x) : stem_layer(b, "representation.stem", x, 1, &stem);
    return cm_layer_blocks(b, "representation.blocks", x, false);
}

/* Names of a transition's parts. */
typedef struct transition_names {
    const char *stem, *embedding, *code, *blocks;
} transition_names;

/* What a code [B, C] makes of a state. It gets planes of its own: what it brings has a place on the board. */
static cm_var apply_code(cm_builder *b, const transition_names *names, cm_var state, cm_var code) {
    const cm_network_config *c = b->config;
    int size[3];
    cm_network_state_planes(c, size);
    cm_layer stem = stem_from(b, state), linear = cm_layer_make(c->channels, CM_NORM_NONE, CM_ACT_NONE);
    cm_layer of_code = cm_layer_make(size[0] * size[1] * size[2], CM_NORM_NONE, CM_ACT_NONE);
    linear.no_bias = of_code.no_bias = true;
    cm_var planes = cm_layer_dense(b, names->code, code, &of_code);
    cm_tape_begin_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    cm_var x = cm_layer_conv(b, names->stem, state, 3, 1, &linear);
    x = cm_tape_add(b->tape, x, cm_tape_reshape_nhwc(b->tape, planes, size[0], size[1], size[2]), CM_ACT_NONE);
    x = cm_layer_after(b, names->stem, x, &stem);
    cm_tape_end_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    return cm_layer_blocks(b, names->blocks, x, false);
}

/* What an embedded action makes of a state. The stem reads both, each by a weight of its own. */
static cm_var apply_embedding(cm_builder *b, const transition_names *names, cm_var state, cm_var action) {
    int size[3];
    cm_network_state_planes(b->config, size);
    cm_layer stem = stem_from(b, state), linear = cm_layer_make(b->config->channels, CM_NORM_NONE, CM_ACT_NONE);
    linear.no_bias = true;
    cm_tape_begin_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    cm_var of_action = cm_layer_action_planes(b, names->embedding, action, size);
    of_action = cm_layer_conv(b, names->code, of_action, 3, 1, &linear);
    cm_var x = cm_tape_add(b->tape, cm_layer_conv(b, names->stem, state, 3, 1, &linear), of_action, CM_ACT_NONE);
    x = cm_layer_after(b, names->stem, x, &stem);
    cm_tape_end_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    return cm_layer_blocks(b, names->blocks, x, false);
}

/* What an action makes of a state. */
static cm_var apply_action(cm_builder *b, const transition_names *names, cm_var state, cm_var action) {
    const bool is_embedded = b->config->action_embedding > 0;
    if (cm_layer_reads_numbers(b))
        return apply_code(b, names, state,
                          is_embedded ? cm_layer_action_units(b, names->embedding, action)
                                      : cm_layer_numbers(b, action, b->config->encoding));
    if (is_embedded) return apply_embedding(b, names, state, action);
    cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    cm_layer stem = stem_from(b, state);
    cm_tape_begin_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    cm_var x = cm_layer_conv(b, names->stem, cm_tape_action_encoding(b->tape, state, &encoded), 3, 1, &stem);
    cm_tape_end_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    return cm_layer_blocks(b, names->blocks, x, false);
}

static cm_var dynamics(cm_builder *b, cm_var state, cm_var action) {
    static const transition_names names = {"dynamics.stem", "dynamics.action", "dynamics.numbers", "dynamics.blocks"};
    return apply_action(b, &names, state, action);
}

/* The few planes of a head. */
static cm_var head_planes(cm_builder *b, const char *head, cm_var x) {
    char name[CM_PARAM_NAME];
    cm_layer conv = cm_layer_make(b->config->head_channels, CM_NORM_BATCH, CM_ACT_RELU);
    snprintf(name, sizeof name, "%s.conv", head);
    return cm_layer_conv(b, name, x, 1, 1, &conv);
}

/* The dense layers of a head. */
static cm_var head_layers(cm_builder *b, const char *head, int outputs, cm_var x) {
    const cm_network_config *c = b->config;
    char name[CM_PARAM_NAME];
    cm_layer hidden_layer = cm_layer_make(c->head_hidden, CM_NORM_BATCH, cm_layer_head_activation(b));
    cm_layer output = cm_layer_make(outputs, CM_NORM_NONE, CM_ACT_NONE);
    output.zero = c->zero_init;
    snprintf(name, sizeof name, "%s.hidden", head);
    x = cm_layer_dense(b, name, x, &hidden_layer);
    snprintf(name, sizeof name, "%s.output", head);
    return cm_layer_dense(b, name, x, &output);
}

static cm_var make_head(cm_builder *b, const char *head, int outputs, cm_var x) {
    return head_layers(b, head, outputs, cm_tape_flatten(b->tape, head_planes(b, head, x)));
}

static cm_outputs predict(cm_builder *b, cm_hidden state, bool with_reward) {
    const cm_network_config *c = b->config;
    cm_outputs out = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    if (with_reward) out.reward = make_head(b, "dynamics.reward_head", c->reward_support.size, state.raw);
    cm_var x = cm_layer_blocks(b, "prediction.blocks", state.scaled, false);
    out.policy = make_head(b, "prediction.policy_head", cm_layer_policy_size(b), x);
    out.value = make_head(b, "prediction.value_head", c->value_support.size, x);
    return out;
}

/* ---- with value prefixes ---- */

static cm_var prefix_input(cm_builder *b, cm_var state) { return head_planes(b, "dynamics.reward_head", state); }

static cm_var prefix_head(cm_builder *b, cm_var h) {
    cm_layer after = cm_layer_make(b->config->lstm, CM_NORM_BATCH, CM_ACT_RELU);
    h = cm_layer_after(b, "dynamics.lstm", h, &after);
    return head_layers(b, "dynamics.reward_head", b->config->reward_support.size, h);
}

/* ---- with chance ---- */

static cm_var afterstate(cm_builder *b, cm_var state, cm_var action) {
    static const transition_names names = {"afterstate.stem", "afterstate.action", "afterstate.numbers",
                                           "afterstate.blocks"};
    return apply_action(b, &names, state, action);
}

static cm_var outcome(cm_builder *b, cm_var afterstate, cm_var code) {
    static const transition_names names = {"dynamics.stem", NULL, "dynamics.code", "dynamics.blocks"};
    return apply_code(b, &names, afterstate, code);
}

static cm_outputs predict_chance(cm_builder *b, cm_hidden afterstate) {
    const cm_network_config *c = b->config;
    cm_var x = cm_layer_blocks(b, "afterstate.prediction", afterstate.scaled, false);
    cm_var codes = make_head(b, "afterstate.chance_head", c->codes, x);
    return (cm_outputs){codes, make_head(b, "afterstate.value_head", c->value_support.size, x), CM_NO_VAR};
}

const cm_family cm_family_resnet = {
    .planes = true,
    .representation = representation,
    .dynamics = dynamics,
    .predict = predict,
    .prefix_input = prefix_input,
    .prefix_head = prefix_head,
    .afterstate = afterstate,
    .predict_chance = predict_chance,
    .outcome = outcome,
};
