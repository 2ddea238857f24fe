/* Recording of forward calls. */
#include <string.h>

#include "backend/formulas.h"
#include "backend/sampling.h"
#include "backend/tape/tape_internal.h"

#define EPSILON 1e-5f /* of every normalisation (networks 0.1) */

static const cm_tensor *shape_of(const cm_tape *tape, cm_var x) { return &tape->var[x].shape; }

/* A work variable of the given shape; with a gradient if the tape trains. */
static cm_var work(cm_tape *tape, int ndim, const int *dim) {
    return cm_tape_new(tape, CM_MEM_WORK, CM_F32, ndim, dim, true);
}

static cm_var work_1d(cm_tape *tape, int n) { return cm_tape_new(tape, CM_MEM_WORK, CM_F32, 1, &n, false); }

static cm_var saved_2d(cm_tape *tape, int rows, int columns) {
    int dim[2] = {rows, columns};
    return cm_tape_new(tape, CM_MEM_WORK, CM_F32, 2, dim, false);
}

static bool bad(const cm_tape *tape, cm_var x) { return tape->error != CM_OK || x == CM_NO_VAR; }

static cm_var own_gradient(cm_tape *tape, cm_var x, float scale) {
    if (bad(tape, x) || !cm_tape_wants(tape, x)) return x;
    cm_tape_var var = tape->var[x];
    cm_var y = cm_tape_stop_gradient(tape, x);
    cm_var grad = cm_tape_new(tape, CM_MEM_WORK, CM_F32, var.shape.ndim, var.shape.dim, false);
    if (y == CM_NO_VAR || grad == CM_NO_VAR) return CM_NO_VAR;
    tape->var[y].grad = grad;
    /* a call that only its backward exists for: y and x are the same memory */
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_scale_add);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_scale_add_y] = y;
    node->t[CM_T_scale_add_x] = x;
    node->attr.scale = scale;
    return y;
}

cm_var cm_tape_scale_gradient(cm_tape *tape, cm_var x, float scale) {
    return scale == 1.0f ? x : own_gradient(tape, x, scale);
}

cm_var cm_tape_own_gradient(cm_tape *tape, cm_var x) { return own_gradient(tape, x, 1.0f); }

cm_var cm_tape_loss_scaled(cm_tape *tape, cm_var x) {
    const int numbers = CM_SCALING_NUMBERS;
    if (bad(tape, x)) return CM_NO_VAR;
    const cm_tensor shape = *shape_of(tape, x);
    cm_var scaling = cm_tape_new(tape, CM_MEM_SCALING, CM_F32, 1, &numbers, false);
    cm_var y = cm_tape_new(tape, CM_MEM_WORK, CM_F32, shape.ndim, shape.dim, false);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_scale_add);
    if (!node || scaling == CM_NO_VAR || y == CM_NO_VAR) return CM_NO_VAR;
    node->t[CM_T_scale_add_y] = y;
    node->t[CM_T_scale_add_x] = x;
    node->t[CM_T_scale_add_times] = scaling;
    node->attr.scale = 1.0f;
    return y;
}

cm_var cm_tape_dense(cm_tape *tape, cm_var x, cm_var weight, cm_var bias, const cm_action_input *action,
                     cm_activation activation) {
    if (bad(tape, x) || bad(tape, weight)) return CM_NO_VAR;
    int dim[2] = {shape_of(tape, x)->dim[0], shape_of(tape, weight)->dim[0]};
    cm_var y = work(tape, 2, dim);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_dense);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_dense_y] = y;
    node->t[CM_T_dense_x] = x;
    node->t[CM_T_dense_weight] = weight;
    node->t[CM_T_dense_bias] = bias;
    if (action) {
        node->t[CM_T_dense_action] = action->action;
        node->attr.encoding = action->encoding;
        node->attr.actions = action->actions;
    }
    node->attr.activation = activation;
    node->attr.compute = tape->compute;
    return y;
}

