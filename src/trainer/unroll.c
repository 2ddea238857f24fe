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
    int values;                     /* in POOL, for targets that bootstrap; 0: none does */
    cm_var coefficients[CM_LOSSES]; /* as the losses read them */
    bool prefix;                    /* value prefixes take the place of rewards */
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

/* Which terms the total loss has. */
static bool is_recorded(const recorder *r, cm_loss loss) {
    switch (loss) {
    case CM_LOSS_consistency: return r->u->consistency;
    case CM_LOSS_afterstate:
    case CM_LOSS_code: return r->u->chance;
    case CM_LOSS_commitment: return r->u->encoder;
    default: return true;
    }
}

/* What a loss of a span reads of the coefficients. */
static cm_var coefficients_of(const recorder *r, cm_loss loss, span s) {
    const int each = r->u->loss[loss].each;
    return rows_of(r, r->coefficients[loss], (span){s.first * each, s.count * each});
}

/* Coefficients of a term; 0 where it has no loss. */
static int prepare_loss(recorder *r, cm_loss loss) {
    cm_unroll_loss *l = &r->u->loss[loss];
    const int count = cm_loss_count((int)loss, r->u->unroll);
    l->is_recorded = is_recorded(r, loss);
    l->each = loss == CM_LOSS_policy ? r->u->form.numbers : 1;
    l->first = cm_loss_rows[loss].of == CM_LOSS_OF_ARRIVALS;
    return l->is_recorded && count > 0 ? (l->first + count) * r->u->rows * l->each : 0;
}

