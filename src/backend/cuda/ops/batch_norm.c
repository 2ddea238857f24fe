#include "backend/cuda/ops/batch_norm.h"

#include "backend/cuda/ops/ops.h"

/* Workspace: the parts of the chunks, then four vectors of channels. */
enum { MEAN, SECOND, TOTAL, VECTORS = 4 };

static cm_chunks chunks_of(const cm_tensor *x) { return cm_chunks_of(cm_vector_count(x), cm_tensor_last(x), 2); }

static size_t workspace_of(const cm_tensor *x) {
    const cm_chunks chunks = chunks_of(x);
    return cm_chunks_bytes(&chunks) + VECTORS * (size_t)chunks.columns * sizeof(float);
}

size_t cm_cuda_batch_norm_workspace(const cm_call *call) { return workspace_of(CM_ARG(call, batch_norm, x)); }
size_t cm_cuda_batch_norm_backward_workspace(const cm_call *call) {
    return workspace_of(CM_ARG(call, batch_norm_backward, x));
}
size_t cm_cuda_batch_norm_inference_backward_workspace(const cm_call *call) {
    return workspace_of(CM_ARG(call, batch_norm_inference_backward, x));
}

static cm_batch_norm_args args_of(const cm_call *call, const cm_tensor *x) {
    return (cm_batch_norm_args){.chunks = chunks_of(x),
                                .x = cm_vectors_of(x),
                                .epsilon = call->attr.epsilon,
                                .activation = call->attr.activation};
}

/* Where vector `which` of the workspace begins. */
static float *use_workspace(const cm_stream *stream, cm_batch_norm_args *args, int which) {
    args->chunks.partial = cm_ops_workspace(stream);
    float *vectors = args->chunks.partial + cm_chunks_items(&args->chunks) * args->chunks.parts;
    return vectors + (size_t)which * (size_t)args->chunks.columns;
}

static int64_t elements(const cm_batch_norm_args *args) { return args->chunks.rows * args->chunks.columns; }

/* Row `row` of a tensor [2, C] that may be absent. */
static float *vector_of(const cm_tensor *t, int row) {
    return t->data ? (float *)t->data + (size_t)row * (size_t)t->stride : NULL;
}

/* ---- forward ---- */

cm_status cm_cuda_batch_norm(cm_stream *stream, const cm_call *call) {
    const cm_tensor *saved = CM_ARG(call, batch_norm, saved), *stats = CM_ARG(call, batch_norm, stats);
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm, x));
    args.y = cm_vectors_of(CM_ARG(call, batch_norm, y));
    args.residual = cm_vectors_of(CM_ARG(call, batch_norm, residual));
    args.scale = CM_ARG(call, batch_norm, scale)->data;
    args.shift = CM_ARG(call, batch_norm, shift)->data;
    args.saved_mean = vector_of(saved, 0);
    args.saved_inverse = vector_of(saved, 1);
    args.stats_mean = vector_of(stats, 0);
    args.stats_variance = vector_of(stats, 1);
    args.mean = use_workspace(stream, &args, MEAN);
    args.second = use_workspace(stream, &args, SECOND);
    CM_LAUNCH(stream, call, cm_batch_norm_partial, &args, cm_chunks_items(&args.chunks), 1);
    CM_LAUNCH(stream, call, cm_batch_norm_statistics, &args, args.chunks.columns, CM_WARP);
    CM_LAUNCH(stream, call, cm_batch_norm_apply, &args, elements(&args), 1);
    return CM_OK;
}

/* Activations of 16 bits: x, and others that are. */
static cm_status run_eights(cm_stream *stream, const cm_call *call, cm_batch_norm_args *args) {
    const cm_tensor *y = CM_ARG(call, batch_norm_inference, y), *x = CM_ARG(call, batch_norm_inference, x);
    const cm_tensor *residual = CM_ARG(call, batch_norm_inference, residual);
    args->type = x->dtype;
    args->half_x = x->data;
    args->half_residual = residual->dtype == CM_F32 ? NULL : residual->data;
    args->half_y = y->dtype == CM_F32 ? NULL : y->data;
    const int64_t rows = (args->chunks.rows + CM_EIGHT - 1) / CM_EIGHT;
    CM_LAUNCH(stream, call, cm_batch_norm_eights, args, rows * (args->chunks.columns / CM_EIGHT), 1);
    return CM_OK;
}

