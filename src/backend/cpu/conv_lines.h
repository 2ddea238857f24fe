/* Convolutions with a stride, line by line: where channels are the last axis, the taps of one line of a kernel lie next
 * to each other in a line of the image, and the next place of the output reads `stride` places further. So a line of
 * the image, with a border of zeros, is the left operand of a matrix product as it is, with rows that overlap; k of
 * these products make a line of the output. Gradients are the same with lines of dy (of the input: for each of the
 * `stride` classes of columns that the same taps reach), or with the image on the right (of the weight).
 */
#ifndef CM_BACKEND_CPU_CONV_LINES_H
#define CM_BACKEND_CPU_CONV_LINES_H

#include "backend/cpu/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a layer in float32 without activation gains by it: stride > 1, wide lines, enough channels on both sides.
 * x [batch, height, width, in], weight [out, k, k, in]. */
bool cm_conv_lines_fits(const cm_tensor *x, const cm_tensor *weight, const cm_attr *attr);

/* Makers of plans (cpu.h) for calls of conv2d and conv2d_backward that fit. Errors: CM_ERR_MEMORY. */
cm_status cm_conv_lines_plan(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;
cm_status cm_conv_lines_plan_backward(cm_stream *stream, const cm_call *call, cm_plan **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
