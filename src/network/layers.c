#include "network/layers.h"

#include <stdio.h>

#include "backend/formulas.h"

enum { MERGED_MAX = 4 };

cm_layer cm_layer_make(int out, cm_network_norm norm, cm_activation activation) {
    cm_layer layer = {.out = out, .norm = norm, .activation = activation, .residual = CM_NO_VAR};
    return layer;
}

cm_activation cm_layer_head_activation(const cm_builder *b) { return b->config->elu_heads ? CM_ACT_ELU : CM_ACT_RELU; }

/* Adds a row NAME.suffix; NULL after an error, which the builder keeps. */
static const cm_param *add_param(cm_builder *b, const cm_param *row) {
    if (b->status == CM_OK) b->status = cm_param_table_add(b->table, row, NULL);
    return b->status == CM_OK ? &b->table->param[b->table->count - 1] : NULL;
}

/* The table's row NAME.suffix, which is added if it is missing and the builder defines; NULL after an error. */
static const cm_param *find_param(cm_builder *b, const char *name, const char *suffix, const cm_param *like) {
    cm_param row = *like;
    if (snprintf(row.name, sizeof row.name, "%s.%s", name, suffix) >= (int)sizeof row.name) {
        if (b->status == CM_OK) b->status = cm_fail(CM_ERR_INPUT, "layer \"%.40s...\": its name is too long", name);
        return NULL;
    }
    const cm_param *found = cm_param_table_find(b->table, row.name);
    return found || !b->define ? found : add_param(b, &row);
}

cm_var cm_layer_param(cm_builder *b, const char *name, const char *suffix, const cm_param *like) {
    const cm_param *param = find_param(b, name, suffix, like);
    return param ? cm_tape_param(b->tape, param) : CM_NO_VAR;
}

static cm_param vector_param(int n, cm_init init, bool state) {
    cm_param p = {.ndim = 1, .dim = {n}, .init = init, .state = state};
    return p;
}

static cm_init weight_init(const cm_builder *b, const cm_layer *layer) {
    return layer->zero ? CM_INIT_ZERO : b->config->init;
}

/* Biases start at 0 with LeCun weights and like the weights otherwise (networks 0.1). U(+-1/sqrt(fan_in)) of a bias
 * needs its weight's fan_in: initialise.c takes it from the row in front. */
static cm_init bias_init(const cm_builder *b, const cm_layer *layer) {
    return !layer->zero && b->config->init == CM_INIT_UNIFORM_FAN_IN ? CM_INIT_UNIFORM_FAN_IN : CM_INIT_ZERO;
}

/* The array `suffix` of `count` layers as one variable; defines them one after the other. */
static cm_var merged_param(cm_builder *b, const char *const *names, int count, const char *suffix,
                           const cm_param *like) {
    const cm_param *rows[MERGED_MAX];
    cm_param row = *like;
    for (int i = 0; i < count; i++, row.joined = true) find_param(b, names[i], suffix, &row); /* adding moves rows */
    for (int i = 0; i < count; i++) {
        rows[i] = find_param(b, names[i], suffix, like);
        if (!rows[i]) return CM_NO_VAR;
    }
    return cm_tape_merged(b->tape, rows, count);
}

/* Norm and activation after a linear part; `groups` merged layers of layer->out features. */
static cm_var normalise(cm_builder *b, const char *const *names, int count, cm_var x, const cm_layer *layer) {
    if (layer->norm == CM_NORM_NONE) return cm_tape_activation(b->tape, x, layer->activation);
    cm_param one = vector_param(layer->out, CM_INIT_ONE, false), zero = vector_param(layer->out, CM_INIT_ZERO, false);
    cm_norm_vars norm = {.mean = CM_NO_VAR, .variance = CM_NO_VAR, .residual = layer->residual};
    norm.scale = merged_param(b, names, count, "norm.scale", &one);
    norm.shift = merged_param(b, names, count, "norm.shift", &zero);
    const cm_activation last = layer->norm == CM_NORM_LAYER ? CM_ACT_GELU_TANH : CM_ACT_RELU; /* that a norm applies */
    cm_activation fused = layer->activation <= last ? layer->activation : CM_ACT_NONE;
    cm_var y;
    if (layer->norm == CM_NORM_LAYER) {
        y = cm_tape_layer_norm(b->tape, x, &norm, fused, count);
    } else {
        one.state = zero.state = true;
        norm.mean = merged_param(b, names, count, "norm.running_mean", &zero);
        norm.variance = merged_param(b, names, count, "norm.running_var", &one);
        y = cm_tape_batch_norm(b->tape, x, &norm, fused);
    }
    return fused == layer->activation ? y : cm_tape_activation(b->tape, y, layer->activation);
}

