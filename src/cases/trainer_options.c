#include "cases/trainer_options.h"

#include <string.h>

#define CASE_LOSS_SCALE 1024 /* in float16: no step of a case may be skipped */

/* Index of a string member in a list of words that ends with NULL. */
static cm_status word(const cm_json *object, const char *key, const char *const *words, int *out) {
    const cm_json *node;
    CM_TRY(cm_json_need(object, key, CM_JSON_STRING, &node));
    for (int i = 0; words[i]; i++) {
        if (strcmp(cm_json_string(node), words[i]) == 0) {
            *out = i;
            return CM_OK;
        }
    }
    return cm_fail(CM_ERR_INPUT, "%s: \"%s\" is unknown", key, cm_json_string(node));
}

static cm_status integer(const cm_json *object, const char *key, int min, int max, int *out) {
    int64_t value;
    CM_TRY(cm_json_need_int(object, key, min, max, &value));
    *out = (int)value;
    return CM_OK;
}

static cm_status flag(const cm_json *object, const char *key, bool *out) {
    const cm_json *node;
    CM_TRY(cm_json_need(object, key, CM_JSON_BOOL, &node));
    *out = cm_json_is_true(node);
    return CM_OK;
}

/* null: one output, squared error, no transform. */
static cm_status support(const cm_json *object, const char *key, cm_support *out) {
    const cm_json *node = cm_json_get(object, key);
    if (!node) return cm_fail(CM_ERR_INPUT, "%s: missing", key);
    *out = (cm_support){.size = 1};
    if (cm_json_type(node) == CM_JSON_NULL) return CM_OK;
    double min, max;
    CM_TRY(cm_json_need_number(node, "min", &min));
    CM_TRY(cm_json_need_number(node, "max", &max));
    CM_TRY(integer(node, "size", 2, 100000, &out->size));
    out->min = (float)min, out->max = (float)max, out->transform = true;
    return CM_OK;
}

static cm_status observation(const cm_json *object, cm_network_config *c) {
    const cm_json *node;
    CM_TRY(cm_json_need(object, "observation", CM_JSON_ARRAY, &node));
    c->observation_ndim = cm_json_size(node);
    if (c->observation_ndim < 1 || c->observation_ndim > 3) {
        return cm_fail(CM_ERR_INPUT, "observation: rank %d, must be 1 or 3", c->observation_ndim);
    }
    return cm_json_ints(node, "observation", (size_t)c->observation_ndim, 1, 65536, c->observation);
}

static cm_status consistency(const cm_json *object, cm_network_config *c) {
    const cm_json *node = cm_json_get(object, "consistency");
    if (!node) return cm_fail(CM_ERR_INPUT, "consistency: missing");
    c->consistency = cm_json_type(node) != CM_JSON_NULL;
    if (!c->consistency) return CM_OK;
    CM_TRY(integer(node, "hidden", 1, 65536, &c->projection_hidden));
    CM_TRY(integer(node, "output", 1, 65536, &c->projection_output));
    return integer(node, "predictor", 1, 65536, &c->predictor_hidden);
}

/* Absent or null: rewards. */
static cm_status value_prefix(const cm_json *object, cm_network_config *c) {
    const cm_json *node = cm_json_get(object, "value_prefix");
    if (!node || cm_json_type(node) == CM_JSON_NULL) return CM_OK;
    CM_TRY(integer(node, "horizon", 1, 65536, &c->prefix_horizon));
    return integer(node, "lstm", 1, CM_LSTM_HIDDEN_MAX, &c->lstm);
}

static cm_status mlp(const cm_json *n, cm_network_config *c) {
    static const char *const bodies[] = {"plain", "gelu_layernorm", NULL};
    int body = CM_BODY_GELU_LAYERNORM;
    c->trunk_layers = 2;
    CM_TRY(integer(n, "hidden", 1, 65536, &c->hidden));
    CM_TRY(integer(n, "head_hidden", 1, 65536, &c->head_hidden));
    CM_TRY(flag(n, "residual_dynamics", &c->residual_dynamics));
    if (cm_json_get(n, "body")) CM_TRY(word(n, "body", bodies, &body));
    if (cm_json_get(n, "trunk_layers")) CM_TRY(integer(n, "trunk_layers", 0, 64, &c->trunk_layers));
    c->body = (cm_network_body)body;
    return CM_OK;
}

static cm_status read_network(const cm_json *n, cm_network_config *c) {
    static const char *const norms[] = {"layer", "batch", "none", NULL};
    static const char *const states[] = {"none", "minmax", NULL}, *const encodings[] = {"onehot", "scaled", "board",
                                                                                        NULL};
    int family = 0, norm = 0, state = 0, encoding = CM_ENCODE_ONEHOT;
    CM_TRY(word(n, "family", cm_network_family_names, &family));
    CM_TRY(word(n, "norm", norms, &norm));
    CM_TRY(word(n, "state_norm", states, &state));
    CM_TRY(observation(n, c));
    CM_TRY(integer(n, "actions", 1, 65536, &c->actions));
    CM_TRY(support(n, "value_support", &c->value_support));
    CM_TRY(support(n, "reward_support", &c->reward_support));
    CM_TRY(consistency(n, c));
    CM_TRY(value_prefix(n, c));
    c->family = (cm_network_family)family, c->norm = (cm_network_norm)norm, c->minmax = state == 1;
    if (c->family != CM_FAMILY_CUMIND) CM_TRY(word(n, "action_encoding", encodings, &encoding));
    c->encoding = (cm_encoding)encoding;
    c->init = CM_INIT_LECUN_NORMAL;
    if (c->family == CM_FAMILY_MLP) return mlp(n, c);
    CM_TRY(integer(n, "blocks", 0, 1024, &c->blocks));
    if (c->family == CM_FAMILY_RESNET || c->observation_ndim == 3)
        CM_TRY(integer(n, "channels", 1, 65536, &c->channels));
    if (c->family == CM_FAMILY_CUMIND) return integer(n, "hidden", 1, 65536, &c->hidden);
    if (cm_json_get(n, "downsample")) CM_TRY(flag(n, "downsample", &c->downsample));
    CM_TRY(integer(n, "head_channels", 1, 65536, &c->head_channels));
    return integer(n, "head_hidden", 1, 65536, &c->head_hidden);
}

