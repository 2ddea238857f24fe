/* Dense layers and convolutions in 8 bits (attr.compute CM_I8): x is converted once per call and image, and
 * convolutions are products whose rows begin where their window does, so that nothing is copied for them. Bias, norm
 * and what comes after it are done with the sums. */
#ifndef CM_BACKEND_CPU_INT8_H
#define CM_BACKEND_CPU_INT8_H

#include "backend/cpu/cpu.h"
#include "backend/int8_operands.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the plan of a call of dense, conv2d or conv2d_norm; `actions` of dense: the pack of what each action adds,
 * which becomes the plan's, or NULL. */
cm_status cm_int8_plan(cm_stream *stream, const cm_call *call, cm_pack *actions, cm_plan **out) CM_MUST_USE;

/* What a sum is times and what is added (cm_gemm_int8): `step` of x and those of the outputs [padded], bias, norm. */
void cm_int8_write_scales(const cm_call *call, const cm_int8_operands *o, const float *steps, float step, float *scale,
                          float *shift);

#ifdef __cplusplus
}
#endif
#endif
