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

/* Unroll steps that one call is made for. */
typedef struct span {
    int first, count;
} span;

typedef struct recorder {
    const cm_trainer_config *config;
    const cm_network_config *network;
    cm_unroll *u;
    cm_var coefficients, scaled; /* of all losses, as they are staged and as the losses read them */
    int taken;                   /* of the coefficients' rows */
    cm_hidden states[CM_UNROLL_MAX + 1], afterstates[CM_UNROLL_MAX];
    cm_var codes[CM_UNROLL_MAX]; /* of the spans of K steps, [count B, C] */
} recorder;

/* Calls for `steps` steps: one where rows are on their own, else one each. */
static int spans_of(const recorder *r, int steps) {
    return steps > 0 && cm_network_is_rowwise(r->config->network) ? 1 : steps;
}

static span span_at(const recorder *r, int i, int steps) {
    return cm_network_is_rowwise(r->config->network) ? (span){0, steps} : (span){i, 1};
}

static cm_var rows_of(const recorder *r, cm_var x, span s) {
    return cm_tape_rows(r->u->tape, x, s.first * r->u->rows, s.count * r->u->rows);
}

/* ---- inputs ---- */

/* The coefficients of one loss. */
static cm_var coefficient_rows(recorder *r, int steps) {
    const int first = r->taken, rows = steps * r->u->rows;
    r->taken += rows;
    return cm_tape_rows(r->u->tape, r->coefficients, first, rows);
}

/* What a loss reads of them. */
static cm_var coefficients_of(const recorder *r, cm_var all, span s) {
    cm_var rows = rows_of(r, all, s);
    if (rows == CM_NO_VAR || r->scaled == r->coefficients) return rows;
    const size_t at = cm_tape_offset(r->u->tape, rows) - cm_tape_offset(r->u->tape, r->coefficients);
    return cm_tape_rows(r->u->tape, r->scaled, (int)(at / sizeof(float)), s.count * r->u->rows);
}

static void record_coefficients(recorder *r) {
    const cm_unroll *u = r->u;
    const int K = u->unroll, of_chance = u->chance ? 2 + u->encoder : 0;
    const int all = u->rows * (2 * (K + 1) + (K > 0 ? K + 1 : 0) + K * (u->consistency + of_chance));
    r->coefficients = cm_tape_input(u->tape, CM_F32, 1, &all);
    r->scaled = r->config->compute == CM_F16 ? cm_tape_loss_scaled(u->tape, r->coefficients) : r->coefficients;
}

static cm_var vector_input(recorder *r, cm_dtype dtype, int steps) {
    const int rows = steps * r->u->rows;
    return cm_tape_input(r->u->tape, dtype, 1, &rows);
}

static cm_var matrix_input(recorder *r, int steps, int width) {
    int dim[2] = {steps * r->u->rows, width};
    return cm_tape_input(r->u->tape, CM_F32, 2, dim);
}

static cm_var observation_input(recorder *r, int steps) {
    const cm_network_config *c = r->network;
    int dim[4] = {steps * r->u->rows, c->observation[0], c->observation[1], c->observation[2]};
    return cm_tape_input(r->u->tape, CM_F32, c->observation_ndim + 1, dim);
}

static void chance_inputs(recorder *r, cm_unroll_chance *c) {
    const int K = r->u->unroll, pair = 2 * cm_network_observation_size(r->config->network);
    c->value_coefficient = coefficient_rows(r, K);
    c->code_coefficient = coefficient_rows(r, K);
    c->given = r->u->encoder ? CM_NO_VAR : matrix_input(r, K, r->u->codes);
    c->observations = r->u->encoder ? matrix_input(r, K, pair) : CM_NO_VAR;
    c->commitment_coefficient = r->u->encoder ? coefficient_rows(r, K) : CM_NO_VAR;
}

static void transition_inputs(recorder *r) {
    cm_unroll *u = r->u;
    const int K = u->unroll;
    u->actions = vector_input(r, CM_I32, K);
    u->reward_target = vector_input(r, CM_F32, K + 1);
    u->reward_coefficient = coefficient_rows(r, K + 1);
    if (u->consistency) {
        u->target_observation = observation_input(r, K);
        u->consistency_coefficient = coefficient_rows(r, K);
    }
    if (u->chance) chance_inputs(r, &u->outcome);
}

static void record_inputs(recorder *r) {
    cm_unroll *u = r->u;
    const int steps = u->unroll + 1, A = r->network->actions;
    u->value_target = vector_input(r, CM_F32, steps);
    u->observation = observation_input(r, 1);
    record_coefficients(r);
    u->value_coefficient = coefficient_rows(r, steps);
    u->policy_target = matrix_input(r, steps, A);
    u->policy_coefficient = coefficient_rows(r, steps);
    u->legal = r->config->options->mask_illegal ? matrix_input(r, steps, A) : CM_NO_VAR;
    u->actions = u->reward_target = u->reward_coefficient = CM_NO_VAR;
    u->target_observation = u->consistency_coefficient = CM_NO_VAR;
    if (u->unroll > 0) transition_inputs(r);
}

