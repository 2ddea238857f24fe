#include "backend/cuda/ops/shape.h"

#include "backend/cuda/ops/ops.h"

/* ---- pooling ---- */

static cm_plane_args plane_args(const cm_tensor *x, const cm_tensor *y) {
    return (cm_plane_args){.x = cm_rows_of(x),
                           .y = cm_rows_of(y),
                           .H = x->dim[1],
                           .W = x->dim[2],
                           .P = y->dim[1],
                           .Q = y->dim[2],
                           .C = x->dim[3]};
}

cm_status cm_cuda_avg_pool(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, avg_pool, y);
    cm_plane_args args = plane_args(CM_ARG(call, avg_pool, x), y);
    CM_LAUNCH(stream, call, cm_avg_pool_each, &args, (int64_t)cm_tensor_count(y), 1);
    return CM_OK;
}

cm_status cm_cuda_avg_pool_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, avg_pool_backward, dx);
    cm_plane_args args = plane_args(dx, CM_ARG(call, avg_pool_backward, dy));
    args.add = CM_ADDS(call, avg_pool_backward, dx);
    CM_LAUNCH(stream, call, cm_avg_pool_slopes, &args, (int64_t)cm_tensor_count(dx), 1);
    return CM_OK;
}

cm_status cm_cuda_global_mean(cm_stream *stream, const cm_call *call) {
    const cm_tensor *y = CM_ARG(call, global_mean, y);
    cm_plane_args args = plane_args(CM_ARG(call, global_mean, x), y);
    CM_LAUNCH(stream, call, cm_global_mean_each, &args, (int64_t)cm_tensor_count(y), 1);
    return CM_OK;
}

cm_status cm_cuda_global_mean_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, global_mean_backward, dx);
    cm_plane_args args = plane_args(dx, CM_ARG(call, global_mean_backward, dy));
    args.add = CM_ADDS(call, global_mean_backward, dx);
    CM_LAUNCH(stream, call, cm_global_mean_slopes, &args, (int64_t)cm_tensor_count(dx), 1);
    return CM_OK;
}

/* ---- actions ---- */

cm_status cm_cuda_action_encoding(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, action_encoding, x), *y = CM_ARG(call, action_encoding, y);
    bool board = call->attr.encoding == CM_ENCODE_BOARD;
    cm_index_args args = {.x = cm_vectors_of(x),
                          .y = cm_vectors_of(y),
                          .index = CM_ARG(call, action_encoding, action)->data,
                          .limit = board ? INT32_MAX : call->attr.actions,
                          .cells = (int)(cm_vector_count(x) / x->dim[0]),
                          .channels = cm_tensor_last(x),
                          .width = cm_tensor_last(y),
                          .encoding = call->attr.encoding,
                          .actions = call->attr.actions};
    CM_LAUNCH(stream, call, cm_encode_each, &args, (int64_t)cm_tensor_count(y), 1);
    return CM_OK;
}

cm_status cm_cuda_action_encoding_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, action_encoding_backward, dx);
    cm_index_args args = {.x = cm_vectors_of(CM_ARG(call, action_encoding_backward, dy)),
                          .y = cm_vectors_of(dx),
                          .n = cm_tensor_last(dx),
                          .add = CM_ADDS(call, action_encoding_backward, dx)};
    CM_LAUNCH(stream, call, cm_copy_each, &args, (int64_t)cm_tensor_count(dx), 1);
    return CM_OK;
}

cm_status cm_cuda_embedding_add(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, embedding_add, x), *table = CM_ARG(call, embedding_add, table);
    cm_index_args args = {.x = cm_rows_of(x),
                          .y = cm_rows_of(CM_ARG(call, embedding_add, y)),
                          .table = cm_rows_of(table),
                          .index = CM_ARG(call, embedding_add, action)->data,
                          .n = x->dim[1],
                          .limit = table->dim[0]};
    CM_LAUNCH(stream, call, cm_embed_each, &args, (int64_t)cm_tensor_count(x), 1);
    return CM_OK;
}

cm_status cm_cuda_embedding_add_backward(cm_stream *stream, const cm_call *call) {
    const cm_tensor *dx = CM_ARG(call, embedding_add_backward, dx), *dy = CM_ARG(call, embedding_add_backward, dy);
    const cm_tensor *dtable = CM_ARG(call, embedding_add_backward, dtable);
    cm_index_args args = {.x = cm_rows_of(dy),
                          .y = cm_rows_of(dx),
                          .table = cm_rows_of(dtable),
                          .index = CM_ARG(call, embedding_add_backward, action)->data,
                          .n = dy->dim[1],
                          .samples = dy->dim[0]};
    if (dtable->data) {
        args.add = CM_ADDS(call, embedding_add_backward, dtable);
        CM_LAUNCH(stream, call, cm_embed_slopes, &args, (int64_t)cm_tensor_count(dtable),
                  cm_lanes_for_sum(args.samples));
    }
    if (!dx->data) return CM_OK;
    args.add = CM_ADDS(call, embedding_add_backward, dx);
    CM_LAUNCH(stream, call, cm_copy_each, &args, (int64_t)cm_tensor_count(dx), 1);
    return CM_OK;
}

/* ---- rows ---- */

static cm_index_args row_args(const cm_tensor *y, const cm_tensor *x, const cm_tensor *rows) {
    return (cm_index_args){.x = cm_rows_of(x), .y = cm_rows_of(y), .index = rows->data, .n = cm_tensor_row_size(x)};
}

static bool are_fours(const cm_index_args *args) {
    return args->n % CM_FOUR == 0 && cm_are_fours(&args->x) && cm_are_fours(&args->y);
}

cm_status cm_cuda_gather_rows(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, gather_rows, x), *y = CM_ARG(call, gather_rows, y);
    cm_index_args args = row_args(y, x, CM_ARG(call, gather_rows, rows));
    args.limit = x->dim[0];
    const int64_t n = (int64_t)cm_tensor_count(y);
    if (are_fours(&args)) {
        CM_LAUNCH(stream, call, cm_gather_fours, &args, n / CM_FOUR, 1);
    } else {
        CM_LAUNCH(stream, call, cm_gather_each, &args, n, 1);
    }
    return CM_OK;
}

cm_status cm_cuda_scatter_rows(cm_stream *stream, const cm_call *call) {
    const cm_tensor *x = CM_ARG(call, scatter_rows, x), *y = CM_ARG(call, scatter_rows, y);
    cm_index_args args = row_args(y, x, CM_ARG(call, scatter_rows, rows));
    args.limit = y->dim[0];
    const int64_t n = (int64_t)cm_tensor_count(x);
    if (are_fours(&args)) {
        CM_LAUNCH(stream, call, cm_scatter_fours, &args, n / CM_FOUR, 1);
    } else {
        CM_LAUNCH(stream, call, cm_scatter_each, &args, n, 1);
    }
    return CM_OK;
}

cm_status cm_cuda_bootstrap(cm_stream *stream, const cm_call *call) {
    const cm_tensor *target = CM_ARG(call, bootstrap, target), *value = CM_ARG(call, bootstrap, value);
    cm_index_args args = {.x = cm_rows_of(CM_ARG(call, bootstrap, partial)),
                          .y = cm_rows_of(target),
                          .table = cm_rows_of(value),
                          .index = CM_ARG(call, bootstrap, rows)->data,
                          .times = CM_ARG(call, bootstrap, coefficient)->data,
                          .limit = value->dim[0]};
    CM_LAUNCH(stream, call, cm_bootstrap_each, &args, target->dim[0], 1);
    return CM_OK;
}
