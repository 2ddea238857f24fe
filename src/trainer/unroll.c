#include "trainer/unroll.h"

#include <string.h>

/* ---- factors ---- */

void cm_unroll_factors_make(const cm_trainer_options *options, int unroll, cm_unroll_factors *out) {
    double first = 1.0, later = 1.0, transition = 1.0, K = unroll;
    switch ((cm_unroll_scale)options->unroll_scale) {
    case CM_UNROLL_PAPER: later = transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_WHOLE: first = later = transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_CUMIND: first = later = 1.0 / (K + 1.0), transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_NONE: break;
    }
    for (int k = 0; k <= unroll; k++) {
        out->value[k] = options->value_weight * (k == 0 ? first : later);
        out->policy[k] = options->policy_weight * (k == 0 ? first : later);
    }
    for (int k = 0; k < unroll; k++) {
        out->reward[k] = options->reward_weight * transition;
        out->consistency[k] = options->consistency_weight * transition;
        out->afterstate[k] = options->value_weight * transition;
        out->code[k] = options->chance_weight * transition;
        out->commitment[k] = options->commitment_weight * transition;
    }
}

/* ---- recording ---- */

typedef struct recorder {
    const cm_trainer_config *config;
    const cm_network_config *network;
    cm_unroll *u;
    cm_var coefficients, scaled; /* of all losses, as they are staged and as the losses read them */
    int taken;                   /* of the coefficients' rows */
} recorder;

/* The coefficients of one loss. */
static cm_var coefficient_rows(recorder *r) {
    const int first = r->taken;
    r->taken += r->u->rows;
    return cm_tape_part(r->u->tape, r->coefficients, first, r->u->rows);
}

/* What a loss reads of them. */
static cm_var scaled_rows(const recorder *r, cm_var rows) {
    if (rows == CM_NO_VAR || r->scaled == r->coefficients) return rows;
    const size_t at = cm_tape_offset(r->u->tape, rows) - cm_tape_offset(r->u->tape, r->coefficients);
    return cm_tape_part(r->u->tape, r->scaled, (int)(at / sizeof(float)), r->u->rows);
}

static void record_coefficients(recorder *r) {
    const cm_unroll *u = r->u;
    const int of_chance = u->chance ? 2 + u->encoder : 0;
    const int all = u->rows * (2 * (u->unroll + 1) + u->unroll * (1 + u->consistency + of_chance));
    r->coefficients = cm_tape_input(u->tape, CM_F32, 1, &all);
    r->scaled = r->config->compute == CM_F16 ? cm_tape_loss_scaled(u->tape, r->coefficients) : r->coefficients;
}

static cm_var float_rows(recorder *r) { return cm_tape_input(r->u->tape, CM_F32, 1, &r->u->rows); }

static cm_var observation_input(recorder *r) {
    const cm_network_config *c = r->network;
    int dim[4] = {r->u->rows, c->observation[0], c->observation[1], c->observation[2]};
    return cm_tape_input(r->u->tape, CM_F32, c->observation_ndim + 1, dim);
}

static cm_var policy_input(recorder *r) {
    int dim[2] = {r->u->rows, r->network->actions};
    return cm_tape_input(r->u->tape, CM_F32, 2, dim);
}

static void chance_inputs(recorder *r, cm_unroll_chance *c) {
    int pair[2] = {r->u->rows, 2 * cm_network_observation_size(r->config->network)};
    int code[2] = {r->u->rows, r->u->codes};
    c->value_coefficient = coefficient_rows(r);
    c->code_coefficient = coefficient_rows(r);
    c->given = r->u->encoder ? CM_NO_VAR : cm_tape_input(r->u->tape, CM_F32, 2, code);
    c->observations = r->u->encoder ? cm_tape_input(r->u->tape, CM_F32, 2, pair) : CM_NO_VAR;
    c->commitment_coefficient = r->u->encoder ? coefficient_rows(r) : CM_NO_VAR;
}

