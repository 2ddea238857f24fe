/* Recording of backward calls: one rule per operation, applied in reverse order.
 *
 * A gradient is written by the first call that has one for it and added to by the others. A call whose outputs nobody
 * wants a gradient of is skipped, and with it everything only it leads to.
 */
#include "backend/tape/tape_internal.h"

typedef void (*backward_rule)(cm_tape *tape, const cm_tape_node *node);

/* A parameter's gradient is written if a written range covers it (a merged layer covers its parts). */
static bool parameter_written(cm_tape *tape, cm_var x) {
    const cm_tape_var *me = &tape->var[x];
    for (cm_var i = 0; i < tape->vars; i++) {
        const cm_tape_var *v = &tape->var[i];
        if (!v->written || !cm_tape_overlap(me, v)) continue;
        if (cm_tape_inside(me, v)) return true;
        cm_tape_error(tape, "a layer's gradient overlaps a merged layer's in part");
    }
    return false;
}

/* The variable whose gradient a slice is a part of. */
static cm_var whole_of(const cm_tape *tape, cm_var slice) { return cm_tape_root(tape, tape->var[slice].base); }

/* By a call that has all of it, or by calls that have its slices. */
static bool all_written(cm_tape *tape, cm_var x) {
    const cm_tape_var *v = &tape->var[x];
    const size_t all = cm_tensor_count(&v->shape);
    if (!v->written && v->used > 0 && v->used != all)
        cm_tape_error(tape, "%zu of %zu elements of a variable's gradient are written by its parts", v->used, all);
    return v->written || v->used > 0;
}

static bool gradient_written(cm_tape *tape, cm_var x) {
    cm_var root = cm_tape_root(tape, x);
    const cm_tape_var *v = &tape->var[root];
    if (v->memory == CM_MEM_PARAMETER) return parameter_written(tape, root);
    if (v->slice && tape->var[whole_of(tape, root)].written) return true;
    return all_written(tape, root);
}

static void mark_written(cm_tape *tape, cm_var x) {
    if (gradient_written(tape, x)) return;
    cm_tape_var *v = &tape->var[cm_tape_root(tape, x)];
    v->written = true;
    if (v->slice) tape->var[whole_of(tape, cm_tape_root(tape, x))].used += cm_tensor_count(&v->shape);
}

/* Puts x's gradient at `position` of a backward call, accumulating if it has been written; leaves it out if none is
 * wanted. */
static void give(cm_tape *tape, cm_tape_node *call, int position, cm_var x) {
    if (!call || !cm_tape_wants(tape, x)) return;
    const cm_tape_var *v = &tape->var[cm_tape_root(tape, x)];
    const size_t all = cm_tensor_count(&v->shape);
    if (!v->written && v->used > 0 && v->used != all)
        cm_tape_error(tape,
                      "%zu of %zu elements of a variable have a gradient before a call that reads all of it gives one: "
                      "record that call last, and give a loss of a part cm_tape_own_gradient of the part",
                      v->used, all);
    if (gradient_written(tape, x)) call->attr.accumulate |= 1u << position;
    mark_written(tape, x);
    call->t[position] = tape->var[x].grad;
}

/* True if some later call wrote the gradient of y; slices of y must cover it. */
static bool has_gradient(cm_tape *tape, cm_var y) { return cm_tape_wants(tape, y) && gradient_written(tape, y); }

static cm_tape_node *append(cm_tape *tape, cm_op op, const cm_tape_node *forward) {
    cm_tape_node *call = cm_tape_append(tape, &tape->backward, op);
    if (!call) return NULL;
    call->attr = forward->attr;
    call->attr.accumulate = 0;
    return call;
}

/* The gradient at a fused relu's input, computed in place of the one at its output. */
static void through_relu(cm_tape *tape, const cm_tape_node *node, cm_var y) {
    if (node->attr.activation == CM_ACT_NONE) return;
    cm_tape_node *call = append(tape, CM_OP_activation_backward, node);
    if (!call) return;
    call->t[CM_T_activation_backward_dx] = call->t[CM_T_activation_backward_dy] = tape->var[y].grad;
    call->t[CM_T_activation_backward_x] = call->t[CM_T_activation_backward_y] = y;
}

