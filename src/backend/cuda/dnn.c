/* Convolutions by cuDNN, through the functions that take descriptors of tensors, filters and convolutions (cuDNN calls
 * them deprecated; NHWC in 16 bits and float32 needs no more). Algorithms that give the same bits every time are
 * preferred; where there is none a warning says so. */
#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/convolution.h"
#include "backend/cuda/cuda.h"
#include "backend/cuda/module.h"
#include "core/arena.h"
#include "core/log.h"

/* What is kept of a choice. */
typedef struct choice {
    int algorithm, math;
    size_t workspace;
} choice;

struct cm_convolution_plan {
    cm_convolution convolution;
    cudnnTensorDescriptor_t x, y; /* owned, like those below; x may be dx, y dy */
    cudnnFilterDescriptor_t weight;
    cudnnConvolutionDescriptor_t what;
    choice choice;
};

enum { CANDIDATES = 8 };

/* ---- descriptions ---- */

static cm_status check(cudnnStatus_t status) { return cm_cuda_dnn((int)status, "a convolution"); }

static cm_status describe_planes(cudnnTensorDescriptor_t *out, cudnnDataType_t type, const int size[4]) {
    CM_TRY(check(cudnnCreateTensorDescriptor(out)));
    return check(cudnnSetTensor4dDescriptor(*out, CUDNN_TENSOR_NHWC, type, size[0], size[3], size[1], size[2]));
}

static const cudnnDataType_t types[CM_PRODUCT_TYPES] = {
    [CM_F32] = CUDNN_DATA_FLOAT, [CM_BF16] = CUDNN_DATA_BFLOAT16, [CM_F16] = CUDNN_DATA_HALF};

