#include "backend/cuda/dnn_graph.h"

#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "core/arena.h"

typedef cudnnBackendDescriptor_t part;

/* Descriptors that are freed together. */
enum { PARTS = 64 };
typedef struct parts {
    part list[PARTS];
    int count;
} parts;

enum { OPERATIONS = 12 };

struct cm_dnn_graph {
    cm_convolution convolution;
    const cm_convolution_norm *norm; /* while the graph is described; NULL: the convolution alone */
    cudnnHandle_t dnn;               /* borrowed; NULL: `device` */
    part device;                     /* among `fixed` */
    parts fixed;                     /* the graph and what it is made of */
    part operation[OPERATIONS];      /* [operations], in their order */
    int operations;
    part graph;
    parts chosen; /* the plan and what it is made of */
    part plan;    /* NULL before the first */
};

/* ---- descriptors ---- */

static cm_status check(cudnnStatus_t status) { return cm_cuda_dnn((int)status, "a convolution as a graph"); }

static cm_status add(parts *p, cudnnBackendDescriptorType_t kind, part *out) {
    if (p->count == PARTS) return cm_fail(CM_ERR_DEVICE, "a convolution as a graph: more than %d parts", PARTS);
    CM_TRY(check(cudnnBackendCreateDescriptor(kind, out)));
    p->list[p->count++] = *out;
    return CM_OK;
}

static void free_parts(parts *p) {
    while (p->count > 0) cudnnBackendDestroyDescriptor(p->list[--p->count]);
}

static cm_status set(part p, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n,
                     const void *values) {
    return check(cudnnBackendSetAttribute(p, name, type, n, values));
}

static cm_status set_numbers(part p, cudnnBackendAttributeName_t name, int64_t n, const int64_t *values) {
    return set(p, name, CUDNN_TYPE_INT64, n, values);
}

static cm_status set_type(part p, cudnnBackendAttributeName_t name, cudnnDataType_t type) {
    return set(p, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}

static cm_status set_part(part p, cudnnBackendAttributeName_t name, part value) {
    return set(p, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static cm_status finish(part p) { return check(cudnnBackendFinalize(p)); }

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

static cm_status describe_tensor(cm_dnn_graph *g, const description *d, part *out) {
    const int64_t n = d->size[0], h = d->size[1], w = d->size[2], c = d->size[3];
    const int64_t sizes[4] = {n, c, h, w}, steps[4] = {h * w * c, 1, w * c, c};
    const bool within = d->place == WITHIN, by_value = d->place == BY_VALUE;
    CM_TRY(add(&g->fixed, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
    CM_TRY(set_type(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, d->type));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, 4, sizes));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_TENSOR_STRIDES, 4, steps));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &d->name));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &d->alignment));
    CM_TRY(set(*out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &within));
    CM_TRY(set(*out, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value));
    return finish(*out);
}

static cm_status describe_plane(cm_dnn_graph *g, int64_t name, cm_dtype type, const int size[4], part *out) {
    const description d = {name, types[type], {size[0], size[1], size[2], size[3]}, 16, IN_MEMORY};
    return describe_tensor(g, &d, out);
}

/* What is between two operations, in float32. */
static cm_status describe_within(cm_dnn_graph *g, const int size[4], part *out) {
    const description d = {g->fixed.count, CUDNN_DATA_FLOAT, {size[0], size[1], size[2], size[3]}, 16, WITHIN};
    return describe_tensor(g, &d, out);
}

/* One float32 per channel, wherever parameters stand. */
static cm_status describe_channels(cm_dnn_graph *g, int64_t name, part *out) {
    const description d = {name, CUDNN_DATA_FLOAT, {1, 1, 1, g->convolution.O}, sizeof(float), IN_MEMORY};
    return describe_tensor(g, &d, out);
}

static cm_status describe_window(cm_dnn_graph *g, part *out) {
    const cm_convolution *c = &g->convolution;
    const int64_t axes = 2, apart[2] = {1, 1}, pads[2] = {c->k / 2, c->k / 2}, steps[2] = {c->stride, c->stride};
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    CM_TRY(add(&g->fixed, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, out));
    CM_TRY(set_type(*out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
    CM_TRY(set(*out, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &axes));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, apart));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, steps));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, pads));
    CM_TRY(set_numbers(*out, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 2, pads));
    return finish(*out);
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

