/* Attributes of calls. */
#include <float.h>

#include "backend/check_internal.h"
#include "backend/int8.h"
#include "backend/sampling.h"
#include "core/frames.h"

static cm_status fail_attribute(const cm_call *call, const char *what) {
    return cm_fail(CM_ERR_INPUT, "%s: %s", cm_op_name(call->op), what);
}

/* Activations NONE .. last. */
static cm_status check_activation(const cm_call *call, cm_activation last) {
    const cm_activation a = call->attr.activation;
    if ((int)a >= CM_ACT_NONE && a <= last) return CM_OK;
    return fail_attribute(call, last == CM_ACT_NONE        ? "attr.activation must be none"
                                : last == CM_ACT_RELU      ? "attr.activation must be none or relu"
                                : last == CM_ACT_GELU_TANH ? "attr.activation must be none, relu or gelu_tanh"
                                                           : "attr.activation is unknown");
}

/* Of a product in 8 bits whose sums have `depth` terms. */
static cm_status check_int8(const cm_call *call, int depth) {
    const float range = call->attr.range;
    if (call->attr.compute != CM_I8) return CM_OK;
    if (!(range > 0.0f && range <= FLT_MAX)) return fail_attribute(call, "attr.range must be above 0 and finite");
    if (call->attr.accumulate) return fail_attribute(call, "attr.accumulate must be 0 with attr.compute int8");
    return depth <= CM_INT8_DEPTH ? CM_OK : fail_attribute(call, "too many inputs for attr.compute int8");
}

static bool has_int8(cm_op op) { return op == CM_OP_dense || op == CM_OP_conv2d || op == CM_OP_conv2d_norm; }

static cm_status check_product(const cm_call *call) {
    cm_dtype compute = call->attr.compute;
    if (compute == CM_I8 && has_int8(call->op)) return CM_OK;
    if ((int)compute >= CM_F32 && (int)compute < CM_PRODUCT_TYPES) return CM_OK;
    return fail_attribute(call, "attr.compute must be float32, bfloat16 or float16");
}

/* Columns of the action's encoding; `board` is only for action_encoding. */
static cm_status encoding_columns(const cm_call *call, bool board, int *columns) {
    const cm_attr *a = &call->attr;
    if ((int)a->encoding < CM_ENCODE_ONEHOT || a->encoding > (board ? CM_ENCODE_BOARD : CM_ENCODE_SCALED))
        return fail_attribute(call, board ? "attr.encoding is unknown" : "attr.encoding must be onehot or scaled");
    if (a->encoding != CM_ENCODE_BOARD && a->actions < 1)
        return fail_attribute(call, "attr.actions must be at least 1");
    *columns = a->encoding == CM_ENCODE_ONEHOT ? a->actions : 1;
    return CM_OK;
}

static cm_status check_dense(const cm_call *call, const cm_tensor *action, int *columns) {
    CM_TRY(check_product(call));
    CM_TRY(check_activation(call, call->op == CM_OP_dense ? CM_ACT_RELU : CM_ACT_NONE));
    if (call->op == CM_OP_dense) CM_TRY(check_int8(call, cm_tensor_last(&call->t[CM_T_dense_x])));
    return action->data ? encoding_columns(call, false, columns) : CM_OK;
}

/* Of action_encoding and its backward; the first tensor of both is a state. */
static cm_status check_encoding(const cm_call *call, const cm_tensor *state, int *columns) {
    CM_TRY(encoding_columns(call, true, columns));
    bool cells = state->ndim == 4 || call->attr.encoding != CM_ENCODE_BOARD;
    return cells ? CM_OK : fail_attribute(call, "attr.encoding board needs [B, H, W, C]");
}

