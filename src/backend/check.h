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

/* Which NHWC tensors of an operation may be of the 16 bits of attr.compute, a bit for each place (ops.def). All others
 * are float32. */
typedef struct cm_half_rule {
    uint32_t alone;  /* by themselves */
    uint32_t plain;  /* of a convolution without bias and activation that is not added to */
    uint32_t with_x; /* where the tensor at place x is */
    int x;
    uint32_t alike; /* of these all or none */
} cm_half_rule;
cm_half_rule cm_op_half_rule(cm_op op);

/* Whether a tensor has the shape of such activations: [B, H, W, C], C a multiple of 8 of at most 2048. */
bool cm_tensor_may_be_half(const cm_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
