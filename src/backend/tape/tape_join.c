/* A convolution and the constant norm after it as one call, on tapes that do not train; the end of such a tape. */
#include <string.h>

#include "backend/tape/tape_internal.h"

/* Whether no variable lies in x or is a view of it. */
static bool is_alone(const cm_tape *tape, cm_var x) {
    const cm_tape_var *var = &tape->var[x];
    if (var->memory != CM_MEM_WORK || var->base != CM_NO_VAR || var->lies_in != CM_NO_VAR) return false;
    for (cm_var v = 0; v < tape->vars; v++)
        if (tape->var[v].base == x || tape->var[v].lies_in == x) return false;
    return true;
}

static int calls_with(const cm_tape *tape, cm_var x) {
    int calls = 0;
    for (int i = 0; i < tape->forward.count; i++)
        for (int t = 0; t < CM_CALL_TENSORS; t++) calls += tape->forward.node[i].t[t] == x;
    return calls;
}

/* The convolution that makes x, if only one other call sees x; NULL: there is none. */
static cm_tape_node *convolution_of(cm_tape *tape, cm_var x) {
    if (!is_alone(tape, x) || calls_with(tape, x) != 2) return NULL;
    for (int i = 0; i < tape->forward.count; i++) {
        cm_tape_node *node = &tape->forward.node[i];
        if (cm_tape_is_plain(node) && node->t[CM_T_conv2d_y] == x) return node;
    }
    return NULL;
}

/* Both, in the place of the norm, where all it reads is known; what the norm has is under the same names. */
static cm_tape_node joined(const cm_tape_node *conv, const cm_tape_node *norm) {
    cm_tape_node both = {.op = CM_OP_conv2d_norm, .attr = norm->attr};
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        char name[CM_OP_NAME_BYTES];
        const int place = cm_op_tensor_place(norm->op, name, strlen(cm_op_tensor_name(both.op, t, name)));
        both.t[t] = place < 0 ? CM_NO_VAR : norm->t[place];
    }
    both.attr.compute = conv->attr.compute;
    both.attr.range = conv->attr.range;
    both.attr.stride = conv->attr.stride;
    both.t[CM_T_conv2d_norm_x] = conv->t[CM_T_conv2d_x];
    both.t[CM_T_conv2d_norm_weight] = conv->t[CM_T_conv2d_weight];
    return both;
}

void cm_tape_join_norms(cm_tape *tape) {
    cm_tape_list *list = &tape->forward;
    if (tape->training || tape->error != CM_OK) return;
    for (int i = 0; i < list->count; i++) {
        cm_tape_node *norm = &list->node[i];
        if (norm->op != CM_OP_batch_norm_inference) continue;
        const cm_var sums = norm->t[CM_T_batch_norm_inference_x];
        const cm_tape_node *conv = convolution_of(tape, sums);
        if (!conv || (tape->var[sums].shape.dtype == CM_F32 && conv->attr.compute != CM_I8)) continue;
        tape->var[sums].lies_in = norm->t[CM_T_batch_norm_inference_y]; /* no call sees it; it takes no memory */
        *norm = joined(conv, norm);
        cm_tape_remove(list, (int)(conv - list->node));
        i--;
    }
}

cm_status cm_tape_finish_inference(cm_tape *tape, const cm_backend *backend) {
    if (backend->kind->takes_int8) cm_tape_use_int8(tape);
    if (backend->kind->takes_half) CM_TRY(cm_tape_half_activations(tape));
    if (backend->kind->takes_half || backend->kind->takes_int8) cm_tape_join_norms(tape);
    return cm_tape_finish(tape);
}
