/* Layers in 8 bits, on tapes that do not train: those whose weights have a range (tensor/params.h). */
#include "backend/tape/tape_internal.h"

/* The weight of a layer that may be in 8 bits; CM_NO_VAR: it may not. */
static cm_var weight_of(const cm_tape_node *node) {
    if (node->attr.accumulate != 0) return CM_NO_VAR;
    if (node->op == CM_OP_dense) return node->t[CM_T_dense_weight];
    return node->op == CM_OP_conv2d ? node->t[CM_T_conv2d_weight] : CM_NO_VAR;
}

void cm_tape_use_int8(cm_tape *tape) {
    for (int i = 0; i < tape->forward.count && tape->error == CM_OK; i++) {
        cm_tape_node *node = &tape->forward.node[i];
        const cm_var weight = weight_of(node);
        if (weight == CM_NO_VAR || tape->var[weight].range <= 0.0f) continue;
        node->attr.compute = CM_I8;
        node->attr.range = tape->var[weight].range;
    }
}