static void record_inputs(recorder *r) {
    cm_unroll *u = r->u;
    for (int k = 0; k <= u->unroll; k++) u->value_target[k] = float_rows(r);
    u->observation = observation_input(r);
    record_coefficients(r);
    for (int k = 0; k <= u->unroll; k++) {
        u->value_coefficient[k] = coefficient_rows(r);
        u->policy_target[k] = policy_input(r);
        u->policy_coefficient[k] = coefficient_rows(r);
        u->legal[k] = r->config->options->mask_illegal ? policy_input(r) : CM_NO_VAR;
    }
    for (int k = 0; k < u->unroll; k++) {
        u->actions[k] = cm_tape_input(u->tape, CM_I32, 1, &u->rows);
        u->reward_target[k] = float_rows(r);
        u->reward_coefficient[k] = coefficient_rows(r);
        u->target_observation[k] = u->consistency ? observation_input(r) : CM_NO_VAR;
        u->consistency_coefficient[k] = u->consistency ? coefficient_rows(r) : CM_NO_VAR;
        if (u->chance) chance_inputs(r, &u->step[k]);
    }
}

/* Prediction at unroll step k with its losses; the reward is that of dynamics call k - 1. */
static void record_losses(recorder *r, cm_hidden state, int k) {
    cm_unroll *u = r->u;
    const cm_trainer_options *o = r->config->options;
    cm_policy_rule rule = {.legal = u->legal[k], .kl = o->policy_loss == CM_POLICY_LOSS_KL};
    if (o->policy_weight > 0.0) rule.entropy_weight = (float)(o->entropy_weight / o->policy_weight);
    cm_outputs out = cm_network_predict(r->config->network, u->tape, state, k > 0);
    u->policy_logits[k] = out.policy;
    u->policy[k] =
        cm_tape_policy_loss(u->tape, out.policy, u->policy_target[k], scaled_rows(r, u->policy_coefficient[k]), &rule);
    u->value[k] = cm_tape_value_loss(u->tape, out.value, u->value_target[k], scaled_rows(r, u->value_coefficient[k]),
                                     &r->network->value_support);
    if (k > 0) {
        u->reward[k - 1] =
            cm_tape_value_loss(u->tape, out.reward, u->reward_target[k - 1],
                               scaled_rows(r, u->reward_coefficient[k - 1]), &r->network->reward_support);
    }
}

/* Online branch: predictor(projection(s_k)); target branch: projection(h(o_{t+k})) without gradient. */
static void record_consistency(recorder *r, cm_hidden state, int k) {
    cm_unroll *u = r->u;
    const cm_network *network = r->config->network;
    cm_hidden seen = cm_network_representation(network, u->tape, u->target_observation[k - 1]);
    cm_var online = cm_network_project_predict(network, u->tape, state.scaled);
    cm_var target = cm_network_project(network, u->tape, cm_tape_stop_gradient(u->tape, seen.scaled));
    u->consistency_loss[k - 1] = cm_tape_consistency_loss(u->tape, online, cm_tape_stop_gradient(u->tape, target),
                                                          scaled_rows(r, u->consistency_coefficient[k - 1]));
}

/* Form "hook": all gradient that arrives at s_k is scaled. */
static cm_hidden hook(recorder *r, cm_hidden state) {
    const cm_trainer_options *o = r->config->options;
    if (o->hidden_gradient_form != CM_HIDDEN_HOOK) return state;
    bool same = state.raw == state.scaled;
    state.scaled = cm_tape_scale_gradient(r->u->tape, state.scaled, (float)o->hidden_gradient_scale);
    if (same) state.raw = state.scaled;
    return state;
}

/* Form "paper": only the path from s_k, k >= 1, into the next dynamics call is scaled. */
static cm_var into_dynamics(recorder *r, cm_hidden state, int k) {
    const cm_trainer_options *o = r->config->options;
    if (k == 0 || o->hidden_gradient_form != CM_HIDDEN_PAPER) return state.scaled;
    return cm_tape_scale_gradient(r->u->tape, state.scaled, (float)o->hidden_gradient_scale);
}

/* The code [B, C]. A learnt one's own gradient goes through the dynamics to the encoder; as a target it is a constant,
 * in its loss and in the commitment. */
static cm_var record_code(recorder *r, cm_unroll_chance *c) {
    cm_tape *tape = r->u->tape;
    if (!r->u->encoder) return c->given;
    cm_var encoded = cm_network_encode(r->config->network, tape, c->observations),
           code = cm_tape_one_hot(tape, encoded);
    c->commitment = cm_tape_square_loss(tape, encoded, code, scaled_rows(r, c->commitment_coefficient));
    return code;
}