cm_var cm_tape_conv2d(cm_tape *tape, cm_var x, cm_var weight, cm_var bias, int stride, cm_activation activation) {
    if (bad(tape, x) || bad(tape, weight)) return CM_NO_VAR;
    const cm_tensor *in = shape_of(tape, x), *w = shape_of(tape, weight);
    int k = w->dim[1], p = k / 2;
    int dim[4] = {in->dim[0], (in->dim[1] + 2 * p - k) / stride + 1, (in->dim[2] + 2 * p - k) / stride + 1, w->dim[0]};
    cm_var y = work(tape, 4, dim);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_conv2d);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_conv2d_y] = y;
    node->t[CM_T_conv2d_x] = x;
    node->t[CM_T_conv2d_weight] = weight;
    node->t[CM_T_conv2d_bias] = bias;
    node->attr.stride = stride;
    node->attr.activation = activation;
    node->attr.compute = tape->compute;
    return y;
}

cm_var cm_tape_activation(cm_tape *tape, cm_var x, cm_activation activation) {
    if (bad(tape, x) || activation == CM_ACT_NONE) return x;
    cm_var y = cm_tape_new_like(tape, x);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_activation);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_activation_y] = y;
    node->t[CM_T_activation_x] = x;
    node->attr.activation = activation;
    return y;
}

cm_var cm_tape_add(cm_tape *tape, cm_var a, cm_var b, cm_activation activation) {
    if (bad(tape, a) || bad(tape, b)) return CM_NO_VAR;
    cm_var y = cm_tape_new_like(tape, a);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_add);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_add_y] = y;
    node->t[CM_T_add_a] = a;
    node->t[CM_T_add_b] = b;
    node->attr.activation = activation;
    return y;
}

cm_var cm_tape_layer_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation, int groups) {
    if (bad(tape, x) || bad(tape, norm->scale)) return CM_NO_VAR;
    cm_var y = cm_tape_new_like(tape, x);
    cm_var saved = tape->training ? saved_2d(tape, shape_of(tape, x)->dim[0], 2 * groups) : CM_NO_VAR;
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_layer_norm);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_layer_norm_y] = y;
    node->t[CM_T_layer_norm_saved] = saved;
    node->t[CM_T_layer_norm_x] = x;
    node->t[CM_T_layer_norm_scale] = norm->scale;
    node->t[CM_T_layer_norm_shift] = norm->shift;
    node->attr.activation = activation;
    node->attr.groups = groups;
    node->attr.epsilon = EPSILON;
    return y;
}

/* One more entry in the list of batch-norm calls; returns the variable of its statistics. */
static cm_var record_norm_call(cm_tape *tape, const cm_norm_vars *norm, int channels) {
    if (!cm_tape_grow(tape, &tape->norm, tape->norms, &tape->norm_capacity, sizeof *tape->norm)) return CM_NO_VAR;
    int dim[2] = {2, channels};
    cm_var stats = cm_tape_new(tape, CM_MEM_STATS, CM_F32, 2, dim, false);
    if (stats == CM_NO_VAR) return CM_NO_VAR;
    tape->norm[tape->norms++] = (cm_norm_call){.mean = tape->var[norm->mean].offset,
                                               .variance = tape->var[norm->variance].offset,
                                               .stats = tape->var[stats].offset,
                                               .channels = channels};
    return stats;
}

cm_var cm_tape_batch_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation) {
    if (!tape->training) return cm_tape_fixed_norm(tape, x, norm, activation);
    if (bad(tape, x) || bad(tape, norm->scale) || bad(tape, norm->mean)) return CM_NO_VAR;
    int channels = cm_tensor_last(shape_of(tape, x));
    cm_var y = cm_tape_new_like(tape, x), saved = saved_2d(tape, 2, channels);
    cm_var stats = record_norm_call(tape, norm, channels);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_batch_norm);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_batch_norm_y] = y;
    node->t[CM_T_batch_norm_saved] = saved;
    node->t[CM_T_batch_norm_stats] = stats;
    node->t[CM_T_batch_norm_x] = x;
    node->t[CM_T_batch_norm_scale] = norm->scale;
    node->t[CM_T_batch_norm_shift] = norm->shift;
    node->t[CM_T_batch_norm_residual] = norm->residual;
    node->attr.activation = activation;
    node->attr.epsilon = EPSILON;
    return y;
}

