#include "backend/cuda/ops/batch_norms.h"

#include "backend/cuda/ops/batch_norm_half.h"
#include "backend/cuda/ops/ops.h"

/* Workspace: the parts of the chunks, then vectors of channels. */
enum { MEAN, SECOND, TOTAL, LINEAR = TOTAL + 2, VECTORS = CM_BATCH_NORM_VECTORS };

/* Of 16 bits: a block has a chunk, and each of its lanes reads some rows at a time. */
static cm_chunks chunks_of_blocks(int64_t rows, int columns) {
    enum { BLOCKS = 512 };
    const int unit = CM_BLOCK / (columns / CM_EIGHT) * CM_NORM_ROWS;
    const int64_t share = (rows + BLOCKS - 1) / BLOCKS;
    cm_chunks c = {rows, columns, (int)((share + unit - 1) / unit * unit), 0, 2, NULL};
    c.chunks = (int)((rows + c.chunk_rows - 1) / c.chunk_rows);
    return c;
}

static cm_chunks chunks_of(const cm_tensor *x) {
    const int64_t rows = cm_vector_count(x);
    return x->dtype == CM_F32 ? cm_chunks_of(rows, cm_tensor_last(x), 2) : chunks_of_blocks(rows, cm_tensor_last(x));
}

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

/* Of 16 bits; NULL: of float32, or absent. */
static uint16_t *half_of(const cm_tensor *t) { return t->dtype == CM_F32 ? NULL : t->data; }

static cm_batch_norm_args args_of(const cm_call *call, const cm_tensor *x) {
    return (cm_batch_norm_args){.chunks = chunks_of(x),
                                .x = cm_vectors_of(x),
                                .half_x = half_of(x),
                                .type = x->dtype,
                                .memory = CM_NORM_MEMORY,
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

/* Items of `rows` rows and eight channels. */
static int64_t eights(const cm_batch_norm_args *args, int64_t rows) {
    return (args->chunks.rows + rows - 1) / rows * (args->chunks.columns / CM_EIGHT);
}

/* Lanes that add the chunks of a channel. */
static int adders(const cm_batch_norm_args *args) { return cm_lanes_for_sum(args->chunks.chunks); }

/* Row `row` of a tensor [2, C] that may be absent. */
static float *vector_of(const cm_tensor *t, int row) {
    return t->data ? (float *)t->data + (size_t)row * (size_t)t->stride : NULL;
}

/* ---- forward ---- */

static cm_status run_float(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_batch_norm_partial, args, cm_chunks_items(&args->chunks), 1);
    CM_LAUNCH(stream, call, cm_batch_norm_statistics, args, args->chunks.columns, adders(args));
    CM_LAUNCH(stream, call, cm_batch_norm_apply, args, elements(args), 1);
    return CM_OK;
}

cm_status cm_batch_norm_half_partial(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_norm_partial_half, args, args->chunks.chunks, CM_BLOCK);
    return CM_OK;
}

cm_status cm_batch_norm_half_statistics(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_batch_norm_statistics, args, args->chunks.columns, adders(args));
    return CM_OK;
}

cm_status cm_batch_norm_half_apply(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_norm_apply_half, args, eights(args, CM_NORM_ROWS), 1);
    return CM_OK;
}

static cm_status run_half(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_TRY(cm_batch_norm_half_partial(stream, call, args));
    CM_TRY(cm_batch_norm_half_statistics(stream, call, args));
    return cm_batch_norm_half_apply(stream, call, args);
}

/* Takes the tensors of operation `op`, whose names are spelled the same in both. */
#define TAKE_TENSORS(args, call, op)                                                                                   \
    do {                                                                                                               \
        (args)->y = cm_vectors_of(CM_ARG(call, op, y));                                                                \
        (args)->half_y = half_of(CM_ARG(call, op, y));                                                                 \
        (args)->residual = cm_vectors_of(CM_ARG(call, op, residual));                                                  \
        (args)->half_residual = half_of(CM_ARG(call, op, residual));                                                   \
        (args)->scale = CM_ARG(call, op, scale)->data;                                                                 \
        (args)->shift = CM_ARG(call, op, shift)->data;                                                                 \
    } while (0)

