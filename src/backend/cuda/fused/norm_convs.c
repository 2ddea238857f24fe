#include "backend/cuda/fused/norm_convs.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/fused/norm_conv.h"
#include "backend/cuda/fused/towers.h"
#include "backend/cuda/ops/autotune_check.h"
#include "backend/cuda/ops/batch_norms.h"
#include "backend/cuda/ops/plan.h"
#include "core/arena.h"
#include "core/log.h"

_Static_assert(sizeof(cm_norm_conv_args) <= CM_LAUNCH_BYTES, "the arguments of a kernel are at most as many bytes");

/* Of the kernel: one that takes other times than before is measured again under another number. */
enum { KERNEL = 1 };

struct cm_norm_convs {
    cm_tower_args tower; /* without addresses */
    int first, count;    /* the calls */
    int channels;
    cm_dtype type;
};

/* ---- which calls ---- */

static bool is_half(const cm_tensor *t, cm_dtype type) {
    return t->dtype == type && type != CM_F32 && cm_alignment_gap(t->data) == 0;
}

static bool is_norm(const cm_call *call) {
    if (call->op != CM_OP_batch_norm || call->branch != 0) return false;
    const cm_tensor *x = CM_ARG(call, batch_norm, x), *residual = CM_ARG(call, batch_norm, residual);
    return x->ndim == 4 && is_half(x, x->dtype) && is_half(CM_ARG(call, batch_norm, y), x->dtype) &&
           (!residual->data || cm_alignment_gap(residual->data) == 0) &&
           (call->attr.activation == CM_ACT_NONE || call->attr.activation == CM_ACT_RELU);
}

static bool is_same(const cm_tensor *a, const cm_tensor *b) {
    return a->data == b->data && a->dtype == b->dtype && cm_tensor_same_shape(a, b);
}

/* Is nothing of it written where other blocks have yet to read? A block reads a place before it writes there. */
static bool is_apart(const cm_tensor *written, const cm_tensor *read) {
    return is_same(written, read) || !cm_tensor_overlaps(written, read);
}

static bool is_plain(const cm_call *call) {
    const cm_tensor *weight = CM_ARG(call, conv2d, weight);
    return call->attr.stride == 1 && call->attr.accumulate == 0 && call->attr.activation == CM_ACT_NONE &&
           !CM_ARG(call, conv2d, bias)->data && weight->dim[1] == 3 && weight->dim[0] == weight->dim[3];
}

/* A convolution of what the norm before it makes. */
static bool is_convolution_after(const cm_call *call, const cm_call *norm) {
    if (call->op != CM_OP_conv2d || call->branch != 0 || !is_plain(call)) return false;
    const cm_tensor *y = CM_ARG(call, conv2d, y), *made = CM_ARG(norm, batch_norm, y);
    const cm_tensor *read = CM_ARG(norm, batch_norm, x), *residual = CM_ARG(norm, batch_norm, residual);
    return call->attr.compute == made->dtype && is_same(CM_ARG(call, conv2d, x), made) && is_half(y, made->dtype) &&
           !cm_tensor_overlaps(y, made) && !cm_tensor_overlaps(y, read) && !cm_tensor_overlaps(y, residual) &&
           is_apart(made, read) && is_apart(made, residual);
}

static bool is_norm_after(const cm_call *call, const cm_call *convolution) {
    return is_norm(call) && is_same(CM_ARG(call, batch_norm, x), CM_ARG(convolution, conv2d, y));
}