cm_var cm_tape_fixed_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation) {
    if (bad(tape, x) || bad(tape, norm->scale) || bad(tape, norm->mean)) return CM_NO_VAR;
    cm_var y = cm_tape_new_like(tape, x);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_batch_norm_inference);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_batch_norm_inference_y] = y;
    node->t[CM_T_batch_norm_inference_x] = x;
    node->t[CM_T_batch_norm_inference_scale] = norm->scale;
    node->t[CM_T_batch_norm_inference_shift] = norm->shift;
    node->t[CM_T_batch_norm_inference_mean] = norm->mean;
    node->t[CM_T_batch_norm_inference_variance] = norm->variance;
    node->t[CM_T_batch_norm_inference_residual] = norm->residual;
    node->attr.activation = activation;
    node->attr.epsilon = EPSILON;
    return y;
}

cm_var cm_tape_minmax(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    cm_var y = cm_tape_new_like(tape, x);
    cm_var saved = tape->training ? saved_2d(tape, shape_of(tape, x)->dim[0], 3) : CM_NO_VAR;
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_minmax);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_minmax_y] = y;
    node->t[CM_T_minmax_saved] = saved;
    node->t[CM_T_minmax_x] = x;
    return y;
}

/* y = op(x) with tensors y, x first and second. */
static cm_var unary(cm_tape *tape, cm_op op, cm_var x, int ndim, const int *dim) {
    cm_var y = work(tape, ndim, dim);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, op);
    if (!node) return CM_NO_VAR;
    node->t[0] = y;
    node->t[1] = x;
    return y;
}

cm_var cm_tape_avg_pool(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    const cm_tensor *s = shape_of(tape, x);
    int dim[4] = {s->dim[0], (s->dim[1] + 1) / 2, (s->dim[2] + 1) / 2, s->dim[3]};
    return unary(tape, CM_OP_avg_pool, x, 4, dim);
}

cm_var cm_tape_global_mean(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    int dim[2] = {shape_of(tape, x)->dim[0], shape_of(tape, x)->dim[3]};
    return unary(tape, CM_OP_global_mean, x, 2, dim);
}

cm_var cm_tape_one_hot(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    const cm_tensor s = *shape_of(tape, x);
    return unary(tape, CM_OP_one_hot, x, s.ndim, s.dim);
}

cm_var cm_tape_action_encoding(cm_tape *tape, cm_var x, const cm_action_input *action) {
    if (bad(tape, x) || bad(tape, action->action)) return CM_NO_VAR;
    cm_tensor s = *shape_of(tape, x);
    s.dim[s.ndim - 1] += action->encoding == CM_ENCODE_ONEHOT ? action->actions : 1;
    cm_var y = unary(tape, CM_OP_action_encoding, x, s.ndim, s.dim);
    if (y == CM_NO_VAR) return CM_NO_VAR;
    cm_tape_node *node = &tape->forward.node[tape->forward.count - 1];
    node->t[CM_T_action_encoding_action] = action->action;
    node->attr.encoding = action->encoding;
    node->attr.actions = action->actions;
    return y;
}

cm_var cm_tape_action_numbers(cm_tape *tape, cm_var action, cm_policy_form form, cm_encoding encoding) {
    if (bad(tape, action)) return CM_NO_VAR;
    const int columns = encoding == CM_ENCODE_SCALED ? form.numbers : cm_policy_size(form);
    cm_var y = saved_2d(tape, shape_of(tape, action)->dim[0], columns);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_action_numbers);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_action_numbers_y] = y;
    node->t[CM_T_action_numbers_action] = action;
    node->attr.encoding = encoding;
    node->attr.actions = cm_policy_actions(form);
    node->attr.numbers = form.numbers;
    return y;
}

cm_var cm_tape_embedding_add(cm_tape *tape, cm_var x, cm_var table, cm_var action) {
    if (bad(tape, x) || bad(tape, table) || bad(tape, action)) return CM_NO_VAR;
    cm_tensor s = *shape_of(tape, x);
    cm_var y = unary(tape, CM_OP_embedding_add, x, s.ndim, s.dim);
    if (y == CM_NO_VAR) return CM_NO_VAR;
    cm_tape_node *node = &tape->forward.node[tape->forward.count - 1];
    node->t[CM_T_embedding_add_table] = table;
    node->t[CM_T_embedding_add_action] = action;
    return y;
}

