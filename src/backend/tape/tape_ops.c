/* Recording of forward calls. */
#include <string.h>

#include "backend/formulas.h"
#include "backend/sampling.h"
#include "backend/tape/tape_internal.h"

#define EPSILON 1e-5f /* of every normalisation (networks 0.1) */

static const cm_attr no_attr;

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

/* Appends a call on t[count], which are in the order of its row in ops.def; others are absent. The first of them, what
 * the call writes; CM_NO_VAR after an error. */
static cm_var record(cm_tape *tape, cm_op op, const cm_attr *attr, const cm_var *t, size_t count) {
    cm_tape_node *node = cm_tape_append(tape, &tape->forward, op);
    if (!node) return CM_NO_VAR;
    memcpy(node->t, t, count * sizeof *t);
    node->attr = *attr;
    return t[0];
}

#define RECORD(tape, name, attr, ...)                                                                                  \
    record(tape, CM_OP_##name, attr, (cm_var[]){__VA_ARGS__}, sizeof((cm_var[]){__VA_ARGS__}) / sizeof(cm_var))

static cm_var own_gradient(cm_tape *tape, cm_var x, float scale) {
    if (bad(tape, x) || !cm_tape_wants(tape, x)) return x;
    cm_tape_var var = tape->var[x];
    cm_var y = cm_tape_stop_gradient(tape, x);
    cm_var grad = cm_tape_new(tape, CM_MEM_WORK, CM_F32, var.shape.ndim, var.shape.dim, false);
    if (y == CM_NO_VAR || grad == CM_NO_VAR) return CM_NO_VAR;
    tape->var[y].grad = grad;
    /* a call that only its backward exists for: y and x are the same memory */
    return RECORD(tape, scale_add, &(cm_attr){.scale = scale}, y, x);
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
    return RECORD(tape, scale_add, &(cm_attr){.scale = 1.0f}, y, x, scaling);
}

cm_var cm_tape_dense(cm_tape *tape, cm_var x, cm_var weight, cm_var bias, const cm_action_input *action,
                     cm_activation activation) {
    if (bad(tape, x) || bad(tape, weight)) return CM_NO_VAR;
    int dim[2] = {shape_of(tape, x)->dim[0], shape_of(tape, weight)->dim[0]};
    cm_attr attr = {.activation = activation, .compute = tape->compute};
    if (action) attr.encoding = action->encoding, attr.actions = action->actions;
    return RECORD(tape, dense, &attr, work(tape, 2, dim), x, weight, bias, action ? action->action : CM_NO_VAR);
}

cm_var cm_tape_conv2d(cm_tape *tape, cm_var x, cm_var weight, cm_var bias, int stride, cm_activation activation) {
    if (bad(tape, x) || bad(tape, weight)) return CM_NO_VAR;
    const cm_tensor *in = shape_of(tape, x), *w = shape_of(tape, weight);
    int k = w->dim[1], p = k / 2;
    int dim[4] = {in->dim[0], (in->dim[1] + 2 * p - k) / stride + 1, (in->dim[2] + 2 * p - k) / stride + 1, w->dim[0]};
    const cm_attr attr = {.stride = stride, .activation = activation, .compute = tape->compute};
    return RECORD(tape, conv2d, &attr, work(tape, 4, dim), x, weight, bias);
}

cm_var cm_tape_fake_quantise(cm_tape *tape, cm_var x, cm_var range) {
    if (bad(tape, x) || bad(tape, range)) return CM_NO_VAR;
    if (!tape->training) return x;
    const cm_tensor s = *shape_of(tape, x);
    const cm_var y = cm_tape_new(tape, CM_MEM_WORK, CM_F32, s.ndim, s.dim, cm_tape_wants(tape, x)); /* as x has one */
    return RECORD(tape, fake_quantise, &no_attr, y, CM_NO_VAR, x, range);
}

cm_var cm_tape_activation(cm_tape *tape, cm_var x, cm_activation activation) {
    if (bad(tape, x) || activation == CM_ACT_NONE) return x;
    return RECORD(tape, activation, &(cm_attr){.activation = activation}, cm_tape_new_like(tape, x), x);
}

cm_var cm_tape_add(cm_tape *tape, cm_var a, cm_var b, cm_activation activation) {
    if (bad(tape, a) || bad(tape, b)) return CM_NO_VAR;
    return RECORD(tape, add, &(cm_attr){.activation = activation}, cm_tape_new_like(tape, a), a, b);
}

cm_var cm_tape_layer_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation, int groups) {
    if (bad(tape, x) || bad(tape, norm->scale)) return CM_NO_VAR;
    cm_var y = cm_tape_new_like(tape, x);
    cm_var saved = tape->training ? saved_2d(tape, shape_of(tape, x)->dim[0], 2 * groups) : CM_NO_VAR;
    const cm_attr attr = {.activation = activation, .groups = groups, .epsilon = EPSILON};
    return RECORD(tape, layer_norm, &attr, y, saved, x, norm->scale, norm->shift);
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
    const cm_attr attr = {.activation = activation, .epsilon = EPSILON};
    return RECORD(tape, batch_norm, &attr, y, saved, stats, x, norm->scale, norm->shift, norm->residual);
}

