/* Runs the reference cases of kinds "targets", "dynamic_td_steps" and "priorities" (tests/cases/learning/README.md). */
#ifndef CM_CASES_REPLAY_H
#define CM_CASES_REPLAY_H

#include "cases/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True for the kinds above. */
bool cm_replay_case_knows(const char *kind);

/* Runs the case `root` and compares every leaf of its `expected`. `report` has been begun by the caller, who also ends
 * it. Errors: CM_ERR_INPUT for a missing or wrong field, CM_ERR_MEMORY. */
cm_status cm_replay_case_run(const cm_json *root, cm_case_report *report) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