cm_batch_norm_args cm_batch_norm_args_of(const cm_call *call, float *vectors) {
    const cm_tensor *saved = CM_ARG(call, batch_norm, saved), *stats = CM_ARG(call, batch_norm, stats);
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm, x));
    const size_t columns = (size_t)args.chunks.columns;
    TAKE_TENSORS(&args, call, batch_norm);
    args.saved_mean = vector_of(saved, 0);
    args.saved_inverse = vector_of(saved, 1);
    args.stats_mean = vector_of(stats, 0);
    args.stats_variance = vector_of(stats, 1);
    if (!vectors) return args;
    args.mean = vectors + MEAN * columns;
    args.second = vectors + SECOND * columns;
    if (args.half_x) args.linear = vectors + LINEAR * columns;
    return args;
}

cm_status cm_cuda_batch_norm(cm_stream *stream, const cm_call *call) {
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm, x));
    float *vectors = use_workspace(stream, &args, 0), *partial = args.chunks.partial;
    args = cm_batch_norm_args_of(call, vectors);
    args.chunks.partial = partial;
    return args.half_x ? run_half(stream, call, &args) : run_float(stream, call, &args);
}

cm_status cm_cuda_batch_norm_inference(cm_stream *stream, const cm_call *call) {
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm_inference, x));
    TAKE_TENSORS(&args, call, batch_norm_inference);
    args.mean = CM_ARG(call, batch_norm_inference, mean)->data;
    args.second = CM_ARG(call, batch_norm_inference, variance)->data;
    args.constant = true;
    if (args.half_x) {
        CM_LAUNCH(stream, call, cm_norm_apply_half, &args, eights(&args, CM_NORM_ROWS), 1);
    } else {
        CM_LAUNCH(stream, call, cm_batch_norm_apply, &args, elements(&args), 1);
    }
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
        (args)->half_y = half_of(CM_ARG(call, op, y));                                                                 \
        (args)->half_dy = half_of(CM_ARG(call, op, dy));                                                               \
        (args)->half_dx = half_of(CM_ARG(call, op, dx));                                                               \
        (args)->half_dresidual = half_of(CM_ARG(call, op, dresidual));                                                 \
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
    if (args->dscale || args->dshift || (args->dx.data && !args->constant)) {
        CM_LAUNCH(stream, call, cm_batch_norm_slopes, args, cm_chunks_items(&args->chunks), 1);
        CM_LAUNCH(stream, call, cm_batch_norm_totals, args, args->chunks.columns, adders(args));
    }
    if (!args->dx.data && !args->dresidual.data) return CM_OK;
    CM_LAUNCH(stream, call, cm_batch_norm_input, args, elements(args), 1);
    return CM_OK;
}

cm_status cm_batch_norm_half_slopes(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_norm_slopes_half, args, args->chunks.chunks, CM_BLOCK);
    return CM_OK;
}

cm_status cm_batch_norm_half_totals(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_batch_norm_totals, args, args->chunks.columns, adders(args));
    return CM_OK;
}

cm_status cm_batch_norm_half_input(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_LAUNCH(stream, call, cm_norm_input_half, args, eights(args, CM_NORM_FEW), 1);
    return CM_OK;
}

static cm_status run_half_backward(cm_stream *stream, const cm_call *call, const cm_batch_norm_args *args) {
    CM_TRY(cm_batch_norm_half_slopes(stream, call, args));
    CM_TRY(cm_batch_norm_half_totals(stream, call, args));
    return args->dx.data || args->dresidual.data ? cm_batch_norm_half_input(stream, call, args) : CM_OK;
}

cm_batch_norm_args cm_batch_norm_backward_args_of(const cm_call *call, float *vectors) {
    const cm_tensor *saved = CM_ARG(call, batch_norm_backward, saved);
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm_backward, x));
    const size_t columns = (size_t)args.chunks.columns;
    TAKE_GRADIENTS(&args, call, batch_norm_backward);
    args.mean = vector_of(saved, 0);
    args.second = vector_of(saved, 1);
    if (!vectors) return args;
    args.total = vectors + TOTAL * columns;
    if (args.half_x) args.linear = vectors + LINEAR * columns;
    return args;
}

cm_status cm_cuda_batch_norm_backward(cm_stream *stream, const cm_call *call) {
    cm_batch_norm_args args = args_of(call, CM_ARG(call, batch_norm_backward, x));
    float *vectors = use_workspace(stream, &args, 0), *partial = args.chunks.partial;
    args = cm_batch_norm_backward_args_of(call, vectors);
    args.chunks.partial = partial;
    return args.half_x ? run_half_backward(stream, call, &args) : run_backward(stream, call, &args);
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