/* Step k with chance, its losses, and the next state. */
static cm_hidden record_chance(recorder *r, cm_var state, int k) {
    cm_unroll *u = r->u;
    cm_unroll_chance *c = &u->step[k];
    const cm_network *network = r->config->network;
    const cm_policy_rule rule = {.legal = CM_NO_VAR};
    cm_hidden after = cm_network_afterstate(network, u->tape, state, u->actions[k]);
    cm_outputs out = cm_network_predict_chance(network, u->tape, after);
    cm_var code = record_code(r, c);
    c->value = cm_tape_value_loss(u->tape, out.value, u->value_target[k], scaled_rows(r, c->value_coefficient),
                                  &r->network->value_support);
    c->code = cm_tape_policy_loss(u->tape, out.policy, code, scaled_rows(r, c->code_coefficient), &rule);
    return cm_network_outcome(network, u->tape, after.scaled, code);
}

static cm_hidden record_transition(recorder *r, cm_hidden state, int k) {
    cm_var from = into_dynamics(r, state, k);
    if (r->u->chance) return record_chance(r, from, k);
    return cm_network_dynamics(r->config->network, r->u->tape, from, r->u->actions[k]);
}

/* What cm_unroll_collect and the priorities read after a pass. */
static void keep_results(const cm_unroll *u) {
    cm_tape_result(u->tape, u->value[0].decoded);
    for (int k = 0; k <= u->unroll; k++) {
        cm_tape_result(u->tape, u->value[k].loss);
        cm_tape_result(u->tape, u->policy[k].loss);
        cm_tape_result(u->tape, u->policy[k].entropy);
    }
    for (int k = 0; k < u->unroll; k++) {
        cm_tape_result(u->tape, u->reward[k].loss);
        if (u->consistency) cm_tape_result(u->tape, u->consistency_loss[k].loss);
        if (!u->chance) continue;
        cm_tape_result(u->tape, u->step[k].value.loss);
        cm_tape_result(u->tape, u->step[k].code.loss);
        if (u->encoder) cm_tape_result(u->tape, u->step[k].commitment.loss);
    }
}

cm_status cm_unroll_record(const cm_trainer_config *config, int rows, cm_unroll *out) {
    recorder r = {.config = config, .network = cm_network_get_config(config->network), .u = out};
    out->rows = rows;
    out->unroll = config->unroll;
    out->consistency = r.network->consistency && config->options->consistency_weight > 0.0;
    out->chance = r.network->model == CM_NETWORK_CHANCE;
    out->codes = r.network->codes;
    out->encoder = out->chance && r.network->encoder;
    CM_TRY(cm_tape_create(true, config->compute, &out->tape));
    record_inputs(&r);
    cm_hidden state = cm_network_representation(config->network, out->tape, out->observation);
    record_losses(&r, state, 0);
    for (int k = 0; k < out->unroll; k++) {
        state = hook(&r, record_transition(&r, state, k));
        record_losses(&r, state, k + 1);
        if (out->consistency) record_consistency(&r, state, k + 1);
    }
    keep_results(out);
    return cm_tape_finish(out->tape);
}

/* ---- staging ---- */

static void *place(const cm_unroll *u, cm_var var, void *base) { return (char *)base + cm_tape_offset(u->tape, var); }

static float weight_of(const cm_train_batch *batch, int row) { return batch->weights ? batch->weights[row] : 1.0f; }

/* target[rows] and coefficient[rows] of one term; `stride` elements lie between rows of the batch's arrays. */
typedef struct term {
    const float *target, *mask; /* at the chunk's first row and this unroll step */
    int stride;
    double factor;
} term;

static void stage_coefficients(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows,
                               const term *t, float *coefficient) {
    for (int i = 0; i < u->rows; i++) {
        double w = (double)weight_of(batch, rows->first + i) * (double)t->mask[(size_t)i * (size_t)t->stride];
        coefficient[i] = (float)(t->factor * w / rows->total);
    }
}