cm_var cm_tape_gather_rows(cm_tape *tape, cm_var pool, cm_var rows) {
    if (bad(tape, pool) || bad(tape, rows)) return CM_NO_VAR;
    int dim[2] = {shape_of(tape, rows)->dim[0], shape_of(tape, pool)->dim[1]};
    cm_var y = unary(tape, CM_OP_gather_rows, pool, 2, dim);
    if (y != CM_NO_VAR) tape->forward.node[tape->forward.count - 1].t[CM_T_gather_rows_rows] = rows;
    return y;
}

void cm_tape_scatter_rows(cm_tape *tape, cm_var pool, cm_var x, cm_var rows) {
    if (bad(tape, pool) || bad(tape, x) || bad(tape, rows)) return;
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_scatter_rows);
    if (!node) return;
    node->t[CM_T_scatter_rows_y] = pool;
    node->t[CM_T_scatter_rows_x] = x;
    node->t[CM_T_scatter_rows_rows] = rows;
}

cm_var cm_tape_bootstrap(cm_tape *tape, cm_var partial, cm_var coefficient, cm_var value, cm_var rows) {
    if (bad(tape, partial) || bad(tape, coefficient) || bad(tape, value) || bad(tape, rows)) return CM_NO_VAR;
    cm_var target = work_1d(tape, shape_of(tape, partial)->dim[0]);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_bootstrap);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_bootstrap_target] = target;
    node->t[CM_T_bootstrap_partial] = partial;
    node->t[CM_T_bootstrap_coefficient] = coefficient;
    node->t[CM_T_bootstrap_value] = value;
    node->t[CM_T_bootstrap_rows] = rows;
    return target;
}

cm_var cm_tape_support_decode(cm_tape *tape, cm_var logits, const cm_support *support) {
    if (bad(tape, logits)) return CM_NO_VAR;
    cm_var value = work_1d(tape, shape_of(tape, logits)->dim[0]);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_support_decode);
    if (!node) return CM_NO_VAR;
    node->t[CM_T_support_decode_value] = value;
    node->t[CM_T_support_decode_logits] = logits;
    node->attr.support = *support;
    return value;
}

/* ---- value prefixes ---- */

/* Rows [T B, n] as what an LSTM reads and writes, [T, B, n]. */
static cm_var as_steps(cm_tape *tape, cm_var x, int steps) {
    if (bad(tape, x)) return CM_NO_VAR;
    const cm_tensor *rows = shape_of(tape, x);
    const int dim[3] = {steps, rows->dim[0] / steps, rows->dim[1]};
    const cm_tensor shape = cm_tensor_make(NULL, CM_F32, 3, dim);
    return cm_tape_view(tape, x, &shape, 0, false);
}

cm_lstm_state cm_tape_lstm(cm_tape *tape, cm_var x, int steps, int horizon, const cm_lstm_vars *weights,
                           cm_lstm_state start) {
    cm_lstm_state out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, x) || bad(tape, weights->weight_hh) || bad(tape, start.h) || bad(tape, start.c)) return out;
    const int H = shape_of(tape, weights->weight_hh)->dim[1], dim[2] = {shape_of(tape, x)->dim[0], H};
    cm_var y = work(tape, 2, dim), saved = saved_2d(tape, dim[0], CM_LSTM_SAVED * H);
    cm_var x_steps = as_steps(tape, x, steps), y_steps = as_steps(tape, y, steps);
    cm_var saved_steps = as_steps(tape, saved, steps);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_lstm);
    if (!node) return out;
    node->t[CM_T_lstm_y] = y_steps;
    node->t[CM_T_lstm_saved] = saved_steps;
    node->t[CM_T_lstm_x] = x_steps;
    node->t[CM_T_lstm_h0] = start.h;
    node->t[CM_T_lstm_c0] = start.c;
    node->t[CM_T_lstm_weight_ih] = weights->weight_ih;
    node->t[CM_T_lstm_weight_hh] = weights->weight_hh;
    node->t[CM_T_lstm_bias_ih] = weights->bias_ih;
    node->t[CM_T_lstm_bias_hh] = weights->bias_hh;
    node->attr.horizon = horizon;
    node->attr.compute = tape->compute;
    return (cm_lstm_state){y, cm_tape_columns(tape, saved, CM_LSTM_GATES * H, H)};
}