static cm_status check_conv2d(const cm_call *call, const cm_tensor *weight) {
    CM_TRY(check_product(call));
    CM_TRY(check_activation(call, call->op == CM_OP_conv2d_backward ? CM_ACT_NONE : CM_ACT_RELU));
    if (has_int8(call->op)) CM_TRY(check_int8(call, cm_tensor_row_size(weight)));
    if (call->attr.stride < 1) return fail_attribute(call, "attr.stride must be at least 1");
    return weight->dim[1] % 2 ? CM_OK : fail_attribute(call, "weight must have an odd number of rows and columns");
}

static cm_status check_layer_norm(const cm_call *call, const cm_tensor *x) {
    CM_TRY(check_activation(call, CM_ACT_GELU_TANH));
    int groups = call->attr.groups;
    if (groups >= 0 && cm_tensor_row_size(x) % (groups ? groups : 1) == 0) return CM_OK;
    return fail_attribute(call, "attr.groups must divide the size of a row");
}

static cm_status check_minmax(const cm_call *call, const cm_tensor *x, int *groups) {
    *groups = call->attr.per_channel ? cm_tensor_last(x) : 1;
    return x->ndim == 4 || !call->attr.per_channel ? CM_OK
                                                   : fail_attribute(call, "attr.per_channel needs [B, H, W, C]");
}

static cm_status check_simnorm(const cm_call *call, const cm_tensor *x) {
    bool divides = call->attr.group >= 1 && cm_tensor_last(x) % call->attr.group == 0;
    return divides ? CM_OK : fail_attribute(call, "attr.group must divide the last dimension");
}

static cm_status check_support(const cm_call *call) {
    const cm_support *s = &call->attr.support;
    int least = call->op == CM_OP_support_decode ? 1 : 2;
    if (s->size < least) return fail_attribute(call, "attr.support needs more atoms");
    return s->size == 1 || s->max > s->min ? CM_OK : fail_attribute(call, "attr.support: max must be above min");
}

static cm_status check_lstm(const cm_call *call, const cm_tensor *h0) {
    CM_TRY(check_product(call));
    if (call->attr.horizon < 0) return fail_attribute(call, "attr.horizon must not be negative");
    if (h0->dim[1] <= CM_LSTM_HIDDEN_MAX) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: %d hidden units; at most %d", cm_op_name(call->op), h0->dim[1],
                   CM_LSTM_HIDDEN_MAX);
}

static cm_status check_prefix_step(const cm_call *call) {
    return call->attr.horizon >= 1 ? CM_OK : fail_attribute(call, "attr.horizon must be at least 1");
}

/* Of a policy or a code with rows [P]. Actions below 2^24 are exact as float32. */
static cm_status check_numbers(const cm_call *call, const cm_tensor *x) {
    const cm_policy_form form = call->attr.form;
    const bool is_scaled = call->attr.encoding == CM_ENCODE_SCALED;
    if (form.numbers < 1 || form.values < 1 || (form.angles && form.steps < 1))
        return fail_attribute(call, "attr.form must have numbers and values");
    if (cm_tensor_last(x) != (is_scaled ? cm_policy_scaled_size(form) : cm_policy_size(form)))
        return fail_attribute(call, "attr.form and the columns do not belong together");
    return cm_policy_actions(form) <= CM_POLICY_ACTIONS ? CM_OK : fail_attribute(call, "more than 2^24 actions");
}

static cm_status check_action_numbers(const cm_call *call, const cm_tensor *y) {
    if (call->attr.encoding == CM_ENCODE_BOARD) return fail_attribute(call, "attr.encoding is onehot or scaled");
    return check_numbers(call, y);
}

static cm_status check_sampled_action(const cm_call *call, const cm_tensor *memory) {
    if (memory->ndim == 2 && memory->dim[1] > CM_SAMPLING_SEED) return CM_OK;
    return fail_attribute(call, "memory must have actions and behind them a seed");
}

static cm_status check_stack(const cm_call *call, const cm_tensor *index) {
    if (index->ndim == 2 && index->dim[1] <= CM_FRAMES_MOST) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: index must be [m, frames of a stack], of which there are %d at most",
                   cm_op_name(call->op), CM_FRAMES_MOST);
}