/* ---- losses ---- */

/* The results of a span's steps, each for itself: out[s.first ..] <- what the host reads of a loss. */
static void keep_loss(recorder *r, span s, const cm_loss_vars *all, cm_loss_vars *out) {
    cm_tape_result(r->u->tape, all->loss);
    cm_tape_result(r->u->tape, all->entropy);
    for (int i = 0; i < s.count; i++) {
        const span one = {i, 1};
        out[s.first + i].loss = rows_of(r, all->loss, one);
        out[s.first + i].decoded = rows_of(r, all->decoded, one);
        out[s.first + i].entropy = rows_of(r, all->entropy, one);
    }
}

static void record_policy(recorder *r, span s, cm_var logits) {
    cm_unroll *u = r->u;
    const cm_trainer_options *o = r->config->options;
    cm_policy_rule rule = {.legal = rows_of(r, u->legal, s), .kl = o->policy_loss == CM_POLICY_LOSS_KL};
    if (o->policy_weight > 0.0) rule.entropy_weight = (float)(o->entropy_weight / o->policy_weight);
    cm_loss_vars loss = cm_tape_policy_loss(u->tape, logits, rows_of(r, u->policy_target, s),
                                            coefficients_of(r, u->policy_coefficient, s), &rule);
    keep_loss(r, s, &loss, u->policy);
    for (int i = 0; i < s.count; i++) u->policy_logits[s.first + i] = rows_of(r, logits, (span){i, 1});
}

static void record_value(recorder *r, span s, cm_var output) {
    cm_unroll *u = r->u;
    cm_loss_vars loss = cm_tape_value_loss(u->tape, output, rows_of(r, u->value_target, s),
                                           coefficients_of(r, u->value_coefficient, s), &r->network->value_support);
    if (s.first == 0) cm_tape_result(u->tape, loss.decoded); /* priorities */
    keep_loss(r, s, &loss, u->value);
}

/* Of the dynamics calls that led to a span's states. The root, if it is among them, has the coefficient 0. */
static void record_reward(recorder *r, span s, cm_var output) {
    cm_unroll *u = r->u;
    cm_loss_vars of_state[CM_UNROLL_MAX + 1];
    cm_loss_vars loss = cm_tape_value_loss(u->tape, output, rows_of(r, u->reward_target, s),
                                           coefficients_of(r, u->reward_coefficient, s), &r->network->reward_support);
    keep_loss(r, s, &loss, of_state);
    for (int k = s.first > 0 ? s.first : 1; k < s.first + s.count; k++) u->reward[k - 1] = of_state[k];
}

/* Prediction from the states of a span, with its losses. */
static void record_prediction(recorder *r, span s, cm_hidden state) {
    const bool with_reward = s.first + s.count > 1;
    cm_outputs out = cm_network_predict(r->config->network, r->u->tape, state, with_reward);
    record_policy(r, s, out.policy);
    record_value(r, s, out.value);
    if (with_reward) record_reward(r, s, out.reward);
}

/* Of steps 0 .. K-1. Online branch: predictor(projection(s_k+1)); target branch: projection(h(o_{t+k+1})) without
 * gradient. */
static void record_consistency(recorder *r, span s, cm_var states) {
    cm_unroll *u = r->u;
    const cm_network *network = r->config->network;
    cm_hidden seen = cm_network_representation(network, u->tape, rows_of(r, u->target_observation, s));
    cm_var online = cm_network_project_predict(network, u->tape, states);
    cm_var target = cm_network_project(network, u->tape, cm_tape_stop_gradient(u->tape, seen.scaled));
    cm_loss_vars loss = cm_tape_consistency_loss(u->tape, online, cm_tape_stop_gradient(u->tape, target),
                                                 coefficients_of(r, u->consistency_coefficient, s));
    keep_loss(r, s, &loss, u->consistency_loss);
}

/* The codes [count B, C]. A learnt one's own gradient goes through the dynamics to the encoder; as a target it is a
 * constant, in its loss and in the commitment. */
static cm_var record_codes(recorder *r, span s) {
    cm_unroll_chance *c = &r->u->outcome;
    cm_tape *tape = r->u->tape;
    if (!r->u->encoder) return rows_of(r, c->given, s);
    cm_var encoded = cm_network_encode(r->config->network, tape, rows_of(r, c->observations, s));
    cm_var codes = cm_tape_one_hot(tape, encoded);
    cm_loss_vars loss = cm_tape_square_loss(tape, encoded, codes, coefficients_of(r, c->commitment_coefficient, s));
    keep_loss(r, s, &loss, c->commitment);
    return codes;
}