cm_prefix_vars cm_tape_prefix_step(cm_tape *tape, cm_var prefix, cm_lstm_state state, cm_var before, int horizon) {
    cm_prefix_vars out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, prefix) || bad(tape, state.h) || bad(tape, state.c) || bad(tape, before)) return out;
    const int rows = shape_of(tape, state.h)->dim[0], H = shape_of(tape, state.h)->dim[1];
    out = (cm_prefix_vars){work_1d(tape, rows), saved_2d(tape, rows, 2 * H + 2)};
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_prefix_step);
    if (!node) return out;
    node->t[CM_T_prefix_step_reward] = out.reward;
    node->t[CM_T_prefix_step_memory] = out.memory;
    node->t[CM_T_prefix_step_prefix] = prefix;
    node->t[CM_T_prefix_step_h] = state.h;
    node->t[CM_T_prefix_step_c] = state.c;
    node->t[CM_T_prefix_step_before] = before;
    node->attr.horizon = horizon;
    return out;
}

/* ---- actions drawn for a search ---- */

/* [B, P], of the softmax of each number. */
static cm_var probabilities(cm_tape *tape, cm_var logits, const cm_sample_rule *rule) {
    const int rows = shape_of(tape, logits)->dim[0], dim[2] = {rows * rule->form.numbers, rule->form.values};
    cm_var p = unary(tape, CM_OP_softmax, cm_tape_each_number(tape, logits, rule->form), 2, dim);
    if (p == CM_NO_VAR) return CM_NO_VAR;
    tape->forward.node[tape->forward.count - 1].t[CM_T_softmax_legal] =
        cm_tape_each_number(tape, rule->legal, rule->form);
    return rule->form.numbers == 1 ? p : cm_tape_reshape_rows(tape, p, rows);
}

cm_sample_vars cm_tape_sample_actions(cm_tape *tape, cm_var logits, cm_var seed, const cm_sample_rule *rule) {
    cm_sample_vars out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, logits) || bad(tape, seed)) return out;
    const int rows = shape_of(tape, logits)->dim[0], draws = rule->draws;
    cm_var p = probabilities(tape, logits, rule);
    out = (cm_sample_vars){saved_2d(tape, rows, draws + shape_of(tape, seed)->dim[1]), saved_2d(tape, rows, draws)};
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_sample_actions);
    if (!node) return out;
    node->t[CM_T_sample_actions_memory] = out.memory;
    node->t[CM_T_sample_actions_logits] = out.logits;
    node->t[CM_T_sample_actions_p] = p;
    node->t[CM_T_sample_actions_seed] = seed;
    node->attr.numbers = rule->form.numbers;
    return out;
}

cm_sampled_vars cm_tape_sampled_action(cm_tape *tape, cm_var memory, cm_var choice) {
    cm_sampled_vars out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, memory) || bad(tape, choice)) return out;
    const int rows = shape_of(tape, choice)->dim[0];
    out.action = cm_tape_new(tape, CM_MEM_WORK, CM_I32, 1, &rows, false);
    out.seed = saved_2d(tape, rows, CM_SAMPLING_SEED);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_sampled_action);
    if (!node) return out;
    node->t[CM_T_sampled_action_action] = out.action;
    node->t[CM_T_sampled_action_seed] = out.seed;
    node->t[CM_T_sampled_action_memory] = memory;
    node->t[CM_T_sampled_action_choice] = choice;
    return out;
}

/* ---- losses ---- */

/* The gradient of a loss's logits is written by the forward call itself. */
static cm_var claim_gradient(cm_tape *tape, cm_var logits) {
    if (!cm_tape_wants(tape, logits)) return CM_NO_VAR;
    cm_tape_var *v = &tape->var[cm_tape_root(tape, logits)];
    if (v->written)
        cm_tape_error(tape, "two losses read one variable of %zu elements: give the second cm_tape_own_gradient of it",
                      cm_tensor_count(&v->shape));
    v->written = true;
    return tape->var[logits].grad;
}

