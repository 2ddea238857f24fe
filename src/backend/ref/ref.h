/* The reference implementation: every operation of ops.def as a plain loop with sums in double. Tests compare the other
 * backends with it, and a backend takes its functions for operations that it does not do better.
 *
 * cm_ref_<op>(stream, call) reads nothing of the stream and keeps no state: any thread, any backend's stream. Errors:
 * CM_ERR_INPUT for an action or a row number out of range. Nothing is allocated. dx may be dy itself in all
 * element-wise operations, normalisations and softmax. */
#ifndef CM_BACKEND_REF_REF_H
#define CM_BACKEND_REF_REF_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_OP(name, ...) cm_status cm_ref_##name(cm_stream *stream, const cm_call *call);
#include "backend/ops.def"
#undef CM_OP

#ifdef __cplusplus
}
#endif
#endif