cm_var cm_layer_after(cm_builder *b, const char *name, cm_var x, const cm_layer *layer) {
    return normalise(b, &name, 1, x, layer);
}

/* What a layer reads; where it trains as if it were in 8 bits, as these read it. Merged layers have the range of the
 * first. */
static cm_var read_by(cm_builder *b, const char *name, cm_var x) {
    const cm_param range = vector_param(1, CM_INIT_ZERO, true);
    if (!b->config->fake_quantised || !b->in_8_bits) return x;
    return cm_tape_fake_quantise(b->tape, x, cm_layer_param(b, name, CM_NETWORK_RANGE, &range));
}

static cm_var merged_dense(cm_builder *b, const char *const *names, int count, cm_var x, const cm_layer *layer) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    int in = cm_tape_shape(b->tape, x)->dim[1];
    if (layer->action) in += layer->action->encoding == CM_ENCODE_ONEHOT ? layer->action->actions : 1;
    cm_param weight = {.ndim = 2, .dim = {layer->out, in}, .init = weight_init(b, layer)};
    cm_param offset = vector_param(layer->out, bias_init(b, layer), false);
    cm_var w = merged_param(b, names, count, "weight", &weight);
    cm_var bias = layer->no_bias ? CM_NO_VAR : merged_param(b, names, count, "bias", &offset);
    bool fused = layer->norm == CM_NORM_NONE && layer->activation == CM_ACT_RELU;
    cm_var read = read_by(b, names[0], x);
    cm_var y = cm_tape_dense(b->tape, read, w, bias, layer->action, fused ? CM_ACT_RELU : CM_ACT_NONE);
    return fused ? y : normalise(b, names, count, y, layer);
}

cm_var cm_layer_dense(cm_builder *b, const char *name, cm_var x, const cm_layer *layer) {
    return merged_dense(b, &name, 1, x, layer);
}

void cm_layer_merged(cm_builder *b, const char *const *names, int count, cm_var x, const cm_layer *layer, cm_var *out) {
    if (count > MERGED_MAX ||
        layer->norm == CM_NORM_BATCH) { /* running statistics of several layers are no neighbours */
        for (int i = 0; i < count; i++) out[i] = cm_layer_dense(b, names[i], x, layer);
        return;
    }
    cm_var y = merged_dense(b, names, count, x, layer);
    for (int i = 0; i < count; i++) out[i] = cm_tape_columns(b->tape, y, i * layer->out, layer->out);
}

/* The linear part of a convolution layer. */
static cm_var conv_linear(cm_builder *b, const char *name, cm_var x, int k, int stride, const cm_layer *layer) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    int channels = cm_tensor_last(cm_tape_shape(b->tape, x));
    cm_param weight = {.ndim = 4, .dim = {layer->out, k, k, channels}, .init = weight_init(b, layer)};
    cm_param offset = vector_param(layer->out, bias_init(b, layer), false);
    cm_var w = cm_layer_param(b, name, "weight", &weight);
    cm_var bias = layer->no_bias ? CM_NO_VAR : cm_layer_param(b, name, "bias", &offset);
    bool fused = layer->norm == CM_NORM_NONE && layer->activation == CM_ACT_RELU;
    return cm_tape_conv2d(b->tape, read_by(b, name, x), w, bias, stride, fused ? CM_ACT_RELU : CM_ACT_NONE);
}

cm_var cm_layer_conv(cm_builder *b, const char *name, cm_var x, int k, int stride, const cm_layer *layer) {
    cm_var y = conv_linear(b, name, x, k, stride, layer);
    return layer->norm == CM_NORM_NONE ? y : normalise(b, &name, 1, y, layer);
}

