/* Chains of a backward pass: batch_norm_backward, the conv2d_backward of what it makes, and so on. Gradients of weights
 * are calls of their own, or parts of calls, which run after the chain. */
#include "backend/cuda/fused/norm_chain.h"
#include "backend/cuda/fused/norm_grad.h"

_Static_assert(sizeof(cm_norm_grad_args) <= CM_LAUNCH_BYTES, "the arguments of a kernel are at most as many bytes");

/* ---- which calls ---- */

/* Of 16 bits, or of float32, and where the kernels can read it. */
static bool is_readable(const cm_tensor *t, cm_dtype type) {
    return cm_norm_is_half(t, type) || (t->dtype == CM_F32 && cm_alignment_gap(t->data) == 0);
}

/* Is what is written apart from all that norm `call` reads at every element? */
static bool avoids_reads(const cm_call *call, bool (*is_apart)(const cm_tensor *written, const cm_tensor *read),
                         const cm_tensor *written) {
    return is_apart(written, CM_ARG(call, batch_norm_backward, x)) &&
           is_apart(written, CM_ARG(call, batch_norm_backward, y)) &&
           is_apart(written, CM_ARG(call, batch_norm_backward, dy));
}

static bool is_norm(const cm_call *call) {
    if (call->op != CM_OP_batch_norm_backward || call->branch != 0) return false;
    const cm_tensor *x = CM_ARG(call, batch_norm_backward, x), *dx = CM_ARG(call, batch_norm_backward, dx);
    const cm_tensor *y = CM_ARG(call, batch_norm_backward, y), *dy = CM_ARG(call, batch_norm_backward, dy);
    const cm_tensor *residual = CM_ARG(call, batch_norm_backward, dresidual);
    return x->ndim == 4 && cm_norm_is_half(x, x->dtype) && dx->data && cm_norm_is_half(dx, x->dtype) &&
           !CM_ADDS(call, batch_norm_backward, dx) && y->dtype == dy->dtype && is_readable(y, x->dtype) &&
           is_readable(dy, x->dtype) && (!residual->data || is_readable(residual, x->dtype)) &&
           avoids_reads(call, cm_norm_is_apart, dx) && avoids_reads(call, cm_norm_is_apart, residual) &&
           !cm_tensor_overlaps(dx, residual) &&
           (call->attr.activation == CM_ACT_NONE || call->attr.activation == CM_ACT_RELU);
}

static bool is_plain(const cm_call *call) {
    return call->attr.stride == 1 && CM_ARG(call, conv2d_backward, dx)->data &&
           !CM_ARG(call, conv2d_backward, dbias)->data && cm_norm_is_square(CM_ARG(call, conv2d_backward, weight));
}

static bool share_nothing(const cm_tensor *a, const cm_tensor *b) { return !cm_tensor_overlaps(a, b); }

static bool is_convolution_after(const cm_call *call, const cm_call *norm) {
    if (call->op != CM_OP_conv2d_backward || call->branch != 0 || !is_plain(call)) return false;
    const cm_tensor *dx = CM_ARG(call, conv2d_backward, dx), *made = CM_ARG(norm, batch_norm_backward, dx);
    return call->attr.compute == made->dtype && cm_norm_is_same(CM_ARG(call, conv2d_backward, dy), made) &&
           is_readable(dx, made->dtype) && !cm_tensor_overlaps(dx, made) && avoids_reads(norm, share_nothing, dx) &&
           !cm_tensor_overlaps(dx, CM_ARG(norm, batch_norm_backward, dresidual));
}

