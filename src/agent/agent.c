#include "agent/agent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rng.h"
#include "device/device.h"
#include "network/sampled.h"

enum { MOST_ROWS = 64 };
static const size_t most_planner_bytes = (size_t)256 << 20;

struct cm_agent {
    cm_agent_config config;
    size_t parameter_count, state_count;
    cm_buffer parameters, state; /* owned */
    cm_planner *single[2];       /* of select_action: evaluation, training; NULL until used */
    uint64_t selected;           /* calls of select_action in training */
};

cm_status cm_agent_create(const cm_agent_config *config, cm_agent **out) {
    const cm_param_table *table = cm_network_parameters(config->network);
    cm_agent *agent = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&agent, 1, sizeof *agent, "an agent"));
    agent->config = *config;
    agent->parameter_count = table->parameters;
    agent->state_count = table->states;
    const cm_device *device = config->backend->device;
    size_t n = (table->parameters + 1) * sizeof(float), s = (table->states + 1) * sizeof(float);
    cm_status status = cm_buffer_create(&agent->parameters, device, n, "an agent's weights");
    if (status == CM_OK) status = cm_buffer_create(&agent->state, device, s, "an agent's statistics");
    if (status == CM_OK) {
        *out = agent;
    } else {
        cm_agent_destroy(agent);
    }
    return status;
}

void cm_agent_destroy(cm_agent *agent) {
    if (!agent) return;
    for (int i = 0; i < 2; i++) cm_planner_destroy(agent->single[i]);
    cm_buffer_destroy(&agent->state);
    cm_buffer_destroy(&agent->parameters);
    free(agent);
}

const cm_agent_config *cm_agent_get_config(const cm_agent *agent) { return &agent->config; }

static cm_status repack(cm_agent *agent) {
    return cm_backend_repack(agent->config.backend, agent->parameters.base, agent->parameter_count * sizeof(float),
                             agent->config.pool);
}

cm_status cm_agent_set_weights(cm_agent *agent, const float *parameters, const float *state) {
    CM_TRY(cm_buffer_write(&agent->parameters, 0, parameters, agent->parameter_count * sizeof(float)));
    if (agent->state_count > 0) CM_TRY(cm_buffer_write(&agent->state, 0, state, agent->state_count * sizeof(float)));
    return repack(agent);
}

cm_status cm_agent_get_weights(const cm_agent *agent, float *parameters, float *state) {
    CM_TRY(cm_buffer_read(&agent->parameters, 0, parameters, agent->parameter_count * sizeof(float)));
    if (agent->state_count == 0) return CM_OK;
    return cm_buffer_read(&agent->state, 0, state, agent->state_count * sizeof(float));
}

cm_status cm_agent_copy_weights(cm_agent *agent, const cm_buffer *parameters, const cm_buffer *state) {
    const cm_device *device = agent->config.backend->device;
    CM_TRY(device->copy(device, agent->parameters.base, parameters->base, agent->parameter_count * sizeof(float)));
    if (agent->state_count > 0)
        CM_TRY(device->copy(device, agent->state.base, state->base, agent->state_count * sizeof(float)));
    return repack(agent);
}

static cm_planner_config planner_config(const cm_agent *agent, int rows, bool training) {
    const cm_agent_config *c = &agent->config;
    return (cm_planner_config){
        .network = c->network,
        .rules = c->rules,
        .task = c->task,
        .backend = c->backend,
        .parameters = (float *)agent->parameters.base,
        .state = (float *)agent->state.base,
        .compute = c->compute,
        .search = training ? c->acting : c->evaluation,
        .discount = c->discount,
        .draws = c->draws,
        .rows = rows,
    };
}

cm_network_use cm_agent_network_use(cm_agent *agent, cm_stream *stream, int rows) {
    const cm_planner_config config = planner_config(agent, rows, false);
    return cm_planner_use(&config, stream);
}

