/* Reference cases of losses and of the scalar transform. */
#include <math.h>

#include "cases/backend_run.h"

#define T(call, op, name) ((call).t[CM_T_##op##_##name])

static cm_status read_support(const cm_case_run *run, cm_support *out) {
    const cm_json *node;
    double min, max;
    int64_t size;
    CM_TRY(cm_json_need(run->options, "support", CM_JSON_OBJECT, &node));
    CM_TRY(cm_json_need_number(node, "min", &min));
    CM_TRY(cm_json_need_number(node, "max", &max));
    CM_TRY(cm_json_need_int(node, "size", 2, 1 << 20, &size));
    *out = (cm_support){.min = (float)min, .max = (float)max, .size = (int)size};
    return cm_case_flag(run->options, "transform", &out->transform);
}

static float *floats(const cm_tensor *t) { return t->data; }

/* ---- the scalar transform ---- */

static cm_status transform(cm_case_run *run, const cm_tensor *x, double epsilon, bool inverse, const char *name) {
    cm_call call = {.op = CM_OP_value_transform, .attr = {.inverse = inverse, .epsilon = (float)epsilon}};
    T(call, value_transform, x) = *x;
    CM_TRY(cm_case_like(run, x, &T(call, value_transform, y)));
    CM_TRY(cm_case_call(run, &call));
    return cm_case_compare(run, &T(call, value_transform, y), name);
}

cm_status cm_case_value_transform(cm_case_run *run) {
    cm_tensor x, clamped;
    double epsilon, limit;
    CM_TRY(cm_json_need_number(run->options, "epsilon", &epsilon));
    CM_TRY(cm_json_need_number(run->options, "inverse_clamp", &limit));
    CM_TRY(cm_case_input(run, "x", &x));
    CM_TRY(cm_case_like(run, &x, &clamped));
    for (size_t i = 0; i < cm_tensor_count(&x); i++)
        floats(&clamped)[i] = fminf(fmaxf(floats(&x)[i], (float)-limit), (float)limit);
    CM_TRY(transform(run, &x, epsilon, false, "h"));
    return transform(run, &clamped, epsilon, true, "h_inverse");
}

/* ln of a probability, as a logit that any backend can take. */
static float logit_of(float probability) { return probability > 0.0f ? logf(probability) : -1e30f; }

cm_status cm_case_two_hot(cm_case_run *run) {
    cm_attr attr = {0};
    cm_tensor value, y, logits, decoded;
    CM_TRY(read_support(run, &attr.support));
    CM_TRY(cm_case_input(run, "value", &value));
    CM_TRY(cm_case_output(run, 2, (int[]){value.dim[0], attr.support.size}, &y));
    CM_TRY(cm_case_like(run, &y, &logits));
    CM_TRY(cm_case_like(run, &value, &decoded));
    cm_call project = {.op = CM_OP_two_hot, .t = {y, value}, .attr = attr};
    cm_call decode = {.op = CM_OP_support_decode, .t = {decoded, logits}, .attr = attr};
    CM_TRY(cm_case_call(run, &project));
    for (size_t i = 0; i < cm_tensor_count(&y); i++) floats(&logits)[i] = logit_of(floats(&y)[i]);
    CM_TRY(cm_case_call(run, &decode));
    CM_TRY(cm_case_compare(run, &y, "two_hot"));
    return cm_case_compare(run, &decoded, "decoded");
}

/* ---- losses; dy weights each row's loss ---- */

cm_status cm_case_categorical_loss(cm_case_run *run) {
    cm_call call = {.op = CM_OP_categorical_loss};
    CM_TRY(read_support(run, &call.attr.support));
    CM_TRY(cm_case_input(run, "logits", &T(call, categorical_loss, logits)));
    CM_TRY(cm_case_input(run, "target", &T(call, categorical_loss, target)));
    CM_TRY(cm_case_input(run, "dy", &T(call, categorical_loss, coefficient)));
    CM_TRY(cm_case_like(run, &T(call, categorical_loss, target), &T(call, categorical_loss, loss)));
    CM_TRY(cm_case_like(run, &T(call, categorical_loss, target), &T(call, categorical_loss, decoded)));
    CM_TRY(cm_case_like(run, &T(call, categorical_loss, logits), &T(call, categorical_loss, dlogits)));
    CM_TRY(cm_case_call(run, &call));
    CM_TRY(cm_case_compare(run, &T(call, categorical_loss, loss), "loss"));
    CM_TRY(cm_case_compare(run, &T(call, categorical_loss, dlogits), "dlogits"));
    return cm_case_compare(run, &T(call, categorical_loss, decoded), "decoded");
}