/* The convolution reads the norm's x and y when its own norm and itself have written. */
static bool is_norm_after(const cm_call *call, const cm_call *convolution, const cm_call *norm) {
    if (!is_norm(call)) return false;
    const cm_tensor *x = CM_ARG(call, batch_norm_backward, x), *y = CM_ARG(call, batch_norm_backward, y);
    const cm_tensor *written[] = {CM_ARG(convolution, conv2d_backward, dx), CM_ARG(norm, batch_norm_backward, dx),
                                  CM_ARG(norm, batch_norm_backward, dresidual)};
    for (int i = 0; i < 3; i++)
        if (cm_tensor_overlaps(written[i], x) || cm_tensor_overlaps(written[i], y)) return false;
    return y->dtype == x->dtype && cm_norm_is_same(CM_ARG(call, batch_norm_backward, dy), written[0]);
}

static bool may_wait(const cm_call *call) {
    return call->op == CM_OP_conv2d_backward && !CM_ARG(call, conv2d_backward, dx)->data;
}

static bool take_rest(cm_call *link, cm_call *rest) {
    if (link->op != CM_OP_conv2d_backward || !CM_ARG(link, conv2d_backward, dweight)->data) return false;
    *rest = *link;
    rest->t[CM_T_conv2d_backward_dx].data = NULL;
    link->t[CM_T_conv2d_backward_dweight].data = NULL;
    return true;
}

static const cm_tensor *x_of(const cm_call *norm) { return CM_ARG(norm, batch_norm_backward, x); }

static const cm_tensor *made_by(const cm_call *link, bool of_norm) {
    return of_norm ? CM_ARG(link, batch_norm_backward, dx) : CM_ARG(link, conv2d_backward, dx);
}

/* ---- its launches ---- */

typedef int (*launcher)(const cm_norm_grad_args *args, int64_t items, int lanes, void *queue);

static launcher launcher_of(int channels, cm_dtype type) {
#define LAUNCHER_OF(name, args, n, t)                                                                                  \
    if (channels == (n) && type == (t)) return name##_launch;
    CM_NORM_GRAD_KERNELS(LAUNCHER_OF)
#undef LAUNCHER_OF
    return NULL;
}

static bool has_kernel(int channels, cm_dtype type) { return launcher_of(channels, type) != NULL; }

static size_t chunks_of(const cm_call *norm) {
    return (size_t)cm_batch_norm_backward_args_of(norm, NULL).chunks.chunks;
}

static cm_status acquire(cm_stream *stream, cm_norm_convs *c, const cm_call *calls) {
    for (int i = 1; i < c->links; i += 2)
        CM_TRY(cm_weights_acquire_turned(stream, CM_ARG(cm_norm_link(c, calls, i), conv2d_backward, weight), c->type,
                                         &c->turned[i]));
    return CM_OK;
}

/* A norm's sums: the convolution in front of it, if there is one, has left the parts of its blocks. */
static cm_status run_totals(cm_stream *stream, const cm_norm_convs *c, const cm_call *call, const cm_norm_memory *m,
                            bool has_parts, cm_batch_norm_args *args) {
    *args = cm_batch_norm_backward_args_of(call, m->vectors);
    args->chunks.partial = m->partial;
    if (has_parts) {
        cm_norm_chunks_of_blocks(c, &args->chunks);
    } else {
        CM_TRY(cm_batch_norm_half_slopes(stream, call, args));
    }
    return cm_batch_norm_half_totals(stream, call, args);
}

