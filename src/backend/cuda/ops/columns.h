/* Sums over the rows of a matrix, in a fixed order: of few rows the lanes of a block sum a column; many are cut into
 * chunks, each thread sums one column of one chunk, then the lanes of a warp sum the chunks of a column. */
#ifndef CM_BACKEND_CUDA_OPS_COLUMNS_H
#define CM_BACKEND_CUDA_OPS_COLUMNS_H

#include "backend/cuda/ops/ops.h"
#include "backend/cuda/ops/rows.h"
#include "device/cuda/launch.h"

/* How rows are cut. partial is [chunks, parts, columns]: `parts` numbers of each column and chunk. */
typedef struct cm_chunks {
    int64_t rows;
    int columns, chunk_rows, chunks, parts;
    float *partial;
} cm_chunks;

/* Some 65,536 threads, at least 16 rows each. */
static inline cm_chunks cm_chunks_of(int64_t rows, int columns, int parts) {
    cm_chunks c = {rows, columns, 16, 0, parts, NULL};
    int64_t share = (rows * columns + 65535) / 65536;
    if (share > c.chunk_rows) c.chunk_rows = (int)share;
    c.chunks = (int)((rows + c.chunk_rows - 1) / c.chunk_rows);
    return c;
}
static CM_HD inline int64_t cm_chunks_items(const cm_chunks *c) { return (int64_t)c->chunks * c->columns; }
static inline size_t cm_chunks_bytes(const cm_chunks *c) {
    return (size_t)cm_chunks_items(c) * (size_t)c->parts * sizeof(float);
}

/* Rows [first, end) of item's chunk. */
typedef struct cm_chunk {
    int column;
    int64_t first, end;
    float *partial; /* part p of it at partial[p * columns] */
} cm_chunk;

static CM_HD inline cm_chunk cm_chunk_of(const cm_chunks *c, int64_t item) {
    cm_place at = cm_place_of(item, c->columns);
    cm_chunk chunk = {(int)at.column, at.row * c->chunk_rows, (at.row + 1) * c->chunk_rows,
                      c->partial + at.row * c->parts * c->columns + at.column};
    if (chunk.end > c->rows) chunk.end = c->rows;
    return chunk;
}

/* The sum of part p of a column over all chunks; all lanes call it. */
CM_KERNEL double cm_chunks_sum(const cm_chunks *c, int part, int64_t column, const cm_lanes *lanes) {
    double sum = 0.0;
    CM_EACH(i, lanes, c->chunks)
    sum += (double)c->partial[((int64_t)i * c->parts + part) * c->columns + column];
    return cm_lanes_sum(lanes, sum);
}

typedef struct cm_columns_args {
    cm_chunks chunks;
    cm_rows x;
    float *out[2]; /* [columns] for each part; NULL: not wanted */
    bool add[2];
} cm_columns_args;

/* Item: a column of a chunk; 1 lane. partial = sum of x. */
CM_KERNEL void cm_columns_partial(const cm_columns_args *k, int64_t item, const cm_lanes *lanes) {
    cm_chunk chunk = cm_chunk_of(&k->chunks, item);
    float sum = 0.0f;
    (void)lanes;
    for (int64_t r = chunk.first; r < chunk.end; r++) sum += cm_row(&k->x, r)[chunk.column];
    *chunk.partial = sum;
}

/* Item: a column; CM_WARP lanes. out[p] (+)= the sum of part p. */
CM_KERNEL void cm_columns_finish(const cm_columns_args *k, int64_t item, const cm_lanes *lanes) {
    for (int part = 0; part < k->chunks.parts; part++) {
        if (!k->out[part]) continue;
        double sum = cm_chunks_sum(&k->chunks, part, item, lanes);
        if (lanes->index == 0) cm_put(k->out[part] + item, (float)sum, k->add[part]);
    }
}

/* Item: a column; cm_lanes_for_sum(rows) lanes. out[0] (+)= its sum. */
CM_KERNEL void cm_columns_whole(const cm_columns_args *k, int64_t item, const cm_lanes *lanes) {
    float sum = 0.0f;
    for (int64_t r = lanes->index; r < k->chunks.rows; r += lanes->count) sum += cm_row(&k->x, r)[item];
    double total = cm_lanes_sum(lanes, (double)sum);
    if (lanes->index == 0) cm_put(k->out[0] + item, (float)total, k->add[0]);
}

#define CM_COLUMNS_KERNELS(X)                                                                                          \
    X(cm_columns_whole, cm_columns_args)                                                                               \
    X(cm_columns_partial, cm_columns_args)                                                                             \
    X(cm_columns_finish, cm_columns_args)
CM_COLUMNS_KERNELS(CM_KERNEL_ENTRY)

/* ---- hosts: out[columns] (+)= the sum over the rows of x, for a call (columns.c) */

typedef struct cm_column_sums {
    cm_rows x;
    int64_t rows;
    int columns;
    float *out; /* NULL: nothing is done */
    bool add;
} cm_column_sums;

/* Of parts whose place is not known yet. */
cm_columns_args cm_column_sums_args(const cm_column_sums *sums);
/* Bytes of workspace that they take. */
size_t cm_column_sums_bytes(int64_t rows, int columns);
cm_status cm_column_sums_run(cm_stream *stream, const cm_call *call, const cm_column_sums *sums,
                             void *workspace) CM_MUST_USE;

#endif
