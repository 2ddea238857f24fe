/* How each operation of a tape is written in ONNX, a function and a row each. What they compute: backend/ops.def. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/formulas.h"
#include "backend/support.h"
#include "core/arena.h"
#include "export/translate.h"

/* A tensor of the call by its name in ops.def. */
#define VAR(call, op, tensor)   ((call)->t[CM_T_##op##_##tensor])
#define READ(t, call, op, name) cm_translate_read(t, VAR(call, op, name))
#define ROWS(t, call, op, name) cm_translate_read_rows(t, VAR(call, op, name))

/* ---- formulas of several operators ---- */

static cm_onnx_value scalar(cm_translation *t, double number) { return cm_onnx_scalar(t->graph, (float)number); }

static cm_onnx_value plus(cm_translation *t, cm_onnx_value x, double number) {
    return CM_ONNX(t->graph, Add, x, scalar(t, number));
}

static cm_onnx_value times(cm_translation *t, cm_onnx_value x, double number) {
    return CM_ONNX(t->graph, Mul, x, scalar(t, number));
}

static cm_onnx_value concat(cm_translation *t, const cm_onnx_value *parts, int count) {
    const cm_onnx_value out = cm_onnx_add(t->graph, "Concat", parts, count);
    cm_onnx_set_int(t->graph, "axis", 1);
    return out;
}
#define CONCAT(t, ...)                                                                                                 \
    concat(t, (cm_onnx_value[]){__VA_ARGS__}, sizeof((cm_onnx_value[]){__VA_ARGS__}) / sizeof(cm_onnx_value))

static cm_onnx_value as_float(cm_translation *t, cm_onnx_value x) {
    enum { FLOAT32 = 1 }; /* TensorProto.DataType */
    const cm_onnx_value out = CM_ONNX(t->graph, Cast, x);
    cm_onnx_set_int(t->graph, "to", FLOAT32);
    return out;
}

cm_onnx_value cm_translate_scale(cm_translation *t, cm_onnx_value bytes, float unit) {
    return CM_ONNX(t->graph, Mul, as_float(t, bytes), cm_onnx_scalar(t->graph, unit));
}

cm_onnx_value cm_translate_one_hot(cm_translation *t, cm_onnx_value index, int n) {
    const int64_t depth = n, off_on[2] = {0, 1};
    const cm_onnx_value ints =
        CM_ONNX(t->graph, OneHot, index, cm_onnx_ints(t->graph, &depth, 1), cm_onnx_ints(t->graph, off_on, 2));
    cm_onnx_set_int(t->graph, "axis", -1);
    return as_float(t, ints);
}

