/* ONNX Runtime's results next to cumind's: check.py, run by the user's python3. */
#ifndef CM_EXPORT_CHECK_H
#define CM_EXPORT_CHECK_H

#include "export/examples.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_CHECK_ROWS = 64, CM_CHECK_FILES = CM_FUNCTION_COUNT };

/* What differences may be, of the larger of 1 and the number itself. In 8 bits a sum that rounds otherwise may carry an
 * input over the middle between two of its numbers: some rows are then off by what a step of it makes, and all others
 * the same, so that the median is what is bounded. */
typedef struct cm_check_limits {
    const char *most, *median; /* "1e-4" */
} cm_check_limits;
#define CM_CHECK_FLOAT ((cm_check_limits){"1e-4", "1e-4"})
#define CM_CHECK_INT8  ((cm_check_limits){"10", "1e-3"})

/* Compares files FUNCTION.onnx with the examples, of CM_CHECK_ROWS rows; a line for each goes to stdout. Errors:
 * CM_ERR_ABSENT without python3 or ONNX Runtime, CM_ERR_MODEL if a difference is beyond a limit, CM_ERR_IO. */
cm_status cm_export_check(const cm_export_examples *examples, cm_check_limits limits, const char *const *files,
                          int count) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
