/* Reanalysis of the whole replay: every position is searched once with every copy of the weights, in a pass that goes
 * on while is learnt, and batches look up what was found (EfficientZero's targets, Ye et al. 2021, with the searches of
 * ReZero, Xuan et al. 2024; docs/design/overlap.md). agent/reanalyse.h searches the positions of each batch instead.
 *
 * Of a position is kept: the policy target, the value of the search at the root, the network's value, and the number of
 * the copy that both are of. One that has not been searched yet keeps what self-play found. Batches get policies of
 * their positions, the network's values of the bootstrap positions, and where targets are mixed (agent/mixed.h) the
 * searches' values of their positions.
 *
 * A search depends on (seed, rank, position, number of the copy) alone. Which positions a pass has searched depends on
 * their order in the replay and on the updates that are made, so a run that goes on from a checkpoint has the same.
 *
 * Letters: P entries of a policy.
 */
#ifndef CM_AGENT_ROLLING_H
#define CM_AGENT_ROLLING_H

#include "agent/mixed.h"
#include "agent/searcher.h"
#include "core/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_rolling_config {
    cm_searcher_config searcher; /* whose agent has the copy; `most` positions of one call */
    const cm_replay *replay;     /* borrowed */
    cm_mixed_rule mixed;
    int batches; /* that may be looked up at a time, at least 1 */
    uint64_t seed;
    int rank;
} cm_rolling_config;

typedef struct cm_rolling cm_rolling;

/* Takes all memory, for as many positions as the replay may have. The caller owns it. Errors: those of
 * cm_searcher_create. */
cm_status cm_rolling_create(const cm_rolling_config *config, cm_rolling **out) CM_MUST_USE;
void cm_rolling_destroy(cm_rolling *rolling);        /* NULL is allowed */
size_t cm_rolling_memory(const cm_rolling *rolling); /* bytes, for the plan; NULL has 0 */

/* Follows the replay's last commit: what was found of positions that are gone is dropped. Not while batches are drawn.
 */
void cm_rolling_follow(cm_rolling *rolling);

/* Searches, the oldest first, until made / whole of the positions, rounded up, have been searched with copy number
 * `copy` >= 0, whose weights the agent has. Not while batches are drawn. Errors: those of the search; what has been
 * found by then stays. */
cm_status cm_rolling_run(cm_rolling *rolling, int64_t copy, int64_t made, int64_t whole) CM_MUST_USE;

/* Gives a batch (which has keys) what was found: policies, with their drift, and values of bootstrap positions. `slot`,
 * 0 .. batches - 1, is another one for every thread. Errors: those of cm_batch_set_policy. */
cm_status cm_rolling_apply(cm_rolling *rolling, int slot, cm_batch *batch) CM_MUST_USE;

/* What was found of one position; false: nothing yet. policy[P], NULL: not wanted. */
typedef struct cm_rolling_found {
    int64_t copy;
    float value, network_value;
} cm_rolling_found;
bool cm_rolling_find(const cm_rolling *rolling, int64_t key, cm_rolling_found *out, float *policy);

/* Follows the replay and writes all that was found, in the order of the replay; and reads it back, after the replay has
 * been loaded; nothing that is read is trusted. Errors: those of the sink; CM_ERR_INPUT, and nothing is known then. */
uint64_t cm_rolling_bytes(const cm_rolling *rolling); /* that are written */
cm_status cm_rolling_write(cm_rolling *rolling, const cm_sink *sink) CM_MUST_USE;
cm_status cm_rolling_read(cm_rolling *rolling, const cm_source *source) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