static void dense_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_var y = node->t[CM_T_dense_y];
    through_relu(tape, node, y);
    cm_tape_node *call = append(tape, CM_OP_dense_backward, node);
    if (!call) return;
    call->attr.activation = CM_ACT_NONE;
    call->t[CM_T_dense_backward_dy] = tape->var[y].grad;
    call->t[CM_T_dense_backward_x] = node->t[CM_T_dense_x];
    call->t[CM_T_dense_backward_weight] = node->t[CM_T_dense_weight];
    call->t[CM_T_dense_backward_action] = node->t[CM_T_dense_action];
    give(tape, call, CM_T_dense_backward_dx, node->t[CM_T_dense_x]);
    give(tape, call, CM_T_dense_backward_dweight, node->t[CM_T_dense_weight]);
    give(tape, call, CM_T_dense_backward_dbias, node->t[CM_T_dense_bias]);
}

static void conv2d_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_var y = node->t[CM_T_conv2d_y];
    through_relu(tape, node, y);
    cm_tape_node *call = append(tape, CM_OP_conv2d_backward, node);
    if (!call) return;
    call->attr.activation = CM_ACT_NONE;
    call->t[CM_T_conv2d_backward_dy] = tape->var[y].grad;
    call->t[CM_T_conv2d_backward_x] = node->t[CM_T_conv2d_x];
    call->t[CM_T_conv2d_backward_weight] = node->t[CM_T_conv2d_weight];
    give(tape, call, CM_T_conv2d_backward_dx, node->t[CM_T_conv2d_x]);
    give(tape, call, CM_T_conv2d_backward_dweight, node->t[CM_T_conv2d_weight]);
    give(tape, call, CM_T_conv2d_backward_dbias, node->t[CM_T_conv2d_bias]);
}

static void activation_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_tape_node *call = append(tape, CM_OP_activation_backward, node);
    if (!call) return;
    call->t[CM_T_activation_backward_dy] = tape->var[node->t[CM_T_activation_y]].grad;
    call->t[CM_T_activation_backward_x] = node->t[CM_T_activation_x];
    call->t[CM_T_activation_backward_y] = node->t[CM_T_activation_y];
    give(tape, call, CM_T_activation_backward_dx, node->t[CM_T_activation_x]);
}

/* gradient of x (+)= scale * gradient of y */
static void pass_on(cm_tape *tape, const cm_tape_node *node, cm_var y, cm_var x, float scale) {
    if (!cm_tape_wants(tape, x)) return;
    cm_tape_node *call = append(tape, CM_OP_scale_add, node);
    if (!call) return;
    call->attr.scale = scale;
    call->t[CM_T_scale_add_x] = tape->var[y].grad;
    give(tape, call, CM_T_scale_add_y, x);
}

static void add_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_var y = node->t[CM_T_add_y];
    through_relu(tape, node, y);
    pass_on(tape, node, y, node->t[CM_T_add_a], 1.0f);
    pass_on(tape, node, y, node->t[CM_T_add_b], 1.0f);
}

static void scale_gradient_rule(cm_tape *tape, const cm_tape_node *node) {
    pass_on(tape, node, node->t[CM_T_scale_add_y], node->t[CM_T_scale_add_x], node->attr.scale);
}

static void one_hot_rule(cm_tape *tape, const cm_tape_node *node) {
    pass_on(tape, node, node->t[CM_T_one_hot_y], node->t[CM_T_one_hot_x], 1.0f);
}

static void layer_norm_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_tape_node *call = append(tape, CM_OP_layer_norm_backward, node);
    if (!call) return;
    call->t[CM_T_layer_norm_backward_dy] = tape->var[node->t[CM_T_layer_norm_y]].grad;
    call->t[CM_T_layer_norm_backward_x] = node->t[CM_T_layer_norm_x];
    call->t[CM_T_layer_norm_backward_y] = node->t[CM_T_layer_norm_y];
    call->t[CM_T_layer_norm_backward_saved] = node->t[CM_T_layer_norm_saved];
    call->t[CM_T_layer_norm_backward_scale] = node->t[CM_T_layer_norm_scale];
    call->t[CM_T_layer_norm_backward_shift] = node->t[CM_T_layer_norm_shift];
    give(tape, call, CM_T_layer_norm_backward_dx, node->t[CM_T_layer_norm_x]);
    give(tape, call, CM_T_layer_norm_backward_dscale, node->t[CM_T_layer_norm_scale]);
    give(tape, call, CM_T_layer_norm_backward_dshift, node->t[CM_T_layer_norm_shift]);
}