cm_loss_vars cm_tape_value_loss(cm_tape *tape, cm_var output, cm_var target, cm_var coefficient,
                                const cm_support *support) {
    cm_loss_vars vars = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, output) || bad(tape, target) || bad(tape, coefficient)) return vars;
    int rows = shape_of(tape, output)->dim[0];
    vars.loss = work_1d(tape, rows);
    if (support->size > 1) vars.decoded = work_1d(tape, rows);
    cm_var gradient = claim_gradient(tape, output);
    cm_tape_node *node =
        cm_tape_append(tape, &tape->forward, support->size > 1 ? CM_OP_categorical_loss : CM_OP_scalar_loss);
    if (!node) return vars;
    if (support->size > 1) {
        node->t[CM_T_categorical_loss_loss] = vars.loss;
        node->t[CM_T_categorical_loss_dlogits] = gradient;
        node->t[CM_T_categorical_loss_decoded] = vars.decoded;
        node->t[CM_T_categorical_loss_logits] = output;
        node->t[CM_T_categorical_loss_target] = target;
        node->t[CM_T_categorical_loss_coefficient] = coefficient;
        node->attr.support = *support;
        return vars;
    }
    node->t[CM_T_scalar_loss_loss] = vars.loss;
    node->t[CM_T_scalar_loss_dprediction] = gradient;
    node->t[CM_T_scalar_loss_prediction] = output;
    node->t[CM_T_scalar_loss_target] = target;
    node->t[CM_T_scalar_loss_coefficient] = coefficient;
    vars.decoded = cm_tape_support_decode(tape, output, support); /* the output itself, made contiguous */
    return vars;
}

cm_loss_vars cm_tape_policy_loss(cm_tape *tape, cm_var logits, cm_var target, cm_var coefficient,
                                 const cm_policy_rule *rule) {
    cm_loss_vars vars = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, logits) || bad(tape, target) || bad(tape, coefficient)) return vars;
    vars.loss = work_1d(tape, shape_of(tape, logits)->dim[0]);
    vars.entropy = work_1d(tape, shape_of(tape, logits)->dim[0]);
    cm_var gradient = claim_gradient(tape, logits);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, CM_OP_policy_loss);
    if (!node) return vars;
    node->t[CM_T_policy_loss_loss] = vars.loss;
    node->t[CM_T_policy_loss_entropy] = vars.entropy;
    node->t[CM_T_policy_loss_dlogits] = gradient;
    node->t[CM_T_policy_loss_logits] = logits;
    node->t[CM_T_policy_loss_target] = target;
    node->t[CM_T_policy_loss_coefficient] = coefficient;
    node->t[CM_T_policy_loss_legal] = rule->legal;
    node->attr.scale = rule->entropy_weight;
    node->attr.kl = rule->kl;
    return vars;
}

/* square_loss or consistency_loss, which name their tensors in one order. */
static cm_loss_vars pair_loss(cm_tape *tape, cm_op op, cm_var x, cm_var y, cm_var coefficient) {
    cm_loss_vars vars = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, x) || bad(tape, y) || bad(tape, coefficient)) return vars;
    vars.loss = work_1d(tape, shape_of(tape, x)->dim[0]);
    cm_var gradient = claim_gradient(tape, x);
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, op);
    if (!node) return vars;
    node->t[CM_T_square_loss_loss] = vars.loss;
    node->t[CM_T_square_loss_dx] = gradient;
    node->t[CM_T_square_loss_x] = x;
    node->t[CM_T_square_loss_y] = y;
    node->t[CM_T_square_loss_coefficient] = coefficient;
    return vars;
}

#define SAME_PLACE(name) (int)CM_T_square_loss_##name == (int)CM_T_consistency_loss_##name
_Static_assert(SAME_PLACE(loss) && SAME_PLACE(dx) && SAME_PLACE(x) && SAME_PLACE(y) && SAME_PLACE(coefficient),
               "pair_loss fills both by one order");

cm_loss_vars cm_tape_square_loss(cm_tape *tape, cm_var x, cm_var y, cm_var coefficient) {
    return pair_loss(tape, CM_OP_square_loss, x, y, coefficient);
}

cm_loss_vars cm_tape_consistency_loss(cm_tape *tape, cm_var x, cm_var y, cm_var coefficient) {
    return pair_loss(tape, CM_OP_consistency_loss, x, y, coefficient);
}