/* Link i, after `norm`; partial: NULL if no norm is next. */
static cm_status run_convolution(cm_stream *stream, const cm_norm_convs *c, const cm_call *calls, int i,
                                 const cm_batch_norm_args *norm, float *partial) {
    const cm_call *call = cm_norm_link(c, calls, i), *before = cm_norm_link(c, calls, i - 1);
    const cm_tensor *y = CM_ARG(before, batch_norm_backward, y), *dx = CM_ARG(call, conv2d_backward, dx);
    const cm_tensor *residual = CM_ARG(before, batch_norm_backward, dresidual);
    cm_norm_grad_args args = {.tower = c->tower,
                              .linear = norm->linear,
                              .y = y->data,
                              .dy = CM_ARG(before, batch_norm_backward, dy)->data,
                              .wide = y->dtype == CM_F32,
                              .relu = norm->activation == CM_ACT_RELU,
                              .dresidual = residual->data,
                              .wide_residual = residual->dtype == CM_F32,
                              .add_residual = norm->add_dresidual,
                              .normed = norm->half_dx,
                              .add_y = CM_ADDS(call, conv2d_backward, dx),
                              .partial = partial,
                              .memory = c->tower.memory};
    args.tower.x = norm->half_x, args.tower.y = dx->data, args.tower.wide_y = dx->dtype == CM_F32;
    args.tower.layer[0].weight = (const uint16_t *)(const void *)c->turned[i]->block.base;
    if (partial) {
        const cm_batch_norm_args next = cm_batch_norm_backward_args_of(cm_norm_link(c, calls, i + 1), NULL);
        args.next_x = next.half_x, args.next_y = next.half_y, args.next_relu = next.activation == CM_ACT_RELU;
        args.next_mean = next.mean, args.next_inverse = next.second;
    }
    return cm_ops_launched(stream,
                           launcher_of(c->channels, c->type)(&args, cm_norm_blocks(c), CM_BLOCK, cm_ops_queue(stream)),
                           "a gradient's convolution with its norms");
}

static cm_status launch(cm_stream *stream, const cm_norm_convs *c, const cm_call *calls, int links) {
    const cm_norm_memory m = cm_norm_borrow(stream, c, cm_norm_link(c, calls, 0));
    for (int i = 0; i < links; i += 2) {
        const cm_call *call = cm_norm_link(c, calls, i);
        cm_batch_norm_args norm;
        CM_TRY(run_totals(stream, c, call, &m, i > 0, &norm));
        if (i + 1 == links) return cm_batch_norm_half_input(stream, call, &norm);
        CM_TRY(run_convolution(stream, c, calls, i + 1, &norm, i + 2 < links ? m.partial : NULL));
    }
    return CM_OK;
}

/* ---- measuring ---- */

/* Gradients that are added to before the chain makes them are written again. */
static cm_status fill(cm_stream *stream, const cm_norm_convs *c, const cm_call *calls, int links) {
    for (int i = 0; i < links; i++) {
        const cm_call *call = cm_norm_link(c, calls, i);
        if (i % 2) {
            if (CM_ADDS(call, conv2d_backward, dx)) CM_TRY(cm_norm_fill(stream, CM_ARG(call, conv2d_backward, dx)));
            continue;
        }
        if (i == 0) CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm_backward, dy)));
        CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm_backward, x)));
        CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm_backward, y)));
        CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm_backward, saved)));
        if (CM_ADDS(call, batch_norm_backward, dresidual))
            CM_TRY(cm_norm_fill(stream, CM_ARG(call, batch_norm_backward, dresidual)));
    }
    return CM_OK;
}

static int kind_of(const cm_call *link, bool of_norm) {
    const cm_tensor *t = of_norm ? CM_ARG(link, batch_norm_backward, dresidual) : CM_ARG(link, conv2d_backward, dx);
    const bool adds = of_norm ? CM_ADDS(link, batch_norm_backward, dresidual) : CM_ADDS(link, conv2d_backward, dx);
    const bool is_wide = of_norm && CM_ARG(link, batch_norm_backward, y)->dtype == CM_F32;
    return (t->data != NULL) + 2 * (t->data && t->dtype == CM_F32) + 4 * adds + 8 * is_wide;
}

const cm_norm_way cm_norm_backward = {.name = "gradients of norms and convolutions",
                                      .is_norm = is_norm,
                                      .is_convolution_after = is_convolution_after,
                                      .is_norm_after = is_norm_after,
                                      .may_wait = may_wait,
                                      .take_rest = take_rest,
                                      .x_of = x_of,
                                      .made_by = made_by,
                                      .has_kernel = has_kernel,
                                      .chunks_of = chunks_of,
                                      .acquire = acquire,
                                      .launch = launch,
                                      .fill = fill,
                                      .compared = 4,
                                      .kind_of = kind_of};
