/* The published trees of mctx (mctx/_src/tests/test_data): JSON files with the members `algorithm` and `tree`, made on
 * a pseudo-random model whose states are keys of a random number generator. Source: docs/spec/search.md 12. */
#ifndef CM_CASES_MCTX_TREE_H
#define CM_CASES_MCTX_TREE_H

#include "core/json.h"
#include "core/pool.h"
#include "mcts/model.h"
#include "mcts/params.h"
#include "mcts/threefry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pseudo-random model. Root i of the batch is the state PRNGKey(0), folded with i where i > 0. */
typedef struct cm_mctx_model {
    int num_actions;
    float discount;
    bool zero_reward;
    int first_root;        /* number of the first root in the whole batch */
    cm_threefry_key *keys; /* [slots] of the caller                       */
} cm_mctx_model;

cm_model cm_mctx_model_of(cm_mctx_model *context);

/* Replays the search of a file: three roots as in mctx's test (all actions; only action 0; actions 0 and 1), in
 * `shards` runs, and compares the tree of the first with the file, floats to 1e-3, the members of every node exactly.
 * *different = differences found (0: equal), `first` names the first one. Errors: CM_ERR_INPUT for a file that is not
 * of this kind. */
cm_status cm_mctx_tree_check(const char *path, cm_pool *pool, int shards, int64_t *different, char *first,
                             size_t size) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
