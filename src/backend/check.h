/* Argument checks of cm_call_prepare. */
#ifndef CM_BACKEND_CHECK_H
#define CM_BACKEND_CHECK_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks presence, type, shape, stride and attributes of a call against its row of ops.def and its shapes.
 * Errors: CM_ERR_INPUT names the operation, the tensor, its shape and the one it must have. */
cm_status cm_call_check(const cm_call *call) CM_MUST_USE;

/* Whether a tensor of a call that was checked is of 16 bits (ops.def). */
bool cm_call_is_narrow(const cm_call *call);

/* The shapes of an operation's tensors in the notation of check_shapes.c, "" if it has none (a bug that a test finds).
 */
const char *cm_op_shapes(cm_op op);

/* True if tensor `index` of the operation may be marked in attr.accumulate. */
bool cm_op_may_accumulate(cm_op op, int index);

#ifdef __cplusplus
}
#endif
#endif