cm_status cm_case_policy_loss(cm_case_run *run) {
    static const char *const forms[] = {"ce", "kl", NULL};
    cm_call call = {.op = CM_OP_policy_loss};
    int form;
    bool masked;
    double weight;
    CM_TRY(cm_case_choice(run->options, "form", forms, &form));
    CM_TRY(cm_case_flag(run->options, "mask_illegal", &masked));
    CM_TRY(cm_json_need_number(run->options, "entropy_weight", &weight));
    call.attr.kl = form == 1;
    call.attr.scale = (float)weight;
    CM_TRY(cm_case_input(run, "logits", &T(call, policy_loss, logits)));
    CM_TRY(cm_case_input(run, "target", &T(call, policy_loss, target)));
    CM_TRY(cm_case_input(run, "dy", &T(call, policy_loss, coefficient)));
    if (masked) CM_TRY(cm_case_input(run, "legal", &T(call, policy_loss, legal)));
    CM_TRY(cm_case_like(run, &T(call, policy_loss, coefficient), &T(call, policy_loss, loss)));
    CM_TRY(cm_case_like(run, &T(call, policy_loss, coefficient), &T(call, policy_loss, entropy)));
    CM_TRY(cm_case_like(run, &T(call, policy_loss, logits), &T(call, policy_loss, dlogits)));
    CM_TRY(cm_case_call(run, &call));
    CM_TRY(cm_case_compare(run, &T(call, policy_loss, loss), "loss"));
    CM_TRY(cm_case_compare(run, &T(call, policy_loss, entropy), "entropy"));
    return cm_case_compare(run, &T(call, policy_loss, dlogits), "dlogits");
}

static cm_tensor flat(const cm_tensor *t) { return cm_tensor_1d(t->data, CM_F32, (int)cm_tensor_count(t)); }

/* Of any shape: every element is a row of its own. */
cm_status cm_case_scalar_loss(cm_case_run *run) {
    cm_tensor prediction, target, dy, y, dprediction;
    CM_TRY(cm_case_input(run, "prediction", &prediction));
    CM_TRY(cm_case_input(run, "target", &target));
    CM_TRY(cm_case_input(run, "dy", &dy));
    if (!cm_tensor_same_shape(&target, &prediction) || !cm_tensor_same_shape(&dy, &prediction))
        return cm_fail(CM_ERR_INPUT, "target and dy: must have the shape of prediction");
    CM_TRY(cm_case_like(run, &prediction, &y));
    CM_TRY(cm_case_like(run, &prediction, &dprediction));
    int n = (int)cm_tensor_count(&prediction);
    const cm_tensor dx = cm_tensor_2d(dprediction.data, CM_F32, n, 1), x = cm_tensor_2d(prediction.data, CM_F32, n, 1);
    cm_call call = {.op = CM_OP_scalar_loss, .t = {flat(&y), dx, x, flat(&target), flat(&dy)}};
    CM_TRY(cm_case_call(run, &call));
    CM_TRY(cm_case_compare(run, &y, "y"));
    return cm_case_compare(run, &dprediction, "dprediction");
}

cm_status cm_case_consistency_loss(cm_case_run *run) {
    cm_call call = {.op = CM_OP_consistency_loss};
    cm_tensor mask, dy;
    CM_TRY(cm_case_input(run, "x", &T(call, consistency_loss, x)));
    CM_TRY(cm_case_input(run, "target", &T(call, consistency_loss, y)));
    CM_TRY(cm_case_input(run, "mask", &mask));
    CM_TRY(cm_case_input(run, "dy", &dy));
    if (!cm_tensor_same_shape(&mask, &dy)) return cm_fail(CM_ERR_INPUT, "mask: must have the shape of dy");
    cm_tensor *coefficient = &T(call, consistency_loss, coefficient), *loss = &T(call, consistency_loss, loss);
    CM_TRY(cm_case_like(run, &mask, coefficient));
    CM_TRY(cm_case_like(run, &mask, loss));
    CM_TRY(cm_case_like(run, &T(call, consistency_loss, x), &T(call, consistency_loss, dx)));
    for (size_t b = 0; b < cm_tensor_count(&mask); b++) floats(coefficient)[b] = floats(&mask)[b] * floats(&dy)[b];
    CM_TRY(cm_case_call(run, &call));
    for (size_t b = 0; b < cm_tensor_count(&mask); b++) floats(loss)[b] *= floats(&mask)[b];
    CM_TRY(cm_case_compare(run, loss, "y"));
    return cm_case_compare(run, &T(call, consistency_loss, dx), "dx");
}