cm_var cm_tape_fixed_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation) {
    if (bad(tape, x) || bad(tape, norm->scale) || bad(tape, norm->mean)) return CM_NO_VAR;
    const cm_attr attr = {.activation = activation, .epsilon = EPSILON};
    return RECORD(tape, batch_norm_inference, &attr, cm_tape_new_like(tape, x), x, norm->scale, norm->shift, norm->mean,
                  norm->variance, norm->residual);
}

cm_var cm_tape_minmax(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    cm_var y = cm_tape_new_like(tape, x);
    cm_var saved = tape->training ? saved_2d(tape, shape_of(tape, x)->dim[0], 3) : CM_NO_VAR;
    return RECORD(tape, minmax, &no_attr, y, saved, x);
}

cm_var cm_tape_avg_pool(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    const cm_tensor *s = shape_of(tape, x);
    int dim[4] = {s->dim[0], (s->dim[1] + 1) / 2, (s->dim[2] + 1) / 2, s->dim[3]};
    return RECORD(tape, avg_pool, &no_attr, work(tape, 4, dim), x);
}

cm_var cm_tape_global_mean(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    int dim[2] = {shape_of(tape, x)->dim[0], shape_of(tape, x)->dim[3]};
    return RECORD(tape, global_mean, &no_attr, work(tape, 2, dim), x);
}

cm_var cm_tape_one_hot(cm_tape *tape, cm_var x) {
    if (bad(tape, x)) return CM_NO_VAR;
    return RECORD(tape, one_hot, &no_attr, cm_tape_new_like(tape, x), x);
}

cm_var cm_tape_action_encoding(cm_tape *tape, cm_var x, const cm_action_input *action) {
    if (bad(tape, x) || bad(tape, action->action)) return CM_NO_VAR;
    cm_tensor s = *shape_of(tape, x);
    s.dim[s.ndim - 1] += action->encoding == CM_ENCODE_ONEHOT ? action->actions : 1;
    const cm_attr attr = {.encoding = action->encoding, .actions = action->actions};
    const cm_var y = cm_tape_new(tape, CM_MEM_WORK, CM_F32, s.ndim, s.dim, cm_tape_wants(tape, x)); /* as x has one */
    return RECORD(tape, action_encoding, &attr, y, x, action->action);
}

cm_var cm_tape_action_numbers(cm_tape *tape, cm_var action, cm_policy_form form, cm_encoding encoding) {
    if (bad(tape, action)) return CM_NO_VAR;
    const int columns = encoding == CM_ENCODE_SCALED ? cm_policy_scaled_size(form) : cm_policy_size(form);
    const cm_attr attr = {.encoding = encoding, .form = form};
    return RECORD(tape, action_numbers, &attr, saved_2d(tape, shape_of(tape, action)->dim[0], columns), action);
}

cm_var cm_tape_embedding_add(cm_tape *tape, cm_var x, cm_var table, cm_var action) {
    if (bad(tape, x) || bad(tape, table) || bad(tape, action)) return CM_NO_VAR;
    return RECORD(tape, embedding_add, &no_attr, cm_tape_new_like(tape, x), x, table, action);
}

cm_var cm_tape_gather_rows(cm_tape *tape, cm_var pool, cm_var rows) {
    if (bad(tape, pool) || bad(tape, rows)) return CM_NO_VAR;
    int dim[2] = {shape_of(tape, rows)->dim[0], shape_of(tape, pool)->dim[1]};
    return RECORD(tape, gather_rows, &no_attr, work(tape, 2, dim), pool, rows);
}

void cm_tape_scatter_rows(cm_tape *tape, cm_var pool, cm_var x, cm_var rows) {
    if (bad(tape, pool) || bad(tape, x) || bad(tape, rows)) return;
    RECORD(tape, scatter_rows, &no_attr, pool, x, rows);
}

cm_var cm_tape_stack_frames(cm_tape *tape, const cm_frame_vars *vars) {
    if (bad(tape, vars->frames) || bad(tape, vars->index) || bad(tape, vars->shift) || bad(tape, vars->factor))
        return CM_NO_VAR;
    const cm_tensor *frame = shape_of(tape, vars->frames), *index = shape_of(tape, vars->index);
    const int dim[4] = {index->dim[0], frame->dim[1], frame->dim[2], index->dim[1] * frame->dim[3]};
    const cm_attr attr = {.scale = vars->unit, .compute = tape->compute};
    return RECORD(tape, stack_frames, &attr, cm_tape_new(tape, CM_MEM_WORK, CM_F32, 4, dim, false), vars->frames,
                  vars->index, vars->shift, vars->factor);
}

