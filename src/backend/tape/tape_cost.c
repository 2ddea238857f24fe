/* What playing a tape once takes: arithmetic of the matrix products and traffic of all tensors. */
#include "backend/tape/tape_internal.h"

static size_t bytes_of(const cm_tape *tape, cm_var var) {
    if (var == CM_NO_VAR) return 0;
    const cm_tensor *shape = &tape->var[var].shape;
    return cm_tensor_count(shape) * cm_dtype_size(shape->dtype);
}

static double product_of(const cm_tape *tape, cm_var rows_of, cm_var weight, bool is_nhwc) {
    const cm_tensor *x = &tape->var[rows_of].shape;
    double rows = is_nhwc ? (double)x->dim[0] * x->dim[1] * x->dim[2] : x->dim[0];
    return 2.0 * rows * (double)cm_tensor_count(&tape->var[weight].shape);
}

/* All rows of all steps with both weights; each product is made once there and, for its two gradients, twice back. */
static double lstm_product(const cm_tape *tape, cm_var x, cm_var weight_ih, cm_var weight_hh) {
    const cm_tensor *rows = &tape->var[x].shape;
    const size_t weights = cm_tensor_count(&tape->var[weight_ih].shape) + cm_tensor_count(&tape->var[weight_hh].shape);
    return 2.0 * rows->dim[0] * rows->dim[1] * (double)weights;
}

/* Floating-point operations of a call, products only; a multiply-add counts as two. */
static double flop_of(const cm_tape *tape, const cm_tape_node *node) {
    switch (node->op) {
    case CM_OP_dense: return product_of(tape, node->t[CM_T_dense_y], node->t[CM_T_dense_weight], false);
    case CM_OP_conv2d_norm:
        return product_of(tape, node->t[CM_T_conv2d_norm_y], node->t[CM_T_conv2d_norm_weight], true);
    case CM_OP_conv2d: return product_of(tape, node->t[CM_T_conv2d_y], node->t[CM_T_conv2d_weight], true);
    case CM_OP_dense_backward: {
        int parts =
            (node->t[CM_T_dense_backward_dx] != CM_NO_VAR) + (node->t[CM_T_dense_backward_dweight] != CM_NO_VAR);
        return parts * product_of(tape, node->t[CM_T_dense_backward_dy], node->t[CM_T_dense_backward_weight], false);
    }
    case CM_OP_conv2d_backward: {
        int parts =
            (node->t[CM_T_conv2d_backward_dx] != CM_NO_VAR) + (node->t[CM_T_conv2d_backward_dweight] != CM_NO_VAR);
        return parts * product_of(tape, node->t[CM_T_conv2d_backward_dy], node->t[CM_T_conv2d_backward_weight], true);
    }
    case CM_OP_lstm:
        return lstm_product(tape, node->t[CM_T_lstm_x], node->t[CM_T_lstm_weight_ih], node->t[CM_T_lstm_weight_hh]);
    case CM_OP_lstm_backward:
        return 2.0 * lstm_product(tape, node->t[CM_T_lstm_backward_x], node->t[CM_T_lstm_backward_weight_ih],
                                  node->t[CM_T_lstm_backward_weight_hh]);
    default: return 0.0;
    }
}

double cm_tape_flops(const cm_tape *tape) {
    double flops = 0.0;
    for (int i = 0; i < tape->forward.count; i++) flops += flop_of(tape, &tape->forward.node[i]);
    return flops;
}

cm_tape_cost cm_tape_costs(const cm_tape *tape) {
    cm_tape_cost cost = {0.0, 0.0, 0};
    const cm_tape_list *lists[2] = {&tape->forward, &tape->backward};
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < lists[l]->count; i++) {
            const cm_tape_node *node = &lists[l]->node[i];
            int tensors = cm_op_tensor_count(node->op);
            cost.flop += flop_of(tape, node);
            for (int k = 0; k < tensors; k++) cost.bytes += (double)bytes_of(tape, node->t[k]);
            cost.calls++;
        }
    }
    return cost;
}
