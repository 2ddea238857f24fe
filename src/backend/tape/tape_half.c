/* NHWC activations of 16 bits, and their gradients: those that only convolutions and the norms after them see. */
#include <stdlib.h>

#include "backend/check.h"
#include "backend/tape/tape_internal.h"
#include "core/arena.h"

bool cm_tape_is_plain(const cm_tape_node *node) {
    if (node->op == CM_OP_conv2d_backward) return node->t[CM_T_conv2d_backward_dbias] == CM_NO_VAR;
    return node->op == CM_OP_conv2d && node->t[CM_T_conv2d_bias] == CM_NO_VAR && node->attr.activation == CM_ACT_NONE &&
           node->attr.accumulate == 0;
}

static void find_activations(const cm_tape *tape, bool *half) {
    for (cm_var v = 0; v < tape->vars; v++) {
        const cm_tape_var *var = &tape->var[v];
        half[v] = var->memory == CM_MEM_WORK && var->base == CM_NO_VAR && var->lies_in == CM_NO_VAR &&
                  var->shape.dtype == CM_F32 && cm_tensor_may_be_half(&var->shape);
    }
    for (cm_var v = 0; v < tape->vars; v++) {
        if (tape->var[v].base != CM_NO_VAR) half[tape->var[v].base] = false;
        if (tape->var[v].lies_in != CM_NO_VAR) half[tape->var[v].lies_in] = false;
    }
}

/* What other calls, or other places of these, see. Calls in 8 bits see float32. */
static void leave_out_others(const cm_tape_list *list, bool *half) {
    for (int i = 0; i < list->count; i++) {
        const cm_tape_node *node = &list->node[i];
        const cm_half_rule rule = cm_op_half_rule(node->op);
        const uint32_t all = rule.alone | rule.with_x | (cm_tape_is_plain(node) ? rule.plain : 0);
        const uint32_t may = node->attr.compute == CM_I8 ? 0 : all;
        for (int t = 0; t < CM_CALL_TENSORS; t++)
            if (node->t[t] != CM_NO_VAR && !(may >> t & 1)) half[node->t[t]] = false;
    }
}

/* Makes the tensors of a call that `which` has a bit for float32. True if one was not before. */
static bool leave_out(const cm_tape_node *node, uint32_t which, bool *half) {
    bool more = false;
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        if (!(which >> t & 1) || node->t[t] == CM_NO_VAR || !half[node->t[t]]) continue;
        half[node->t[t]] = false;
        more = true;
    }
    return more;
}

static bool are_half(const cm_tape_node *node, uint32_t which, const bool *half) {
    for (int t = 0; t < CM_CALL_TENSORS; t++)
        if ((which >> t & 1) && !half[node->t[t]]) return false;
    return true;
}

/* A norm of float32 takes and makes float32. True if that leaves one out that was not before. */
static bool leave_out_norms(const cm_tape_list *list, bool *half) {
    bool more = false;
    for (int i = 0; i < list->count; i++) {
        const cm_tape_node *node = &list->node[i];
        const cm_half_rule rule = cm_op_half_rule(node->op);
        if (!rule.with_x) continue;
        if (!half[node->t[rule.x]]) more |= leave_out(node, rule.with_x, half);
        if (!are_half(node, rule.alike, half)) more |= leave_out(node, rule.alike, half);
    }
    return more;
}

static void apply(cm_tape *tape, cm_tape_list *list) {
    for (int i = 0; i < list->count; i++)
        if (cm_op_half_rule(list->node[i].op).with_x) list->node[i].attr.compute = tape->compute;
}

static void make_half(cm_tape *tape, bool *half) {
    find_activations(tape, half);
    leave_out_others(&tape->forward, half);
    leave_out_others(&tape->backward, half);
    while (leave_out_norms(&tape->forward, half) || leave_out_norms(&tape->backward, half)) {
    }
    for (cm_var v = 0; v < tape->vars; v++)
        if (half[v]) tape->var[v].shape.dtype = tape->compute;
    apply(tape, &tape->forward);
    apply(tape, &tape->backward);
}

cm_status cm_tape_half_activations(cm_tape *tape) {
    bool *half = NULL;
    if (tape->compute == CM_F32 || tape->error != CM_OK) return CM_OK;
    CM_TRY(cm_alloc(&half, (size_t)tape->vars + 1, sizeof *half, "the activations of a tape"));
    make_half(tape, half);
    free(half);
    return CM_OK;
}
