/* Benchmarks of what runs without a network: the tree, environments, the replay. */
#include <stdio.h>

#include "cli/benchmark.h"
#include "env/python.h"
#include "env/vector.h"
#include "mcts/benchmark.h"
#include "replay/benchmark.h"

/* Time per edge of chains of this mean depth. */
static cm_status measure_chain(const cm_tree_benchmark *tree, int depth, double *ns_per_edge) {
    cm_tree_benchmark chain = *tree;
    cm_tree_benchmark_result r;
    chain.lead = CM_CHAIN_LEAD;
    chain.search.num_simulations = 2 * depth - 1;
    chain.seconds = tree->seconds / 4.0;
    CM_TRY(cm_mcts_benchmark_tree(&chain, &r));
    *ns_per_edge = r.ns_per_edge;
    return CM_OK;
}

cm_status cm_benchmark_tree(const cm_benchmark *bench, cm_benchmark_result *result) {
    cm_tree_benchmark tree = cm_tree_benchmark_default();
    cm_tree_benchmark_result r;
    tree.batch = bench->batch;
    tree.num_actions = bench->actions;
    tree.seconds = bench->seconds;
    bool gumbel = cm_mcts_is_gumbel(&bench->configuration.mcts);
    if (gumbel) tree.search = cm_search_params_default(CM_POLICY_GUMBEL_MUZERO);
    tree.search.num_simulations = bench->simulations;
    double shallow, deep;
    CM_TRY(cm_mcts_benchmark_tree(&tree, &r));
    CM_TRY(measure_chain(&tree, 5, &shallow));
    CM_TRY(measure_chain(&tree, 50, &deep));
    cm_benchmark_put(result, "ns_per_simulation", r.ns_per_simulation);
    cm_benchmark_put(result, "simulations_per_second", r.simulations_per_second);
    cm_benchmark_put(result, "ns_per_edge", r.ns_per_edge);
    cm_benchmark_put(result, "mean_depth", r.mean_depth);
    cm_benchmark_put(result, "ns_per_edge_depth_5", shallow);
    cm_benchmark_put(result, "ns_per_edge_depth_50", deep);
    cm_benchmark_put(result, "edge_depth_50_over_5", deep / shallow);
    snprintf(result->note, sizeof result->note, "%d trees x %d simulations, %d actions, %s, one thread", bench->batch,
             bench->simulations, bench->actions, gumbel ? "gumbel_muzero" : "muzero");
    return CM_OK;
}

cm_status cm_benchmark_env(const cm_benchmark *bench, cm_benchmark_result *result) {
    const char *name = bench->configuration.env.env_name;
    const int usual = cm_env_is_python(name) ? 32 : 1024; /* objects of Python may be large, and slow */
    const int instances = bench->batch_given ? bench->batch : usual;
    double steps, unseen;
    cm_env env;
    CM_TRY(cm_session_env(&bench->configuration.env, &env));
    CM_TRY(cm_env_benchmark(&env, instances, true, bench->seconds, &steps));
    CM_TRY(cm_env_benchmark(&env, instances, false, bench->seconds, &unseen));
    cm_benchmark_put(result, "steps_per_second", steps);
    cm_benchmark_put(result, "steps_per_second_without_observations", unseen);
    snprintf(result->note, sizeof result->note, "%.200s, %d instances, one thread", name, instances);
    return CM_OK;
}

cm_status cm_benchmark_replay(const cm_benchmark *bench, cm_benchmark_result *result) {
    cm_replay_benchmark replay = cm_replay_benchmark_default();
    cm_replay_benchmark_result r;
    replay.batch = bench->batch;
    replay.unroll = bench->unroll;
    replay.seconds = bench->seconds;
    CM_TRY(cm_replay_benchmark_run(&replay, &r));
    cm_benchmark_put(result, "us_per_batch", 1e6 * r.seconds_per_batch);
    cm_benchmark_put(result, "samples_per_second", r.samples_per_second);
    cm_benchmark_put(result, "steps_per_second", r.steps_per_second);
    snprintf(result->note, sizeof result->note, "%d x K = %d, prioritised, from %lld steps, one thread", replay.batch,
             replay.unroll, (long long)replay.steps);
    return CM_OK;
}