static void stage_scalars(const cm_unroll *u, const term *t, float *target) {
    for (int i = 0; i < u->rows; i++) target[i] = t->target[(size_t)i * (size_t)t->stride];
}

/* Row (first + i, step) of an array [B, steps, width] into out[rows, width]. */
static void stage_rows(const cm_unroll *u, const float *from, int first, int steps, int step, int width, float *out) {
    for (int i = 0; i < u->rows; i++) {
        const float *row = from + ((size_t)(first + i) * (size_t)steps + (size_t)step) * (size_t)width;
        memcpy(out + (size_t)i * (size_t)width, row, (size_t)width * sizeof(float));
    }
}

/* Bytes of rows `stride` apart as floats. */
static void stage_legal(const cm_unroll *u, const uint8_t *from, int stride, int width, float *out) {
    for (int i = 0; i < u->rows; i++) {
        for (int a = 0; a < width; a++) out[i * width + a] = from[(size_t)i * (size_t)stride + (size_t)a];
    }
}

static void stage_prediction(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                             const cm_chunk_rows *rows, int k, void *base) {
    int steps = u->unroll + 1;
    size_t at = (size_t)rows->first * (size_t)steps + (size_t)k;
    term value = {NULL, batch->value_mask + at, steps, f->value[k]};
    term policy = {NULL, batch->policy_mask + at, steps, f->policy[k]};
    stage_coefficients(u, batch, rows, &value, place(u, u->value_coefficient[k], base));
    stage_coefficients(u, batch, rows, &policy, place(u, u->policy_coefficient[k], base));
    stage_rows(u, batch->target_policy, rows->first, steps, k, rows->A, place(u, u->policy_target[k], base));
    if (u->legal[k] != CM_NO_VAR) {
        stage_legal(u, batch->legal + at * (size_t)rows->A, steps * rows->A, rows->A, place(u, u->legal[k], base));
    }
}

/* o_{t+k} and o_{t+k+1} beside each other. */
static void stage_pairs(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k, float *out) {
    size_t o = (size_t)rows->O, K = (size_t)u->unroll;
    for (int i = 0; i < u->rows; i++, out += 2 * o) {
        size_t row = (size_t)(rows->first + i);
        const float *next = batch->target_observations + (row * K + (size_t)k) * o;
        memcpy(out, k == 0 ? batch->observation + row * o : next - o, o * sizeof(float));
        memcpy(out + o, next, o * sizeof(float));
    }
}

/* Given codes as one-hot rows [rows, C]. */
static void stage_codes(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k, float *out) {
    size_t C = (size_t)u->codes, K = (size_t)u->unroll;
    memset(out, 0, (size_t)u->rows * C * sizeof(float));
    for (int i = 0; i < u->rows; i++, out += C) {
        int32_t code = batch->codes[(size_t)(rows->first + i) * K + (size_t)k];
        if (code >= 0) out[code] = 1.0f;
    }
}

