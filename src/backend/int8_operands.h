/* Where the tensors of a call that computes in 8 bits (int8.h) are: those of dense, conv2d and conv2d_norm by one name
 * each, so that a backend has one launch for all three. */
#ifndef CM_BACKEND_INT8_OPERANDS_H
#define CM_BACKEND_INT8_OPERANDS_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Those that its operation does not have have no data. Borrowed from the call. */
typedef struct cm_int8_operands {
    const cm_tensor *y, *x, *weight, *bias, *action, *norm, *residual; /* norm: scale, shift, mean, variance */
} cm_int8_operands;

static inline cm_int8_operands cm_int8_operands_of(const cm_call *call) {
    static const cm_tensor none = {NULL, CM_F32, 0, {0}, 0};
    cm_int8_operands o = {NULL, NULL, NULL, &none, &none, &none, &none};
    if (call->op == CM_OP_dense) {
        o.y = CM_ARG(call, dense, y), o.x = CM_ARG(call, dense, x), o.weight = CM_ARG(call, dense, weight);
        o.bias = CM_ARG(call, dense, bias), o.action = CM_ARG(call, dense, action);
    } else if (call->op == CM_OP_conv2d) {
        o.y = CM_ARG(call, conv2d, y), o.x = CM_ARG(call, conv2d, x), o.weight = CM_ARG(call, conv2d, weight);
        o.bias = CM_ARG(call, conv2d, bias);
    } else {
        o.y = CM_ARG(call, conv2d_norm, y), o.x = CM_ARG(call, conv2d_norm, x);
        o.weight = CM_ARG(call, conv2d_norm, weight), o.norm = CM_ARG(call, conv2d_norm, scale);
        o.residual = CM_ARG(call, conv2d_norm, residual);
    }
    return o;
}

#ifdef __cplusplus
}
#endif
#endif