static cm_status add_operation(cm_dnn_graph *g, cudnnBackendDescriptorType_t kind, part *out) {
    CM_TRY(add(&g->fixed, kind, out));
    g->operation[g->operations++] = *out;
    return CM_OK;
}

/* *y: the result, which is within the plan where a norm follows. */
static cm_status describe_convolution(cm_dnn_graph *g, part *y) {
    const cm_convolution *c = &g->convolution;
    const operation *o = &operations[c->way];
    const int x_size[4] = {c->B, c->H, c->W, c->C}, weight_size[4] = {c->O, c->k, c->k, c->C};
    const int y_size[4] = {c->B, c->P, c->Q, c->O};
    const float alpha = 1.0f, beta = c->accumulate ? 1.0f : 0.0f;
    part x, weight, window, convolution;
    CM_TRY(describe_plane(g, X, c->type, x_size, &x));
    CM_TRY(describe_plane(g, WEIGHT, c->type, weight_size, &weight));
    CM_TRY(g->norm ? describe_within(g, y_size, y) : describe_plane(g, Y, c->type, y_size, y));
    CM_TRY(describe_window(g, &window));
    CM_TRY(add_operation(g, o->kind, &convolution));
    CM_TRY(set_part(convolution, o->x, x));
    CM_TRY(set_part(convolution, o->weight, weight));
    CM_TRY(set_part(convolution, o->y, *y));
    CM_TRY(set_part(convolution, o->window, window));
    CM_TRY(set(convolution, o->alpha, CUDNN_TYPE_FLOAT, 1, &alpha));
    CM_TRY(set(convolution, o->beta, CUDNN_TYPE_FLOAT, 1, &beta));
    return finish(convolution);
}

/* y = mode(x, b), element by element; b NULL: of x alone. */
static cm_status describe_step(cm_dnn_graph *g, cudnnPointwiseMode_t mode, part x, part b, part y) {
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    part what, step;
    CM_TRY(add(&g->fixed, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &what));
    CM_TRY(set(what, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode));
    CM_TRY(set_type(what, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT));
    CM_TRY(set(what, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &nan));
    CM_TRY(finish(what));
    CM_TRY(add_operation(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &step));
    CM_TRY(set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what));
    CM_TRY(set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x));
    if (b) CM_TRY(set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b));
    CM_TRY(set_part(step, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y));
    return finish(step);
}

/* The same whose result is within the plan. */
static cm_status describe_inner(cm_dnn_graph *g, cudnnPointwiseMode_t mode, part x, part b, const int size[4],
                                part *y) {
    CM_TRY(describe_within(g, size, y));
    return describe_step(g, mode, x, b, *y);
}

/* 1 / sqrt(variance + epsilon) of every channel. */
static cm_status describe_inverse(cm_dnn_graph *g, part *out) {
    const description one = {EPSILON, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, sizeof(float), BY_VALUE};
    const int size[4] = {1, 1, 1, g->convolution.O};
    part variance, epsilon, sum;
    CM_TRY(describe_channels(g, VARIANCE, &variance));
    CM_TRY(describe_tensor(g, &one, &epsilon));
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_ADD, variance, epsilon, size, &sum));
    return describe_inner(g, CUDNN_POINTWISE_RSQRT, sum, NULL, size, out);
}

/* The last step gives y: relu or, without, the last sum. */
static cm_status describe_end(cm_dnn_graph *g, part x, part b, const int size[4]) {
    const cm_convolution_norm *n = g->norm;
    part y, residual = NULL, last;
    CM_TRY(describe_plane(g, Y, n->y, size, &y));
    if (n->adds) {
        CM_TRY(describe_plane(g, RESIDUAL, n->residual, size, &residual));
        CM_TRY(describe_inner(g, CUDNN_POINTWISE_ADD, x, b, size, &last));
        x = last, b = residual;
    }
    if (!n->relu) return describe_step(g, CUDNN_POINTWISE_ADD, x, b, y);
    CM_TRY(describe_inner(g, CUDNN_POINTWISE_ADD, x, b, size, &last));
    return describe_step(g, CUDNN_POINTWISE_RELU_FWD, last, NULL, y);
}

static cm_status describe_norm(cm_dnn_graph *g, part sums) {
    const cm_convolution *c = &g->convolution;
    const int size[4] = {c->B, c->P, c->Q, c->O};
    part mean, inverse, scale, shift, centred, normal, scaled;
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
    CM_TRY(add(&g->fixed, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &g->device));
    CM_TRY(set(g->device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)strlen(json), json));
    return finish(g->device);
}