cm_status cm_check_attributes(const cm_call *call, cm_letters *letters) {
    const cm_tensor *t = call->t;
    int E = 0, g = 1;
    switch (call->op) {
    case CM_OP_dense: CM_TRY(check_dense(call, &t[CM_T_dense_action], &E)); break;
    case CM_OP_dense_backward: CM_TRY(check_dense(call, &t[CM_T_dense_backward_action], &E)); break;
    case CM_OP_conv2d: CM_TRY(check_conv2d(call, &t[CM_T_conv2d_weight])); break;
    case CM_OP_conv2d_backward: CM_TRY(check_conv2d(call, &t[CM_T_conv2d_backward_weight])); break;
    case CM_OP_conv2d_norm: CM_TRY(check_conv2d(call, &t[CM_T_conv2d_norm_weight])); break;
    case CM_OP_muon_step: CM_TRY(check_product(call)); break;
    case CM_OP_activation:
    case CM_OP_activation_backward: CM_TRY(check_activation(call, CM_ACT_SOFTPLUS)); break;
    case CM_OP_add:
    case CM_OP_batch_norm:
    case CM_OP_batch_norm_backward:
    case CM_OP_batch_norm_inference:
    case CM_OP_batch_norm_inference_backward: CM_TRY(check_activation(call, CM_ACT_RELU)); break;
    case CM_OP_layer_norm: CM_TRY(check_layer_norm(call, &t[CM_T_layer_norm_x])); break;
    case CM_OP_layer_norm_backward: CM_TRY(check_layer_norm(call, &t[CM_T_layer_norm_backward_x])); break;
    case CM_OP_minmax: CM_TRY(check_minmax(call, &t[CM_T_minmax_x], &g)); break;
    case CM_OP_minmax_backward: CM_TRY(check_minmax(call, &t[CM_T_minmax_backward_y], &g)); break;
    case CM_OP_simnorm: CM_TRY(check_simnorm(call, &t[CM_T_simnorm_x])); break;
    case CM_OP_simnorm_backward: CM_TRY(check_simnorm(call, &t[CM_T_simnorm_backward_y])); break;
    case CM_OP_action_encoding:
    case CM_OP_action_encoding_backward: CM_TRY(check_encoding(call, &t[CM_T_action_encoding_y], &E)); break;
    case CM_OP_stack_frames: CM_TRY(check_stack(call, &t[CM_T_stack_frames_index])); break;
    case CM_OP_two_hot:
    case CM_OP_support_decode:
    case CM_OP_categorical_loss: CM_TRY(check_support(call)); break;
    case CM_OP_lstm: CM_TRY(check_lstm(call, &t[CM_T_lstm_h0])); break;
    case CM_OP_lstm_backward: CM_TRY(check_lstm(call, &t[CM_T_lstm_backward_h0])); break;
    case CM_OP_prefix_step: CM_TRY(check_prefix_step(call)); break;
    case CM_OP_action_numbers: CM_TRY(check_action_numbers(call, &t[CM_T_action_numbers_y])); break;
    case CM_OP_sample_actions: CM_TRY(check_numbers(call, &t[CM_T_sample_actions_p])); break;
    case CM_OP_sampled_action: CM_TRY(check_sampled_action(call, &t[CM_T_sampled_action_memory])); break;
    default: break;
    }
    letters->of['E'] = (cm_letter){E, CM_NO_TENSOR};
    letters->of['g'] = (cm_letter){g, CM_NO_TENSOR};
    letters->of['G'] = (cm_letter){call->attr.groups ? call->attr.groups : 1, CM_NO_TENSOR};
    letters->of['S'] = (cm_letter){call->attr.support.size, CM_NO_TENSOR};
    letters->of['s'] = (cm_letter){call->attr.stride, CM_NO_TENSOR};
    return CM_OK;
}
