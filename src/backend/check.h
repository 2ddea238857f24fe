/* Argument checks of cm_call_prepare. */
#ifndef CM_BACKEND_CHECK_H
#define CM_BACKEND_CHECK_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Checks presence, type, shape, stride and attributes of a call against its row of ops.def.
 * Errors: CM_ERR_INPUT names the operation, the tensor, its shape and the one it must have. */
cm_status cm_call_check(const cm_call *call) CM_MUST_USE;

/* Whether a tensor of a call that was checked is of 16 bits (ops.def). */
bool cm_call_is_half(const cm_call *call);

#ifdef __cplusplus
}
#endif
#endif
