/* Convolutions by cuDNN, in two ways: the functions that take descriptors of tensors, filters and convolutions (cuDNN
 * calls them deprecated), and operation graphs (dnn_graph.h), which reach more kernels. Which is the fastest is
 * measured. Algorithms that give the same bits every time are preferred; where there is none a warning says so. */
#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/module/cuda.h"
#include "backend/cuda/module/dnn_graph.h"
#include "backend/cuda/module/module.h"
#include "backend/cuda/ops/autotune_check.h"
#include "backend/cuda/ops/convolution.h"
#include "core/arena.h"
#include "core/log.h"
#include "device/cuda/autotuner.h"
#include "device/cuda/timing.h"

/* One way to compute a convolution. */
typedef struct way {
    int32_t is_graph;        /* computed by `engine`, else by `algorithm` with `math` */
    int32_t algorithm, math; /* of the functions */
    cm_dnn_engine engine;    /* of the graph */
} way;
_Static_assert(sizeof(way) <= CM_AUTOTUNE_VALUE_BYTES, "a way is kept on disk by the autotune cache");

struct cm_convolution_plan {
    cm_convolution convolution;
    cudnnTensorDescriptor_t x, y; /* owned, like those below; x may be dx, y dy */
    cudnnFilterDescriptor_t weight;
    cudnnConvolutionDescriptor_t what;
    cm_dnn_graph *graph; /* NULL: not described yet, or cuDNN has none */
    way way;
};

/* Of small convolutions the engines that cuDNN names first are enough. */
enum { ALGORITHMS = 8, ENGINES = 12, FEW = 4 };

/* ---- descriptions ---- */

static cm_status check(cudnnStatus_t status) { return cm_cuda_dnn((int)status, "a convolution"); }

static cm_status describe_activations(cudnnTensorDescriptor_t *out, cudnnDataType_t type, const int size[4]) {
    CM_TRY(check(cudnnCreateTensorDescriptor(out)));
    return check(cudnnSetTensor4dDescriptor(*out, CUDNN_TENSOR_NHWC, type, size[0], size[3], size[1], size[2]));
}

static const cudnnDataType_t types[CM_PRODUCT_TYPES] = {
    [CM_F32] = CUDNN_DATA_FLOAT, [CM_BF16] = CUDNN_DATA_BFLOAT16, [CM_F16] = CUDNN_DATA_HALF};

