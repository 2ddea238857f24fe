/* Benchmark of self-play: environments act as in a run, with fresh weights, into a replay that is not learnt from. */
#include <stdio.h>
#include <stdlib.h>

#include "agent/acting.h"
#include "cli/benchmark.h"
#include "core/arena.h"
#include "run/layer_ranges.h"
#include "run/session.h"

enum { MOST_ENVIRONMENTS = 65536 }; /* as of num_envs */

typedef struct playing {
    cm_session *session; /* owned, like all below */
    cm_agent *agent;
    cm_replay *replay;
    cm_actor *actor;
} playing;

static cm_status open_session(const cm_benchmark *bench, playing *p) {
    cm_configuration c = bench->configuration;
    if (bench->batch > MOST_ENVIRONMENTS)
        return cm_fail(CM_ERR_INPUT, "benchmark act: --batch %d: at most %d environments act", bench->batch,
                       MOST_ENVIRONMENTS);
    if (c.run.backend == CM_BACKEND_AUTO) c.run.backend = CM_BACKEND_CPU;
    c.env.num_envs = bench->batch;
    c.mcts.num_simulations = bench->simulations;
    CM_TRY(cm_session_open(&c, NULL, &p->session));
    return cm_session_check_acting(p->session);
}

static cm_status open_agent(playing *p) {
    const cm_param_table *table = cm_network_parameters(p->session->network);
    float *weights;
    CM_TRY(cm_session_agent(p->session, &p->agent));
    CM_TRY(cm_alloc(&weights, table->parameters + table->states + 1, sizeof *weights, "weights"));
    cm_network_initialise(p->session->network, 1, weights, weights + table->parameters);
    const cm_status status = cm_agent_set_weights(p->agent, weights, weights + table->parameters);
    free(weights);
    return status;
}

/* The steps of four iterations: old ones make space while it runs, as in a run. */
static cm_status open_replay(playing *p) {
    const cm_env_spec *spec = &p->session->env.spec;
    const int steps = p->session->configuration.agent.steps_per_iteration,
              environments = p->session->configuration.env.num_envs;
    const cm_replay_config config = {.observation_size = spec->observation_size,
                                     .frames = spec->frames,
                                     .frame_channels = spec->shape[spec->rank == 3 ? 2 : 0] / spec->frames,
                                     .observation_unit = spec->observation_unit,
                                     .actions = spec->actions,
                                     .form = cm_network_policy(p->session->network),
                                     .environments = environments,
                                     .max_steps = (int64_t)4 * steps * environments,
                                     .segment_steps = 4 * steps,
                                     .commit_steps = steps,
                                     .sample_open = true,
                                     .targets = {.unroll = 1, .td_steps = 1, .discount = 1.0}};
    return cm_replay_create(&config, &p->replay);
}

static cm_status open_actor(playing *p, bool at_once) {
    const cm_configuration *c = &p->session->configuration;
    const cm_actor_config config = {.agent = p->agent,
                                    .env = &p->session->env,
                                    .replay = p->replay,
                                    .pool = p->session->pool,
                                    .environments = c->env.num_envs,
                                    .steps = c->agent.steps_per_iteration,
                                    .random_move_steps = 1,
                                    .reuse_tree = cm_mcts_keeps_trees(&c->mcts),
                                    .at_once = at_once};
    return cm_actor_create(&config, &p->actor);
}

static cm_status open_playing(const cm_benchmark *bench, bool at_once, playing *p) {
    CM_TRY(open_session(bench, p));
    CM_TRY(open_agent(p));
    CM_TRY(open_replay(p));
    return open_actor(p, at_once);
}

static void close_playing(playing *p) {
    cm_actor_destroy(p->actor);
    cm_replay_destroy(p->replay);
    cm_agent_destroy(p->agent);
    cm_session_close(p->session);
}

static cm_status iteration(void *context) {
    playing *p = context;
    CM_TRY(cm_actor_run(p->actor, 1.0, 0.0));
    return cm_replay_commit(p->replay);
}

typedef struct speed {
    double env_steps, simulations; /* per second */
    double searching;              /* share of the workers' time */
} speed;

/* Acting in 8 bits, by ranges of what has been played. */
static cm_status quantise(const playing *p) {
    const cm_layer_ranges_request request = {.agent = p->agent, .network = p->session->network, .replay = p->replay};
    float *ranges = NULL;
    if (p->session->configuration.agent.acting_dtype != CM_ACTING_INT8) return CM_OK;
    CM_TRY(cm_alloc(&ranges, (size_t)cm_network_parameters(p->session->network)->count + 1, sizeof *ranges,
                    "ranges of layers"));
    cm_status status = cm_layer_ranges_measure(&request, ranges);
    if (status == CM_OK) {
        cm_network_set_ranges(p->session->network, ranges);
        status = cm_actor_replan(p->actor);
    }
    free(ranges);
    return status;
}

static cm_status time_playing(const cm_benchmark *bench, playing *p, speed *out) {
    cm_actor_counts before, after;
    double seconds;
    for (int i = 0; i < 2; i++) CM_TRY(iteration(p)); /* what is recorded is recorded then */
    CM_TRY(quantise(p));
    cm_actor_count(p->actor, &before);
    CM_TRY(iteration(p));
    cm_actor_count(p->actor, &after);
    const double steps = (double)(after.env_steps - before.env_steps);
    const double simulations = (double)(after.simulations - before.simulations);
    CM_TRY(cm_benchmark_time(bench->seconds, iteration, p, &seconds));
    cm_actor_count(p->actor, &after);
    *out = (speed){.env_steps = steps / seconds,
                   .simulations = simulations / seconds,
                   .searching = (after.searching - before.searching) / (after.seconds - before.seconds)};
    return CM_OK;
}

static cm_status measure(const cm_benchmark *bench, bool at_once, speed *out, char *what, size_t size) {
    playing p = {0};
    cm_status status = open_playing(bench, at_once, &p);
    if (status == CM_OK)
        snprintf(what, size, "%.60s, %d environments", p.session->env.spec.name, p.session->configuration.env.num_envs);
    if (status == CM_OK) status = time_playing(bench, &p, out);
    close_playing(&p);
    return status;
}

cm_status cm_benchmark_act(const cm_benchmark *bench, cm_benchmark_result *result) {
    speed halves, whole;
    char what[96], policy[CM_OPTION_WORD];
    CM_TRY(measure(bench, false, &halves, what, sizeof what));
    cm_benchmark_put(result, "env_steps_per_second", halves.env_steps);
    cm_benchmark_put(result, "simulations_per_second", halves.simulations);
    cm_benchmark_put(result, "share_of_searches", halves.searching);
    if (!bench->backend->device->is_host) {
        CM_TRY(measure(bench, true, &whole, what, sizeof what));
        cm_benchmark_put(result, "env_steps_per_second_at_once", whole.env_steps);
        cm_benchmark_put(result, "share_of_searches_at_once", whole.searching);
    }
    cm_config_word(bench->config, "policy", policy);
    snprintf(result->note, sizeof result->note, "%s x %d simulations, %s, %d threads", what, bench->simulations, policy,
             cm_pool_size(bench->pool));
    return CM_OK;
}
