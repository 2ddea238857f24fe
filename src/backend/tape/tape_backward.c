/* Recording of backward calls: one rule per operation, applied in reverse order.
 *
 * A gradient is written by the first call that has one for it and added to by the others. A call is
 * skipped if no gradient of its outputs is wanted, and with it everything that it alone leads to.
 */
#include <string.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"

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
static void add_gradient(cm_tape *tape, cm_tape_node *call, int position, cm_var x) {
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

/* How an operation's gradients are computed. Losses have no rule: their forward calls write the gradient. The others
 * without one have no gradient. */
static const struct {
    cm_op backward;  /* scale_add: the inputs take the gradient of y as it is */
    bool relu_apart; /* an activation is undone by a call of its own */
} rules[CM_OP_COUNT] = {
    [CM_OP_dense] = {CM_OP_dense_backward, true},
    [CM_OP_conv2d] = {CM_OP_conv2d_backward, true},
    [CM_OP_fake_quantise] = {CM_OP_fake_quantise_backward, false},
    [CM_OP_activation] = {CM_OP_activation_backward, false},
    [CM_OP_add] = {CM_OP_scale_add, true},
    [CM_OP_scale_add] = {CM_OP_scale_add, false},
    [CM_OP_layer_norm] = {CM_OP_layer_norm_backward, false},
    [CM_OP_batch_norm] = {CM_OP_batch_norm_backward, false},
    [CM_OP_batch_norm_inference] = {CM_OP_batch_norm_inference_backward, false},
    [CM_OP_minmax] = {CM_OP_minmax_backward, false},
    [CM_OP_avg_pool] = {CM_OP_avg_pool_backward, false},
    [CM_OP_global_mean] = {CM_OP_global_mean_backward, false},
    [CM_OP_action_encoding] = {CM_OP_action_encoding_backward, false},
    [CM_OP_embedding_add] = {CM_OP_embedding_add_backward, false},
    [CM_OP_one_hot] = {CM_OP_scale_add, false},
    [CM_OP_lstm] = {CM_OP_lstm_backward, false},
};

/* gradient of each input (+)= gradient of y, times the scale of a scale_add */
static void pass_on(cm_tape *tape, const cm_tape_node *node) {
    for (int i = 1; i < cm_op_tensor_count(node->op); i++) {
        if (!cm_tape_wants(tape, node->t[i])) continue;
        cm_tape_node *call = append(tape, CM_OP_scale_add, node);
        if (!call) return;
        if (node->op != CM_OP_scale_add) call->attr.scale = 1.0f;
        call->t[CM_T_scale_add_x] = tape->var[node->t[0]].grad;
        add_gradient(tape, call, CM_T_scale_add_y, node->t[i]);
    }
}

/* The backward call, by the names of its tensors: what the forward call has under the same name, or, where that has a
 * d in front, the gradient of that. */
static void by_name(cm_tape *tape, const cm_tape_node *node, cm_op backward) {
    cm_tape_node *call = append(tape, backward, node);
    if (!call) return;
    if (rules[node->op].relu_apart) call->attr.activation = CM_ACT_NONE;
    for (int i = 0; i < cm_op_tensor_count(backward); i++) {
        char name[CM_OP_NAME_BYTES];
        const size_t length = strlen(cm_op_tensor_name(backward, i, name));
        const int same = cm_op_tensor_place(node->op, name, length);
        const int of = *name == 'd' ? cm_op_tensor_place(node->op, name + 1, length - 1) : -1;
        if (same >= 0)
            call->t[i] = node->t[same];
        else if (of >= 0 && cm_op_tensor_written(backward, i))
            add_gradient(tape, call, i, node->t[of]);
        else if (of >= 0)
            call->t[i] = tape->var[node->t[of]].grad;
    }
}

static void record_backward(cm_tape *tape, const cm_tape_node *node) {
    const cm_op backward = rules[node->op].backward;
    if (rules[node->op].relu_apart) through_relu(tape, node, node->t[0]);
    if (backward == CM_OP_scale_add)
        pass_on(tape, node);
    else
        by_name(tape, node, backward);
}

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
        if (rules[node->op].backward && has_gradient(tape, node->t[0])) record_backward(tape, node);
    }
}

int cm_tape_backward_calls(const cm_tape *tape) { return tape->backward.count; }

cm_status cm_tape_end_part(cm_tape *tape, int calls) {
    if (!tape->ends) CM_TRY(cm_alloc(&tape->ends, (size_t)tape->backward.count + 1, sizeof *tape->ends, "a tape"));
    tape->ends[calls] = true;
    return CM_OK;
}

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