static cm_status describe(cm_convolution_plan *plan) {
    const cm_convolution *c = &plan->convolution;
    const cudnnDataType_t type = types[c->type];
    int x[4] = {c->B, c->H, c->W, c->C}, y[4] = {c->B, c->P, c->Q, c->O};
    CM_TRY(describe_activations(&plan->x, type, x));
    CM_TRY(describe_activations(&plan->y, type, y));
    CM_TRY(check(cudnnCreateFilterDescriptor(&plan->weight)));
    CM_TRY(check(cudnnSetFilter4dDescriptor(plan->weight, type, CUDNN_TENSOR_NHWC, c->O, c->C, c->k, c->k)));
    CM_TRY(check(cudnnCreateConvolutionDescriptor(&plan->what)));
    return check(cudnnSetConvolution2dDescriptor(plan->what, c->k / 2, c->k / 2, c->stride, c->stride, 1, 1,
                                                 CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
}

/* ---- running ---- */

static cm_status run_algorithm(cm_stream *stream, const cm_convolution_plan *plan, const void *a, const void *b,
                               void *out) {
    const float one = 1.0f, beta = plan->convolution.accumulate ? 1.0f : 0.0f;
    cudnnHandle_t dnn = cm_cuda_stream_of(stream)->dnn;
    void *workspace = cm_library_workspace(stream);
    int algorithm = plan->way.algorithm;
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

cm_status cm_convolution_run(cm_stream *stream, const cm_convolution_plan *plan, const void *a, const void *b,
                             void *out) {
    if (plan->way.is_graph) return cm_dnn_graph_run(plan->graph, a, b, out, cm_library_workspace(stream));
    return run_algorithm(stream, plan, a, b, out);
}

/* ---- choosing ---- */

/* An algorithm that cuDNN has measured. */
typedef struct found {
    int algorithm, math;
    bool fits, fixed; /* runs within the workspace; gives the same bits every time */
} found;

/* Numbers to measure on, at an address with the gap of those of the runs. */
typedef struct buffer {
    cm_buffer memory;
    void *base;
    size_t n;
} buffer;

/* What choosing needs: memory to measure on, what was found. */
typedef struct tuning {
    cm_stream *stream;
    cm_convolution_plan *plan;
    buffer x, y, weight;
    cm_autotune_check_results results;
    found found[ALGORITHMS]; /* the fastest first */
    int count;
} tuning;

static void tuning_close(tuning *t) {
    cm_autotune_check_free(&t->results);
    cm_buffer_destroy(&t->x.memory);
    cm_buffer_destroy(&t->y.memory);
    cm_buffer_destroy(&t->weight.memory);
}

static cm_status fill(const tuning *t, const buffer *p) {
    return cm_autotune_check_fill(t->stream, p->base, t->plan->convolution.type, p->n);
}

/* Numbers, for times, too: of zeros a GPU multiplies faster. */
static cm_status open_buffer(const tuning *t, buffer *p, size_t n, int gap) {
    const size_t bytes = n * cm_dtype_size(t->plan->convolution.type) + (size_t)gap;
    CM_TRY(cm_buffer_create(&p->memory, t->stream->backend->device, bytes, "measuring a convolution"));
    p->base = p->memory.base + gap;
    p->n = n;
    return fill(t, p);
}

static cm_status tuning_open(tuning *t) {
    const cm_convolution *c = &t->plan->convolution;
    const size_t B = (size_t)c->B, O = (size_t)c->O, C = (size_t)c->C;
    CM_TRY(open_buffer(t, &t->x, B * (size_t)c->H * (size_t)c->W * C, c->x_gap));
    CM_TRY(open_buffer(t, &t->y, B * (size_t)c->P * (size_t)c->Q * O, c->y_gap));
    return open_buffer(t, &t->weight, O * (size_t)c->k * (size_t)c->k * C, c->weight_gap);
}

/* The three kinds of results of cuDNN have the same members. */
#define KEEP_FOUND(t, results)                                                                                         \
    for (int i = 0; i < (t)->count; i++) (t)->found[i] = (found) {                                                     \
            (int)(results)[i].algo, (int)(results)[i].mathType,                                                        \
                (results)[i].status == CUDNN_STATUS_SUCCESS && (results)[i].memory <= CM_LIBRARY_BYTES,                \
                (results)[i].determinism == CUDNN_DETERMINISTIC                                                        \
        }

static cm_status find_forward(tuning *t) {
    const cm_convolution_plan *plan = t->plan;
    cudnnConvolutionFwdAlgoPerf_t results[ALGORITHMS];
    CM_TRY(check(cudnnFindConvolutionForwardAlgorithmEx(
        cm_cuda_stream_of(t->stream)->dnn, plan->x, t->x.base, plan->weight, t->weight.base, plan->what, plan->y,
        t->y.base, ALGORITHMS, &t->count, results, cm_library_workspace(t->stream), CM_LIBRARY_BYTES)));
    KEEP_FOUND(t, results);
    return CM_OK;
}

static cm_status find_input(tuning *t) {
    const cm_convolution_plan *plan = t->plan;
    cudnnConvolutionBwdDataAlgoPerf_t results[ALGORITHMS];
    CM_TRY(check(cudnnFindConvolutionBackwardDataAlgorithmEx(
        cm_cuda_stream_of(t->stream)->dnn, plan->weight, t->weight.base, plan->y, t->y.base, plan->what, plan->x,
        t->x.base, ALGORITHMS, &t->count, results, cm_library_workspace(t->stream), CM_LIBRARY_BYTES)));
    KEEP_FOUND(t, results);
    return CM_OK;
}

static cm_status find_weight(tuning *t) {
    const cm_convolution_plan *plan = t->plan;
    cudnnConvolutionBwdFilterAlgoPerf_t results[ALGORITHMS];
    CM_TRY(check(cudnnFindConvolutionBackwardFilterAlgorithmEx(
        cm_cuda_stream_of(t->stream)->dnn, plan->x, t->x.base, plan->y, t->y.base, plan->what, plan->weight,
        t->weight.base, ALGORITHMS, &t->count, results, cm_library_workspace(t->stream), CM_LIBRARY_BYTES)));
    KEEP_FOUND(t, results);
    return CM_OK;
}

/* float32 means float32: no rounding to TF32. */
static cudnnMathType_t math_of(const cm_convolution *c, int measured) {
    return c->type == CM_F32 ? CUDNN_FMA_MATH : (cudnnMathType_t)measured;
}

static cm_status find_way(tuning *t) {
    cm_convolution_plan *plan = t->plan;
    CM_TRY(check(cudnnSetConvolutionMathType(plan->what, math_of(&plan->convolution, CUDNN_TENSOR_OP_MATH))));
    switch (plan->convolution.way) {
    case CM_CONVOLVE: return find_forward(t);
    case CM_CONVOLVE_INPUT: return find_input(t);
    case CM_CONVOLVE_WEIGHT: break;
    }
    return find_weight(t);
}

/* It waits for the device between its runs. */
static cm_status find(tuning *t) {
    cm_cuda_device *device = cm_cuda_of(t->stream)->device;
    CM_TRY(cm_cuda_capture_lock(device, "measuring convolutions"));
    cm_status status = find_way(t);
    cm_cuda_capture_unlock(device);
    return status;
}

static cm_status open_graph(tuning *t) {
    const cm_dnn_target target = {.dnn = cm_cuda_stream_of(t->stream)->dnn, .gpu = cm_cuda_of(t->stream)->device};
    return t->plan->graph ? CM_OK : cm_dnn_graph_open(&target, &t->plan->convolution, &t->plan->graph);
}

/* WANTED: those that are exact and give the same bits every time; FIXED: others that do; ANY. In float32 the math of a
 * found algorithm is none of the choice: the descriptor's is what it runs with. */
enum { WANTED, FIXED, ANY, ROUNDS };

/* Fourier and Winograd transforms are less exact than sums of products. */
static bool is_transform(const cm_convolution *c, int algorithm) {
    switch (c->way) {
    case CM_CONVOLVE: return algorithm >= CUDNN_CONVOLUTION_FWD_ALGO_FFT;
    case CM_CONVOLVE_INPUT: return algorithm >= CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT;
    case CM_CONVOLVE_WEIGHT: break;
    }
    return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT ||
           algorithm >= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD;
}

static bool may_enter(const cm_convolution *c, int round, const found *f) {
    const bool exact = !is_transform(c, f->algorithm) && (c->type != CM_F32 || f->math == CUDNN_FMA_MATH);
    return f->fits && (round == ANY || (f->fixed && (round == FIXED || exact)));
}

static void warn_not_fixed(const cm_convolution *c) {
    cm_log(CM_WARNING,
           "cuDNN has no deterministic algorithm for a convolution of [%d, %d, %d, %d] with %dx%d: runs may differ in "
           "their last digits",
           c->B, c->H, c->W, c->C, c->k, c->k);
}

/* The fastest algorithm of the functions that may enter. */
static int enter_function(const tuning *t, int round, way *out) {
    const cm_convolution *c = &t->plan->convolution;
    for (int i = 0; i < t->count; i++) {
        if (!may_enter(c, round, &t->found[i])) continue;
        if (!t->found[i].fixed) warn_not_fixed(c);
        *out = (way){.algorithm = t->found[i].algorithm, .math = (int32_t)math_of(c, t->found[i].math)};
        return 1;
    }
    return 0;
}

static cm_status enter_graph(tuning *t, int round, way *out, int *count) {
    const int most = cm_convolution_is_small(&t->plan->convolution) ? FEW : ENGINES;
    cm_dnn_engine engines[ENGINES];
    *count = 0;
    if (round == ANY) return CM_OK;
    CM_TRY(open_graph(t));
    CM_TRY(cm_dnn_graph_engines(t->plan->graph, round == FIXED, engines, most, count));
    for (int i = 0; i < *count; i++) out[i] = (way){.is_graph = true, .engine = engines[i]};
    return CM_OK;
}

/* Functions cannot be told that an address is no multiple of 16, as graphs are. */
static bool is_aligned(const cm_convolution *c) { return (c->x_gap | c->weight_gap | c->y_gap) == 0; }

/* The functions' candidate of a round. Where addresses are not aligned they are the last resort, their best first. */
static int enter_functions(tuning *t, int round, way *out) {
    const bool aligned = is_aligned(&t->plan->convolution);
    int count = 0;
    if (!aligned && round != ANY) return 0;
    if ((!aligned || round == WANTED) && find(t) != CM_OK)
        cm_log(CM_WARNING, "measuring convolutions: %s", cm_error_message());
    for (int r = aligned ? round : WANTED; r <= round && count == 0; r++) count = enter_function(t, r, out);
    return count;
}

/* Number 0 is that of the functions, if they have one. Where one of the two has nothing the other does. */
static cm_status enter(void *context, int round, void *candidates, int *count) {
    tuning *t = context;
    way *out = candidates;
    int of_graph = 0;
    if (round == WANTED) CM_TRY(tuning_open(t));
    *count = enter_functions(t, round, out);
    if (enter_graph(t, round, out + *count, &of_graph) != CM_OK) {
        cm_log(CM_WARNING, "convolutions as graphs are left out: %s", cm_error_message());
        of_graph = 0;
    }
    *count += of_graph;
    return CM_OK;
}

static cm_status use(void *context, const void *candidate) {
    tuning *t = context;
    cm_convolution_plan *plan = t->plan;
    plan->way = *(const way *)candidate;
    if (!plan->way.is_graph) return check(cudnnSetConvolutionMathType(plan->what, (cudnnMathType_t)plan->way.math));
    CM_TRY(open_graph(t));
    return cm_dnn_graph_plan(plan->graph, &plan->way.engine, CM_LIBRARY_BYTES);
}

static cm_status run_candidate(void *context) {
    const tuning *t = context;
    switch (t->plan->convolution.way) {
    case CM_CONVOLVE: return cm_convolution_run(t->stream, t->plan, t->x.base, t->weight.base, t->y.base);
    case CM_CONVOLVE_INPUT: return cm_convolution_run(t->stream, t->plan, t->y.base, t->weight.base, t->x.base);
    case CM_CONVOLVE_WEIGHT: break;
    }
    return cm_convolution_run(t->stream, t->plan, t->y.base, t->x.base, t->weight.base);
}

static cm_status measure(void *context, float *milliseconds) {
    const tuning *t = context;
    return cm_cuda_time(&cm_cuda_stream_of(t->stream)->own, "a convolution", run_candidate, context, milliseconds);
}

static const buffer *result_of(const tuning *t) {
    switch (t->plan->convolution.way) {
    case CM_CONVOLVE: return &t->y;
    case CM_CONVOLVE_INPUT: return &t->x;
    case CM_CONVOLVE_WEIGHT: break;
    }
    return &t->weight;
}

/* What has been there is neither the result nor, where it is added to, other numbers than the first one's. */
static cm_status agree(void *context, bool first) {
    tuning *t = context;
    const buffer *result = result_of(t);
    CM_TRY(fill(t, result));
    CM_TRY(run_candidate(t));
    const cm_dtype type = t->plan->convolution.type;
    const cm_autotune_check_numbers numbers = {result->base, type, type, result->n};
    return cm_autotune_check_agree(&t->results, t->stream, &numbers, first);
}

static cm_status choose(cm_stream *stream, cm_convolution_plan *plan) {
    const cm_convolution *c = &plan->convolution;
    const cm_cuda *cuda = cm_cuda_of(stream);
    tuning t = {.stream = stream, .plan = plan};
    const cm_autotuner autotuner = {.context = &t,
                                    .size = sizeof(way),
                                    .rounds = ROUNDS,
                                    .log = cuda->device->log_plans,
                                    .enter = enter,
                                    .use = use,
                                    .measure = measure,
                                    .agree = agree};
    char key[CM_AUTOTUNE_KEY_BYTES];
    snprintf(key, sizeof key, "convolution %d %d %d %d %d %d %d %d %d %d %u %u %u %d", (int)c->way, c->B, c->H, c->W,
             c->C, c->O, c->k, c->stride, (int)c->type, c->accumulate, cm_alignment_of(c->x_gap),
             cm_alignment_of(c->weight_gap), cm_alignment_of(c->y_gap), CM_LIBRARY_BYTES >> 20);
    cm_status status = cm_autotuner_choose(&autotuner, cuda->autotune_cache, key);
    tuning_close(&t);
    return status;
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
    cm_dnn_graph_close(plan->graph);
    if (plan->x) cudnnDestroyTensorDescriptor(plan->x);
    if (plan->y) cudnnDestroyTensorDescriptor(plan->y);
    if (plan->weight) cudnnDestroyFilterDescriptor(plan->weight);
    if (plan->what) cudnnDestroyConvolutionDescriptor(plan->what);
    free(plan);
}