/* Prediction from the afterstates of a span, with its losses. */
static void record_chance(recorder *r, span s, cm_hidden after, cm_var codes) {
    cm_unroll *u = r->u;
    cm_unroll_chance *c = &u->outcome;
    const cm_policy_rule rule = {.legal = CM_NO_VAR};
    cm_outputs out = cm_network_predict_chance(r->config->network, u->tape, after);
    cm_loss_vars value = cm_tape_value_loss(u->tape, out.value, rows_of(r, u->value_target, s),
                                            coefficients_of(r, c->value_coefficient, s), &r->network->value_support);
    cm_loss_vars code =
        cm_tape_policy_loss(u->tape, out.policy, codes, coefficients_of(r, c->code_coefficient, s), &rule);
    keep_loss(r, s, &value, c->value);
    keep_loss(r, s, &code, c->code);
}

/* ---- states ---- */

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

/* The code of step k, [B, C]. */
static cm_var code_at(const recorder *r, int k) {
    const int i = cm_network_is_rowwise(r->config->network) ? 0 : k;
    return rows_of(r, r->codes[i], (span){k - i, 1});
}

static cm_hidden record_transition(recorder *r, int k) {
    const cm_network *network = r->config->network;
    cm_tape *tape = r->u->tape;
    cm_var from = into_dynamics(r, r->states[k], k), action = rows_of(r, r->u->actions, (span){k, 1});
    if (!r->u->chance) return cm_network_dynamics(network, tape, from, action);
    r->afterstates[k] = cm_network_afterstate(network, tape, from, action);
    return cm_network_outcome(network, tape, r->afterstates[k].scaled, code_at(r, k));
}

static void record_states(recorder *r) {
    const int K = r->u->unroll;
    r->states[0] = cm_network_representation(r->config->network, r->u->tape, r->u->observation);
    for (int i = 0; r->u->chance && i < spans_of(r, K); i++) r->codes[i] = record_codes(r, span_at(r, i, K));
    for (int k = 0; k < K; k++) r->states[k + 1] = hook(r, record_transition(r, k));
}

/* The states of `steps` steps from `states` on as one variable. */
static cm_hidden stack(const recorder *r, const cm_hidden *states, int steps) {
    cm_var raw[CM_UNROLL_MAX + 1], scaled[CM_UNROLL_MAX + 1];
    for (int k = 0; k < steps; k++) raw[k] = states[k].raw, scaled[k] = states[k].scaled;
    cm_hidden all = {.scaled = cm_tape_stack(r->u->tape, scaled, steps)};
    all.raw = raw[0] == scaled[0] ? all.scaled : cm_tape_stack(r->u->tape, raw, steps);
    return all;
}

/* What is predicted from the states. What reads all of them is recorded last (cm_tape_stack). */
static void record_losses(recorder *r) {
    const int K = r->u->unroll, rows = r->u->rows;
    const bool whole = spans_of(r, K + 1) == 1;
    const cm_hidden states = whole ? stack(r, r->states, K + 1) : (cm_hidden){CM_NO_VAR, CM_NO_VAR};
    for (int i = 0; r->u->chance && i < spans_of(r, K); i++) {
        const span s = span_at(r, i, K);
        record_chance(r, s, stack(r, r->afterstates + s.first, s.count), r->codes[i]);
    }
    for (int i = 0; r->u->consistency && i < spans_of(r, K); i++) {
        cm_var later = whole ? cm_tape_rows(r->u->tape, states.scaled, rows, K * rows) : r->states[i + 1].scaled;
        record_consistency(r, span_at(r, i, K), later);
    }
    for (int i = 0; i < spans_of(r, K + 1); i++)
        record_prediction(r, span_at(r, i, K + 1), whole ? states : r->states[i]);
}

cm_status cm_unroll_record(const cm_trainer_config *config, int rows, cm_unroll *out) {
    recorder r = {.config = config, .network = cm_network_get_config(config->network), .u = out};
    out->rows = rows;
    out->unroll = config->unroll;
    out->consistency = r.network->consistency && config->options->consistency_weight > 0.0 && out->unroll > 0;
    out->chance = r.network->model == CM_NETWORK_CHANCE;
    out->codes = r.network->codes;
    out->encoder = out->chance && r.network->encoder;
    CM_TRY(cm_tape_create(true, config->compute, &out->tape));
    if (config->backend->kind->narrow) cm_tape_narrow_copies(out->tape);
    record_inputs(&r);
    record_states(&r);
    record_losses(&r);
    return cm_tape_finish(out->tape);
}

