/* The counterpart of a network trains for 8 bits where the network does not, and the other way round
 * (cm_network_config.fake_quantised): the same arrays but for the ranges, NAME.range, of which one has none. So the
 * weights of one kind of run are read for the other. */
#ifndef CM_RUN_COUNTERPART_H
#define CM_RUN_COUNTERPART_H

#include "core/json.h"
#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the arrays of a checkpoint have ranges of training, by its state.json: those of a run that trained for 8 bits
 * have, unless they were quantised without (run/quantised.h). No for those of before the key. */
bool cm_counterpart_has_ranges(const cm_json *state);

typedef struct cm_counterpart {
    const cm_network *of; /* borrowed */
    cm_network *network;  /* owned, as are the blocks of its table */
    float *parameters, *state;
    float *ranges; /* [rows of its table] of layers in 8 bits, 0: none */
} cm_counterpart;

/* Its blocks begin with what those of `of` have. parameters NULL: it has none. Errors: those of cm_network_create,
 * CM_ERR_MEMORY; close also then. */
cm_status cm_counterpart_open(const cm_network *of, const float *parameters, const float *state,
                              cm_counterpart *out) CM_MUST_USE;
void cm_counterpart_close(cm_counterpart *counterpart);

/* Copies all arrays that both have to blocks of `of`, and ranges of 8 bits (NULL: not wanted) to rows of its table.
 * Ranges of training that the counterpart does not have become 0, not yet known. */
void cm_counterpart_copy(const cm_counterpart *from, float *parameters, float *state, float *ranges);

#ifdef __cplusplus
}
#endif
#endif
