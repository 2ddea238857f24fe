#include "network/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "network/encoder.h"
#include "network/family.h"

struct cm_network {
    cm_network_config config;
    cm_param_table table;
};

/* ---- its functions ---- */

static const cm_family *family(const cm_network_config *config) {
    static const cm_family *const families[] = {
#define CM_FAMILY(NAME, name) &cm_family_##name,
#include "network/families.def"
#undef CM_FAMILY
    };
    return families[config->family];
}

static cm_builder builder(const cm_network *network, cm_tape *tape) {
    return (cm_builder){
        .config = &network->config, .table = (cm_param_table *)(uintptr_t)&network->table, .tape = tape};
}

/* A function of the network, which may be recomputed, and whose calls belong to a part. */
static cm_builder begin(const cm_network *network, cm_tape *tape, cm_call_part part) {
    cm_tape_part(tape, part);
    cm_tape_begin_segment(tape, CM_RECOMPUTE_FULL);
    cm_builder b = builder(network, tape);
    b.in_8_bits = true;
    return b;
}

static void end(const cm_builder *b) { cm_tape_end_segment(b->tape, CM_RECOMPUTE_FULL); }

static cm_hidden hidden(cm_builder *b, cm_var raw) {
    cm_hidden state = {raw, b->config->minmax ? cm_tape_minmax(b->tape, raw) : raw};
    return state;
}

static cm_lstm_state lstm(cm_builder *b, cm_var inputs, int steps, cm_lstm_state start) {
    return cm_layer_lstm(b, "dynamics.lstm", cm_tape_flatten(b->tape, inputs), steps, start);
}

static cm_lstm_state lstm_start(cm_builder *b, int rows) {
    cm_var zeros = cm_tape_reshape_rows(b->tape, cm_tape_constant(b->tape, rows * b->config->lstm, 0.0f), rows);
    return (cm_lstm_state){zeros, zeros};
}

static cm_var project(cm_builder *b, cm_var state) {
    const cm_network_config *c = b->config;
    cm_layer inner = cm_layer_make(c->projection_hidden, c->norm, CM_ACT_RELU);
    cm_layer last = cm_layer_make(c->projection_output, c->norm, CM_ACT_NONE);
    cm_var x = cm_layer_stack(b, "consistency.projection", 2, cm_tape_flatten(b->tape, state), &inner);
    return cm_layer_dense(b, "consistency.projection.2", x, &last);
}

static cm_var project_predict(cm_builder *b, cm_var state) {
    const cm_network_config *c = b->config;
    cm_layer inner = cm_layer_make(c->predictor_hidden, c->norm, CM_ACT_RELU);
    cm_layer output = cm_layer_make(c->projection_output, CM_NORM_NONE, CM_ACT_NONE);
    cm_var x = cm_layer_dense(b, "consistency.predictor.hidden", project(b, state), &inner);
    return cm_layer_dense(b, "consistency.predictor.output", x, &output);
}

cm_hidden cm_network_representation(const cm_network *network, cm_tape *tape, cm_var observation) {
    cm_builder b = begin(network, tape, CM_PART_REPRESENTATION);
    const cm_hidden out = hidden(&b, family(b.config)->representation(&b, observation));
    end(&b);
    return out;
}

cm_hidden cm_network_dynamics(const cm_network *network, cm_tape *tape, cm_var state, cm_var action) {
    cm_builder b = begin(network, tape, CM_PART_DYNAMICS);
    const cm_hidden out = hidden(&b, family(b.config)->dynamics(&b, state, action));
    end(&b);
    return out;
}

cm_outputs cm_network_predict(const cm_network *network, cm_tape *tape, cm_hidden state, bool with_reward) {
    cm_builder b = begin(network, tape, CM_PART_PREDICTION);
    const cm_outputs out = family(b.config)->predict(&b, state, with_reward);
    end(&b);
    return out;
}

