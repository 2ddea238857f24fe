/* Calls, and tensors by themselves: presence, type, layout. */
#include <stdio.h>

#include "backend/check_internal.h"

static bool is_half(const cm_call *call, int i) {
    return call->t[i].dtype == call->attr.compute && call->attr.compute != CM_F32;
}

#define BIT(op, tensor) (1u << CM_T_##op##_##tensor)

cm_half_rule cm_op_half_rule(cm_op op) {
    switch (op) {
    case CM_OP_conv2d: return (cm_half_rule){.alone = BIT(conv2d, x), .plain = BIT(conv2d, y)};
    case CM_OP_conv2d_backward:
        return (cm_half_rule){.alone = BIT(conv2d_backward, x) | BIT(conv2d_backward, dx),
                              .plain = BIT(conv2d_backward, dy)};
    case CM_OP_conv2d_norm:
        return (cm_half_rule){.alone = BIT(conv2d_norm, x) | BIT(conv2d_norm, y) | BIT(conv2d_norm, residual)};
    case CM_OP_stack_frames: return (cm_half_rule){.alone = BIT(stack_frames, y)};
    case CM_OP_batch_norm:
        return (cm_half_rule){.alone = BIT(batch_norm, x),
                              .with_x = BIT(batch_norm, y) | BIT(batch_norm, residual),
                              .x = CM_T_batch_norm_x};
    case CM_OP_batch_norm_inference:
        return (cm_half_rule){.alone = BIT(batch_norm_inference, x),
                              .with_x = BIT(batch_norm_inference, y) | BIT(batch_norm_inference, residual),
                              .x = CM_T_batch_norm_inference_x};
    case CM_OP_batch_norm_backward:
        return (cm_half_rule){.alone = BIT(batch_norm_backward, x),
                              .with_x = BIT(batch_norm_backward, y) | BIT(batch_norm_backward, dy) |
                                        BIT(batch_norm_backward, dx) | BIT(batch_norm_backward, dresidual),
                              .x = CM_T_batch_norm_backward_x,
                              .alike = BIT(batch_norm_backward, y) | BIT(batch_norm_backward, dy)};
    default: return (cm_half_rule){0};
    }
}

bool cm_tensor_may_be_half(const cm_tensor *t) { return t->ndim == 4 && t->dim[3] % 8 == 0 && t->dim[3] <= 2048; }

/* Does a convolution do nothing but multiply and add? */
static bool is_plain(const cm_call *call) {
    if (call->op == CM_OP_conv2d_backward) return !call->t[CM_T_conv2d_backward_dbias].data;
    return !call->t[CM_T_conv2d_bias].data && call->attr.activation == CM_ACT_NONE && !call->attr.accumulate;
}

/* Whether a tensor may be of 16 bits where others are float32 (ops.def). */
static bool may_be_half(const cm_call *call, int i) {
    const cm_half_rule rule = cm_op_half_rule(call->op);
    if (call->op == CM_OP_dense) return i == CM_T_dense_x;
    if (call->op == CM_OP_dense_backward) return i == CM_T_dense_backward_x;
    if (!cm_tensor_may_be_half(&call->t[i])) return false;
    for (int j = 0; rule.alike >> i & 1 && j < CM_CALL_TENSORS; j++)
        if ((rule.alike >> j & 1) && !is_half(call, j)) return false;
    return (rule.alone >> i & 1) || ((rule.plain >> i & 1) && is_plain(call)) ||
           ((rule.with_x >> i & 1) && is_half(call, rule.x));
}

bool cm_call_is_half(const cm_call *call) {
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (call->t[i].data && is_half(call, i)) return true;
    return false;
}

/* Type and layout of one tensor, which must be there unless it is optional. */
static cm_status check_tensor(const cm_call *call, int i) {
    const cm_tensor *t = &call->t[i];
    char name[CM_OP_NAME_BYTES];
    cm_op_tensor_name(call->op, i, name);
    if (!t->data) {
        if (cm_op_tensor_optional(call->op, i)) return CM_OK;
        return cm_fail(CM_ERR_INPUT, "%s: %s is missing", cm_op_name(call->op), name);
    }
    if (t->ndim < 1 || t->ndim > CM_MAX_DIMS || (int)t->dtype < CM_F32 || (int)t->dtype > CM_U8)
        return cm_fail(CM_ERR_INPUT, "%s: %s is not a tensor", cm_op_name(call->op), name);
    for (int d = 0; d < CM_MAX_DIMS; d++)
        if (t->dim[d] < 1 || (d >= t->ndim && t->dim[d] != 1))
            return cm_check_refuse(call, i, "every dimension must be at least 1, those that are not used 1");
    cm_dtype dtype = cm_op_tensor_dtype(call->op, i);
    if (dtype == CM_BF16) dtype = call->attr.compute;
    if (dtype == CM_F32 && cm_op_tensor_dtype(call->op, i) == CM_BF16)
        return cm_check_refuse(call, i, "attr.compute must be bfloat16 or float16");
    if (dtype == CM_U8 && t->dtype == CM_F32) dtype = CM_F32;
    if (t->dtype != dtype && !(is_half(call, i) && may_be_half(call, i))) {
        char what[32];
        snprintf(what, sizeof what, "it must be %s", cm_dtype_name(dtype));
        return cm_check_refuse(call, i, what);
    }
    if (cm_tensor_contiguous(t) || (t->ndim == 2 && t->stride > t->dim[1])) return CM_OK;
    char what[96];
    snprintf(what, sizeof what, "its rows are %d elements apart; that must be %d%s", t->stride, cm_tensor_row_size(t),
             t->ndim == 2 ? " or more" : "");
    return cm_check_refuse(call, i, what);
}

static cm_status check_accumulate(const cm_call *call, int tensors) {
    for (int i = 0; i < 32; i++) {
        if (!(call->attr.accumulate >> i & 1)) continue;
        if (i < tensors && cm_op_tensor_accumulates(call->op, i)) continue;
        char name[CM_OP_NAME_BYTES];
        return cm_fail(CM_ERR_INPUT, "%s: tensor %d (%s) cannot be accumulated into", cm_op_name(call->op), i,
                       cm_op_tensor_name(call->op, i, name));
    }
    return CM_OK;
}

cm_status cm_call_check(const cm_call *call) {
    if ((unsigned)call->op >= CM_OP_COUNT) return cm_fail(CM_ERR_INPUT, "operation %d is unknown", (int)call->op);
    int tensors = cm_op_tensor_count(call->op);
    cm_letters letters = {.lead = CM_NO_TENSOR};
    for (int i = 0; i < tensors; i++) CM_TRY(check_tensor(call, i));
    CM_TRY(check_accumulate(call, tensors));
    CM_TRY(cm_check_attributes(call, &letters));
    return cm_check_shapes(call, &letters);
}
