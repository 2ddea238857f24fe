/* Speed of the tree alone: searches on a random model that costs almost nothing. `cumind benchmark tree`. */
#ifndef CM_MCTS_BENCHMARK_H
#define CM_MCTS_BENCHMARK_H

#include "mcts/params.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_CHAIN_LEAD 60.0f

typedef struct cm_tree_benchmark {
    cm_search_params search; /* its noise is switched off                                                     */
    int batch;               /* B >= 1, roots                                                                 */
    int shard;               /* roots that go in lock-step; 0: what acting takes, 64 from B = 128, else 32    */
    int num_actions;         /* A >= 1                                                                        */
    float lead;              /* added to the logits of action 0; with CM_CHAIN_LEAD nothing else is selected, and
                                simulation i goes i edges deep                                                */
    double seconds;          /* measure at least this long, in at least 5 rounds                              */
} cm_tree_benchmark;

typedef struct cm_tree_benchmark_result {
    double ns_per_simulation;      /* fastest round; driver and model call included, one thread */
    double simulations_per_second; /* of that round                                             */
    double ns_per_edge;            /* ns_per_simulation / mean_depth                            */
    double mean_depth;             /* edges from the root to the leaf, mean over simulations    */
    int64_t simulations;           /* run in all rounds                                         */
} cm_tree_benchmark_result;

/* muzero, 256 roots, 50 simulations, no noise; num_actions 2, half a second. */
cm_tree_benchmark cm_tree_benchmark_default(void);

/* Logits N(0, 1), values and rewards U(-1, 1), discount 0.997; a fresh tree for each root in each round. Errors:
 * CM_ERR_INPUT names the parameter, CM_ERR_MEMORY. */
cm_status cm_mcts_benchmark_tree(const cm_tree_benchmark *params, cm_tree_benchmark_result *result) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
