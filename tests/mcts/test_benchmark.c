/* The random model of `cumind benchmark tree`. */
#include "mcts/benchmark.h"

#include "mcts/support.h"

static cm_tree_benchmark_result run(int actions, int simulations, float lead) {
    cm_tree_benchmark params = cm_tree_benchmark_default();
    cm_tree_benchmark_result result;
    params.batch = 70;
    params.num_actions = actions;
    params.search.num_simulations = simulations;
    params.lead = lead;
    params.seconds = 0.0;
    ck_assert_msg(cm_mcts_benchmark_tree(&params, &result) == CM_OK, "%s", cm_error_message());
    return result;
}

START_TEST(chains_of_9_and_99_simulations_are_5_and_50_edges_deep) {
    for (int actions = 2; actions < 30; actions += 9) {
        ck_assert(run(actions, 9, CM_CHAIN_LEAD).mean_depth == 5.0);
        ck_assert(run(actions, 99, CM_CHAIN_LEAD).mean_depth == 50.0);
    }
}
END_TEST

START_TEST(a_simulation_of_few_goes_less_deep_than_one_of_many) {
    double few = run(7, 10, 0.0f).mean_depth, many = run(7, 100, 0.0f).mean_depth;
    ck_assert_msg(1.0 < few && few < many && many < 50.0, "%g and %g edges", few, many);
}
END_TEST

START_TEST(sizes_out_of_range_are_refused) {
    cm_tree_benchmark params = cm_tree_benchmark_default();
    cm_tree_benchmark_result result;
    params.num_actions = 0;
    ck_assert_int_eq(cm_mcts_benchmark_tree(&params, &result), CM_ERR_INPUT);
    params = cm_tree_benchmark_default();
    params.search.num_simulations = 0;
    ck_assert_int_eq(cm_mcts_benchmark_tree(&params, &result), CM_ERR_INPUT);
}
END_TEST

int main(void) {
    return RUN_SUITE("benchmark of the tree", chains_of_9_and_99_simulations_are_5_and_50_edges_deep,
                     a_simulation_of_few_goes_less_deep_than_one_of_many, sizes_out_of_range_are_refused);
}