cm_var cm_tape_bootstrap(cm_tape *tape, cm_var partial, cm_var coefficient, cm_var value, cm_var rows) {
    if (bad(tape, partial) || bad(tape, coefficient) || bad(tape, value) || bad(tape, rows)) return CM_NO_VAR;
    cm_var target = work_1d(tape, shape_of(tape, partial)->dim[0]);
    return RECORD(tape, bootstrap, &no_attr, target, partial, coefficient, value, rows);
}

cm_var cm_tape_support_decode(cm_tape *tape, cm_var logits, const cm_support *support) {
    if (bad(tape, logits)) return CM_NO_VAR;
    cm_var value = work_1d(tape, shape_of(tape, logits)->dim[0]);
    return RECORD(tape, support_decode, &(cm_attr){.support = *support}, value, logits);
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
    const cm_attr attr = {.horizon = horizon, .compute = tape->compute};
    RECORD(tape, lstm, &attr, y_steps, saved_steps, x_steps, start.h, start.c, weights->weight_ih, weights->weight_hh,
           weights->bias_ih, weights->bias_hh);
    return (cm_lstm_state){y, cm_tape_columns(tape, saved, CM_LSTM_GATES * H, H)};
}

cm_prefix_vars cm_tape_prefix_step(cm_tape *tape, cm_var prefix, cm_lstm_state state, cm_var before, int horizon) {
    cm_prefix_vars out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, prefix) || bad(tape, state.h) || bad(tape, state.c) || bad(tape, before)) return out;
    const int rows = shape_of(tape, state.h)->dim[0], H = shape_of(tape, state.h)->dim[1];
    out = (cm_prefix_vars){work_1d(tape, rows), saved_2d(tape, rows, 2 * H + 2)};
    RECORD(tape, prefix_step, &(cm_attr){.horizon = horizon}, out.reward, out.memory, prefix, state.h, state.c, before);
    return out;
}

/* ---- actions drawn for a search ---- */

cm_var cm_tape_softmax(cm_tape *tape, cm_var logits, cm_var legal, cm_policy_form form) {
    if (bad(tape, logits)) return CM_NO_VAR;
    const int rows = shape_of(tape, logits)->dim[0], dim[2] = {rows * form.numbers, form.values};
    cm_var x = cm_tape_each_number(tape, logits, form), y = saved_2d(tape, dim[0], dim[1]);
    cm_var p = RECORD(tape, softmax, &no_attr, y, x, cm_tape_each_number(tape, legal, form));
    return form.numbers == 1 ? p : cm_tape_reshape_rows(tape, p, rows);
}

cm_sample_vars cm_tape_sample_actions(cm_tape *tape, cm_var logits, cm_var seed, const cm_sample_rule *rule) {
    cm_sample_vars out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, logits) || bad(tape, seed)) return out;
    const int rows = shape_of(tape, logits)->dim[0], draws = rule->draws;
    cm_var p = cm_tape_softmax(tape, logits, rule->legal, rule->form);
    out = (cm_sample_vars){saved_2d(tape, rows, draws + shape_of(tape, seed)->dim[1]), saved_2d(tape, rows, draws)};
    RECORD(tape, sample_actions, &(cm_attr){.form = rule->form}, out.memory, out.logits, p, seed);
    return out;
}

cm_sampled_vars cm_tape_sampled_action(cm_tape *tape, cm_var memory, cm_var choice) {
    cm_sampled_vars out = {CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, memory) || bad(tape, choice)) return out;
    const int rows = shape_of(tape, choice)->dim[0];
    out.action = cm_tape_new(tape, CM_MEM_WORK, CM_I32, 1, &rows, false);
    out.seed = saved_2d(tape, rows, CM_SAMPLING_SEED);
    RECORD(tape, sampled_action, &no_attr, out.action, out.seed, memory, choice);
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
    if (tape->segment > 0) cm_tape_error(tape, "a loss in a segment that is recomputed would be added twice");
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
    if (support->size > 1) {
        RECORD(tape, categorical_loss, &(cm_attr){.support = *support}, vars.loss, gradient, vars.decoded, output,
               target, coefficient);
        return vars;
    }
    RECORD(tape, scalar_loss, &no_attr, vars.loss, gradient, output, target, coefficient);
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
    const cm_attr attr = {.scale = rule->entropy_weight, .kl = rule->kl};
    RECORD(tape, policy_loss, &attr, vars.loss, vars.entropy, gradient, logits, target, coefficient, rule->legal);
    return vars;
}

/* square_loss or consistency_loss, which name their tensors in one order. */
static cm_loss_vars pair_loss(cm_tape *tape, cm_op op, cm_var x, cm_var y, cm_var coefficient) {
    cm_loss_vars vars = {CM_NO_VAR, CM_NO_VAR, CM_NO_VAR};
    if (bad(tape, x) || bad(tape, y) || bad(tape, coefficient)) return vars;
    vars.loss = work_1d(tape, shape_of(tape, x)->dim[0]);
    cm_var gradient = claim_gradient(tape, x);
    record(tape, op, &no_attr, (cm_var[]){vars.loss, gradient, x, y, coefficient}, 5);
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