cm_status cm_agent_planner(cm_agent *agent, int rows, bool training, cm_planner **out) {
    cm_planner_config config = planner_config(agent, rows, training);
    return cm_planner_create(&config, out);
}

bool cm_agent_is_on_device(const cm_agent *agent, bool training) {
    cm_planner_config config = planner_config(agent, 1, training);
    return cm_planner_is_on_device(&config);
}

int cm_agent_planner_rows(const cm_agent *agent, int wanted) {
    const cm_agent_config *c = &agent->config;
    const cm_network_config *network = cm_network_get_config(c->network);
    int num_chance = network->model == CM_NETWORK_CHANCE ? network->codes : 0;
    size_t floats = (size_t)cm_network_state_size(c->network) + (size_t)cm_network_memory_size(c->network) +
                    (size_t)cm_sampled_memory_size(c->draws);
    size_t state = c->rules ? c->rules->spec.rules_size : floats * sizeof(float);
    size_t tree = cm_search_bytes(&c->evaluation, 1, c->draws > 0 ? c->draws : network->actions, num_chance);
    size_t fitting = most_planner_bytes / (tree + state * ((size_t)c->evaluation.num_simulations + 1));
    int rows = wanted < MOST_ROWS ? wanted : MOST_ROWS;
    if ((size_t)rows > fitting) rows = (int)fitting;
    return rows > 1 ? rows : 1;
}

/* One search from what row 0 of the planner holds. */
static cm_status decide(cm_agent *agent, const uint8_t *legal, bool training, cm_decision *out) {
    cm_key key = cm_key_make(agent->config.seed, CM_RNG_ACTION, 0);
    uint64_t step = training ? agent->selected++ : 0;
    cm_roots roots = {.count = 1, .legal = legal, .keys = training ? &key : NULL, .steps = &step};
    cm_search_result result = {.action = &out->action, .action_weights = out->policy, .value = &out->value};
    return cm_planner_run(agent->single[training], &roots, &result);
}

static cm_status need_planner(cm_agent *agent, bool training) {
    return agent->single[training] ? CM_OK : cm_agent_planner(agent, 1, training, &agent->single[training]);
}

cm_status cm_agent_decide(cm_agent *agent, const cm_env *env, const void *state, bool training, cm_decision *out) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    CM_TRY(need_planner(agent, training));
    cm_planner_place(agent->single[training], 0, env, state);
    if (env->def->legal) cm_env_legal(env, state, legal);
    return decide(agent, env->def->legal ? legal : NULL, training, out);
}

cm_status cm_agent_select_action(cm_agent *agent, const float *observation, bool training, int32_t *action,
                                 float *policy) {
    cm_decision decision = {.policy = policy};
    size_t size = (size_t)cm_network_observation_size(agent->config.network);
    if (agent->config.rules) {
        return cm_fail(CM_ERR_INPUT, "this agent searches on the rules of %s: it needs a state, not an observation",
                       agent->config.rules->spec.name);
    }
    CM_TRY(need_planner(agent, training));
    memcpy(cm_planner_observations(agent->single[training]), observation, size * sizeof(float));
    CM_TRY(decide(agent, NULL, training, &decision));
    *action = decision.action;
    return CM_OK;
}

int cm_agent_shard_rows(int count, bool on_device) {
    int rows = on_device ? count : count >= 128 ? 64 : 32;
    return rows < count ? rows : count;
}

double cm_agent_temperature(const cm_agent_options *options, double share) {
    if (options->temperature_schedule == CM_TEMPERATURE_CONSTANT) return options->temperature;
    return options->temperature * (share < 0.5 ? 1.0 : share < 0.75 ? 0.5 : 0.25);
}

double cm_agent_random_moves(const cm_agent_options *options, double share) {
    double end = options->random_move_end;
    return options->random_move_probability * (end > 0.0 ? fmax(0.0, 1.0 - share / end) : 1.0);
}
