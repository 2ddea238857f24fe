/* Runs the reference cases of kinds "train_step" and "train_trajectory" (tests/cases/learning/README.md). */
#ifndef CM_CASES_TRAINER_H
#define CM_CASES_TRAINER_H

#include "backend/backend.h"
#include "cases/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True for the kinds above. */
bool cm_trainer_case_knows(const char *kind);

/* Runs the case `root` on a backend with `pool`'s workers and compares every leaf of its `expected`. `report` has been
 * begun by the caller, who also ends it. Errors: CM_ERR_INPUT for a missing or wrong field, CM_ERR_MEMORY. */
cm_status cm_trainer_case_run(const cm_json *root, cm_backend *backend, cm_pool *pool, cm_dtype compute,
                              cm_case_report *report) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