cm_var cm_layer_stack(cm_builder *b, const char *name, int count, cm_var x, const cm_layer *layer) {
    for (int i = 0; i < count; i++) {
        char full[CM_PARAM_NAME];
        snprintf(full, sizeof full, "%s.%d", name, i);
        x = cm_layer_dense(b, full, x, layer);
    }
    return x;
}

/* A convolution whose norm has the constant statistics 0 and 1. */
static cm_var fixed_conv(cm_builder *b, const char *name, cm_var x, cm_var residual) {
    cm_layer layer = cm_layer_make(b->config->channels, CM_NORM_BATCH, CM_ACT_RELU);
    cm_var y = conv_linear(b, name, x, 3, 1, &layer);
    cm_param one = vector_param(layer.out, CM_INIT_ONE, false), zero = vector_param(layer.out, CM_INIT_ZERO, false);
    cm_norm_vars norm = {.residual = residual};
    norm.scale = cm_layer_param(b, name, "norm.scale", &one);
    norm.shift = cm_layer_param(b, name, "norm.shift", &zero);
    norm.mean = cm_tape_constant(b->tape, layer.out, 0.0f);
    norm.variance = cm_tape_constant(b->tape, layer.out, 1.0f);
    return cm_tape_fixed_norm(b->tape, y, &norm, CM_ACT_RELU);
}

static cm_var block(cm_builder *b, const char *name, cm_var x, bool fixed) {
    char first[CM_PARAM_NAME + 8], second[CM_PARAM_NAME + 8];
    snprintf(first, sizeof first, "%s.conv1", name);
    snprintf(second, sizeof second, "%s.conv2", name);
    if (fixed) return fixed_conv(b, second, fixed_conv(b, first, x, CM_NO_VAR), x);
    if (x == CM_NO_VAR) return CM_NO_VAR;
    cm_layer layer = cm_layer_make(cm_tensor_last(cm_tape_shape(b->tape, x)), CM_NORM_BATCH, CM_ACT_RELU);
    layer.no_bias = true;
    cm_var y = cm_layer_conv(b, first, x, 3, 1, &layer);
    layer.residual = x;
    return cm_layer_conv(b, second, y, 3, 1, &layer);
}

cm_var cm_layer_block(cm_builder *b, const char *name, cm_var x, bool fixed) {
    cm_tape_begin_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    const cm_var y = block(b, name, x, fixed);
    cm_tape_end_segment(b->tape, CM_RECOMPUTE_BLOCKS);
    return y;
}

cm_var cm_layer_blocks(cm_builder *b, const char *name, cm_var x, bool fixed) {
    for (int i = 0; i < b->config->blocks; i++) {
        char full[CM_PARAM_NAME];
        snprintf(full, sizeof full, "%s.%d", name, i);
        x = cm_layer_block(b, full, x, fixed);
    }
    return x;
}

cm_lstm_state cm_layer_lstm(cm_builder *b, const char *name, cm_var x, int steps, cm_lstm_state start) {
    const int L = b->config->lstm, gates = CM_LSTM_GATES * L;
    if (x == CM_NO_VAR) return (cm_lstm_state){CM_NO_VAR, CM_NO_VAR};
    cm_param input = {.ndim = 2, .dim = {gates, cm_tape_shape(b->tape, x)->dim[1]}, .init = CM_INIT_LSTM};
    cm_param hidden = {.ndim = 2, .dim = {gates, L}, .init = CM_INIT_LSTM};
    cm_param offset = vector_param(gates, CM_INIT_LSTM, false);
    cm_lstm_vars weights;
    weights.weight_ih = cm_layer_param(b, name, "input.weight", &input);
    weights.bias_ih = cm_layer_param(b, name, "input.bias", &offset);
    weights.weight_hh = cm_layer_param(b, name, "hidden.weight", &hidden);
    weights.bias_hh = cm_layer_param(b, name, "hidden.bias", &offset);
    return cm_tape_lstm(b->tape, x, steps, b->config->prefix_horizon, &weights, start);
}

int cm_layer_policy_size(const cm_builder *b) {
    return b->config->per_number ? cm_policy_size(b->config->form) : b->config->actions;
}

