/* Convolutions, NHWC with padding k / 2: cuDNN in the module (dnn.c), plain loops in the tests. */
#ifndef CM_BACKEND_CUDA_CONVOLUTION_H
#define CM_BACKEND_CUDA_CONVOLUTION_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_convolution_way {
    CM_CONVOLVE,        /* y[B, P, Q, O] from x[B, H, W, C] and weight[O, k, k, C] */
    CM_CONVOLVE_INPUT,  /* dx from dy and weight */
    CM_CONVOLVE_WEIGHT, /* dweight from dy and x */
} cm_convolution_way;

typedef struct cm_convolution {
    cm_convolution_way way;
    int B, H, W, C, O, P, Q, k, stride;
    cm_dtype type;   /* of all tensors; sums are float32 */
    bool accumulate; /* the result is added to */
    bool aligned;    /* all addresses are multiples of 16, in every run */
} cm_convolution;

typedef struct cm_convolution_plan cm_convolution_plan;

/* Chooses an algorithm that gives the same bits every time; where there is none, any, with a warning. The caller frees
 * the plan. */
cm_status cm_convolution_prepare(cm_stream *stream, const cm_convolution *convolution,
                                 cm_convolution_plan **out) CM_MUST_USE;
void cm_convolution_free(cm_convolution_plan *plan); /* NULL is allowed */

/* Launches it: out from its two inputs, in the order named above (x and weight; dy and weight; dy and x). Convolutions
 * have workspace of their own. */
cm_status cm_convolution_run(cm_stream *stream, const cm_convolution_plan *plan, const void *a, const void *b,
                             void *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
