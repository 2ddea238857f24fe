/* Runs the reference cases of operations, losses, optimizers and learning-rate schedules on a backend
 * (format "cumind-learning-case-1"; comparing: cases/check.h). */
#ifndef CM_CASES_BACKEND_H
#define CM_CASES_BACKEND_H

#include "backend/backend.h"
#include "cases/check.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if cm_backend_case_run knows the kind. */
bool cm_backend_case_known(const char *kind);

/* True if the kind computes on a backend; false for one that runs once, whatever the backend ("schedule"). */
bool cm_backend_case_uses_backend(const char *kind);

/* Runs the case `root` with matrix products in `dtype` (CM_F32, CM_BF16, CM_F16). `stream` may be NULL for a kind that
 * uses no backend. What is out of tolerance is in *report. Errors: CM_ERR_INPUT if the case is of no known kind or
 * malformed; whatever the backend reports. */
cm_status cm_backend_case_run(const cm_json *root, cm_stream *stream, cm_dtype dtype,
                              cm_case_report *report) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