static void record_coefficients(recorder *r) {
    cm_unroll *u = r->u;
    int rows[CM_LOSSES], all = 0;
    for (int i = 0; i < CM_LOSSES; i++) all += rows[i] = prepare_loss(r, (cm_loss)i);
    const cm_var staged = cm_tape_input(u->tape, CM_F32, 1, &all);
    const cm_var scaled = r->config->compute == CM_F16 ? cm_tape_loss_scaled(u->tape, staged) : staged;
    for (int i = 0, first = 0; i < CM_LOSSES; first += rows[i++]) {
        u->loss[i].coefficient = rows[i] > 0 ? cm_tape_rows(u->tape, staged, first, rows[i]) : CM_NO_VAR;
        r->coefficients[i] = rows[i] > 0 ? cm_tape_rows(u->tape, scaled, first, rows[i]) : CM_NO_VAR;
    }
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

/* Frames, and what pictures are made of them. */
static void frame_inputs(recorder *r) {
    cm_unroll *u = r->u;
    const cm_network_config *c = r->network;
    const cm_trainer_frames *f = &r->config->frames;
    u->seen = u->consistency ? u->unroll + 1 : 1;
    u->frames_each = f->count + u->seen - 1;
    const int rows = u->seen * u->rows, index[2] = {rows, f->count}, shift[2] = {rows, 2};
    const int dim[4] = {u->frames_each * u->rows, c->observation[0], c->observation[1], c->observation[2] / f->count};
    u->frames = (cm_frame_vars){.frames = cm_tape_input(u->tape, f->unit > 0.0f ? CM_U8 : CM_F32, 4, dim),
                                .index = cm_tape_input(u->tape, CM_I32, 2, index),
                                .shift = cm_tape_input(u->tape, CM_I32, 2, shift),
                                .factor = cm_tape_input(u->tape, CM_F32, 1, &rows),
                                .unit = f->unit};
}

/* o_{t+k} of the steps of a span. */
static cm_var observations_of(const recorder *r, span s) {
    const cm_unroll *u = r->u;
    if (r->config->frames.count == 0)
        return s.first == 0 ? u->observation : rows_of(r, u->target_observation, (span){s.first - 1, s.count});
    cm_frame_vars of = u->frames;
    of.index = rows_of(r, of.index, s), of.shift = rows_of(r, of.shift, s), of.factor = rows_of(r, of.factor, s);
    return cm_tape_stack_frames(u->tape, &of);
}

static void transition_inputs(recorder *r) {
    cm_unroll *u = r->u;
    const int K = u->unroll;
    u->actions = vector_input(r, CM_I32, K);
    u->reward_target = vector_input(r, CM_F32, K + 1);
    if (u->consistency && r->config->frames.count == 0) u->target_observation = observation_input(r, K);
    if (u->encoder) {
        u->code_observations = matrix_input(r, K, 2 * cm_network_observation_size(r->config->network));
    } else if (u->chance) {
        u->given_code = matrix_input(r, K, u->codes);
    }
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
    u->frames = (cm_frame_vars){CM_NO_VAR, CM_NO_VAR, CM_NO_VAR, CM_NO_VAR, 0.0f};
    u->observation = r->config->frames.count > 0 ? CM_NO_VAR : observation_input(r, 1);
    if (r->config->frames.count > 0) frame_inputs(r);
    record_coefficients(r);
    u->policy_target = matrix_input(r, steps, P);
    u->legal = r->config->options->mask_illegal ? matrix_input(r, steps, P) : CM_NO_VAR;
    u->actions = u->reward_target = u->target_observation = u->given_code = u->code_observations = CM_NO_VAR;
    if (u->unroll > 0) transition_inputs(r);
}

/* ---- losses ---- */

/* What the host reads of a span's losses, each for itself. Of arrivals the root, if it is among them, has none. */
static void keep_loss(recorder *r, cm_loss loss, span s, const cm_loss_vars *all) {
    cm_unroll_loss *l = &r->u->loss[loss];
    cm_tape_result(r->u->tape, all->loss);
    cm_tape_result(r->u->tape, all->entropy);
    for (int i = s.first < l->first ? l->first - s.first : 0; i < s.count; i++) {
        const span one = {i * l->each, l->each};
        l->step[s.first + i - l->first] = (cm_loss_vars){.loss = rows_of(r, all->loss, one),
                                                         .decoded = rows_of(r, all->decoded, one),
                                                         .entropy = rows_of(r, all->entropy, one)};
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
    cm_loss_vars loss =
        cm_tape_policy_loss(u->tape, cm_tape_each_number(u->tape, logits, u->form), numbers_of(r, u->policy_target, s),
                            coefficients_of(r, CM_LOSS_policy, s), &rule);
    keep_loss(r, CM_LOSS_policy, s, &loss);
    for (int i = 0; i < s.count; i++) u->policy_logits[s.first + i] = rows_of(r, logits, (span){i, 1});
}

static void record_value(recorder *r, span s, cm_var output) {
    cm_unroll *u = r->u;
    cm_loss_vars loss = cm_tape_value_loss(u->tape, output, rows_of(r, u->value_target, s),
                                           coefficients_of(r, CM_LOSS_value, s), &r->network->value_support);
    if (s.first == 0) cm_tape_result(u->tape, loss.decoded); /* priorities */
    keep_loss(r, CM_LOSS_value, s, &loss);
}

/* Of the dynamics calls that led to a span's states. */
static void record_reward(recorder *r, span s, cm_var output) {
    cm_unroll *u = r->u;
    cm_loss_vars loss = cm_tape_value_loss(u->tape, output, rows_of(r, u->reward_target, s),
                                           coefficients_of(r, CM_LOSS_reward, s), &r->network->reward_support);
    keep_loss(r, CM_LOSS_reward, s, &loss);
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
    const cm_var later = observations_of(r, (span){s.first + 1, s.count});
    cm_hidden seen = cm_network_representation(network, u->tape, later);
    cm_var online = cm_network_project_predict(network, u->tape, states);
    cm_var target = cm_network_project(network, u->tape, cm_tape_stop_gradient(u->tape, seen.scaled));
    cm_loss_vars loss = cm_tape_consistency_loss(u->tape, online, cm_tape_stop_gradient(u->tape, target),
                                                 coefficients_of(r, CM_LOSS_consistency, s));
    keep_loss(r, CM_LOSS_consistency, s, &loss);
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
    cm_tape *tape = r->u->tape;
    const span s = {k, 1};
    if (!r->u->encoder) return rows_of(r, r->u->given_code, s);
    cm_var encoded = cm_network_encode(r->config->network, tape, rows_of(r, r->u->code_observations, s));
    cm_var code = cm_tape_one_hot(tape, encoded);
    cm_loss_vars loss = cm_tape_square_loss(tape, encoded, code, coefficients_of(r, CM_LOSS_commitment, s));
    keep_loss(r, CM_LOSS_commitment, s, &loss);
    return code;
}

static cm_var codes_of(const recorder *r, span s) {
    return r->u->encoder ? cm_tape_stack(r->u->tape, r->codes + s.first, s.count) : rows_of(r, r->u->given_code, s);
}

/* Prediction from the afterstates of a span, with its losses. */
static void record_chance(recorder *r, span s, cm_hidden after) {
    cm_unroll *u = r->u;
    const cm_policy_rule rule = {.legal = CM_NO_VAR};
    cm_outputs out = cm_network_predict_chance(r->config->network, u->tape, after);
    cm_loss_vars value = cm_tape_value_loss(u->tape, out.value, rows_of(r, u->value_target, s),
                                            coefficients_of(r, CM_LOSS_afterstate, s), &r->network->value_support);
    cm_loss_vars code =
        cm_tape_policy_loss(u->tape, out.policy, codes_of(r, s), coefficients_of(r, CM_LOSS_code, s), &rule);
    keep_loss(r, CM_LOSS_afterstate, s, &value);
    keep_loss(r, CM_LOSS_code, s, &code);
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
    const cm_var now = observations_of(r, (span){0, 1});
    r->states[0] = cm_network_representation(r->config->network, r->u->tape, now);
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
    cm_tape_use_recompute(out->tape, (cm_recompute)config->options->recompute);
    if (config->backend->kind->takes_half) cm_tape_use_half(out->tape);
    if (!config->backend->is_in_order) cm_tape_use_branches(out->tape, config->backend->kind->branches);
    record_inputs(&r);
    record_states(&r);
    record_losses(&r);
    return cm_tape_finish(out->tape);
}
