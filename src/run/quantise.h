/* Which layers of a network are computed in 8 bits, and what that changes.
 *
 * Ranges are the largest magnitude that each layer reads on positions and on the steps after them. All layers
 * are tried in 8 bits, each alone and all together, on some of the positions. While all together change more than a
 * tolerance, the one that alone changes most stays in float32, as long as few weights do.
 *
 * Of a network that was trained with fake quantisation all layers that have a range of training are in 8 bits, as they
 * were trained. Their ranges are those; that of observations is raised to their largest magnitude on the positions. */
#ifndef CM_RUN_QUANTISE_H
#define CM_RUN_QUANTISE_H

#include "run/positions.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_QUANTISE_PARTS = 4 }; /* representation, afterstate, dynamics, prediction */

typedef struct cm_quantise_request {
    cm_network *network;           /* borrowed, like all here; has no ranges */
    cm_stream *stream;             /* of a backend whose device is the host */
    float *parameters, *state;     /* its weights */
    const cm_positions *positions; /* that it is measured on */
    double tolerance;              /* of a cm_quantise_error's larger number */
} cm_quantise_request;

/* Mean over positions and steps. */
typedef struct cm_quantise_error {
    double policy; /* half the sum of |difference| of the probabilities */
    double value;  /* |difference|, as a share of the values' standard deviation */
} cm_quantise_error;

typedef struct cm_quantise_part {
    const char *name;
    int layers, chosen;          /* that there are, that are in 8 bits */
    cm_quantise_error all, rest; /* with all of its layers in 8 bits, with the chosen ones; others in float32 */
} cm_quantise_part;

typedef struct cm_quantise_result {
    bool is_trained;      /* the ranges are those of training */
    int positions, steps; /* that were measured, and how many steps after each */
    float *ranges;        /* [rows of the network's table] of what is in 8 bits; owned */
    float *measured;      /* the same of all layers that could be; owned */
    int part_count;
    cm_quantise_part part[CM_QUANTISE_PARTS];
    cm_quantise_error all, rest; /* of all parts together */
} cm_quantise_result;

/* Leaves the network without ranges. Errors: CM_ERR_MEMORY; CM_ERR_INPUT if the network has
 * no layer that can be in 8 bits. cm_quantise_free also after one. */
cm_status cm_quantise(const cm_quantise_request *request, cm_quantise_result *out) CM_MUST_USE;
void cm_quantise_free(cm_quantise_result *result);

#ifdef __cplusplus
}
#endif
#endif