static cm_status describe(cm_convolution_plan *plan) {
    const cm_convolution *c = &plan->convolution;
    const cudnnDataType_t type = types[c->type];
    int x[4] = {c->B, c->H, c->W, c->C}, y[4] = {c->B, c->P, c->Q, c->O};
    CM_TRY(describe_planes(&plan->x, type, x));
    CM_TRY(describe_planes(&plan->y, type, y));
    CM_TRY(check(cudnnCreateFilterDescriptor(&plan->weight)));
    CM_TRY(check(cudnnSetFilter4dDescriptor(plan->weight, type, CUDNN_TENSOR_NHWC, c->O, c->C, c->k, c->k)));
    CM_TRY(check(cudnnCreateConvolutionDescriptor(&plan->what)));
    return check(cudnnSetConvolution2dDescriptor(plan->what, c->k / 2, c->k / 2, c->stride, c->stride, 1, 1,
                                                 CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
}

/* float32 means float32: no rounding to TF32. */
static cm_status set_math(cm_convolution_plan *plan) {
    plan->choice.math = plan->convolution.type == CM_F32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
    return check(cudnnSetConvolutionMathType(plan->what, (cudnnMathType_t)plan->choice.math));
}

/* ---- running ---- */

cm_status cm_convolution_run(cm_stream *stream, const cm_convolution_plan *plan, const void *a, const void *b,
                             void *out) {
    const float one = 1.0f, beta = plan->convolution.accumulate ? 1.0f : 0.0f;
    cudnnHandle_t dnn = cm_cuda_stream_of(stream)->dnn;
    void *workspace = cm_library_workspace(stream);
    int algorithm = plan->choice.algorithm;
    switch (plan->convolution.way) {
    case CM_CONVOLVE:
        return check(cudnnConvolutionForward(dnn, &one, plan->x, a, plan->weight, b, plan->what,
                                             (cudnnConvolutionFwdAlgo_t)algorithm, workspace, CM_LIBRARY_BYTES, &beta,
                                             plan->y, out));
    case CM_CONVOLVE_INPUT:
        return check(cudnnConvolutionBackwardData(dnn, &one, plan->weight, b, plan->y, a, plan->what,
                                                  (cudnnConvolutionBwdDataAlgo_t)algorithm, workspace, CM_LIBRARY_BYTES,
                                                  &beta, plan->x, out));
    case CM_CONVOLVE_WEIGHT: break;
    }
    return check(cudnnConvolutionBackwardFilter(dnn, &one, plan->x, b, plan->y, a, plan->what,
                                                (cudnnConvolutionBwdFilterAlgo_t)algorithm, workspace, CM_LIBRARY_BYTES,
                                                &beta, plan->weight, out));
}

/* ---- choosing an algorithm ---- */

/* Memory to measure on. */
typedef struct trial {
    cm_buffer x, y, weight;
} trial;

static void trial_close(trial *t) {
    cm_buffer_destroy(&t->x);
    cm_buffer_destroy(&t->y);
    cm_buffer_destroy(&t->weight);
}

static cm_status trial_open(const cm_stream *stream, const cm_convolution *c, trial *t) {
    const cm_device *device = stream->backend->device;
    size_t size = cm_dtype_size(c->type), B = (size_t)c->B, O = (size_t)c->O, C = (size_t)c->C;
    CM_TRY(cm_buffer_create(&t->x, device, B * (size_t)c->H * (size_t)c->W * C * size, "measuring a convolution"));
    CM_TRY(cm_buffer_create(&t->y, device, B * (size_t)c->P * (size_t)c->Q * O * size, "measuring a convolution"));
    return cm_buffer_create(&t->weight, device, O * (size_t)c->k * (size_t)c->k * C * size, "measuring a convolution");
}

static void warn_not_fixed(const cm_convolution *c) {
    cm_log(CM_WARNING,
           "cuDNN has no deterministic algorithm for a convolution of [%d, %d, %d, %d] with %dx%d: runs may differ in "
           "their last digits",
           c->B, c->H, c->W, c->C, c->k, c->k);
}

/* Whether a measured algorithm may be taken: first those that are wanted, then any that give the same bits every time,
 * then any. In float32 its math is none of the choice: the descriptor's is what it runs with. */
static bool may_take(const cm_convolution *c, int attempt, bool fixed, int math) {
    bool exact = c->type != CM_F32 || math == CUDNN_FMA_MATH;
    return (exact && fixed) || (attempt == 1 && fixed) || attempt == 2;
}

/* The first of `count` measured algorithms, fastest first, that may be taken. The three kinds of results of cuDNN have
 * the same members. */
#define TAKE_FIRST(plan, results, count)                                                                               \
    do {                                                                                                               \
        const cm_convolution *of = &(plan)->convolution;                                                               \
        for (int i = 0; i < 3 * (count); i++) {                                                                        \
            const int at = i % (count), math = (int)(results)[at].mathType;                                            \
            bool fits = (results)[at].status == CUDNN_STATUS_SUCCESS && (results)[at].memory <= CM_LIBRARY_BYTES;      \
            bool fixed = (results)[at].determinism == CUDNN_DETERMINISTIC;                                             \
            if (!fits || !may_take(of, i / (count), fixed, math)) continue;                                            \
            if (!fixed) warn_not_fixed(of);                                                                            \
            (plan)->choice = (choice){(int)(results)[at].algo, of->type == CM_F32 ? (int)CUDNN_FMA_MATH : math,        \
                                      (results)[at].memory};                                                           \
            return CM_OK;                                                                                              \
        }                                                                                                              \
    } while (0)

static cm_status fail_none(const cm_convolution *c) {
    return cm_fail(CM_ERR_DEVICE, "cuDNN has no algorithm for a convolution of [%d, %d, %d, %d] with %dx%d", c->B, c->H,
                   c->W, c->C, c->k, c->k);
}

static cm_status find_forward(cm_stream *stream, cm_convolution_plan *plan, const trial *t) {
    cudnnConvolutionFwdAlgoPerf_t found[CANDIDATES];
    int count = 0;
    CM_TRY(check(cudnnFindConvolutionForwardAlgorithmEx(
        cm_cuda_stream_of(stream)->dnn, plan->x, t->x.base, plan->weight, t->weight.base, plan->what, plan->y,
        t->y.base, CANDIDATES, &count, found, cm_library_workspace(stream), CM_LIBRARY_BYTES)));
    TAKE_FIRST(plan, found, count);
    return fail_none(&plan->convolution);
}

static cm_status find_input(cm_stream *stream, cm_convolution_plan *plan, const trial *t) {
    cudnnConvolutionBwdDataAlgoPerf_t found[CANDIDATES];
    int count = 0;
    CM_TRY(check(cudnnFindConvolutionBackwardDataAlgorithmEx(
        cm_cuda_stream_of(stream)->dnn, plan->weight, t->weight.base, plan->y, t->y.base, plan->what, plan->x,
        t->x.base, CANDIDATES, &count, found, cm_library_workspace(stream), CM_LIBRARY_BYTES)));
    TAKE_FIRST(plan, found, count);
    return fail_none(&plan->convolution);
}

static cm_status find_weight(cm_stream *stream, cm_convolution_plan *plan, const trial *t) {
    cudnnConvolutionBwdFilterAlgoPerf_t found[CANDIDATES];
    int count = 0;
    CM_TRY(check(cudnnFindConvolutionBackwardFilterAlgorithmEx(
        cm_cuda_stream_of(stream)->dnn, plan->x, t->x.base, plan->y, t->y.base, plan->what, plan->weight,
        t->weight.base, CANDIDATES, &count, found, cm_library_workspace(stream), CM_LIBRARY_BYTES)));
    TAKE_FIRST(plan, found, count);
    return fail_none(&plan->convolution);
}

static cm_status find(cm_stream *stream, cm_convolution_plan *plan, const trial *t) {
    switch (plan->convolution.way) {
    case CM_CONVOLVE: return find_forward(stream, plan, t);
    case CM_CONVOLVE_INPUT: return find_input(stream, plan, t);
    case CM_CONVOLVE_WEIGHT: break;
    }
    return find_weight(stream, plan, t);
}

static cm_status choose(cm_stream *stream, cm_convolution_plan *plan) {
    const cm_convolution *c = &plan->convolution;
    cm_choices *choices = cm_cuda_of(stream)->choices;
    char key[CM_CHOICE_KEY_BYTES];
    snprintf(key, sizeof key, "convolution %d %d %d %d %d %d %d %d %d", (int)c->way, c->B, c->H, c->W, c->C, c->O, c->k,
             c->stride, (int)c->type);
    CM_TRY(set_math(plan));
    if (!cm_choices_find(choices, key, &plan->choice, sizeof plan->choice)) {
        trial t = {0};
        cm_status status = trial_open(stream, c, &t);
        if (status == CM_OK) status = find(stream, plan, &t);
        trial_close(&t);
        if (status != CM_OK) return status;
        CM_TRY(cm_choices_keep(choices, key, &plan->choice, sizeof plan->choice));
    }
    return check(cudnnSetConvolutionMathType(plan->what, (cudnnMathType_t)plan->choice.math));
}

cm_status cm_convolution_prepare(cm_stream *stream, const cm_convolution *convolution, cm_convolution_plan **out) {
    cm_convolution_plan *plan = NULL;
    CM_TRY(cm_cuda_dnn_open(stream));
    CM_TRY(cm_ops_reserve(stream, 0)); /* the libraries' workspace */
    CM_TRY(cm_alloc(&plan, 1, sizeof *plan, "a convolution"));
    plan->convolution = *convolution;
    cm_status status = describe(plan);
    if (status == CM_OK) status = choose(stream, plan);
    if (status != CM_OK) {
        cm_convolution_free(plan);
        return status;
    }
    *out = plan;
    return CM_OK;
}

void cm_convolution_free(cm_convolution_plan *plan) {
    if (!plan) return;
    if (plan->x) cudnnDestroyTensorDescriptor(plan->x);
    if (plan->y) cudnnDestroyTensorDescriptor(plan->y);
    if (plan->weight) cudnnDestroyFilterDescriptor(plan->weight);
    if (plan->what) cudnnDestroyConvolutionDescriptor(plan->what);
    free(plan);
}