cm_hidden cm_network_afterstate(const cm_network *network, cm_tape *tape, cm_var state, cm_var action) {
    cm_builder b = begin(network, tape, CM_PART_DYNAMICS);
    const cm_hidden out = hidden(&b, family(b.config)->afterstate(&b, state, action));
    end(&b);
    return out;
}

cm_outputs cm_network_predict_chance(const cm_network *network, cm_tape *tape, cm_hidden afterstate) {
    cm_builder b = begin(network, tape, CM_PART_PREDICTION);
    const cm_outputs out = family(b.config)->predict_chance(&b, afterstate);
    end(&b);
    return out;
}

cm_hidden cm_network_outcome(const cm_network *network, cm_tape *tape, cm_var afterstate, cm_var code) {
    cm_builder b = begin(network, tape, CM_PART_DYNAMICS);
    const cm_hidden out = hidden(&b, family(b.config)->outcome(&b, afterstate, code));
    end(&b);
    return out;
}

cm_var cm_network_encode(const cm_network *network, cm_tape *tape, cm_var observations) {
    cm_builder b = builder(network, tape);
    return cm_encoder(&b, observations);
}

cm_var cm_network_prefix_input(const cm_network *network, cm_tape *tape, cm_var raw) {
    cm_builder b = begin(network, tape, CM_PART_DYNAMICS);
    b.in_8_bits = false;
    const cm_var out = family(b.config)->prefix_input(&b, raw);
    end(&b);
    return out;
}

cm_lstm_state cm_network_prefix_lstm(const cm_network *network, cm_tape *tape, cm_var inputs, int steps,
                                     cm_lstm_state start) {
    cm_builder b = builder(network, tape);
    return lstm(&b, inputs, steps, start);
}

cm_lstm_state cm_network_prefix_start(const cm_network *network, cm_tape *tape, int rows) {
    cm_builder b = builder(network, tape);
    return lstm_start(&b, rows);
}

cm_var cm_network_prefix(const cm_network *network, cm_tape *tape, cm_var h) {
    cm_builder b = builder(network, tape);
    return family(b.config)->prefix_head(&b, h);
}

cm_var cm_network_project(const cm_network *network, cm_tape *tape, cm_var state) {
    cm_builder b = builder(network, tape);
    return project(&b, state);
}

cm_var cm_network_project_predict(const cm_network *network, cm_tape *tape, cm_var state) {
    cm_builder b = builder(network, tape);
    return project_predict(&b, state);
}

/* ---- the description ---- */

/* The two halves of a step with chance, and the encoder. */
static cm_hidden define_chance(cm_builder *b, cm_hidden state, cm_var action) {
    const cm_network_config *c = b->config;
    int pair[2] = {1, 2}, code[2] = {1, c->codes};
    for (int i = 0; i < c->observation_ndim; i++) pair[1] *= c->observation[i];
    cm_hidden after = hidden(b, family(c)->afterstate(b, state.scaled, action));
    family(c)->predict_chance(b, after);
    b->in_8_bits = false;
    if (c->encoder) cm_encoder(b, cm_tape_input(b->tape, CM_F32, 2, pair));
    b->in_8_bits = true;
    return hidden(b, family(c)->outcome(b, after.scaled, cm_tape_input(b->tape, CM_F32, 2, code)));
}

static void define_prefix(cm_builder *b, cm_var raw) {
    const cm_family *f = family(b->config);
    f->prefix_head(b, lstm(b, f->prefix_input(b, raw), 1, lstm_start(b, 1)).h);
}

static void define_dynamics(cm_builder *b, cm_hidden state) {
    const cm_family *f = family(b->config);
    int one = 1;
    cm_var action = cm_tape_input(b->tape, CM_I32, 1, &one);
    bool chance = b->config->model == CM_NETWORK_CHANCE;
    cm_hidden next = chance ? define_chance(b, state, action) : hidden(b, f->dynamics(b, state.scaled, action));
    f->predict(b, next, b->config->prefix_horizon == 0);
    b->in_8_bits = false;
    if (b->config->prefix_horizon > 0) define_prefix(b, next.raw);
    if (b->config->consistency) project_predict(b, next.scaled);
}

