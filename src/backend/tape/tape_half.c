/* NHWC activations of 16 bits, on tapes that do not train: those that only convolutions and the constant norms after
 * them see. */
#include <stdlib.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"

bool cm_tape_is_plain(const cm_tape_node *node) {
    return node->op == CM_OP_conv2d && node->t[CM_T_conv2d_bias] == CM_NO_VAR && node->attr.activation == CM_ACT_NONE;
}

/* Whether tensor `place` of a call may be of 16 bits. */
static bool is_half(const cm_tape_node *node, int place) {
    switch (node->op) {
    case CM_OP_conv2d: return place == CM_T_conv2d_x || (place == CM_T_conv2d_y && cm_tape_is_plain(node));
    case CM_OP_batch_norm_inference:
        return place == CM_T_batch_norm_inference_y || place == CM_T_batch_norm_inference_x ||
               place == CM_T_batch_norm_inference_residual;
    default: return false;
    }
}

static void find_activations(const cm_tape *tape, bool *half) {
    for (cm_var v = 0; v < tape->vars; v++) {
        const cm_tape_var *var = &tape->var[v];
        half[v] = var->memory == CM_MEM_WORK && var->base == CM_NO_VAR && var->shape.ndim == 4 &&
                  var->shape.dtype == CM_F32 && var->shape.dim[3] % 8 == 0;
    }
    for (cm_var v = 0; v < tape->vars; v++)
        if (tape->var[v].base != CM_NO_VAR) half[tape->var[v].base] = false;
}

static void leave_out_others(const cm_tape *tape, bool *half) {
    for (int i = 0; i < tape->forward.count; i++) {
        const cm_tape_node *node = &tape->forward.node[i];
        for (int t = 0; t < CM_CALL_TENSORS; t++)
            if (node->t[t] != CM_NO_VAR && !is_half(node, t)) half[node->t[t]] = false;
    }
}

/* A norm of float32 takes and makes float32. True if that leaves one out that was not before. */
static bool leave_out_norms(const cm_tape *tape, bool *half) {
    static const int places[2] = {CM_T_batch_norm_inference_y, CM_T_batch_norm_inference_residual};
    bool more = false;
    for (int i = 0; i < tape->forward.count; i++) {
        const cm_tape_node *node = &tape->forward.node[i];
        if (node->op != CM_OP_batch_norm_inference || half[node->t[CM_T_batch_norm_inference_x]]) continue;
        for (int p = 0; p < 2; p++) {
            const cm_var v = node->t[places[p]];
            if (v == CM_NO_VAR || !half[v]) continue;
            half[v] = false;
            more = true;
        }
    }
    return more;
}

static void apply(cm_tape *tape, const bool *half) {
    for (cm_var v = 0; v < tape->vars; v++)
        if (half[v]) tape->var[v].shape.dtype = tape->compute;
    for (int i = 0; i < tape->forward.count; i++)
        if (tape->forward.node[i].op == CM_OP_batch_norm_inference) tape->forward.node[i].attr.compute = tape->compute;
}

cm_status cm_tape_half_activations(cm_tape *tape) {
    bool *half = NULL;
    if (tape->training || tape->compute == CM_F32 || tape->error != CM_OK) return CM_OK;
    CM_TRY(cm_alloc(&half, (size_t)tape->vars + 1, sizeof *half, "the activations of a tape"));
    find_activations(tape, half);
    leave_out_others(tape, half);
    while (leave_out_norms(tape, half)) {
    }
    apply(tape, half);
    free(half);
    return CM_OK;
}
