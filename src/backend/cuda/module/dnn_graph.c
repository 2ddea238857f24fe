/* Describes convolutions, with or without a norm after them, as operation graphs, and runs their plans. */
#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/module/dnn_parts.h"
#include "core/arena.h"

/* ---- the graph ---- */

static const cudnnDataType_t types[CM_PRODUCT_TYPES] = {
    [CM_F32] = CUDNN_DATA_FLOAT, [CM_BF16] = CUDNN_DATA_BFLOAT16, [CM_F16] = CUDNN_DATA_HALF};

/* Names of tensors, for plans to know which address is whose. What a plan keeps to itself is named by numbers. */
enum {
    X = 'x',
    WEIGHT = 'w',
    Y = 'y',
    SCALE = 's',
    SHIFT = 'b',
    MEAN = 'm',
    VARIANCE = 'v',
    EPSILON = 'e',
    RESIDUAL = 'r'
};

typedef enum place { IN_MEMORY, BY_VALUE, WITHIN } place; /* WITHIN: the plan's own */

/* A tensor [n, height, width, channels]; cuDNN names channels before places. */
typedef struct description {
    int64_t name;
    cudnnDataType_t type;
    int size[4];
    int64_t alignment; /* bytes */
    place place;
} description;

static cm_status describe_tensor(cm_dnn_graph *g, const description *d, cm_dnn_part *out) {
    const int64_t n = d->size[0], h = d->size[1], w = d->size[2], c = d->size[3];
    const int64_t sizes[4] = {n, c, h, w}, steps[4] = {h * w * c, 1, w * c, c};
    const bool within = d->place == WITHIN, by_value = d->place == BY_VALUE;
    CM_TRY(cm_dnn_add(&g->fixed, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    CM_TRY(cm_dnn_set_type(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, d->type));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, 4, sizes));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_TENSOR_STRIDES, 4, steps));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &d->name));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &d->alignment));
    CM_TRY(cm_dnn_set(*out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &within));
    CM_TRY(cm_dnn_set(*out, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value));
    return cm_dnn_finish(*out);
}

static cm_status describe_nhwc(cm_dnn_graph *g, int64_t name, cm_dtype type, const int size[4], int gap,
                               cm_dnn_part *out) {
    const description d = {name, types[type], {size[0], size[1], size[2], size[3]}, cm_alignment_of(gap), IN_MEMORY};
    return describe_tensor(g, &d, out);
}

/* What is between two operations, in float32. */
static cm_status describe_within(cm_dnn_graph *g, const int size[4], cm_dnn_part *out) {
    const description d = {g->fixed.count, CUDNN_DATA_FLOAT, {size[0], size[1], size[2], size[3]}, 16, WITHIN};
    return describe_tensor(g, &d, out);
}

/* One float32 per channel, wherever parameters stand. */
static cm_status describe_channels(cm_dnn_graph *g, int64_t name, cm_dnn_part *out) {
    const description d = {name, CUDNN_DATA_FLOAT, {1, 1, 1, g->convolution.O}, sizeof(float), IN_MEMORY};
    return describe_tensor(g, &d, out);
}

static cm_status describe_window(cm_dnn_graph *g, cm_dnn_part *out) {
    const cm_convolution *c = &g->convolution;
    const int64_t axes = 2, apart[2] = {1, 1}, pads[2] = {c->k / 2, c->k / 2}, steps[2] = {c->stride, c->stride};
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    CM_TRY(cm_dnn_add(&g->fixed, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
    CM_TRY(cm_dnn_set_type(*out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
    CM_TRY(cm_dnn_set(*out, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &axes));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, apart));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, steps));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, pads));
    CM_TRY(cm_dnn_set_numbers(*out, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 2, pads));
    return cm_dnn_finish(*out);
}

/* What cuDNN calls the operation of a way and the attributes of it; tensors x, weight, y or their gradients. */
typedef struct operation {
    cudnnBackendDescriptorType_t kind;
    cudnnBackendAttributeName_t x, weight, y, window, alpha, beta;
} operation;