cm_status cm_cuda_batch_norm_inference(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, batch_norm_inference, x);
    cm_batch_norm_args args = args_of(call, x);
    args.y = cm_vectors_of(CM_ARG(call, batch_norm_inference, y));
    args.residual = cm_vectors_of(CM_ARG(call, batch_norm_inference, residual));
    args.scale = CM_ARG(call, batch_norm_inference, scale)->data;
    args.shift = CM_ARG(call, batch_norm_inference, shift)->data;
    args.mean = CM_ARG(call, batch_norm_inference, mean)->data;
    args.second = CM_ARG(call, batch_norm_inference, variance)->data;
    args.constant = true;
    if (x->dtype != CM_F32) return run_eights(stream, call, &args);
    CM_LAUNCH(stream, call, cm_batch_norm_apply, &args, elements(&args), 1);
    return CM_OK;
}

/* ---- backward ---- */

/* Takes the gradients of operation `op`, whose name is spelled the same in both. */
#define TAKE_GRADIENTS(args, call, op)                                                                                 \
    do {                                                                                                               \
        (args)->y = cm_vectors_of(CM_ARG(call, op, y));                                                                \
        (args)->dy = cm_vectors_of(CM_ARG(call, op, dy));                                                              \
        (args)->dx = cm_vectors_of(CM_ARG(call, op, dx));                                                              \
        (args)->dresidual = cm_vectors_of(CM_ARG(call, op, dresidual));                                                \
        (args)->dscale = CM_ARG(call, op, dscale)->data;                                                               \
        (args)->dshift = CM_ARG(call, op, dshift)->data;                                                               \
        (args)->scale = CM_ARG(call, op, scale)->data;                                                                 \
        (args)->add_dx = CM_ADDS(call, op, dx);                                                                        \
        (args)->add_dresidual = CM_ADDS(call, op, dresidual);                                                          \
        (args)->add_dscale = CM_ADDS(call, op, dscale);                                                                \
        (args)->add_dshift = CM_ADDS(call, op, dshift);                                                                \
    } while (0)

static cm_status run_backward(cm_stream *stream, const cm_call *call, cm_batch_norm_args *args) {
    args->total = use_workspace(stream, args, TOTAL);
    bool sums = args->dscale || args->dshift || (args->dx.data && !args->constant);
    if (sums) {
        CM_LAUNCH(stream, call, cm_batch_norm_slopes, args, cm_chunks_items(&args->chunks), 1);
        CM_LAUNCH(stream, call, cm_batch_norm_totals, args, args->chunks.columns, CM_WARP);
    }
    if (!args->dx.data && !args->dresidual.data) return CM_OK;
    CM_LAUNCH(stream, call, cm_batch_norm_input, args, elements(args), 1);
    return CM_OK;
}

cm_status cm_cuda_batch_norm_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *saved = CM_ARG(call, batch_norm_backward, saved);
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm_backward, x));
    TAKE_GRADIENTS(&args, call, batch_norm_backward);
    args.mean = vector_of(saved, 0);
    args.second = vector_of(saved, 1);
    return run_backward(stream, call, &args);
}

cm_status cm_cuda_batch_norm_inference_backward(cm_stream *stream, const cm_call *call) {
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm_inference_backward, x));
    TAKE_GRADIENTS(&args, call, batch_norm_inference_backward);
    args.mean = CM_ARG(call, batch_norm_inference_backward, mean)->data;
    args.second = CM_ARG(call, batch_norm_inference_backward, variance)->data;
    args.constant = true;
    return run_backward(stream, call, &args);
}

/* ---- running statistics ---- */

cm_status cm_cuda_batch_norm_update(cm_stream *stream, const cm_call *call) {
    const cm_tensor *mean = CM_ARG(call, batch_norm_update, mean), *stats = CM_ARG(call, batch_norm_update, stats);
    cm_running_args args = {.mean = mean->data,
                            .variance = CM_ARG(call, batch_norm_update, variance)->data,
                            .stats = cm_rows_of(stats),
                            .factor = CM_ARG(call, batch_norm_update, factor)->data,
                            .channels = mean->dim[0],
                            .chunks = stats->dim[0],
                            .m = call->attr.scale};
    CM_LAUNCH(stream, call, cm_running_each, &args, 2 * (int64_t)mean->dim[0], 1);
    return CM_OK;
}
