/* Convolutions, NHWC with padding k / 2: cuDNN in the module (dnn.c), plain loops in the tests. */
#ifndef CM_BACKEND_CUDA_OPS_CONVOLUTION_H
#define CM_BACKEND_CUDA_OPS_CONVOLUTION_H

#include "backend/cuda/ops/product.h"

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
    cm_dtype type;                /* of all tensors; sums are float32 */
    bool accumulate;              /* the result is added to */
    int x_gap, weight_gap, y_gap; /* cm_alignment_gap of these, or of gradients in their place, in every run */
} cm_convolution;

/* Floating-point operations. */
static inline double cm_convolution_flops(const cm_convolution *c) {
    return 2.0 * c->B * c->P * c->Q * c->O * c->C * c->k * c->k;
}

/* One of some microseconds in any way: not worth many candidates, nor a kernel that is compiled for it in every
 * process. */
static inline bool cm_convolution_is_small(const cm_convolution *c) { return cm_convolution_flops(c) < 2e8; }

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

/* ---- with a constant norm after it ------------------------------------------------------------------------------
 *
 * y = act((sum - mean) / sqrt(variance + epsilon) * scale + shift + residual), sum = the convolution of x and weight,
 * in one launch. */
typedef struct cm_convolution_norm {
    cm_convolution convolution; /* CM_CONVOLVE in 16 bits, nothing is added to */
    cm_dtype y, residual;       /* their types: float32 or that of the convolution */
    bool adds, relu;            /* is there a residual? */
} cm_convolution_norm;

typedef struct cm_convolution_norm_data {
    const void *x, *weight, *residual; /* residual NULL: none */
    const float *scale, *shift, *mean, *variance;
    void *y;
    float epsilon;
} cm_convolution_norm_data;

/* What computes the same in several launches, to the same y. */
typedef struct cm_convolution_fallback {
    cm_status (*run)(cm_stream *stream, const void *context);
    const void *context;
} cm_convolution_fallback;

typedef struct cm_convolution_norm_plan cm_convolution_norm_plan;

/* Addresses of x, weight, residual and y are multiples of 16.
 *
 * *out: how to do it in one launch; NULL where there is no way, where it is not worth finding one, or the fallback is
 * the faster one. Both are measured on `data`, whose x and residual are overwritten; one whose y differs from the
 * fallback's is no way. The caller frees the plan. */
cm_status cm_convolution_norm_prepare(cm_stream *stream, const cm_convolution_norm *norm,
                                      const cm_convolution_norm_data *data, const cm_convolution_fallback *fallback,
                                      cm_convolution_norm_plan **out) CM_MUST_USE;
void cm_convolution_norm_free(cm_convolution_norm_plan *plan); /* NULL is allowed */
cm_status cm_convolution_norm_run(cm_stream *stream, const cm_convolution_norm_plan *plan,
                                  const cm_convolution_norm_data *data) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
