/* Positions that a network is measured on (run/quantise.h), each with the actions that follow it: of games that its
 * policy plays alone (run/policy_games.h), or of a run's memory (run/memory_positions.h). */
#ifndef CM_RUN_POSITIONS_H
#define CM_RUN_POSITIONS_H

#include "network/rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Batches of `rows` positions. A position whose game ends before the last of its actions has actions at random after
 * it, and so have codes of chance. */
typedef struct cm_positions {
    int rows, batches;
    int observation, steps, codes; /* floats of an observation; actions of a position; C, or 0 */
    float *observations;           /* [batches, rows, O]; owned, like all below */
    int32_t *actions;              /* [batches, steps, rows] */
    int32_t *code;                 /* [batches, steps, rows] */
} cm_positions;

/* Space for about `count` >= 1 positions, and for fewer where they would take over 64 MiB, with the steps that the
 * network is followed for. Errors: CM_ERR_MEMORY; free also after one. */
cm_status cm_positions_create(const cm_network *network, int count, cm_positions *out) CM_MUST_USE;
void cm_positions_free(cm_positions *positions); /* leaves it empty */

/* Batch `batch` from observations [rows, O] now; action and code of row i at step k < steps. */
void cm_positions_observe(cm_positions *positions, int batch, const float *observations);
void cm_positions_act(cm_positions *positions, int batch, int k, int i, int32_t action, int32_t code);

/* Gives a rollout of as many rows the positions of a batch. */
void cm_positions_fill(const cm_positions *positions, int batch, cm_rollout *rollout);

#ifdef __cplusplus
}
#endif
#endif