static cm_onnx_value softmax(cm_translation *t, cm_onnx_value x) {
    const cm_onnx_value out = CM_ONNX(t->graph, Softmax, x);
    cm_onnx_set_int(t->graph, "axis", -1);
    return out;
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
static cm_onnx_value gelu(cm_translation *t, cm_onnx_value x) {
    const cm_onnx_value cube = CM_ONNX(t->graph, Mul, CM_ONNX(t->graph, Mul, x, x), x);
    const cm_onnx_value inner = times(t, CM_ONNX(t->graph, Add, x, times(t, cube, CM_GELU_CUBE)), CM_SQRT_2_PI);
    return CM_ONNX(t->graph, Mul, times(t, x, 0.5), plus(t, CM_ONNX(t->graph, Tanh, inner), 1.0));
}

static cm_onnx_value activate(cm_translation *t, cm_activation activation, cm_onnx_value x) {
    switch (activation) {
    case CM_ACT_RELU: return CM_ONNX(t->graph, Relu, x);
    case CM_ACT_GELU_TANH: return gelu(t, x);
    case CM_ACT_ELU: return CM_ONNX(t->graph, Elu, x);
    case CM_ACT_TANH: return CM_ONNX(t->graph, Tanh, x);
    case CM_ACT_SIGMOID: return CM_ONNX(t->graph, Sigmoid, x);
    case CM_ACT_SOFTPLUS: return CM_ONNX(t->graph, Softplus, x);
    case CM_ACT_NONE: break;
    }
    return x;
}

/* ---- layers ---- */

/* The action's encoding [B, E]. */
static cm_onnx_value encode(cm_translation *t, const cm_attr *attr, cm_onnx_value action) {
    const int64_t column[2] = {CM_ONNX_BATCH, 1};
    if (attr->encoding == CM_ENCODE_ONEHOT) return cm_translate_one_hot(t, action, attr->actions);
    const cm_onnx_value share = CM_ONNX(t->graph, Div, as_float(t, action), scalar(t, attr->actions));
    return cm_translate_reshape(t, share, column, 2);
}

static cm_onnx_value linear(cm_translation *t, cm_onnx_value x, cm_onnx_value weight, cm_onnx_value bias) {
    const cm_onnx_value in[3] = {x, weight, bias}, out = cm_onnx_add(t->graph, "Gemm", in, bias == CM_NO_VALUE ? 2 : 3);
    cm_onnx_set_int(t->graph, "transB", 1);
    return out;
}

static void write_dense(cm_translation *t, const cm_tape_call *call) {
    cm_onnx_value x = cm_translate_int8_input(t, call->attr, ROWS(t, call, dense, x));
    if (VAR(call, dense, action) != CM_NO_VAR) x = CONCAT(t, x, encode(t, call->attr, READ(t, call, dense, action)));
    const cm_onnx_value y = linear(t, x, READ(t, call, dense, weight), READ(t, call, dense, bias));
    cm_translate_write(t, VAR(call, dense, y), activate(t, call->attr->activation, y));
}

static void write_conv2d(cm_translation *t, const cm_tape_call *call) {
    const cm_onnx_value bias = READ(t, call, conv2d, bias);
    const int64_t k = cm_tape_shape(t->tape, VAR(call, conv2d, weight))->dim[1], s = call->attr->stride, p = k / 2;
    const cm_onnx_value x = cm_translate_int8_input(t, call->attr, READ(t, call, conv2d, x));
    const cm_onnx_value in[3] = {x, READ(t, call, conv2d, weight), bias};
    const cm_onnx_value y = cm_onnx_add(t->graph, "Conv", in, bias == CM_NO_VALUE ? 2 : 3);
    cm_onnx_set_ints(t->graph, "kernel_shape", (const int64_t[]){k, k}, 2);
    cm_onnx_set_ints(t->graph, "strides", (const int64_t[]){s, s}, 2);
    cm_onnx_set_ints(t->graph, "pads", (const int64_t[]){p, p, p, p}, 4);
    cm_translate_write(t, VAR(call, conv2d, y), activate(t, call->attr->activation, y));
}

static void write_activation(cm_translation *t, const cm_tape_call *call) {
    const cm_onnx_value x = READ(t, call, activation, x);
    cm_translate_write(t, VAR(call, activation, y), activate(t, call->attr->activation, x));
}

static void write_add(cm_translation *t, const cm_tape_call *call) {
    const cm_onnx_value sum = CM_ONNX(t->graph, Add, READ(t, call, add, a), READ(t, call, add, b));
    cm_translate_write(t, VAR(call, add, y), activate(t, call->attr->activation, sum));
}

static void write_embedding_add(cm_translation *t, const cm_tape_call *call) {
    const cm_onnx_value table = READ(t, call, embedding_add, table), action = READ(t, call, embedding_add, action);
    const cm_onnx_value row = CM_ONNX(t->graph, Gather, table, action);
    cm_translate_write(t, VAR(call, embedding_add, y), CM_ONNX(t->graph, Add, READ(t, call, embedding_add, x), row));
}

/* ---- normalisations ---- */

static cm_onnx_value normalise_rows(cm_translation *t, const cm_onnx_value *in, int inputs, float epsilon) {
    const cm_onnx_value y = cm_onnx_add(t->graph, "LayerNormalization", in, inputs);
    cm_onnx_set_int(t->graph, "axis", -1);
    cm_onnx_set_float(t->graph, "epsilon", epsilon);
    return y;
}

/* Each run of a row is normalised by itself; scale and shift have an entry for each of its numbers. */
static cm_onnx_value normalise_groups(cm_translation *t, const cm_tape_call *call, int groups, int n) {
    const int64_t apart[3] = {CM_ONNX_BATCH, groups, n}, together[2] = {CM_ONNX_BATCH, (int64_t)groups * n};
    const cm_onnx_value x = cm_translate_reshape(t, ROWS(t, call, layer_norm, x), apart, 3);
    const cm_onnx_value in[2] = {x, cm_onnx_filled(t->graph, n, 1.0f)};
    cm_onnx_value y = cm_translate_reshape(t, normalise_rows(t, in, 2, call->attr->epsilon), together, 2);
    y = CM_ONNX(t->graph, Mul, y, READ(t, call, layer_norm, scale));
    return CM_ONNX(t->graph, Add, y, READ(t, call, layer_norm, shift));
}

static void write_layer_norm(cm_translation *t, const cm_tape_call *call) {
    const int groups = call->attr->groups > 1 ? call->attr->groups : 1;
    const int n = cm_tensor_row_size(cm_tape_shape(t->tape, VAR(call, layer_norm, x))) / groups;
    cm_onnx_value y;
    if (groups > 1) {
        y = normalise_groups(t, call, groups, n);
    } else {
        const cm_onnx_value in[3] = {ROWS(t, call, layer_norm, x), READ(t, call, layer_norm, scale),
                                     READ(t, call, layer_norm, shift)};
        y = normalise_rows(t, in, 3, call->attr->epsilon);
    }
    cm_translate_write_rows(t, VAR(call, layer_norm, y), activate(t, call->attr->activation, y));
}

static void write_batch_norm_inference(cm_translation *t, const cm_tape_call *call) {
    const cm_onnx_value x = READ(t, call, batch_norm_inference, x), scale = READ(t, call, batch_norm_inference, scale);
    const cm_onnx_value shift = READ(t, call, batch_norm_inference, shift);
    const cm_onnx_value mean = READ(t, call, batch_norm_inference, mean);
    const cm_onnx_value variance = READ(t, call, batch_norm_inference, variance);
    const cm_onnx_value residual = READ(t, call, batch_norm_inference, residual);
    cm_onnx_value y = CM_ONNX(t->graph, BatchNormalization, x, scale, shift, mean, variance);
    cm_onnx_set_float(t->graph, "epsilon", call->attr->epsilon);
    if (residual != CM_NO_VALUE) y = CM_ONNX(t->graph, Add, y, residual);
    cm_translate_write(t, VAR(call, batch_norm_inference, y), activate(t, call->attr->activation, y));
}

static cm_onnx_value reduce(cm_translation *t, const char *type, cm_onnx_value x, const int64_t *axes, int count,
                            bool keep) {
    const cm_onnx_value y = cm_onnx_add(t->graph, type, &x, 1);
    cm_onnx_set_ints(t->graph, "axes", axes, count);
    cm_onnx_set_int(t->graph, "keepdims", keep);
    return y;
}

static void write_minmax(cm_translation *t, const cm_tape_call *call) {
    static const int64_t all[3] = {1, 2, 3}, cells[2] = {2, 3};
    const int count = cm_tape_shape(t->tape, VAR(call, minmax, x))->ndim - 1;
    const bool per_channel = call->attr->per_channel;
    const cm_onnx_value x = READ(t, call, minmax, x);
    const cm_onnx_value low = reduce(t, "ReduceMin", x, per_channel ? cells : all, per_channel ? 2 : count, true);
    const cm_onnx_value high = reduce(t, "ReduceMax", x, per_channel ? cells : all, per_channel ? 2 : count, true);
    const cm_onnx_value range = CM_ONNX(t->graph, Sub, high, low);
    const cm_onnx_value is_small = CM_ONNX(t->graph, Less, range, scalar(t, CM_RANGE_GUARD));
    const cm_onnx_value guarded = CM_ONNX(t->graph, Where, is_small, plus(t, range, CM_RANGE_GUARD), range);
    const cm_onnx_value above = CM_ONNX(t->graph, Sub, x, low);
    cm_translate_write(t, VAR(call, minmax, y), CM_ONNX(t->graph, Div, above, guarded));
}

/* ---- planes ---- */

static void write_avg_pool(cm_translation *t, const cm_tape_call *call) {
    const cm_onnx_value y = CM_ONNX(t->graph, AveragePool, READ(t, call, avg_pool, x));
    cm_onnx_set_ints(t->graph, "kernel_shape", (const int64_t[]){3, 3}, 2);
    cm_onnx_set_ints(t->graph, "strides", (const int64_t[]){2, 2}, 2);
    cm_onnx_set_ints(t->graph, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    cm_onnx_set_int(t->graph, "count_include_pad", 1);
    cm_translate_write(t, VAR(call, avg_pool, y), y);
}

static void write_global_mean(cm_translation *t, const cm_tape_call *call) {
    static const int64_t cells[2] = {2, 3};
    const cm_onnx_value y = reduce(t, "ReduceMean", READ(t, call, global_mean, x), cells, 2, false);
    cm_translate_write(t, VAR(call, global_mean, y), y);
}

/* The encoding in planes [B, E, H, W]. */
static cm_onnx_value encode_planes(cm_translation *t, const cm_attr *attr, cm_onnx_value action,
                                   const cm_tensor *shape) {
    const int height = shape->dim[1], width = shape->dim[2];
    const int64_t board[4] = {CM_ONNX_BATCH, 1, height, width}, all[4] = {1, 1, height, width};
    if (attr->encoding == CM_ENCODE_BOARD)
        return cm_translate_reshape(t, cm_translate_one_hot(t, action, height * width), board, 4);
    const int columns = attr->encoding == CM_ENCODE_ONEHOT ? attr->actions : 1;
    const int64_t cell[4] = {CM_ONNX_BATCH, columns, 1, 1};
    const cm_onnx_value one = cm_translate_reshape(t, encode(t, attr, action), cell, 4);
    return CM_ONNX(t->graph, Expand, one, cm_onnx_ints(t->graph, all, 4));
}

static void write_action_encoding(cm_translation *t, const cm_tape_call *call) {
    const cm_tensor *shape = cm_tape_shape(t->tape, VAR(call, action_encoding, x));
    const cm_onnx_value x = READ(t, call, action_encoding, x), action = READ(t, call, action_encoding, action);
    const cm_onnx_value code =
        shape->ndim == 4 ? encode_planes(t, call->attr, action, shape) : encode(t, call->attr, action);
    cm_translate_write(t, VAR(call, action_encoding, y), CONCAT(t, x, code));
}

/* ---- actions of several numbers ---- */

/* Each number of the action [B, D]: action / n^(D-1-d) mod n. */
static cm_onnx_value numbers_of(cm_translation *t, cm_onnx_value action, cm_policy_form form) {
    const int64_t column[2] = {CM_ONNX_BATCH, 1}, n = form.values;
    int64_t weight[CM_TAPE_PARTS];
    for (int64_t d = form.numbers - 1, w = 1; d >= 0; d--, w *= n) weight[d] = w;
    const cm_onnx_value rows = cm_translate_reshape(t, action, column, 2);
    const cm_onnx_value shifted = CM_ONNX(t->graph, Div, rows, cm_onnx_ints(t->graph, weight, form.numbers));
    cm_onnx_set_python(t->graph, "torch.div({0}, torch.tensor({1}, device={0}.device), rounding_mode=\"floor\")");
    return CM_ONNX(t->graph, Mod, shifted, cm_onnx_ints(t->graph, &n, 1));
}

/* A column of cm_policy_scaled, [B, 1]. */
static cm_onnx_value scaled_column(cm_translation *t, cm_onnx_value action, cm_policy_form form, int column) {
    const int d = cm_policy_number_of_column(form, column), n = cm_policy_values(form, d);
    const int64_t rows[2] = {CM_ONNX_BATCH, 1}, values = n;
    int64_t weight = 1;
    for (int i = form.numbers - 1; i > d; i--) weight *= cm_policy_values(form, i);
    cm_onnx_value x =
        CM_ONNX(t->graph, Div, cm_translate_reshape(t, action, rows, 2), cm_onnx_ints(t->graph, &weight, 1));
    cm_onnx_set_python(t->graph, "torch.div({0}, {1}, rounding_mode=\"floor\")");
    x = as_float(t, CM_ONNX(t->graph, Mod, x, cm_onnx_ints(t->graph, &values, 1)));
    if (!cm_policy_is_angle(form, d)) return times(t, plus(t, times(t, x, 2.0), 1.0 - n), 1.0 / (n > 1 ? n - 1 : 1));
    const double right = 1.57079632679489661923, back = column < form.numbers ? 2.0 : 3.0; /* quarters of a turn */
    return CM_ONNX(t->graph, Cos, times(t, plus(t, times(t, x, 4.0), -back * n), right / n));
}

static cm_onnx_value scaled_columns(cm_translation *t, cm_onnx_value action, cm_policy_form form) {
    cm_onnx_value y = scaled_column(t, action, form, 0);
    for (int i = 1; i < cm_policy_scaled_size(form); i++) y = CONCAT(t, y, scaled_column(t, action, form, i));
    return y;
}

static void write_action_numbers(cm_translation *t, const cm_tape_call *call) {
    const cm_policy_form form = call->attr->form;
    if (form.angles) {
        const cm_onnx_value action = READ(t, call, action_numbers, action);
        cm_translate_write(t, VAR(call, action_numbers, y), scaled_columns(t, action, form));
        return;
    }
    const int64_t row[2] = {CM_ONNX_BATCH, cm_policy_size(form)};
    const cm_onnx_value number = numbers_of(t, READ(t, call, action_numbers, action), form);
    cm_onnx_value y;
    if (call->attr->encoding == CM_ENCODE_SCALED) {
        const double last = form.values > 1 ? form.values - 1 : 1;
        y = times(t, plus(t, times(t, as_float(t, number), 2.0), 1.0 - form.values), 1.0 / last);
    } else {
        y = cm_translate_reshape(t, cm_translate_one_hot(t, number, form.values), row, 2);
    }
    cm_translate_write(t, VAR(call, action_numbers, y), y);
}

/* ---- heads ---- */

static void write_softmax(cm_translation *t, const cm_tape_call *call) {
    if (VAR(call, softmax, legal) != CM_NO_VAR)
        cm_onnx_graph_fail(t->graph, "%s: a softmax among legal actions has no form in ONNX", t->graph->name);
    cm_translate_write(t, VAR(call, softmax, y), softmax(t, READ(t, call, softmax, x)));
}

/* The inverse of h as support.h has it, which does not cancel. */
static cm_onnx_value inverse_transform(cm_translation *t, cm_onnx_value y) {
    const cm_onnx_value a = plus(t, CM_ONNX(t->graph, Abs, y), 1.0 + CM_TRANSFORM_EPSILON);
    const cm_onnx_value root = CM_ONNX(t->graph, Sqrt, plus(t, times(t, a, 4.0 * CM_TRANSFORM_EPSILON), 1.0));
    const cm_onnx_value q = CM_ONNX(t->graph, Div, times(t, a, 2.0), plus(t, root, 1.0));
    const cm_onnx_value size = CM_ONNX(t->graph, Mul, plus(t, q, -1.0), plus(t, q, 1.0));
    return CM_ONNX(t->graph, Mul, CM_ONNX(t->graph, Sign, y), size);
}

static cm_onnx_value atoms_of(cm_translation *t, const cm_support *support) {
    char name[CM_ONNX_NAME];
    float *atom = NULL;
    snprintf(name, sizeof name, "constants.atoms_%g_%g_%d", (double)support->min, (double)support->max, support->size);
    for (char *c = name + sizeof "constants." - 1; *c; c++) *c = *c == '.' ? '_' : *c;
    if (cm_alloc(&atom, (size_t)support->size, sizeof *atom, "the atoms of a support") != CM_OK) {
        cm_onnx_graph_fail(t->graph, "%s", cm_error_message());
        return CM_NO_VALUE;
    }
    for (int i = 0; i < support->size; i++) atom[i] = (float)((double)support->min + cm_support_step(support) * i);
    const cm_onnx_port port = {name, CM_ONNX_FLOAT, 1, {support->size}};
    const cm_onnx_value atoms = cm_onnx_array(t->graph, &port, atom, false);
    free(atom);
    return atoms;
}

/* Columns in reverse. */
static cm_onnx_value flip(cm_translation *t, cm_onnx_value rows) {
    const int64_t from = -1, to = INT64_MIN, axis = 1, step = -1;
    const cm_onnx_value out =
        CM_ONNX(t->graph, Slice, rows, cm_onnx_ints(t->graph, &from, 1), cm_onnx_ints(t->graph, &to, 1),
                cm_onnx_ints(t->graph, &axis, 1), cm_onnx_ints(t->graph, &step, 1));
    cm_onnx_set_python(t->graph, "torch.flip({0}, (1,))");
    return out;
}

/* The sum of p_i a_i. Atoms of both signs cancel: each is added to its opposite first, so that little is lost. */
static cm_onnx_value mean_of(cm_translation *t, cm_onnx_value logits, const cm_support *support) {
    const int64_t last = -1;
    const cm_onnx_value part = CM_ONNX(t->graph, Mul, softmax(t, logits), atoms_of(t, support));
    const cm_onnx_value pairs = CM_ONNX(t->graph, Add, part, flip(t, part));
    const cm_onnx_value twice = CM_ONNX(t->graph, ReduceSum, pairs, cm_onnx_ints(t->graph, &last, 1));
    cm_onnx_set_int(t->graph, "keepdims", 0);
    return times(t, twice, 0.5);
}

static void write_support_decode(cm_translation *t, const cm_tape_call *call) {
    const cm_support *support = &call->attr->support;
    const int64_t flat = CM_ONNX_BATCH;
    cm_onnx_value value = ROWS(t, call, support_decode, logits);
    if (support->size == 1) {
        value = cm_translate_reshape(t, value, &flat, 1);
    } else {
        value = mean_of(t, value, support);
        if (support->transform) value = inverse_transform(t, value);
    }
    cm_translate_write(t, VAR(call, support_decode, value), value);
}

/* ---- value prefixes ---- */

/* One step: of several a graph would need a loop. */
static void write_lstm(cm_translation *t, const cm_tape_call *call) {
    const cm_tensor *y = cm_tape_shape(t->tape, VAR(call, lstm, y));
    const int H = y->dim[2];
    if (y->dim[0] != 1) cm_onnx_graph_fail(t->graph, "%s: an LSTM of %d steps has no row", t->graph->name, y->dim[0]);
    const cm_onnx_value from_x =
        linear(t, ROWS(t, call, lstm, x), READ(t, call, lstm, weight_ih), READ(t, call, lstm, bias_ih));
    const cm_onnx_value from_h =
        linear(t, READ(t, call, lstm, h0), READ(t, call, lstm, weight_hh), READ(t, call, lstm, bias_hh));
    const cm_onnx_value sums = CM_ONNX(t->graph, Add, from_x, from_h);
    const cm_onnx_value i = CM_ONNX(t->graph, Sigmoid, cm_translate_columns(t, sums, 0, H));
    const cm_onnx_value f = CM_ONNX(t->graph, Sigmoid, cm_translate_columns(t, sums, H, H));
    const cm_onnx_value g = CM_ONNX(t->graph, Tanh, cm_translate_columns(t, sums, 2 * H, H));
    const cm_onnx_value o = CM_ONNX(t->graph, Sigmoid, cm_translate_columns(t, sums, 3 * H, H));
    const cm_onnx_value kept = CM_ONNX(t->graph, Mul, f, READ(t, call, lstm, c0));
    const cm_onnx_value c = CM_ONNX(t->graph, Add, kept, CM_ONNX(t->graph, Mul, i, g));
    const cm_onnx_value squashed = CM_ONNX(t->graph, Tanh, c);
    cm_translate_write_rows(t, VAR(call, lstm, y), CM_ONNX(t->graph, Mul, o, squashed));
    cm_translate_write_rows(t, VAR(call, lstm, saved), CONCAT(t, i, f, g, o, c, squashed));
}

static void write_prefix_step(cm_translation *t, const cm_tape_call *call) {
    const int64_t flat = CM_ONNX_BATCH, column[2] = {CM_ONNX_BATCH, 1};
    const cm_onnx_value before = READ(t, call, prefix_step, before), prefix = READ(t, call, prefix_step, prefix);
    const cm_onnx_value last = cm_translate_reshape(t, cm_translate_columns(t, before, 0, 1), &flat, 1);
    const cm_onnx_value steps = plus(t, cm_translate_columns(t, before, 1, 1), 1.0);
    const cm_onnx_value memory = CONCAT(t, READ(t, call, prefix_step, h), READ(t, call, prefix_step, c),
                                        cm_translate_reshape(t, prefix, column, 2), steps);
    const cm_onnx_value goes_on = CM_ONNX(t->graph, Less, steps, scalar(t, call->attr->horizon));
    cm_translate_write(t, VAR(call, prefix_step, reward), CM_ONNX(t->graph, Sub, prefix, last));
    cm_translate_write(t, VAR(call, prefix_step, memory), CM_ONNX(t->graph, Where, goes_on, memory, scalar(t, 0.0)));
}

/* ---- the rows ---- */

typedef void (*operation_row)(cm_translation *t, const cm_tape_call *call);

static const operation_row rows[CM_OP_COUNT] = {
#define ROW(name) [CM_OP_##name] = write_##name
    ROW(dense),         ROW(conv2d),
    ROW(activation),    ROW(add),
    ROW(embedding_add), ROW(layer_norm),
    ROW(minmax),        ROW(avg_pool),
    ROW(softmax),       ROW(batch_norm_inference),
    ROW(global_mean),   ROW(action_encoding),
    ROW(lstm),          ROW(support_decode),
    ROW(prefix_step),   ROW(action_numbers),
#undef ROW
};

void cm_translate_calls(cm_translation *t) {
    for (int i = 0; i < cm_tape_calls(t->tape) && t->graph->status == CM_OK; i++) {
        const cm_tape_call call = cm_tape_call_at(t->tape, i);
        const operation_row row = rows[call.op];
        t->graph->part = cm_op_name(call.op);
        if (row && call.attr->accumulate == 0) {
            row(t, &call);
        } else {
            cm_onnx_graph_fail(t->graph, "%s: operation %s of this network cannot be written in ONNX yet",
                               t->graph->name, cm_op_name(call.op));
        }
    }
}