static cm_status describe(cm_dnn_graph *g, const cm_dnn_target *target) {
    part y;
    if (!g->dnn) CM_TRY(describe_device(g, target->device));
    CM_TRY(describe_convolution(g, &y));
    if (g->norm) CM_TRY(describe_norm(g, y));
    CM_TRY(add(&g->fixed, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &g->graph));
    if (g->dnn) CM_TRY(set(g->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn));
    CM_TRY(set(g->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->operations, g->operation));
    return finish(g->graph);
}

static cm_status open_graph(const cm_dnn_target *target, const cm_convolution *convolution,
                            const cm_convolution_norm *norm, cm_dnn_graph **out) {
    cm_dnn_graph *g = NULL;
    CM_TRY(cm_alloc(&g, 1, sizeof *g, "a convolution"));
    g->convolution = *convolution;
    g->norm = norm;
    g->dnn = target->dnn;
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

void cm_dnn_graph_close(cm_dnn_graph *graph) {
    if (!graph) return;
    free_parts(&graph->chosen);
    free_parts(&graph->fixed);
    free(graph);
}

/* ---- engines ---- */

enum {
    LESS_EXACT = 1u << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS |
                 1u << CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION | 1u << CUDNN_NUMERICAL_NOTE_FFT |
                 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD,
    NOT_FIXED = 1u << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
    TENSOR_CORES = 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE
};

static bool may_take(const cm_dnn_graph *g, const cm_dnn_engine *engine) {
    const unsigned refused = LESS_EXACT | NOT_FIXED | (g->convolution.type == CM_F32 ? TENSOR_CORES : 0);
    return (engine->notes & refused) == 0;
}

static cm_status look_at_engine(part engine, cm_dnn_engine *out) {
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t index = 0, n = 0;
    CM_TRY(check(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &n, &index)));
    CM_TRY(check(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes)));
    for (int64_t i = 0; i < n; i++) out->notes |= 1u << notes[i];
    out->index = (int32_t)index;
    return CM_OK;
}

static cm_status look_at_knob(part knob, cm_dnn_engine *out) {
    cudnnBackendKnobType_t type;
    int64_t value = 0, n = 0;
    CM_TRY(check(cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &n, &type)));
    CM_TRY(check(cudnnBackendGetAttribute(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &n, &value)));
    out->knob[out->knobs].type = (int32_t)type;
    out->knob[out->knobs++].value = (int32_t)value;
    return CM_OK;
}

/* What an engine's configuration says; *whole: there is room for all of it. `own` takes what has to be made for that.
 */
static cm_status look_at(parts *own, part configuration, cm_dnn_engine *out, bool *whole) {
    part engine, knobs[CM_DNN_KNOBS];
    int64_t n = 0;
    memset(out, 0, sizeof *out);
    CM_TRY(add(own, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
    CM_TRY(check(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                          &n, &engine)));
    CM_TRY(look_at_engine(engine, out));
    for (int i = 0; i < CM_DNN_KNOBS; i++) CM_TRY(add(own, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knobs[i]));
    CM_TRY(check(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, CM_DNN_KNOBS, &n, knobs)));
    *whole = n <= CM_DNN_KNOBS;
    for (int64_t i = 0; *whole && i < n; i++) CM_TRY(look_at_knob(knobs[i], out));
    return CM_OK;
}

static cm_status ask(const cm_dnn_graph *g, parts *own, cudnnBackendHeurMode_t mode, part *configurations,
                     int64_t *count) {
    part heuristics;
    CM_TRY(add(own, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &heuristics));
    CM_TRY(set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, g->graph));
    CM_TRY(set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode));
    if (g->device) CM_TRY(set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, g->device));
    CM_TRY(finish(heuristics));
    const int64_t room = *count;
    for (int64_t i = 0; i < room; i++) CM_TRY(add(own, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configurations[i]));
    CM_TRY(check(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                          room, count, configurations)));
    if (*count > room) *count = room;
    return CM_OK;
}

enum { CONFIGURATIONS = 48 };

