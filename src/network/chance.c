#include "network/chance.h"

enum { ENCODER_WIDE = 128, ENCODER_NARROW = 64 }; /* networks 3, the vector version */

/* ---- family mlp ---- */

/* The second layer of a transition, and its residual. */
static cm_var finish(cm_builder *b, const char *name, cm_var x, cm_var from) {
    const cm_network_config *c = b->config;
    bool plain = c->body == CM_BODY_PLAIN;
    cm_layer second = cm_layer_make(c->hidden, plain ? CM_NORM_NONE : c->norm, plain ? CM_ACT_NONE : CM_ACT_RELU);
    x = cm_layer_dense(b, name, x, &second);
    return c->residual_dynamics ? cm_tape_add(b->tape, x, from, CM_ACT_NONE) : x;
}

static cm_var mlp_afterstate(cm_builder *b, cm_var state, cm_var action) {
    cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    cm_layer first = cm_layer_make(b->config->hidden, b->config->norm, CM_ACT_RELU);
    first.action = &encoded;
    cm_var x = cm_layer_dense(b, "afterstate.transition.0", state, &first);
    return finish(b, "afterstate.transition.1", x, state);
}

/* The first layer reads the afterstate and the code, each by a weight of its own, so that gradients reach the code. */
static cm_var mlp_outcome(cm_builder *b, cm_var afterstate, cm_var code) {
    cm_layer linear = cm_layer_make(b->config->hidden, CM_NORM_NONE, CM_ACT_NONE), of_code = linear;
    cm_layer first = cm_layer_make(b->config->hidden, b->config->norm, CM_ACT_RELU);
    of_code.no_bias = true;
    cm_var x = cm_layer_dense(b, "dynamics.transition.0", afterstate, &linear);
    x = cm_tape_add(b->tape, x, cm_layer_dense(b, "dynamics.code", code, &of_code), CM_ACT_NONE);
    x = cm_layer_after(b, "dynamics.transition.0", x, &first);
    return finish(b, "dynamics.transition.1", x, afterstate);
}

/* ---- family resnet ---- */

static cm_layer resnet_stem(const cm_builder *b, cm_var from) {
    cm_layer stem = cm_layer_make(b->config->channels, CM_NORM_BATCH, CM_ACT_RELU);
    stem.no_bias = true;
    stem.residual = from;
    return stem;
}

static cm_var resnet_afterstate(cm_builder *b, cm_var state, cm_var action) {
    cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    cm_layer stem = resnet_stem(b, state);
    cm_var x = cm_layer_conv(b, "afterstate.stem", cm_tape_action_encoding(b->tape, state, &encoded), 3, 1, &stem);
    return cm_layer_blocks(b, "afterstate.blocks", x, false);
}

/* A code gets planes of its own: what chance brings has a place on the board. */
static cm_var resnet_outcome(cm_builder *b, cm_var afterstate, cm_var code) {
    const cm_network_config *c = b->config;
    const int height = c->observation[0], width = c->observation[1];
    cm_layer stem = resnet_stem(b, afterstate), linear = cm_layer_make(c->channels, CM_NORM_NONE, CM_ACT_NONE);
    cm_layer of_code = cm_layer_make(height * width * c->channels, CM_NORM_NONE, CM_ACT_NONE);
    linear.no_bias = of_code.no_bias = true;
    cm_var planes = cm_layer_dense(b, "dynamics.code", code, &of_code);
    cm_var x = cm_layer_conv(b, "dynamics.stem", afterstate, 3, 1, &linear);
    x = cm_tape_add(b->tape, x, cm_tape_reshape_planes(b->tape, planes, height, width, c->channels), CM_ACT_NONE);
    return cm_layer_blocks(b, "dynamics.blocks", cm_layer_after(b, "dynamics.stem", x, &stem), false);
}

/* ---- both ---- */

cm_var cm_chance_afterstate(cm_builder *b, cm_var state, cm_var action) {
    return b->config->family == CM_FAMILY_RESNET ? resnet_afterstate(b, state, action)
                                                 : mlp_afterstate(b, state, action);
}

cm_var cm_chance_outcome(cm_builder *b, cm_var afterstate, cm_var code) {
    return b->config->family == CM_FAMILY_RESNET ? resnet_outcome(b, afterstate, code)
                                                 : mlp_outcome(b, afterstate, code);
}

/* Each code's number is normalised over the rows, with no scale and shift of its own: without it the largest one is
 * that of the same code in all rows before anything is learnt, the commitment makes that last, and no code means
 * anything. */
static cm_var spread(cm_builder *b, cm_var x) {
    const int codes = b->config->codes;
    cm_param mean = {.ndim = 1, .dim = {codes}, .init = CM_INIT_ZERO, .state = true}, variance = mean;
    variance.init = CM_INIT_ONE;
    cm_norm_vars norm = {.residual = CM_NO_VAR};
    norm.scale = cm_tape_constant(b->tape, codes, 1.0f);
    norm.shift = cm_tape_constant(b->tape, codes, 0.0f);
    norm.mean = cm_layer_param(b, "encoder.2", "norm.running_mean", &mean);
    norm.variance = cm_layer_param(b, "encoder.2", "norm.running_var", &variance);
    return cm_tape_batch_norm(b->tape, x, &norm, CM_ACT_NONE);
}

cm_var cm_chance_encode(cm_builder *b, cm_var observations) {
    cm_layer wide = cm_layer_make(ENCODER_WIDE, CM_NORM_NONE, CM_ACT_RELU);
    cm_layer narrow = cm_layer_make(ENCODER_NARROW, CM_NORM_NONE, CM_ACT_RELU);
    cm_layer last = cm_layer_make(b->config->codes, CM_NORM_NONE, CM_ACT_NONE);
    cm_var x = cm_layer_dense(b, "encoder.0", observations, &wide);
    return spread(b, cm_layer_dense(b, "encoder.2", cm_layer_dense(b, "encoder.1", x, &narrow), &last));
}