/* ---- staging ---- */

/* The first of step k's rows. All inputs have elements of 4 bytes. */
static void *place(const cm_unroll *u, cm_var var, int k, void *base) {
    const size_t row = (size_t)cm_tape_shape(u->tape, var)->stride * sizeof(float);
    return (char *)base + cm_tape_offset(u->tape, var) + (size_t)k * (size_t)u->rows * row;
}

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
    stage_coefficients(u, batch, rows, &value, place(u, u->value_coefficient, k, base));
    stage_coefficients(u, batch, rows, &policy, place(u, u->policy_coefficient, k, base));
    stage_rows(u, batch->target_policy, rows->first, steps, k, rows->A, place(u, u->policy_target, k, base));
    if (u->legal != CM_NO_VAR)
        stage_legal(u, batch->legal + at * (size_t)rows->A, steps * rows->A, rows->A, place(u, u->legal, k, base));
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
    const cm_unroll_chance *c = &u->outcome;
    const float *mask = batch->consistency_mask + (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    term value = {NULL, mask, u->unroll, f->afterstate[k]}, code = {NULL, mask, u->unroll, f->code[k]};
    term commitment = {NULL, mask, u->unroll, f->commitment[k]};
    stage_coefficients(u, batch, rows, &value, place(u, c->value_coefficient, k, base));
    stage_coefficients(u, batch, rows, &code, place(u, c->code_coefficient, k, base));
    if (u->encoder) {
        stage_pairs(u, batch, rows, k, place(u, c->observations, k, base));
        stage_coefficients(u, batch, rows, &commitment, place(u, c->commitment_coefficient, k, base));
    } else {
        stage_codes(u, batch, rows, k, place(u, c->given, k, base));
    }
}

static void stage_transition(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                             const cm_chunk_rows *rows, int k, void *base) {
    size_t at = (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    int32_t *actions = place(u, u->actions, k, base);
    for (int i = 0; i < u->rows; i++) actions[i] = batch->actions[at + (size_t)i * (size_t)u->unroll];
    term reward = {batch->target_reward + at, batch->reward_mask + at, u->unroll, f->reward[k]};
    stage_scalars(u, &reward, place(u, u->reward_target, k + 1, base));
    stage_coefficients(u, batch, rows, &reward, place(u, u->reward_coefficient, k + 1, base));
    if (u->chance) stage_chance(u, f, batch, rows, k, base);
    if (!u->consistency) return;
    term consistency = {NULL, batch->consistency_mask + at, u->unroll, f->consistency[k]};
    stage_coefficients(u, batch, rows, &consistency, place(u, u->consistency_coefficient, k, base));
    stage_rows(u, batch->target_observations, rows->first, u->unroll, k, rows->O,
               place(u, u->target_observation, k, base));
}

/* No action led to the root. */
static void stage_no_reward(const cm_unroll *u, void *base) {
    memset(place(u, u->reward_target, 0, base), 0, (size_t)u->rows * sizeof(float));
    memset(place(u, u->reward_coefficient, 0, base), 0, (size_t)u->rows * sizeof(float));
}

size_t cm_unroll_value_bytes(const cm_unroll *unroll) { return cm_tape_offset(unroll->tape, unroll->observation); }

void cm_unroll_stage_values(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                            void *base) {
    const int steps = unroll->unroll + 1;
    for (int k = 0; k < steps; k++) {
        term value = {.target = batch->target_value + (size_t)rows->first * (size_t)steps + (size_t)k, .stride = steps};
        stage_scalars(unroll, &value, place(unroll, unroll->value_target, k, base));
    }
}

void cm_unroll_stage(const cm_unroll *unroll, const cm_unroll_factors *factors, const cm_train_batch *batch,
                     const cm_chunk_rows *rows, void *base) {
    stage_rows(unroll, batch->observation, rows->first, 1, 0, rows->O, place(unroll, unroll->observation, 0, base));
    if (unroll->unroll > 0) stage_no_reward(unroll, base);
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
            const cm_unroll_chance *c = &u->outcome;
            out->afterstate[k] = collect(u, batch, rows, &consistency, cm_unroll_result(u, c->value[k].loss, base));
            out->code[k] = collect(u, batch, rows, &consistency, cm_unroll_result(u, c->code[k].loss, base));
            if (u->encoder) {
                out->commitment[k] =
                    collect(u, batch, rows, &consistency, cm_unroll_result(u, c->commitment[k].loss, base));
            }
        }
        if (!u->consistency) continue;
        out->consistency[k] =
            collect(u, batch, rows, &consistency, cm_unroll_result(u, u->consistency_loss[k].loss, base));
    }
}