int cm_norm_convs_reach(const cm_call_list *pass, int first) {
    int end = first + 1;
    if (!is_norm(&pass->calls[first])) return 0;
    for (; end < pass->count; end++) {
        const cm_call *call = &pass->calls[end], *before = &pass->calls[end - 1];
        if ((end - first) % 2 ? !is_convolution_after(call, before) : !is_norm_after(call, before)) break;
    }
    return end - first > 1 ? end - first : 0;
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

static int blocks_of(const cm_norm_convs *c) { return (c->tower.boards + c->tower.share - 1) / c->tower.share; }

/* Memory of a run, borrowed: the parts of chunks or of blocks, and the vectors of one norm, which nothing reads once
 * the convolution after it has run. */
typedef struct memory {
    float *partial, *vectors;
} memory;

static memory borrow(cm_stream *stream, const cm_norm_convs *chain, const cm_batch_norm_args *norm) {
    const size_t chunks = (size_t)(norm->chunks.chunks > blocks_of(chain) ? norm->chunks.chunks : blocks_of(chain));
    const size_t parts = 2 * chunks * (size_t)chain->channels;
    const size_t vectors = CM_BATCH_NORM_VECTORS * (size_t)chain->channels;
    float *at = cm_ops_borrow(stream, (parts + vectors) * sizeof(float));
    return (memory){at, at + parts};
}

static bool fits(const cm_norm_convs *chain, const cm_batch_norm_args *norm) {
    const size_t chunks = (size_t)norm->chunks.chunks + (size_t)blocks_of(chain) + CM_BATCH_NORM_VECTORS;
    return 2 * chunks * (size_t)chain->channels * sizeof(float) <= CM_OPS_BORROWED;
}

/* A norm's statistics: the convolution in front of it, if there is one, has left the parts of its blocks. */
static cm_status run_statistics(cm_stream *stream, const cm_norm_convs *c, const cm_call *call, const memory *m,
                                bool has_parts, cm_batch_norm_args *args) {
    *args = cm_batch_norm_args_of(call, m->vectors);
    args->chunks.partial = m->partial;
    if (has_parts) {
        args->chunks.chunk_rows = c->tower.share * c->tower.height * c->tower.width;
        args->chunks.chunks = blocks_of(c);
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
                           launcher_of(c->channels, c->type)(&args, blocks_of(c), CM_BLOCK, cm_ops_queue(stream)),
                           "a convolution with its norms");
}

static cm_status launch(cm_stream *stream, const cm_norm_convs *c, const cm_call *calls) {
    cm_batch_norm_args norm = cm_batch_norm_args_of(calls, NULL);
    const memory m = borrow(stream, c, &norm);
    for (int i = 0; i < c->count; i += 2) {
        CM_TRY(run_statistics(stream, c, &calls[i], &m, i > 0, &norm));
        if (i + 1 == c->count) return cm_batch_norm_half_apply(stream, &calls[i], &norm);
        CM_TRY(run_convolution(stream, c, &calls[i + 1], &norm, i + 2 < c->count ? m.partial : NULL));
    }
    return CM_OK;
}

/* ---- is it faster, and right? ---- */

typedef struct tuning {
    cm_stream *stream;
    const cm_norm_convs *chain;
    const cm_call *calls;
} tuning;

static cm_status launch_calls(void *context) {
    const tuning *t = context;
    for (int i = 0; i < t->chain->count; i++) CM_TRY(cm_call_run(t->stream, &t->calls[i]));
    return CM_OK;
}

static cm_status launch_chain(void *context) {
    const tuning *t = context;
    return launch(t->stream, t->chain, t->calls);
}

/* Numbers in all that the chain reads and does not make: the first x, and residuals, of which those that it makes are
 * written again. */
static cm_status fill(const tuning *t) {
    for (int i = 0; i < t->chain->count; i += 2) {
        const cm_tensor *x = CM_ARG(&t->calls[i], batch_norm, x), *add = CM_ARG(&t->calls[i], batch_norm, residual);
        if (i == 0) CM_TRY(cm_autotune_check_fill(t->stream, x->data, x->dtype, cm_tensor_count(x)));
        if (add->data) CM_TRY(cm_autotune_check_fill(t->stream, add->data, add->dtype, cm_tensor_count(add)));
    }
    return CM_OK;
}

/* Residuals of 16 bits, and of float32. */
static void count_residuals(const tuning *t, int count[2]) {
    count[0] = count[1] = 0;
    for (int i = 0; i < t->chain->count; i += 2) {
        const cm_tensor *residual = CM_ARG(&t->calls[i], batch_norm, residual);
        if (residual->data) count[residual->dtype == CM_F32]++;
    }
}

static cm_status measure(const tuning *t, bool *is_faster) {
    const cm_tower_args *a = &t->chain->tower;
    const cm_cuda_candidate candidate[] = {{launch_calls, (void *)(uintptr_t)t}, {launch_chain, (void *)(uintptr_t)t}};
    char key[CM_AUTOTUNE_KEY_BYTES];
    int winner = 0, residuals[2];
    count_residuals(t, residuals);
    snprintf(key, sizeof key, "norms and convolutions %d: %d x %d x %d x %d, %d calls, type %d, residuals %d %d",
             (int)KERNEL, a->boards, a->height, a->width, t->chain->channels, t->chain->count, (int)t->chain->type,
             residuals[0], residuals[1]);
    CM_TRY(cm_ops_choose(t->stream, key, candidate, 2, &winner));
    *is_faster = winner == 1;
    return CM_OK;
}

/* Of the first calls alone: calls and chain add in other orders, which grows from norm to norm. */
enum { COMPARED = 3 };

static cm_status compare(const tuning *t, cm_autotune_check_results *results) {
    cm_norm_convs few = *t->chain;
    if (few.count > COMPARED) few.count = COMPARED;
    const tuning part = {t->stream, &few, t->calls};
    const cm_call *last = &t->calls[few.count - 1];
    const cm_tensor *y = few.count % 2 ? CM_ARG(last, batch_norm, y) : CM_ARG(last, conv2d, y);
    const cm_autotune_check_numbers numbers = {y->data, y->dtype, few.type, cm_tensor_count(y)};
    CM_TRY(fill(&part));
    CM_TRY(launch_calls((void *)(uintptr_t)&part));
    CM_TRY(cm_autotune_check_agree(results, t->stream, &numbers, true));
    CM_TRY(fill(&part));
    CM_TRY(launch_chain((void *)(uintptr_t)&part));
    return cm_autotune_check_agree(results, t->stream, &numbers, false);
}

/* One that differs from its calls is none, with a line that says so. */
static bool agrees(const tuning *t) {
    cm_autotune_check_results results = {NULL, NULL};
    const cm_status status = compare(t, &results);
    cm_autotune_check_free(&results);
    if (status != CM_OK)
        cm_log(CM_WARNING, "%d norms and convolutions stay as many calls: %s", t->chain->count, cm_error_message());
    return status == CM_OK;
}

static cm_status decide(const tuning *t, bool *out) {
    CM_TRY(fill(t));
    CM_TRY(measure(t, out));
    *out = *out && agrees(t);
    return CM_OK;
}

/* ---- the chain ---- */

static bool build(cm_stream *stream, const cm_call *calls, cm_norm_convs *chain) {
    const cm_tensor *x = CM_ARG(calls, batch_norm, x);
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    const cm_batch_norm_args norm = cm_batch_norm_args_of(calls, NULL);
    chain->tower = (cm_tower_args){.boards = x->dim[0], .height = x->dim[1], .width = x->dim[2], .layers = 1};
    chain->channels = cm_tensor_last(x), chain->type = x->dtype;
    return limits.multiplies_16_bits && launcher_of(chain->channels, chain->type) &&
           cm_tower_share(&chain->tower, chain->channels, &limits) && fits(chain, &norm);
}

cm_status cm_norm_convs_create(cm_stream *stream, const cm_call_list *pass, int first, int count, cm_norm_convs **out) {
    cm_norm_convs *chain = NULL;
    bool is_worth_it = false;
    *out = NULL;
    if (!pass->is_idle) return CM_OK;
    CM_TRY(cm_alloc(&chain, 1, sizeof *chain, "norms and convolutions"));
    chain->first = first, chain->count = count;
    const tuning t = {stream, chain, pass->calls + first};
    const cm_status status = build(stream, t.calls, chain) ? decide(&t, &is_worth_it) : CM_OK;
    if (is_worth_it) {
        *out = chain;
    } else {
        cm_norm_convs_free(chain);
    }
    return status;
}

cm_status cm_norm_convs_run(cm_stream *stream, const cm_call_list *pass, const cm_norm_convs *chain) {
    return launch(stream, chain, pass->calls + chain->first);
}

void cm_norm_convs_free(cm_norm_convs *chain) { free(chain); }