static cm_status find_engines(const cm_dnn_graph *g, parts *own, bool fallback, cm_dnn_engine *out, int room,
                              int *count) {
    part configurations[CONFIGURATIONS];
    int64_t n = CONFIGURATIONS;
    CM_TRY(ask(g, own, fallback ? CUDNN_HEUR_MODE_FALLBACK : CUDNN_HEUR_MODE_A, configurations, &n));
    for (int64_t i = 0; i < n && *count < room; i++) {
        parts own_of_it = {0};
        bool whole = false;
        cm_status status = look_at(&own_of_it, configurations[i], &out[*count], &whole);
        free_parts(&own_of_it);
        CM_TRY(status);
        *count += whole && may_take(g, &out[*count]);
    }
    return CM_OK;
}

cm_status cm_dnn_graph_engines(const cm_dnn_graph *graph, bool fallback, cm_dnn_engine *out, int room, int *count) {
    parts own = {0};
    *count = 0;
    cm_status status = find_engines(graph, &own, fallback, out, room, count);
    free_parts(&own);
    return status;
}

/* ---- plans ---- */

static cm_status configure(cm_dnn_graph *g, const cm_dnn_engine *engine, part *out) {
    const int64_t index = engine->index;
    part of_engine, knob;
    CM_TRY(add(&g->chosen, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &of_engine));
    CM_TRY(set_part(of_engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, g->graph));
    CM_TRY(set_numbers(of_engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1, &index));
    if (g->device) CM_TRY(set_part(of_engine, CUDNN_ATTR_ENGINE_DEVICEPROP, g->device));
    CM_TRY(finish(of_engine));
    CM_TRY(add(&g->chosen, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, out));
    CM_TRY(set_part(*out, CUDNN_ATTR_ENGINECFG_ENGINE, of_engine));
    part *knobs = g->chosen.list + g->chosen.count; /* they follow */
    for (int i = 0; i < engine->knobs; i++) {
        const cudnnBackendKnobType_t type = (cudnnBackendKnobType_t)engine->knob[i].type;
        const int64_t value = engine->knob[i].value;
        CM_TRY(add(&g->chosen, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knob));
        CM_TRY(set(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type));
        CM_TRY(set_numbers(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 1, &value));
        CM_TRY(finish(knob));
    }
    if (engine->knobs > 0)
        CM_TRY(set(*out, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, engine->knobs, knobs));
    return finish(*out);
}

static cm_status make_plan(cm_dnn_graph *g, const cm_dnn_engine *engine, size_t workspace) {
    part configuration, plan;
    int64_t needed = 0, n = 0;
    CM_TRY(configure(g, engine, &configuration));
    CM_TRY(add(&g->chosen, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan));
    if (g->dnn) CM_TRY(set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->dnn));
    if (g->device) CM_TRY(set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, g->device));
    CM_TRY(set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration));
    CM_TRY(finish(plan));
    CM_TRY(check(
        cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &n, &needed)));
    if (needed < 0 || (uint64_t)needed > workspace)
        return cm_fail(CM_ERR_MEMORY,
                       "a convolution as a graph: engine %d needs a workspace of %lld bytes, there are %zu",
                       engine->index, (long long)needed, workspace);
    g->plan = plan;
    return CM_OK;
}

cm_status cm_dnn_graph_plan(cm_dnn_graph *graph, const cm_dnn_engine *engine, size_t workspace) {
    graph->plan = NULL;
    free_parts(&graph->chosen);
    if (engine->knobs < 0 || engine->knobs > CM_DNN_KNOBS)
        return cm_fail(CM_ERR_DEVICE, "a convolution as a graph: an engine with %d knobs", engine->knobs);
    return make_plan(graph, engine, workspace);
}

/* ---- running ---- */

/* The tensors of a plan by their names. */
typedef struct addresses {
    int count;
    const int64_t *name;
    const void *const *data;
} addresses;

static cm_status run_pack(const cm_dnn_graph *g, part pack, const addresses *a, void *workspace) {
    CM_TRY(set_numbers(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, a->count, a->name));
    CM_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, a->count, a->data));
    CM_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
    CM_TRY(finish(pack));
    return check(cudnnBackendExecute(g->dnn, g->plan, pack));
}

static cm_status run(const cm_dnn_graph *g, const addresses *a, void *workspace) {
    parts own = {0};
    part pack = NULL;
    cm_status status = add(&own, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status == CM_OK) status = run_pack(g, pack, a, workspace);
    free_parts(&own);
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