static cm_status read_schedule(const cm_json *json, cm_trainer_options *t) {
    static const char *const types[] = {"constant", "step", "exponential", "piecewise", "cosine", NULL};
    CM_TRY(word(json, "type", types, &t->schedule));
    CM_TRY(cm_json_need_number(json, "learning_rate", &t->learning_rate));
    t->warmup_steps = (int64_t)cm_json_number(cm_json_get(json, "warmup_steps"), 0.0);
    t->decay_rate = cm_json_number(cm_json_get(json, "decay_rate"), 1.0);
    t->decay_steps = (int64_t)cm_json_number(cm_json_get(json, "decay_steps"), 1.0);
    t->schedule_steps = (int64_t)cm_json_number(cm_json_get(json, "total_steps"), 1.0);
    t->final_learning_rate = cm_json_number(cm_json_get(json, "final_learning_rate"), 0.0);
    if (t->decay_steps < 1 || t->schedule_steps < 1 || t->warmup_steps < 0) {
        return cm_fail(CM_ERR_INPUT, "schedule: decay_steps and total_steps must be >= 1, warmup_steps >= 0");
    }
    return CM_OK;
}

static cm_status read_optimizer(const cm_json *json, cm_trainer_options *t) {
    static const char *const types[] = {"adamw", "adam", "sgd", "muon", NULL}, *const decays[] = {"all", "weights",
                                                                                                  NULL};
    const cm_json *schedule;
    CM_TRY(word(json, "type", types, &t->optimizer));
    CM_TRY(word(json, "decay", decays, &t->decay_on));
    CM_TRY(cm_json_need(json, "schedule", CM_JSON_OBJECT, &schedule));
    CM_TRY(read_schedule(schedule, t));
    CM_TRY(cm_json_need_number(json, "weight_decay", &t->weight_decay));
    CM_TRY(cm_json_need_number(json, "clip_norm", &t->clip_norm));
    if (t->optimizer == CM_OPTIMIZER_SGD || t->optimizer == CM_OPTIMIZER_MUON)
        CM_TRY(cm_json_need_number(json, "momentum", &t->momentum));
    if (t->optimizer == CM_OPTIMIZER_SGD) return CM_OK;
    CM_TRY(cm_json_need_number(json, "beta1", &t->beta1));
    CM_TRY(cm_json_need_number(json, "beta2", &t->beta2));
    return cm_json_need_number(json, "epsilon", &t->adam_epsilon);
}

static cm_status read_weights(const cm_json *json, cm_trainer_options *t) {
    for (int i = 0; i < CM_LOSSES; i++) {
        const cm_loss_row *row = &cm_loss_rows[i];
        double *weight = (double *)(void *)((char *)t + row->weight);
        if (!row->is_optional || cm_json_get(json, row->term)) CM_TRY(cm_json_need_number(json, row->term, weight));
    }
    return cm_json_need_number(json, "entropy", &t->entropy_weight);
}

cm_status cm_case_options_read(const cm_json *root, cm_case_options *out) {
    static const char *const scales[] = {"paper", "whole", "cumind", "none", NULL}, *const forms[] = {"paper", "hook",
                                                                                                      "none", NULL};
    const cm_json *network, *options, *weights, *optimizer;
    memset(out, 0, sizeof *out);
    cm_trainer_options *t = &out->trainer;
    CM_TRY(cm_json_need(root, "network", CM_JSON_OBJECT, &network));
    CM_TRY(cm_json_need(root, "options", CM_JSON_OBJECT, &options));
    CM_TRY(read_network(network, &out->network));
    CM_TRY(integer(options, "unroll", 0, CM_UNROLL_MAX, &out->unroll));
    CM_TRY(integer(options, "batch", 1, 65536, &out->batch));
    CM_TRY(cm_json_need(options, "loss_weights", CM_JSON_OBJECT, &weights));
    CM_TRY(read_weights(weights, t));
    CM_TRY(word(options, "unroll_scale", scales, &t->unroll_scale));
    CM_TRY(cm_json_need_number(options, "hidden_gradient_scale", &t->hidden_gradient_scale));
    CM_TRY(word(options, "hidden_gradient_form", forms, &t->hidden_gradient_form));
    CM_TRY(cm_json_need_number(options, "priority_epsilon", &out->priority_epsilon));
    CM_TRY(cm_json_need(options, "optimizer", CM_JSON_OBJECT, &optimizer));
    t->chunk_rows = out->batch; /* the statistics of a case are those of its whole batch */
    t->gradient_accumulation = 1;
    t->loss_scale = CASE_LOSS_SCALE;
    return read_optimizer(optimizer, t);
}