static void batch_norm_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_tape_node *call = append(tape, CM_OP_batch_norm_backward, node);
    if (!call) return;
    call->t[CM_T_batch_norm_backward_dy] = tape->var[node->t[CM_T_batch_norm_y]].grad;
    call->t[CM_T_batch_norm_backward_x] = node->t[CM_T_batch_norm_x];
    call->t[CM_T_batch_norm_backward_y] = node->t[CM_T_batch_norm_y];
    call->t[CM_T_batch_norm_backward_saved] = node->t[CM_T_batch_norm_saved];
    call->t[CM_T_batch_norm_backward_scale] = node->t[CM_T_batch_norm_scale];
    give(tape, call, CM_T_batch_norm_backward_dx, node->t[CM_T_batch_norm_x]);
    give(tape, call, CM_T_batch_norm_backward_dscale, node->t[CM_T_batch_norm_scale]);
    give(tape, call, CM_T_batch_norm_backward_dshift, node->t[CM_T_batch_norm_shift]);
    give(tape, call, CM_T_batch_norm_backward_dresidual, node->t[CM_T_batch_norm_residual]);
}

static void fixed_norm_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_tape_node *call = append(tape, CM_OP_batch_norm_inference_backward, node);
    if (!call) return;
    call->t[CM_T_batch_norm_inference_backward_dy] = tape->var[node->t[CM_T_batch_norm_inference_y]].grad;
    call->t[CM_T_batch_norm_inference_backward_x] = node->t[CM_T_batch_norm_inference_x];
    call->t[CM_T_batch_norm_inference_backward_y] = node->t[CM_T_batch_norm_inference_y];
    call->t[CM_T_batch_norm_inference_backward_scale] = node->t[CM_T_batch_norm_inference_scale];
    call->t[CM_T_batch_norm_inference_backward_mean] = node->t[CM_T_batch_norm_inference_mean];
    call->t[CM_T_batch_norm_inference_backward_variance] = node->t[CM_T_batch_norm_inference_variance];
    give(tape, call, CM_T_batch_norm_inference_backward_dx, node->t[CM_T_batch_norm_inference_x]);
    give(tape, call, CM_T_batch_norm_inference_backward_dscale, node->t[CM_T_batch_norm_inference_scale]);
    give(tape, call, CM_T_batch_norm_inference_backward_dshift, node->t[CM_T_batch_norm_inference_shift]);
    give(tape, call, CM_T_batch_norm_inference_backward_dresidual, node->t[CM_T_batch_norm_inference_residual]);
}

static void minmax_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_tape_node *call = append(tape, CM_OP_minmax_backward, node);
    if (!call) return;
    call->t[CM_T_minmax_backward_dy] = tape->var[node->t[CM_T_minmax_y]].grad;
    call->t[CM_T_minmax_backward_y] = node->t[CM_T_minmax_y];
    call->t[CM_T_minmax_backward_saved] = node->t[CM_T_minmax_saved];
    give(tape, call, CM_T_minmax_backward_dx, node->t[CM_T_minmax_x]);
}

/* Operations with tensors y, x whose backward has dx, dy. */
static void shape_rule(cm_tape *tape, const cm_tape_node *node, cm_op backward) {
    cm_tape_node *call = append(tape, backward, node);
    if (!call) return;
    call->t[1] = tape->var[node->t[0]].grad;
    give(tape, call, 0, node->t[1]);
}

static void avg_pool_rule(cm_tape *tape, const cm_tape_node *node) { shape_rule(tape, node, CM_OP_avg_pool_backward); }
static void global_mean_rule(cm_tape *tape, const cm_tape_node *node) {
    shape_rule(tape, node, CM_OP_global_mean_backward);
}
static void action_encoding_rule(cm_tape *tape, const cm_tape_node *node) {
    shape_rule(tape, node, CM_OP_action_encoding_backward);
}

static void embedding_add_rule(cm_tape *tape, const cm_tape_node *node) {
    cm_tape_node *call = append(tape, CM_OP_embedding_add_backward, node);
    if (!call) return;
    call->t[CM_T_embedding_add_backward_dy] = tape->var[node->t[CM_T_embedding_add_y]].grad;
    call->t[CM_T_embedding_add_backward_action] = node->t[CM_T_embedding_add_action];
    give(tape, call, CM_T_embedding_add_backward_dx, node->t[CM_T_embedding_add_x]);
    give(tape, call, CM_T_embedding_add_backward_dtable, node->t[CM_T_embedding_add_table]);
}