static const operation operations[] = {
    [CM_CONVOLVE] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [CM_CONVOLVE_INPUT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [CM_CONVOLVE_WEIGHT] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static cm_status add_operation(cm_dnn_graph *g, cudnnBackendDescriptorType_t kind, cm_dnn_part *out) {
    CM_TRY(cm_dnn_add(&g->fixed, kind, out));
    g->operation[g->operations++] = *out;
    return CM_OK;
}

/* *y: the result, which is within the plan where a norm follows. */
static cm_status describe_convolution(cm_dnn_graph *g, cm_dnn_part *y) {
    const cm_convolution *c = &g->convolution;
    const operation *o = &operations[c->way];
    const int x_size[4] = {c->B, c->H, c->W, c->C}, weight_size[4] = {c->O, c->k, c->k, c->C};
    const int y_size[4] = {c->B, c->P, c->Q, c->O};
    const float alpha = 1.0f, beta = c->accumulate ? 1.0f : 0.0f;
    cm_dnn_part x, weight, window, convolution;
    CM_TRY(describe_nhwc(g, X, c->type, x_size, c->x_gap, &x));
    CM_TRY(describe_nhwc(g, WEIGHT, c->type, weight_size, c->weight_gap, &weight));
    CM_TRY(g->norm ? describe_within(g, y_size, y) : describe_nhwc(g, Y, c->type, y_size, c->y_gap, y));
    CM_TRY(describe_window(g, &window));
    CM_TRY(add_operation(g, o->kind, &convolution));
    CM_TRY(cm_dnn_set_part(convolution, o->x, x));
    CM_TRY(cm_dnn_set_part(convolution, o->weight, weight));
    CM_TRY(cm_dnn_set_part(convolution, o->y, *y));
    CM_TRY(cm_dnn_set_part(convolution, o->window, window));
    CM_TRY(cm_dnn_set(convolution, o->alpha, CUDNN_TYPE_FLOAT, 1, &alpha));
    CM_TRY(cm_dnn_set(convolution, o->beta, CUDNN_TYPE_FLOAT, 1, &beta));
    return cm_dnn_finish(convolution);
}

/* y = mode(x, b), element by element; b NULL: of x alone. */
static cm_status describe_step(cm_dnn_graph *g, cudnnPointwiseMode_t mode, cm_dnn_part x, cm_dnn_part b,
                               cm_dnn_part y) {
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    cm_dnn_part what, step;
    CM_TRY(cm_dnn_add(&g->fixed, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &what));
    CM_TRY(cm_dnn_set(what, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
    CM_TRY(cm_dnn_set_type(what, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT));
    /* Where it is no longer known, the trial of an engine looks at what becomes of NaN. */
    (void)!cm_dnn_set(what, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &nan);
    CM_TRY(cm_dnn_finish(what));
    CM_TRY(add_operation(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &step));
    CM_TRY(cm_dnn_set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what));
    CM_TRY(cm_dnn_set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x));
    if (b) CM_TRY(cm_dnn_set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b));
    CM_TRY(cm_dnn_set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y));
    return cm_dnn_finish(step);
}

/* The same whose result is within the plan. */
static cm_status describe_inner(cm_dnn_graph *g, cudnnPointwiseMode_t mode, cm_dnn_part x, cm_dnn_part b,
                                const int size[4], cm_dnn_part *y) {
    CM_TRY(describe_within(g, size, y));
    return describe_step(g, mode, x, b, *y);
}

/* 1 / sqrt(variance + epsilon) of every channel. */
static cm_status describe_inverse(cm_dnn_graph *g, cm_dnn_part *out) {
    const description one = {EPSILON, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, sizeof(float), BY_VALUE};
    const int size[4] = {1, 1, 1, g->convolution.O};
    cm_dnn_part variance, epsilon, sum;
    CM_TRY(describe_channels(g, VARIANCE, &variance));
    CM_TRY(describe_tensor(g, &one, &epsilon));
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_ADD, variance, epsilon, size, &sum));
    return describe_inner(g, CUDNN_POINTWISE_RSQRT, sum, NULL, size, out);
}

/* The last step gives y: relu or, without, the last sum. */
static cm_status describe_end(cm_dnn_graph *g, cm_dnn_part x, cm_dnn_part b, const int size[4]) {
    const cm_convolution_norm *n = g->norm;
    cm_dnn_part y, residual = NULL, last;
    CM_TRY(describe_nhwc(g, Y, n->y, size, 0, &y));
    if (n->adds) {
        CM_TRY(describe_nhwc(g, RESIDUAL, n->residual, size, 0, &residual));
        CM_TRY(describe_inner(g, CUDNN_POINTWISE_ADD, x, b, size, &last));
        x = last, b = residual;
    }
    if (!n->relu) return describe_step(g, CUDNN_POINTWISE_ADD, x, b, y);
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_ADD, x, b, size, &last));
    return describe_step(g, CUDNN_POINTWISE_RELU_FWD, last, NULL, y);
}

static cm_status describe_norm(cm_dnn_graph *g, cm_dnn_part sums) {
    const cm_convolution *c = &g->convolution;
    const int size[4] = {c->B, c->P, c->Q, c->O};
    cm_dnn_part mean, inverse, scale, shift, centred, normal, scaled;
    CM_TRY(describe_inverse(g, &inverse));
    CM_TRY(describe_channels(g, MEAN, &mean));
    CM_TRY(describe_channels(g, SCALE, &scale));
    CM_TRY(describe_channels(g, SHIFT, &shift));
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_SUB, sums, mean, size, &centred));
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_MUL, centred, inverse, size, &normal));
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_MUL, normal, scale, size, &scaled));
    return describe_end(g, scaled, shift, size);
}

