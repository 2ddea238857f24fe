/* Chains of a forward pass: batch_norm, conv2d, batch_norm and so on. */
#include "backend/cuda/fused/norm_chain.h"
#include "backend/cuda/fused/norm_conv.h"
#include "backend/cuda/ops/plan.h"

_Static_assert(sizeof(cm_norm_conv_args) <= CM_LAUNCH_BYTES, "the arguments of a kernel are at most as many bytes");

/* ---- which calls ---- */

static bool is_norm(const cm_call *call) {
    if (call->op != CM_OP_batch_norm || call->branch != 0) return false;
    const cm_tensor *x = CM_ARG(call, batch_norm, x), *residual = CM_ARG(call, batch_norm, residual);
    return x->ndim == 4 && cm_norm_is_half(x, x->dtype) && cm_norm_is_half(CM_ARG(call, batch_norm, y), x->dtype) &&
           (!residual->data || cm_alignment_gap(residual->data) == 0) &&
           (call->attr.activation == CM_ACT_NONE || call->attr.activation == CM_ACT_RELU);
}

static bool is_plain(const cm_call *call) {
    return call->attr.stride == 1 && call->attr.accumulate == 0 && call->attr.activation == CM_ACT_NONE &&
           !CM_ARG(call, conv2d, bias)->data && cm_norm_is_square(CM_ARG(call, conv2d, weight));
}

static bool is_convolution_after(const cm_call *call, const cm_call *norm) {
    if (call->op != CM_OP_conv2d || call->branch != 0 || !is_plain(call)) return false;
    const cm_tensor *y = CM_ARG(call, conv2d, y), *made = CM_ARG(norm, batch_norm, y);
    const cm_tensor *read = CM_ARG(norm, batch_norm, x), *residual = CM_ARG(norm, batch_norm, residual);
    return call->attr.compute == made->dtype && cm_norm_is_same(CM_ARG(call, conv2d, x), made) &&
           cm_norm_is_half(y, made->dtype) && !cm_tensor_overlaps(y, made) && !cm_tensor_overlaps(y, read) &&
           !cm_tensor_overlaps(y, residual) && cm_norm_is_apart(made, read) && cm_norm_is_apart(made, residual);
}

static bool is_norm_after(const cm_call *call, const cm_call *convolution, const cm_call *norm) {
    (void)norm;
    return is_norm(call) && cm_norm_is_same(CM_ARG(call, batch_norm, x), CM_ARG(convolution, conv2d, y));
}

static const cm_tensor *x_of(const cm_call *norm) { return CM_ARG(norm, batch_norm, x); }

static const cm_tensor *made_by(const cm_call *link, bool of_norm) {
    return of_norm ? CM_ARG(link, batch_norm, y) : CM_ARG(link, conv2d, y);
}

/* ---- its launches ---- */

typedef int (*launcher)(const cm_norm_conv_args *args, int64_t items, int lanes, void *queue);

static launcher launcher_of(int channels, cm_dtype type) {
#define LAUNCHER_OF(name, args, n, t)                                                                                  \
    if (channels == (n) && type == (t)) return name##_launch;
    CM_NORM_CONV_KERNELS(LAUNCHER_OF)
#undef LAUNCHER_OF
    return NULL;
}

static bool has_kernel(int channels, cm_dtype type) { return launcher_of(channels, type) != NULL; }

static size_t chunks_of(const cm_call *norm) { return (size_t)cm_batch_norm_args_of(norm, NULL).chunks.chunks; }

/* A norm's statistics: the convolution in front of it, if there is one, has left the parts of its blocks. */
static cm_status run_statistics(cm_stream *stream, const cm_norm_convs *c, const cm_call *call, const cm_norm_memory *m,
                                bool has_parts, cm_batch_norm_args *args) {
    *args = cm_batch_norm_args_of(call, m->vectors);
    args->chunks.partial = m->partial;
    if (has_parts) {
        cm_norm_chunks_of_blocks(c, &args->chunks);
    } else {
        CM_TRY(cm_batch_norm_half_partial(stream, call, args));
    }
    return cm_batch_norm_half_statistics(stream, call, args);
}

static cm_status run_convolution(cm_stream *stream, const cm_norm_convs *c, const cm_call *call,
                                 const cm_batch_norm_args *norm, float *partial) {
    const cm_cuda_plan *plan = call->plan;
    cm_norm_conv_args args = {.tower = c->tower,
                              .linear = norm->linear,
                              .residual = norm->half_residual,
                              .relu = norm->activation == CM_ACT_RELU,
                              .normed = norm->half_y,
                              .partial = partial,
                              .memory = c->tower.memory};
    args.tower.x = norm->half_x, args.tower.y = CM_ARG(call, conv2d, y)->data;
    args.tower.layer[0].weight = (const uint16_t *)(const void *)plan->copy->block.base;
    if (!args.residual) args.residual = norm->residual.data, args.wide_residual = args.residual != NULL;
    return cm_ops_launched(stream,
                           launcher_of(c->channels, c->type)(&args, cm_norm_blocks(c), CM_BLOCK, cm_ops_queue(stream)),
                           "a convolution with its norms");
}

static cm_status launch(cm_stream *stream, const cm_norm_convs *c, const cm_call *calls, int links) {
    const cm_norm_memory m = cm_norm_borrow(stream, c, cm_norm_link(c, calls, 0));
    for (int i = 0; i < links; i += 2) {
        const cm_call *call = cm_norm_link(c, calls, i);
        cm_batch_norm_args norm;
        CM_TRY(run_statistics(stream, c, call, &m, i > 0, &norm));
        if (i + 1 == links) return cm_batch_norm_half_apply(stream, call, &norm);
        CM_TRY(run_convolution(stream, c, cm_norm_link(c, calls, i + 1), &norm, i + 2 < links ? m.partial : NULL));
    }
    return CM_OK;
}

/* ---- measuring ---- */

/* Residuals that the chain makes are written again. */
static cm_status fill(cm_stream *stream, const cm_norm_convs *c, const cm_call *calls, int links) {
    for (int i = 0; i < links; i += 2) {
        const cm_call *call = cm_norm_link(c, calls, i);
        if (i == 0) CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm, x)));
        CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm, residual)));
    }
    return CM_OK;
}

static int kind_of(const cm_call *link, bool of_norm) {
    const cm_tensor *residual = CM_ARG(link, batch_norm, residual);
    return !of_norm || !residual->data ? 0 : residual->dtype == CM_F32 ? 2 : 1;
}

const cm_norm_way cm_norm_forward = {.name = "norms and convolutions",
                                     .is_norm = is_norm,
                                     .is_convolution_after = is_convolution_after,
                                     .is_norm_after = is_norm_after,
                                     .x_of = x_of,
                                     .made_by = made_by,
                                     .has_kernel = has_kernel,
                                     .chunks_of = chunks_of,
                                     .launch = launch,
                                     .fill = fill,
                                     .compared = 3,
                                     .kind_of = kind_of};
