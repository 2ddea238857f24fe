/* ONNX Runtime's results next to cumind's: check.py, run by the user's python3. */
#ifndef CM_EXPORT_CHECK_H
#define CM_EXPORT_CHECK_H

#include "export/examples.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_CHECK_ROWS = 64, CM_CHECK_FILES = CM_FUNCTION_COUNT };
#define CM_CHECK_LIMIT "1e-4" /* of the larger of 1 and the number itself */

/* Compares files FUNCTION.onnx with the examples, of CM_CHECK_ROWS rows; a line for each goes to stdout. Errors:
 * CM_ERR_ABSENT without python3 or ONNX Runtime, CM_ERR_MODEL if a difference is beyond the limit, CM_ERR_IO. */
cm_status cm_export_check(const cm_export_examples *examples, const char *const *files, int count) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