static cm_status describe_device(cm_dnn_graph *g, const char *json) {
    CM_TRY(cm_dnn_add(&g->fixed, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &g->device));
    CM_TRY(
        cm_dnn_set(g->device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(json), json));
    return cm_dnn_finish(g->device);
}

static cm_status describe(cm_dnn_graph *g, const cm_dnn_target *target) {
    cm_dnn_part y;
    if (!g->dnn) CM_TRY(describe_device(g, target->device));
    CM_TRY(describe_convolution(g, &y));
    if (g->norm) CM_TRY(describe_norm(g, y));
    CM_TRY(cm_dnn_add(&g->fixed, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &g->graph));
    if (g->dnn) CM_TRY(cm_dnn_set(g->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn));
    CM_TRY(cm_dnn_set(g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->operations,
                      g->operation));
    return cm_dnn_finish(g->graph);
}

static cm_status open_graph(const cm_dnn_target *target, const cm_convolution *convolution,
                            const cm_convolution_norm *norm, cm_dnn_graph **out) {
    cm_dnn_graph *g = NULL;
    CM_TRY(cm_alloc(&g, 1, sizeof *g, "a convolution"));
    g->convolution = *convolution;
    g->norm = norm;
    g->dnn = target->dnn;
    g->gpu = target->gpu;
    cm_status status = describe(g, target);
    g->norm = NULL;
    if (status != CM_OK) {
        cm_dnn_graph_close(g);
        return status;
    }
    *out = g;
    return CM_OK;
}

cm_status cm_dnn_graph_open(const cm_dnn_target *target, const cm_convolution *convolution, cm_dnn_graph **out) {
    return open_graph(target, convolution, NULL, out);
}

cm_status cm_dnn_graph_open_norm(const cm_dnn_target *target, const cm_convolution_norm *norm, cm_dnn_graph **out) {
    return open_graph(target, &norm->convolution, norm, out);
}

/* On a GPU that is lost no thread captures. */
void cm_dnn_graph_close(cm_dnn_graph *graph) {
    if (!graph) return;
    const bool is_locked = graph->gpu && cm_cuda_capture_lock(graph->gpu, "freeing plans of cuDNN") == CM_OK;
    cm_dnn_free(&graph->chosen);
    cm_dnn_free(&graph->fixed);
    if (is_locked) cm_cuda_capture_unlock(graph->gpu);
    free(graph);
}

/* ---- running ---- */

/* The tensors of a plan by their names. */
typedef struct addresses {
    int count;
    const int64_t *name;
    const void *const *data;
} addresses;

static cm_status run_pack(const cm_dnn_graph *g, cm_dnn_part pack, const addresses *a, void *workspace) {
    CM_TRY(cm_dnn_set_numbers(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, a->count, a->name));
    CM_TRY(cm_dnn_set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, a->count, a->data));
    CM_TRY(cm_dnn_set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
    CM_TRY(cm_dnn_finish(pack));
    return cm_dnn_check(cudnnBackendExecute(g->dnn, g->plan, pack));
}

static cm_status run(const cm_dnn_graph *g, const addresses *a, void *workspace) {
    cm_dnn_parts own = {0};
    cm_dnn_part pack = NULL;
    cm_status status = cm_dnn_add(&own, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status == CM_OK) status = run_pack(g, pack, a, workspace);
    cm_dnn_free(&own);
    return status;
}

cm_status cm_dnn_graph_run(const cm_dnn_graph *graph, const void *a, const void *b, void *out, void *workspace) {
    static const int64_t names[3][3] = {
        [CM_CONVOLVE] = {X, WEIGHT, Y}, [CM_CONVOLVE_INPUT] = {Y, WEIGHT, X}, [CM_CONVOLVE_WEIGHT] = {Y, X, WEIGHT}};
    const void *const data[3] = {a, b, out};
    const addresses all = {3, names[graph->convolution.way], data};
    return run(graph, &all, workspace);
}

cm_status cm_dnn_graph_run_norm(const cm_dnn_graph *graph, const cm_convolution_norm_data *data, void *workspace) {
    static const int64_t names[] = {X, WEIGHT, Y, SCALE, SHIFT, MEAN, VARIANCE, EPSILON, RESIDUAL};
    const void *const of[] = {data->x,    data->weight,   data->y,        data->scale,   data->shift,
                              data->mean, data->variance, &data->epsilon, data->residual};
    const addresses all = {data->residual ? 9 : 8, names, of};
    return run(graph, &all, workspace);
}