bool cm_layer_reads_numbers(const cm_builder *b) {
    const cm_network_config *c = b->config;
    return (c->form.numbers > 1 && (c->per_number || c->encoding == CM_ENCODE_SCALED)) || c->form.angles;
}

cm_var cm_layer_numbers(cm_builder *b, cm_var action, cm_encoding encoding) {
    const cm_policy_form form = b->config->form;
    return cm_tape_action_numbers(b->tape, action, form, form.angles ? CM_ENCODE_SCALED : encoding);
}

/* Every number of the action has an embedding; x and their sum. */
static cm_var embed_numbers(cm_builder *b, const char *name, cm_var x, cm_var action) {
    const int H = cm_tape_shape(b->tape, x)->dim[1];
    cm_var code = cm_layer_numbers(b, action, CM_ENCODE_ONEHOT);
    if (code == CM_NO_VAR) return CM_NO_VAR;
    cm_param table = {.ndim = 2, .dim = {H, cm_tape_shape(b->tape, code)->dim[1]}, .init = CM_INIT_EMBEDDING};
    cm_var weight = cm_layer_param(b, name, "numbers", &table);
    code = read_by(b, name, code);
    return cm_tape_add(b->tape, x, cm_tape_dense(b->tape, code, weight, CM_NO_VAR, NULL, CM_ACT_NONE), CM_ACT_NONE);
}

/* [B, n] of ones. */
static cm_var ones(cm_builder *b, cm_var action, int n) {
    if (action == CM_NO_VAR) return CM_NO_VAR;
    const int rows = cm_tape_shape(b->tape, action)->dim[0];
    return cm_tape_reshape_rows(b->tape, cm_tape_constant(b->tape, rows * n, 1.0f), rows);
}

static cm_layer embedding_layer(const cm_builder *b) {
    cm_layer layer = cm_layer_make(b->config->action_embedding, CM_NORM_LAYER, CM_ACT_RELU);
    layer.no_bias = true;
    return layer;
}

cm_var cm_layer_action_units(cm_builder *b, const char *name, cm_var action) {
    const cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    cm_layer layer = embedding_layer(b);
    if (cm_layer_reads_numbers(b)) {
        layer.no_bias = false;
        return cm_layer_dense(b, name, cm_layer_numbers(b, action, b->config->encoding), &layer);
    }
    layer.action = &encoded;
    return cm_layer_dense(b, name, ones(b, action, 1), &layer);
}

/* A layer norm over planes has a scale and a shift of each of their numbers. */
static cm_var norm_planes(cm_builder *b, const char *name, cm_var x) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    const int n = (int)(cm_tensor_count(cm_tape_shape(b->tape, x)) / cm_tape_shape(b->tape, x)->dim[0]);
    cm_param one = vector_param(n, CM_INIT_ONE, false), zero = vector_param(n, CM_INIT_ZERO, false);
    cm_norm_vars norm = {.mean = CM_NO_VAR, .variance = CM_NO_VAR, .residual = CM_NO_VAR};
    norm.scale = cm_layer_param(b, name, "norm.scale", &one);
    norm.shift = cm_layer_param(b, name, "norm.shift", &zero);
    return cm_tape_layer_norm(b->tape, x, &norm, CM_ACT_RELU, 1);
}

cm_var cm_layer_action_planes(cm_builder *b, const char *name, cm_var action, const int size[2]) {
    const cm_action_input encoded = {action, b->config->encoding, b->config->actions};
    const cm_layer layer = embedding_layer(b);
    cm_var x = cm_tape_reshape_nhwc(b->tape, ones(b, action, size[0] * size[1]), size[0], size[1], 1);
    x = conv_linear(b, name, cm_tape_action_encoding(b->tape, x, &encoded), 1, 1, &layer);
    return norm_planes(b, name, x);
}

cm_var cm_layer_embedding(cm_builder *b, const char *name, cm_var x, cm_var action) {
    if (x == CM_NO_VAR) return CM_NO_VAR;
    if (b->config->per_number) return embed_numbers(b, name, x, action);
    cm_param table = {
        .ndim = 2, .dim = {b->config->actions, cm_tape_shape(b->tape, x)->dim[1]}, .init = CM_INIT_EMBEDDING};
    return cm_tape_embedding_add(b->tape, x, cm_layer_param(b, name, "table", &table), action);
}
