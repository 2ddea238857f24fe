/* Benchmarks of what runs without a network: the tree, environments, the replay. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/benchmark.h"
#include "core/arena.h"
#include "env/vector.h"
#include "mcts/benchmark.h"
#include "replay/batch.h"

cm_status cm_benchmark_tree(const cm_benchmark *bench, cm_benchmark_result *result) {
    cm_tree_benchmark tree = cm_tree_benchmark_default();
    cm_tree_benchmark_result r;
    tree.batch = bench->batch;
    tree.num_actions = bench->actions;
    tree.seconds = bench->seconds;
    tree.search.num_simulations = bench->simulations;
    CM_TRY(cm_mcts_benchmark_tree(&tree, &r));
    cm_benchmark_put(result, "ns_per_simulation", r.ns_per_simulation);
    cm_benchmark_put(result, "simulations_per_second", r.simulations_per_second);
    cm_benchmark_put(result, "ns_per_edge", r.ns_per_edge);
    cm_benchmark_put(result, "mean_depth", r.mean_depth);
    snprintf(result->note, sizeof result->note, "%d trees x %d simulations, %d actions, one thread", bench->batch,
             bench->simulations, bench->actions);
    return CM_OK;
}

cm_status cm_benchmark_env(const cm_benchmark *bench, cm_benchmark_result *result) {
    double steps;
    int instances = bench->batch_given ? bench->batch : 1024;
    CM_TRY(cm_env_benchmark(bench->environment, instances, bench->seconds, &steps));
    cm_benchmark_put(result, "steps_per_second", steps);
    snprintf(result->note, sizeof result->note, "%s, %d instances, one thread", bench->environment, instances);
    return CM_OK;
}

/* ---- replay ---- */

enum { REPLAY_STEPS = 1000000, REPLAY_LANES = 64, REPLAY_LENGTH = 200, REPLAY_OBSERVATION = 4, REPLAY_ACTIONS = 2 };

typedef struct replay {
    cm_replay *replay;
    cm_batch *batch;
    uint64_t update;
} replay;

static cm_status add_episode(cm_replay *r, int lane, int number) {
    float observation[REPLAY_OBSERVATION] = {0}, policy[REPLAY_ACTIONS] = {0.5f, 0.5f};
    for (int t = 0; t < REPLAY_LENGTH; t++) {
        observation[0] = (float)t, observation[1] = (float)(number % 97);
        cm_replay_step step = {.observation = observation,
                               .policy = policy,
                               .root_value = (float)((t * 7 + number) % 50),
                               .action = t % REPLAY_ACTIONS,
                               .reward = 1.0f};
        CM_TRY(cm_replay_append(r, lane, &step));
    }
    cm_replay_end end = {.observation = observation, .terminated = true};
    return cm_replay_finish(r, lane, &end);
}

static cm_status fill(replay *r) {
    for (int number = 0; number * REPLAY_LENGTH < REPLAY_STEPS; number++) {
        CM_TRY(add_episode(r->replay, number % REPLAY_LANES, number));
        if (number % REPLAY_LANES == REPLAY_LANES - 1) CM_TRY(cm_replay_commit(r->replay));
    }
    return cm_replay_commit(r->replay);
}

static cm_status sample(void *context) {
    replay *r = context;
    return cm_replay_sample(r->replay, r->update++, 0.4, r->batch);
}

cm_status cm_benchmark_replay(const cm_benchmark *bench, cm_benchmark_result *result) {
    cm_replay_config config = {.observation_size = REPLAY_OBSERVATION,
                               .observation_scale = 1.0f,
                               .actions = REPLAY_ACTIONS,
                               .environments = REPLAY_LANES,
                               .bytes = (uint64_t)1 << 30,
                               .max_steps = REPLAY_STEPS,
                               .segment_steps = REPLAY_LENGTH,
                               .commit_steps = REPLAY_LENGTH,
                               .prioritized = true,
                               .alpha = 0.6,
                               .epsilon = 1e-6,
                               .targets = {.td_steps = 10, .discount = 0.997, .unroll = bench->unroll}};
    cm_batch_config batch = {.rows = bench->batch};
    replay r = {0};
    double seconds = 0.0;
    cm_status status = cm_replay_create(&config, &r.replay);
    if (status == CM_OK) status = cm_batch_create(r.replay, &batch, &r.batch);
    if (status == CM_OK) status = fill(&r);
    if (status == CM_OK) status = cm_benchmark_time(bench->seconds, sample, &r, &seconds);
    cm_batch_destroy(r.batch);
    cm_replay_destroy(r.replay);
    CM_TRY(status);
    cm_benchmark_put(result, "us_per_batch", 1e6 * seconds);
    cm_benchmark_put(result, "samples_per_second", bench->batch / seconds);
    snprintf(result->note, sizeof result->note, "%d x K = %d, prioritised, from %d steps", bench->batch, bench->unroll,
             REPLAY_STEPS);
    return CM_OK;
}