static void lstm_rule(cm_tape *tape, const cm_tape_node *node) {
    static const int inputs[][2] = {{CM_T_lstm_backward_dx, CM_T_lstm_x},
                                    {CM_T_lstm_backward_dweight_ih, CM_T_lstm_weight_ih},
                                    {CM_T_lstm_backward_dweight_hh, CM_T_lstm_weight_hh},
                                    {CM_T_lstm_backward_dbias_ih, CM_T_lstm_bias_ih},
                                    {CM_T_lstm_backward_dbias_hh, CM_T_lstm_bias_hh}};
    cm_tape_node *call = append(tape, CM_OP_lstm_backward, node);
    if (!call) return;
    call->t[CM_T_lstm_backward_dy] = tape->var[node->t[CM_T_lstm_y]].grad;
    call->t[CM_T_lstm_backward_x] = node->t[CM_T_lstm_x];
    call->t[CM_T_lstm_backward_h0] = node->t[CM_T_lstm_h0];
    call->t[CM_T_lstm_backward_c0] = node->t[CM_T_lstm_c0];
    call->t[CM_T_lstm_backward_y] = node->t[CM_T_lstm_y];
    call->t[CM_T_lstm_backward_saved] = node->t[CM_T_lstm_saved];
    call->t[CM_T_lstm_backward_weight_ih] = node->t[CM_T_lstm_weight_ih];
    call->t[CM_T_lstm_backward_weight_hh] = node->t[CM_T_lstm_weight_hh];
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) give(tape, call, inputs[i][0], node->t[inputs[i][1]]);
}

/* Losses have no rule: their forward calls write the gradient. The others without one have no gradient. */
static const backward_rule rules[CM_OP_COUNT] = {
    [CM_OP_dense] = dense_rule,
    [CM_OP_conv2d] = conv2d_rule,
    [CM_OP_activation] = activation_rule,
    [CM_OP_add] = add_rule,
    [CM_OP_scale_add] = scale_gradient_rule,
    [CM_OP_layer_norm] = layer_norm_rule,
    [CM_OP_batch_norm] = batch_norm_rule,
    [CM_OP_batch_norm_inference] = fixed_norm_rule,
    [CM_OP_minmax] = minmax_rule,
    [CM_OP_avg_pool] = avg_pool_rule,
    [CM_OP_global_mean] = global_mean_rule,
    [CM_OP_action_encoding] = action_encoding_rule,
    [CM_OP_embedding_add] = embedding_add_rule,
    [CM_OP_one_hot] = one_hot_rule,
    [CM_OP_lstm] = lstm_rule,
};

/* What the losses claimed while recording counts as written by the slices, too. */
static void settle_claims(cm_tape *tape) {
    for (cm_var i = 0; i < tape->vars; i++) {
        cm_tape_var *v = &tape->var[i];
        if (!v->written) continue;
        v->written = false;
        mark_written(tape, i);
    }
}

void cm_tape_backward(cm_tape *tape) {
    settle_claims(tape);
    for (int i = tape->forward.count - 1; i >= 0 && tape->error == CM_OK; i--) {
        const cm_tape_node *node = &tape->forward.node[i];
        backward_rule rule = rules[node->op];
        if (rule && has_gradient(tape, node->t[0])) rule(tape, node);
    }
}

int cm_tape_backward_calls(const cm_tape *tape) { return tape->backward.count; }

int cm_tape_final_after(const cm_tape *tape, size_t first, size_t count) {
    const size_t begin = first * sizeof(float), end = begin + count * sizeof(float);
    for (int i = tape->backward.count - 1; i >= 0; i--) {
        for (int t = 0; t < CM_CALL_TENSORS; t++) {
            if (tape->backward.node[i].t[t] == CM_NO_VAR) continue;
            const cm_tape_var *v = &tape->var[tape->backward.node[i].t[t]];
            if (v->memory != CM_MEM_GRADIENT) continue;
            if (v->offset < end && v->offset + cm_tensor_bytes(&v->shape) > begin) return i + 1;
        }
    }
    return 0;
}