/* Runs every function once on a scratch tape: what they ask for is the table. */
static cm_status define(cm_network *network) {
    const cm_network_config *c = &network->config;
    cm_builder b = {.config = c, .table = &network->table, .define = true, .in_8_bits = true};
    CM_TRY(cm_tape_create(false, CM_F32, &b.tape));
    int dim[4] = {1, c->observation[0], c->observation[1], c->observation[2]};
    cm_var observation = cm_tape_input(b.tape, CM_F32, c->observation_ndim + 1, dim);
    cm_hidden state = hidden(&b, family(c)->representation(&b, observation));
    if (c->model == CM_NETWORK_PREDICTION) {
        family(c)->predict(&b, state, false);
    } else {
        define_dynamics(&b, state);
    }
    cm_status status = b.status == CM_OK ? cm_tape_finish(b.tape) : b.status;
    cm_tape_destroy(b.tape);
    return status;
}

cm_status cm_network_create(const cm_network_config *config, cm_network **out) {
    *out = NULL;
    CM_TRY(cm_network_config_check(config));
    cm_network *network;
    CM_TRY(cm_alloc(&network, 1, sizeof *network, "a network"));
    network->config = *config;
    cm_status status = define(network);
    if (status != CM_OK) {
        cm_network_destroy(network);
        return status;
    }
    *out = network;
    return CM_OK;
}

void cm_network_destroy(cm_network *network) {
    if (!network) return;
    cm_param_table_destroy(&network->table);
    free(network);
}

const cm_network_config *cm_network_get_config(const cm_network *network) { return &network->config; }

cm_policy_form cm_network_policy(const cm_network *network) {
    const cm_network_config *c = &network->config;
    return c->per_number ? c->form : cm_policy_form_of(c->actions, 1);
}

const cm_param_table *cm_network_parameters(const cm_network *network) { return &network->table; }

void cm_network_set_ranges(cm_network *network, const float *ranges) {
    for (int i = 0; i < network->table.count; i++) network->table.param[i].range = ranges ? ranges[i] : 0.0f;
}

bool cm_network_has_ranges(const cm_network *network) {
    for (int i = 0; i < network->table.count; i++)
        if (network->table.param[i].range > 0.0f) return true;
    return false;
}

bool cm_network_is_rowwise(const cm_network *network) { return network->config.norm != CM_NORM_BATCH; }

bool cm_network_is_for_training(const cm_network *network, int row) {
    static const char *const parts[] = {"consistency.", "encoder."};
    const char *name = network->table.param[row].name;
    return strncmp(name, parts[0], strlen(parts[0])) == 0 || strncmp(name, parts[1], strlen(parts[1])) == 0;
}

bool cm_network_has_planes(const cm_network *network) { return family(&network->config)->planes; }

int cm_network_state_size(const cm_network *network) {
    const cm_network_config *c = &network->config;
    int size[3];
    if (!family(c)->planes) return c->hidden;
    cm_network_state_planes(c, size);
    return size[0] * size[1] * size[2];
}

int cm_network_memory_size(const cm_network *network) {
    return network->config.prefix_horizon > 0 ? 2 * network->config.lstm + 2 : 0;
}

int cm_network_observation_size(const cm_network *network) {
    int size = 1;
    for (int i = 0; i < network->config.observation_ndim; i++) size *= network->config.observation[i];
    return size;
}

/* Above this no learning rate helps. */
static const float large_observation = 1e6f;

void cm_network_advise(const float *observations, size_t n, const char *otherwise, char out[CM_NETWORK_ADVICE]) {
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(observations[i]));
    if (most > large_observation) {
        snprintf(out, CM_NETWORK_ADVICE, "scale the environment's observations, which are as large as %g",
                 (double)most);
    } else {
        snprintf(out, CM_NETWORK_ADVICE, "%s", otherwise);
    }
}