static void stage_chance(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                         const cm_chunk_rows *rows, int k, void *base) {
    const cm_unroll_chance *c = &u->step[k];
    const float *mask = batch->consistency_mask + (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    term value = {NULL, mask, u->unroll, f->afterstate[k]}, code = {NULL, mask, u->unroll, f->code[k]};
    term commitment = {NULL, mask, u->unroll, f->commitment[k]};
    stage_coefficients(u, batch, rows, &value, place(u, c->value_coefficient, base));
    stage_coefficients(u, batch, rows, &code, place(u, c->code_coefficient, base));
    if (u->encoder) {
        stage_pairs(u, batch, rows, k, place(u, c->observations, base));
        stage_coefficients(u, batch, rows, &commitment, place(u, c->commitment_coefficient, base));
    } else {
        stage_codes(u, batch, rows, k, place(u, c->given, base));
    }
}

static void stage_transition(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                             const cm_chunk_rows *rows, int k, void *base) {
    size_t at = (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    int32_t *actions = place(u, u->actions[k], base);
    for (int i = 0; i < u->rows; i++) actions[i] = batch->actions[at + (size_t)i * (size_t)u->unroll];
    term reward = {batch->target_reward + at, batch->reward_mask + at, u->unroll, f->reward[k]};
    stage_scalars(u, &reward, place(u, u->reward_target[k], base));
    stage_coefficients(u, batch, rows, &reward, place(u, u->reward_coefficient[k], base));
    if (u->chance) stage_chance(u, f, batch, rows, k, base);
    if (!u->consistency) return;
    term consistency = {NULL, batch->consistency_mask + at, u->unroll, f->consistency[k]};
    stage_coefficients(u, batch, rows, &consistency, place(u, u->consistency_coefficient[k], base));
    stage_rows(u, batch->target_observations, rows->first, u->unroll, k, rows->O,
               place(u, u->target_observation[k], base));
}

size_t cm_unroll_value_bytes(const cm_unroll *unroll) { return cm_tape_offset(unroll->tape, unroll->observation); }

void cm_unroll_stage_values(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                            void *base) {
    const int steps = unroll->unroll + 1;
    for (int k = 0; k < steps; k++) {
        term value = {.target = batch->target_value + (size_t)rows->first * (size_t)steps + (size_t)k, .stride = steps};
        stage_scalars(unroll, &value, place(unroll, unroll->value_target[k], base));
    }
}

void cm_unroll_stage(const cm_unroll *unroll, const cm_unroll_factors *factors, const cm_train_batch *batch,
                     const cm_chunk_rows *rows, void *base) {
    stage_rows(unroll, batch->observation, rows->first, 1, 0, rows->O, place(unroll, unroll->observation, base));
    for (int k = 0; k <= unroll->unroll; k++) stage_prediction(unroll, factors, batch, rows, k, base);
    for (int k = 0; k < unroll->unroll; k++) stage_transition(unroll, factors, batch, rows, k, base);
}

/* ---- collecting ---- */

/* (1/B) sum of weight * mask * loss over the chunk's rows. */
static double collect(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, const term *t,
                      const float *loss) {
    double sum = 0.0;
    for (int i = 0; i < u->rows; i++) {
        double w = (double)weight_of(batch, rows->first + i) * (double)t->mask[(size_t)i * (size_t)t->stride];
        if (w != 0.0) sum += w * (double)loss[i];
    }
    return sum / rows->total;
}

const float *cm_unroll_result(const cm_unroll *unroll, cm_var var, const void *base) {
    return (const float *)(const void *)((const char *)base + cm_tape_offset(unroll->tape, var));
}

void cm_unroll_collect(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                       const void *base, cm_scalars *out) {
    const cm_unroll *u = unroll;
    memset(out, 0, sizeof *out);
    for (int k = 0; k <= u->unroll; k++) {
        size_t at = (size_t)rows->first * (size_t)(u->unroll + 1) + (size_t)k;
        term value = {NULL, batch->value_mask + at, u->unroll + 1, 0.0};
        term policy = {NULL, batch->policy_mask + at, u->unroll + 1, 0.0};
        out->value[k] = collect(u, batch, rows, &value, cm_unroll_result(u, u->value[k].loss, base));
        out->policy[k] = collect(u, batch, rows, &policy, cm_unroll_result(u, u->policy[k].loss, base));
        out->entropy[k] = collect(u, batch, rows, &policy, cm_unroll_result(u, u->policy[k].entropy, base));
    }
    for (int k = 0; k < u->unroll; k++) {
        size_t at = (size_t)rows->first * (size_t)u->unroll + (size_t)k;
        term reward = {NULL, batch->reward_mask + at, u->unroll, 0.0};
        out->reward[k] = collect(u, batch, rows, &reward, cm_unroll_result(u, u->reward[k].loss, base));
        term consistency = {NULL, batch->consistency_mask + at, u->unroll, 0.0};
        if (u->chance) {
            const cm_unroll_chance *c = &u->step[k];
            out->afterstate[k] = collect(u, batch, rows, &consistency, cm_unroll_result(u, c->value.loss, base));
            out->code[k] = collect(u, batch, rows, &consistency, cm_unroll_result(u, c->code.loss, base));
            if (u->encoder) {
                out->commitment[k] =
                    collect(u, batch, rows, &consistency, cm_unroll_result(u, c->commitment.loss, base));
            }
        }
        if (!u->consistency) continue;
        out->consistency[k] =
            collect(u, batch, rows, &consistency, cm_unroll_result(u, u->consistency_loss[k].loss, base));
    }
}
