#include "backend/cuda/ops/shape.h"

#include "backend/cuda/ops/ops.h"

/* ---- pooling ---- */

typedef int (*pool_launch)(const cm_pool_args *args, int64_t items, int lanes, void *queue);

/* Every element of the tensor that the call has first, x or y. */
static cm_status run_pool(cm_stream *stream, const cm_call *call, pool_launch launch, const cm_tensor *x,
                          const cm_tensor *y) {
    cm_pool_args args = {.x = cm_rows_of(x),
                         .y = cm_rows_of(y),
                         .H = x->dim[1],
                         .W = x->dim[2],
                         .P = y->dim[1],
                         .Q = y->dim[2],
                         .C = x->dim[3],
                         .add = call->attr.accumulate & 1u};
    int result = launch(&args, (int64_t)cm_tensor_count(&call->t[0]), 1, cm_ops_queue(stream));
    return cm_ops_launched(stream, result, cm_op_name(call->op));
}

cm_status cm_cuda_avg_pool(cm_stream *stream, const cm_call *call) {
    return run_pool(stream, call, cm_avg_pool_each_launch, CM_ARG(call, avg_pool, x), CM_ARG(call, avg_pool, y));
}

cm_status cm_cuda_avg_pool_backward(cm_stream *stream, const cm_call *call) {
    return run_pool(stream, call, cm_avg_pool_slopes_launch, CM_ARG(call, avg_pool_backward, dx),
                    CM_ARG(call, avg_pool_backward, dy));
}

cm_status cm_cuda_global_mean(cm_stream *stream, const cm_call *call) {
    return run_pool(stream, call, cm_global_mean_each_launch, CM_ARG(call, global_mean, x),
                    CM_ARG(call, global_mean, y));
}

cm_status cm_cuda_global_mean_backward(cm_stream *stream, const cm_call *call) {
    return run_pool(stream, call, cm_global_mean_slopes_launch, CM_ARG(call, global_mean_backward, dx),
                    CM_ARG(call, global_mean_backward, dy));
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

typedef int (*row_launch)(const cm_index_args *args, int64_t items, int lanes, void *queue);

/* gather_rows or scatter_rows, whose rows are alike: four elements at a time where that is possible. `limit`: what a
 * row number must be below; `items`: elements to be moved. */
static cm_status move_rows(cm_stream *stream, const cm_call *call, row_launch fours, row_launch each, int limit,
                           size_t items) {
    const cm_tensor *x = CM_ARG(call, gather_rows, x);
    cm_index_args args = {.x = cm_rows_of(x),
                          .y = cm_rows_of(CM_ARG(call, gather_rows, y)),
                          .index = CM_ARG(call, gather_rows, rows)->data,
                          .n = cm_tensor_row_size(x),
                          .limit = limit};
    const bool by_four = args.n % CM_FOUR == 0 && cm_are_fours(&args.x) && cm_are_fours(&args.y);
    int result = by_four ? fours(&args, (int64_t)items / CM_FOUR, 1, cm_ops_queue(stream))
                         : each(&args, (int64_t)items, 1, cm_ops_queue(stream));
    return cm_ops_launched(stream, result, cm_op_name(call->op));
}

cm_status cm_cuda_gather_rows(cm_stream *stream, const cm_call *call) {
    return move_rows(stream, call, cm_gather_fours_launch, cm_gather_each_launch, CM_ARG(call, gather_rows, x)->dim[0],
                     cm_tensor_count(CM_ARG(call, gather_rows, y)));
}

cm_status cm_cuda_scatter_rows(cm_stream *stream, const cm_call *call) {
    return move_rows(stream, call, cm_scatter_fours_launch, cm_scatter_each_launch,
                     CM_ARG(call, scatter_rows, y)->dim[0], cm_tensor_count(CM_ARG(call, scatter_rows, x)));
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
