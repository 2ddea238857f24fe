/* How much the keys of a sweep matter: for each the share of the variance of the trials' ranks that it explains alone.
 *
 * The rank of a trial is its place in cm_sweep_ledger_rank, the mean of the places of equal ones. A key with a range
 * explains what a parabola over the ranks of its values does (least squares, so that a best value in the middle
 * counts), a key with a list what the means of its values do (the correlation ratio). Both are adjusted for the number
 * of trials as R^2 is (Theil 1961), so that a key without effect has 0 on the average. What keys do together only, none
 * of them explains. */
#ifndef CM_SWEEP_IMPORTANCE_H
#define CM_SWEEP_IMPORTANCE_H

#include "sweep/ledger.h"

#ifdef __cplusplus
extern "C" {
#endif

/* share[plan->space.count] in [0, 1]; NAN where there are too few trials for a key. Errors: CM_ERR_MEMORY. */
cm_status cm_sweep_importance(const cm_sweep_plan *plan, const cm_sweep_ledger *ledger,
                              double share[CM_SWEEP_KEYS]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
