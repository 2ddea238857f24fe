/* Reanalyse: policy targets from new searches with the present network, in place of those of the day they were played
 * (Schrittwieser et al. 2020, appendix H, "MuZero Reanalyze"; docs/spec/learning.md 5.3).
 *
 * Of the B rows of a whole batch floor(ratio B) are reanalysed, at all K + 1 steps that lie in their episode. The
 * number of a row decides, spread evenly, so every rank has its share. The replay keeps its policies: a position is
 * reanalysed each time it is drawn.
 *
 * A search is that of acting: same weights, same simulations, optional root noise. It depends on (seed, number of the
 * row, update, step) and the position alone: not on threads, nor on the other rows of the batch.
 *
 * Letters: B rows of the whole batch, K unroll.
 */
#ifndef CM_AGENT_REANALYSE_H
#define CM_AGENT_REANALYSE_H

#include "agent/agent.h"
#include "agent/mixed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_reanalyser_config {
    cm_agent *agent; /* borrowed; acts on the network's own dynamics */
    double ratio;    /* 0 .. 1 */
    bool with_noise;
    bool has_mask;         /* not every action is always legal: the batch's masks count */
    int whole;             /* B */
    int unroll;            /* K */
    cm_mixed_rule mixed;   /* of the rows that are taken */
    cm_batch_config batch; /* of the batches that will come; with consistency, for the observations to be there */
    int rows_on_device;    /* roots of one search where the trees lie on a device, at least 1 */
    int threads;           /* that search, at least 1 */
    const cm_stop *stop;   /* borrowed; searches are broken off once it is asked; NULL: never */
} cm_reanalyser_config;

typedef struct cm_reanalyser cm_reanalyser;

/* Takes all memory, and threads of its own. The caller owns it. Errors: CM_ERR_INPUT if the agent searches on rules,
 * which needs states that no batch has; CM_ERR_MEMORY. */
cm_status cm_reanalyser_create(const cm_reanalyser_config *config, cm_reanalyser **out) CM_MUST_USE;
void cm_reanalyser_destroy(cm_reanalyser *reanalyser); /* NULL is allowed */

/* Replaces policy targets of the batch (cm_batch_set_policy), and value targets where the rule says so, before anybody
 * reads them. Several threads may call it, each with a batch of its own; they take turns. Not while the agent's weights
 * change. Errors: those of the search, CM_ERR_INTERRUPTED among them; then the batch is worth nothing. */
cm_status cm_reanalyser_run(cm_reanalyser *reanalyser, cm_batch *batch) CM_MUST_USE;

/* Whether row `row` of `whole` is one of the floor(ratio whole). */
bool cm_reanalyser_selects(double ratio, int64_t whole, int64_t row);

size_t cm_reanalyser_memory(const cm_reanalyser *reanalyser); /* bytes, for the plan; NULL has 0 */

#ifdef __cplusplus
}
#endif
#endif
