/* What a call takes: arithmetic of its matrix products, traffic of its tensors. */
#include "backend/backend.h"

/* 2 x all dimensions but the last x the elements of the weight. */
static double product(const cm_tensor *rows, const cm_tensor *weight) {
    double count = 2.0 * (double)cm_tensor_count(weight);
    for (int d = 0; d + 1 < rows->ndim; d++) count *= rows->dim[d];
    return count;
}

/* A product that a call makes for each of two gradients, where they are wanted. */
static double gradients(const cm_tensor *dx, const cm_tensor *dweight, double one) {
    return ((dx->data ? 1 : 0) + (dweight->data ? 1 : 0)) * one;
}

static double lstm(const cm_tensor *x, const cm_tensor *weight_ih, const cm_tensor *weight_hh) {
    return product(x, weight_ih) + product(x, weight_hh);
}

double cm_call_flop(const cm_call *c) {
    switch (c->op) {
    case CM_OP_dense: return product(CM_ARG(c, dense, y), CM_ARG(c, dense, weight));
    case CM_OP_conv2d: return product(CM_ARG(c, conv2d, y), CM_ARG(c, conv2d, weight));
    case CM_OP_conv2d_norm: return product(CM_ARG(c, conv2d_norm, y), CM_ARG(c, conv2d_norm, weight));
    case CM_OP_dense_backward:
        return gradients(CM_ARG(c, dense_backward, dx), CM_ARG(c, dense_backward, dweight),
                         product(CM_ARG(c, dense_backward, dy), CM_ARG(c, dense_backward, weight)));
    case CM_OP_conv2d_backward:
        return gradients(CM_ARG(c, conv2d_backward, dx), CM_ARG(c, conv2d_backward, dweight),
                         product(CM_ARG(c, conv2d_backward, dy), CM_ARG(c, conv2d_backward, weight)));
    case CM_OP_lstm: return lstm(CM_ARG(c, lstm, x), CM_ARG(c, lstm, weight_ih), CM_ARG(c, lstm, weight_hh));
    case CM_OP_lstm_backward:
        return 2.0 * lstm(CM_ARG(c, lstm_backward, x), CM_ARG(c, lstm_backward, weight_ih),
                          CM_ARG(c, lstm_backward, weight_hh));
    default: return 0.0;
    }
}

static double bytes_of(const cm_tensor *t) {
    return t->data ? (double)cm_tensor_count(t) * (double)cm_dtype_size(t->dtype) : 0.0;
}

/* Of a table only the rows that are named are touched: as many as there are in `rows`. */
static double rows_of(const cm_tensor *table, const cm_tensor *rows) {
    return bytes_of(table) / table->dim[0] * rows->dim[0];
}

double cm_call_bytes(const cm_call *c) {
    double bytes = 0.0;
    for (int i = 0; i < cm_op_tensor_count(c->op); i++) bytes += bytes_of(&c->t[i]);
    if (c->op == CM_OP_gather_rows) {
        const cm_tensor *table = CM_ARG(c, gather_rows, x);
        bytes += rows_of(table, CM_ARG(c, gather_rows, rows)) - bytes_of(table);
    } else if (c->op == CM_OP_scatter_rows) {
        const cm_tensor *table = CM_ARG(c, scatter_rows, y);
        bytes += rows_of(table, CM_ARG(c, scatter_rows, rows)) - bytes_of(table);
    } else if (c->op == CM_OP_stack_frames) {
        const cm_tensor *frames = CM_ARG(c, stack_frames, frames), *index = CM_ARG(c, stack_frames, index);
        bytes += rows_of(frames, index) * index->dim[1] - bytes_of(frames);
    } else if (c->op == CM_OP_bootstrap) {
        bytes += bytes_of(CM_ARG(c, bootstrap, target)) - bytes_of(CM_ARG(c, bootstrap, value));
    }
    return bytes;
}
