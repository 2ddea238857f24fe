/* The recording of an unroll: its inputs, states and losses on a tape. */
#include "trainer/unroll.h"

/* Unroll steps that one call is made for. */
typedef struct span {
    int first, count;
} span;

typedef struct recorder {
    const cm_trainer_config *config;
    const cm_network_config *network;
    cm_unroll *u;
    int values;                  /* in POOL, for targets that bootstrap; 0: none does */
    cm_var coefficients, scaled; /* of all losses, as they are staged and as the losses read them */
    int taken;                   /* of the coefficients' rows */
    bool prefix;                 /* value prefixes take the place of rewards */
    cm_hidden states[CM_UNROLL_MAX + 1], afterstates[CM_UNROLL_MAX];
    cm_var codes[CM_UNROLL_MAX]; /* of each step, [B, C] */
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
    const int all =
        u->rows * ((1 + u->form.numbers) * (K + 1) + (K > 0 ? K + 1 : 0) + K * (u->consistency + of_chance));
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

/* Value targets, given or made of what they bootstrap from. */
static void value_inputs(recorder *r, int steps) {
    cm_unroll *u = r->u;
    u->value_partial = u->bootstrap_coefficient = u->bootstrap_row = CM_NO_VAR;
    if (r->values == 0) {
        u->value_target = vector_input(r, CM_F32, steps);
        return;
    }
    u->value_partial = vector_input(r, CM_F32, steps);
    u->bootstrap_coefficient = vector_input(r, CM_F32, steps);
    u->bootstrap_row = vector_input(r, CM_I32, steps);
    u->value_target = cm_tape_bootstrap(u->tape, u->value_partial, u->bootstrap_coefficient,
                                        cm_tape_pool(u->tape, r->values, 1), u->bootstrap_row);
    cm_tape_result(u->tape, u->value_target);
}

static void record_inputs(recorder *r) {
    cm_unroll *u = r->u;
    const int steps = u->unroll + 1, P = cm_policy_size(u->form);
    value_inputs(r, steps);
    u->observation = observation_input(r, 1);
    record_coefficients(r);
    u->value_coefficient = coefficient_rows(r, steps);
    u->policy_target = matrix_input(r, steps, P);
    u->policy_coefficient = coefficient_rows(r, steps * u->form.numbers);
    u->legal = r->config->options->mask_illegal ? matrix_input(r, steps, P) : CM_NO_VAR;
    u->actions = u->reward_target = u->reward_coefficient = CM_NO_VAR;
    u->target_observation = u->consistency_coefficient = CM_NO_VAR;
    if (u->unroll > 0) transition_inputs(r);
}

/* ---- losses ---- */

/* The results of a span's steps, each for itself: out[s.first ..] <- what the host reads of a loss. A row of the batch
 * has `each` of them. */
static void keep_loss(recorder *r, span s, int each, const cm_loss_vars *all, cm_loss_vars *out) {
    cm_tape_result(r->u->tape, all->loss);
    cm_tape_result(r->u->tape, all->entropy);
    for (int i = 0; i < s.count; i++) {
        const span one = {i * each, each};
        out[s.first + i].loss = rows_of(r, all->loss, one);
        out[s.first + i].decoded = rows_of(r, all->decoded, one);
        out[s.first + i].entropy = rows_of(r, all->entropy, one);
    }
}

/* A span's rows [count B, P] as rows of each number. */
static cm_var numbers_of(const recorder *r, cm_var x, span s) {
    return cm_tape_each_number(r->u->tape, rows_of(r, x, s), r->u->form);
}

/* The cross-entropies of an action's numbers add up to that of the action with what the search visited
 * (core/policy_form.h), and so do the entropies. */
static void record_policy(recorder *r, span s, cm_var logits) {
    cm_unroll *u = r->u;
    const cm_trainer_options *o = r->config->options;
    cm_policy_rule rule = {.legal = numbers_of(r, u->legal, s), .kl = o->policy_loss == CM_POLICY_LOSS_KL};
    if (o->policy_weight > 0.0) rule.entropy_weight = (float)(o->entropy_weight / o->policy_weight);
    const int D = u->form.numbers;
    cm_loss_vars loss =
        cm_tape_policy_loss(u->tape, cm_tape_each_number(u->tape, logits, u->form), numbers_of(r, u->policy_target, s),
                            coefficients_of(r, u->policy_coefficient, (span){s.first * D, s.count * D}), &rule);
    keep_loss(r, s, D, &loss, u->policy);
    for (int i = 0; i < s.count; i++) u->policy_logits[s.first + i] = rows_of(r, logits, (span){i, 1});
}

static void record_value(recorder *r, span s, cm_var output) {
    cm_unroll *u = r->u;
    cm_loss_vars loss = cm_tape_value_loss(u->tape, output, rows_of(r, u->value_target, s),
                                           coefficients_of(r, u->value_coefficient, s), &r->network->value_support);
    if (s.first == 0) cm_tape_result(u->tape, loss.decoded); /* priorities */
    keep_loss(r, s, 1, &loss, u->value);
}

/* Of the dynamics calls that led to a span's states. The root, if it is among them, has the coefficient 0. */
static void record_reward(recorder *r, span s, cm_var output) {
    cm_unroll *u = r->u;
    cm_loss_vars of_state[CM_UNROLL_MAX + 1];
    cm_loss_vars loss = cm_tape_value_loss(u->tape, output, rows_of(r, u->reward_target, s),
                                           coefficients_of(r, u->reward_coefficient, s), &r->network->reward_support);
    keep_loss(r, s, 1, &loss, of_state);
    for (int k = s.first > 0 ? s.first : 1; k < s.first + s.count; k++) u->reward[k - 1] = of_state[k];
}

/* Prediction from the states of a span, with its losses. */
static void record_prediction(recorder *r, span s, cm_hidden state) {
    const bool with_reward = s.first + s.count > 1 && !r->prefix;
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
    keep_loss(r, s, 1, &loss, u->consistency_loss);
}

/* Value prefixes of steps 0 .. K-1, from the raw states that they led to, a variable for each span: an LSTM reads all
 * steps in one call. */
static void record_prefixes(recorder *r, const cm_var *states) {
    const cm_network *network = r->config->network;
    cm_tape *tape = r->u->tape;
    const int K = r->u->unroll, spans = spans_of(r, K);
    cm_var inputs[CM_UNROLL_MAX];
    for (int i = 0; i < spans; i++) inputs[i] = cm_network_prefix_input(network, tape, states[i]);
    cm_lstm_state start = cm_network_prefix_start(network, tape, r->u->rows);
    cm_var h = cm_network_prefix_lstm(network, tape, cm_tape_stack(tape, inputs, spans), K, start).h;
    for (int i = 0; i < spans; i++) {
        const span s = span_at(r, i, K);
        record_reward(r, (span){s.first + 1, s.count}, cm_network_prefix(network, tape, rows_of(r, h, s)));
    }
}

/* The code of a step. A learnt one's own gradient goes through the dynamics to the encoder; as a target it is a
 * constant, in its loss and in the commitment. The encoder takes statistics of its rows, so it is called once per step
 * in every network. */
static cm_var record_code(recorder *r, int k) {
    cm_unroll_chance *c = &r->u->outcome;
    cm_tape *tape = r->u->tape;
    const span s = {k, 1};
    if (!r->u->encoder) return rows_of(r, c->given, s);
    cm_var encoded = cm_network_encode(r->config->network, tape, rows_of(r, c->observations, s));
    cm_var code = cm_tape_one_hot(tape, encoded);
    cm_loss_vars loss = cm_tape_square_loss(tape, encoded, code, coefficients_of(r, c->commitment_coefficient, s));
    keep_loss(r, s, 1, &loss, c->commitment);
    return code;
}

static cm_var codes_of(const recorder *r, span s) {
    return r->u->encoder ? cm_tape_stack(r->u->tape, r->codes + s.first, s.count) : rows_of(r, r->u->outcome.given, s);
}

/* Prediction from the afterstates of a span, with its losses. */
static void record_chance(recorder *r, span s, cm_hidden after) {
    cm_unroll *u = r->u;
    cm_unroll_chance *c = &u->outcome;
    const cm_policy_rule rule = {.legal = CM_NO_VAR};
    cm_outputs out = cm_network_predict_chance(r->config->network, u->tape, after);
    cm_loss_vars value = cm_tape_value_loss(u->tape, out.value, rows_of(r, u->value_target, s),
                                            coefficients_of(r, c->value_coefficient, s), &r->network->value_support);
    cm_loss_vars code =
        cm_tape_policy_loss(u->tape, out.policy, codes_of(r, s), coefficients_of(r, c->code_coefficient, s), &rule);
    keep_loss(r, s, 1, &value, c->value);
    keep_loss(r, s, 1, &code, c->code);
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

static cm_hidden record_transition(recorder *r, int k) {
    const cm_network *network = r->config->network;
    cm_tape *tape = r->u->tape;
    cm_var from = into_dynamics(r, r->states[k], k), action = rows_of(r, r->u->actions, (span){k, 1});
    if (!r->u->chance) return cm_network_dynamics(network, tape, from, action);
    r->afterstates[k] = cm_network_afterstate(network, tape, from, action);
    return cm_network_outcome(network, tape, r->afterstates[k].scaled, r->codes[k]);
}

static void record_states(recorder *r) {
    const int K = r->u->unroll;
    r->states[0] = cm_network_representation(r->config->network, r->u->tape, r->u->observation);
    for (int k = 0; r->u->chance && k < K; k++) r->codes[k] = record_code(r, k);
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

/* All K + 1 states where one call predicts from them. With value prefixes it reads the scaled ones alone. */
static cm_hidden whole_states(const recorder *r) {
    cm_hidden states[CM_UNROLL_MAX + 1];
    const int K = r->u->unroll;
    if (spans_of(r, K + 1) != 1) return (cm_hidden){CM_NO_VAR, CM_NO_VAR};
    for (int k = 0; k <= K; k++) {
        states[k] = r->states[k];
        if (r->prefix) states[k].raw = states[k].scaled;
    }
    return stack(r, states, K + 1);
}

/* The states that actions led to, of each span: those before scaling; `scaled`: of all K + 1 steps, or CM_NO_VAR. */
static void raw_states(const recorder *r, cm_var scaled, cm_var *out) {
    const int K = r->u->unroll, rows = r->u->rows;
    const cm_hidden *led_to = r->states + 1;
    for (int k = 0; k < K; k++) out[k] = led_to[k].raw;
    if (scaled == CM_NO_VAR) return;
    const bool same = led_to[0].raw == led_to[0].scaled;
    out[0] = same ? cm_tape_rows(r->u->tape, scaled, rows, K * rows) : cm_tape_stack(r->u->tape, out, K);
}

/* What is predicted from the states. What reads all of them is recorded last (cm_tape_stack). */
static void record_losses(recorder *r) {
    const int K = r->u->unroll, rows = r->u->rows;
    const bool whole = spans_of(r, K + 1) == 1;
    const cm_hidden states = whole_states(r);
    cm_var raw[CM_UNROLL_MAX];
    for (int i = 0; r->u->chance && i < spans_of(r, K); i++) {
        const span s = span_at(r, i, K);
        record_chance(r, s, stack(r, r->afterstates + s.first, s.count));
    }
    for (int i = 0; r->u->consistency && i < spans_of(r, K); i++) {
        cm_var later = whole ? cm_tape_rows(r->u->tape, states.scaled, rows, K * rows) : r->states[i + 1].scaled;
        record_consistency(r, span_at(r, i, K), later);
    }
    if (r->prefix && K > 0) {
        raw_states(r, states.scaled, raw);
        record_prefixes(r, raw);
    }
    for (int i = 0; i < spans_of(r, K + 1); i++)
        record_prediction(r, span_at(r, i, K + 1), whole ? states : r->states[i]);
}

cm_status cm_unroll_record(const cm_trainer_config *config, int rows, int values, cm_unroll *out) {
    recorder r = {.config = config, .network = cm_network_get_config(config->network), .u = out, .values = values};
    r.prefix = r.network->prefix_horizon > 0;
    out->rows = rows;
    out->unroll = config->unroll;
    out->form = cm_network_policy(config->network);
    out->consistency = r.network->consistency && out->unroll > 0;
    out->chance = r.network->model == CM_NETWORK_CHANCE;
    out->codes = r.network->codes;
    out->encoder = out->chance && r.network->encoder;
    CM_TRY(cm_tape_create(true, config->compute, &out->tape));
    if (config->backend->kind->narrow) cm_tape_narrow_copies(out->tape);
    if (!config->backend->is_in_order) cm_tape_use_lanes(out->tape, config->backend->kind->lanes);
    record_inputs(&r);
    record_states(&r);
    record_losses(&r);
    return cm_tape_finish(out->tape);
}
