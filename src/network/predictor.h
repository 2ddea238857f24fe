/* Recorded passes of representation and prediction alone: observations -> policy logits and values. What a search on
 * exact rules asks of a network.
 *
 * The number of observations changes from call to call, a recorded pass has a fixed number of rows: a predictor holds
 * passes of R, R/2, R/4 ... rows on the same inputs and runs the smallest that is large enough. A row's numbers do not
 * depend on which one that is.
 */
#ifndef CM_NETWORK_PREDICTOR_H
#define CM_NETWORK_PREDICTOR_H

#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_predictor cm_predictor;

/* For R = use->rows. The caller owns it. Errors: CM_ERR_MEMORY; those of preparing its calls. */
cm_status cm_predictor_create(const cm_network_use *use, cm_predictor **out) CM_MUST_USE;
void cm_predictor_destroy(cm_predictor *predictor); /* NULL is allowed */

/* [R, O] inputs of the next run; owned by the predictor. */
float *cm_predictor_observations(cm_predictor *predictor);

/* Results of a run, owned by the predictor and valid until the next. */
typedef struct cm_predictions {
    const float *policy; /* [n, A] logits       */
    const float *value;  /* [n]    on raw scale */
} cm_predictions;

/* Evaluates the first n observations, 1 <= n <= R. Allocates nothing. */
cm_status cm_predictor_run(cm_predictor *predictor, int n, cm_predictions *out) CM_MUST_USE;

size_t cm_predictor_bytes(const cm_predictor *predictor); /* memory it took */

#ifdef __cplusplus
}
#endif
#endif
