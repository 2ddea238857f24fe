#include "backend/cuda/ops/columns.h"

/* Up to here one launch is faster than two, though neighbouring columns read the same cache lines again. */
enum { FEW_ROWS = 4096 };

size_t cm_column_sums_bytes(int64_t rows, int columns) {
    cm_chunks chunks = cm_chunks_of(rows, columns, 1);
    return rows <= FEW_ROWS ? 0 : cm_chunks_bytes(&chunks);
}

cm_columns_args cm_column_sums_args(const cm_column_sums *sums) {
    return (cm_columns_args){
        .chunks = cm_chunks_of(sums->rows, sums->columns, 1), .x = sums->x, .out = {sums->out}, .add = {sums->add}};
}

cm_status cm_column_sums_run(cm_stream *stream, const cm_call *call, const cm_column_sums *sums, void *workspace) {
    cm_columns_args args = cm_column_sums_args(sums);
    if (!sums->out) return CM_OK;
    if (sums->rows <= FEW_ROWS) {
        CM_LAUNCH(stream, call, cm_columns_whole, &args, sums->columns, cm_lanes_for_sum(sums->rows));
        return CM_OK;
    }
    args.chunks.partial = workspace;
    CM_LAUNCH(stream, call, cm_columns_partial, &args, cm_chunks_items(&args.chunks), 1);
    CM_LAUNCH(stream, call, cm_columns_finish, &args, sums->columns, CM_WARP);
    return CM_OK;
}
