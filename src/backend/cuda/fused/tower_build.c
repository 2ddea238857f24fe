/* Calls become a tower: which ones do, and how many boards a block takes. */
#include "backend/cuda/fused/tower.h"
#include "backend/cuda/fused/towers.h"
#include "backend/cuda/ops/plan.h"

/* ---- which calls ---- */

static bool lies_in(const cm_tensor *t, const cm_call_list *pass) {
    const uintptr_t first = (uintptr_t)pass->work, at = (uintptr_t)t->data;
    return pass->work && at >= first && at + cm_tensor_bytes(t) <= first + pass->work_bytes;
}

static bool is_layer(const cm_call *call) {
    if (call->op != CM_OP_conv2d_norm || call->branch != 0) return false;
    const cm_tensor *weight = CM_ARG(call, conv2d_norm, weight), *x = CM_ARG(call, conv2d_norm, x);
    return call->attr.compute != CM_F32 && call->attr.compute != CM_I8 && call->attr.stride == 1 &&
           weight->dim[1] == 3 && weight->dim[0] == weight->dim[3] && cm_alignment_gap(x->data) == 0 &&
           cm_alignment_gap(CM_ARG(call, conv2d_norm, y)->data) == 0 &&
           (call->attr.activation == CM_ACT_NONE || call->attr.activation == CM_ACT_RELU);
}

/* Where a tower may begin: what it reads may be overwritten to measure it. */
static bool may_begin(const cm_call_list *pass, const cm_call *call) {
    return is_layer(call) && !CM_ARG(call, conv2d_norm, residual)->data && lies_in(CM_ARG(call, conv2d_norm, x), pass);
}

/* Is a call the layer after another one? What is added is what that one has read, if anything. */
static bool follows(const cm_call_list *pass, const cm_call *call, const cm_call *before) {
    const cm_tensor *y = CM_ARG(before, conv2d_norm, y), *residual = CM_ARG(call, conv2d_norm, residual);
    return is_layer(call) && call->attr.compute == before->attr.compute && y->dtype != CM_F32 && lies_in(y, pass) &&
           CM_ARG(call, conv2d_norm, x)->data == y->data &&
           CM_ARG(call, conv2d_norm, weight)->dim[0] == CM_ARG(before, conv2d_norm, weight)->dim[0] &&
           (!residual->data || residual->data == CM_ARG(before, conv2d_norm, x)->data);
}

/* Does a call of the pass besides first .. end - 1 touch it? */
static bool is_seen(const cm_call_list *pass, int first, int end, const cm_tensor *t) {
    for (int i = 0; i < pass->count; i++)
        for (int j = 0; (i < first || i >= end) && j < cm_op_tensor_count(pass->calls[i].op); j++)
            if (cm_tensor_overlaps(&pass->calls[i].t[j], t)) return true;
    return false;
}

/* No other call sees what stays in the blocks' memory, and nothing is written where other blocks have yet to read. */
static bool is_closed(const cm_call_list *pass, int first, int end) {
    const cm_tensor *x = CM_ARG(&pass->calls[first], conv2d_norm, x);
    for (int i = first; i < end; i++) {
        const cm_tensor *y = CM_ARG(&pass->calls[i], conv2d_norm, y);
        if (cm_tensor_overlaps(x, y) || (i + 1 < end && is_seen(pass, first, end, y))) return false;
    }
    return true;
}

int cm_tower_reach(const cm_call_list *pass, int first) {
    int end = first + 1;
    if (!may_begin(pass, &pass->calls[first])) return 0;
    while (end < pass->count && end - first < CM_TOWER_LAYERS &&
           follows(pass, &pass->calls[end], &pass->calls[end - 1]))
        end++;
    while (end - first > 1 && !is_closed(pass, first, end)) end--;
    return end - first > 1 ? end - first : 0;
}

/* ---- what the kernel is given ---- */

typedef int (*launcher)(const cm_tower_args *args, int64_t items, int lanes, void *queue);

static launcher launcher_of(int channels, cm_dtype type) {
#define LAUNCHER_OF(name, args, n, t)                                                                                  \
    if (channels == (n) && type == (t)) return name##_launch;
    CM_TOWER_KERNELS(LAUNCHER_OF)
#undef LAUNCHER_OF
    return NULL;
}

static bool fits(const cm_tower_args *args, int channels, const cm_ops_limits *limits) {
    return cm_tower_places_of(args).tiles <= CM_TOWER_TILES && cm_tower_bytes(args, channels) <= limits->block_bytes;
}

/* What all blocks take, wave by wave over all multiprocessors: a tile is as much as the rest of a layer. */
static int64_t cost_of(const cm_tower_args *args, const cm_ops_limits *limits) {
    const int64_t at_once = (int64_t)limits->multiprocessors * args->share;
    return (args->boards + at_once - 1) / at_once * (cm_tower_places_of(args).tiles + 1);
}

/* The number of boards for a block that costs the least, the larger one of two. */
bool cm_tower_share(cm_tower_args *args, int channels, const cm_ops_limits *limits) {
    int64_t least = INT64_MAX;
    int best = 0;
    for (args->share = 1; args->share <= args->boards && args->share <= CM_TOWER_TILES * CM_SLAB_ROWS; args->share++) {
        if (!fits(args, channels, limits) || cost_of(args, limits) > least) continue;
        least = cost_of(args, limits);
        best = args->share;
    }
    args->share = best;
    if (best > 0) args->memory = (uint32_t)cm_tower_bytes(args, channels);
    return best > 0;
}

static cm_tower_layer layer_of(const cm_call *call) {
    const cm_cuda_plan *plan = call->plan;
    return (cm_tower_layer){.weight = (const uint16_t *)(const void *)plan->copy->block.base,
                            .scale = CM_ARG(call, conv2d_norm, scale)->data,
                            .shift = CM_ARG(call, conv2d_norm, shift)->data,
                            .mean = CM_ARG(call, conv2d_norm, mean)->data,
                            .variance = CM_ARG(call, conv2d_norm, variance)->data,
                            .epsilon = call->attr.epsilon,
                            .relu = call->attr.activation == CM_ACT_RELU,
                            .adds = CM_ARG(call, conv2d_norm, residual)->data != NULL};
}

bool cm_tower_build(const cm_call *calls, int count, const cm_ops_limits *limits, cm_tower_args *out) {
    const cm_tensor *x = CM_ARG(calls, conv2d_norm, x), *y = CM_ARG(&calls[count - 1], conv2d_norm, y);
    *out = (cm_tower_args){.x = x->data,
                           .y = y->data,
                           .wide_x = x->dtype == CM_F32,
                           .wide_y = y->dtype == CM_F32,
                           .boards = x->dim[0],
                           .height = x->dim[1],
                           .width = x->dim[2],
                           .layers = count};
    if (!limits->multiplies_16_bits || !launcher_of(x->dim[3], calls->attr.compute)) return false;
    if (!cm_tower_share(out, x->dim[3], limits)) return false;
    for (int i = 0; i < count; i++) out->layer[i] = layer_of(&calls[i]);
    return true;
}

int cm_tower_launch(const cm_tower_args *args, int channels, cm_dtype type, void *queue) {
    const int blocks = (args->boards + args->share - 1) / args->share;
    return launcher_of(channels, type)(args, blocks, CM_BLOCK, queue);
}
