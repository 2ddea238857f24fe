/* Kernels of batch norms whose x is of 16 bits; see batch_norm.h. A lane has eight channels and reads some
 * rows before it looks at the first. What reads is told by constants whether it is float32 (`wide`), and which of the
 * two types 16 bits are: a branch between two reads would make the second one wait for the first. */
#ifndef CM_BACKEND_CUDA_OPS_BATCH_NORM_HALF_H
#define CM_BACKEND_CUDA_OPS_BATCH_NORM_HALF_H

#include "backend/cuda/ops/batch_norm.h"

enum {
    CM_NORM_ROWS = 4, /* that a lane reads at once */
    CM_NORM_FEW = 2,  /* of three tensors: more would take so many registers that fewer blocks are at work */
    CM_NORM_CHANNELS = CM_BLOCK * CM_EIGHT,               /* at most */
    CM_NORM_MEMORY = 2 * CM_NORM_CHANNELS * sizeof(float) /* of a block that sums */
};

/* Eight channels of a row. */
typedef struct cm_norm_eight {
    cm_pairs half;
    cm_four low, high; /* in place of it if it is wide */
} cm_norm_eight;

CM_KERNEL_COPIED cm_norm_eight cm_norm_read(bool wide, const uint16_t *half, const cm_rows *rows, int64_t r, int64_t c,
                                            int64_t columns) {
    cm_norm_eight out = CM_NOTHING;
    if (wide) {
        out.low = cm_four_at(cm_row(rows, r) + c);
        out.high = cm_four_at(cm_row(rows, r) + c + CM_FOUR);
    } else {
        out.half = cm_pairs_at(half + r * columns + c);
    }
    return out;
}

CM_KERNEL_COPIED float cm_norm_number(bool wide, bool bfloat, const cm_norm_eight *eight, int i) {
    const uint16_t half = (uint16_t)(eight->half.pair[i / 2] >> (i % 2 * 16));
    if (wide) return i < CM_FOUR ? eight->low.v[i % CM_FOUR] : eight->high.v[i % CM_FOUR];
    return bfloat ? cm_bf16_to_float(half) : cm_f16_to_float(half);
}

static CM_HD inline uint32_t cm_half_pair(float low, float high, cm_dtype type) {
    return (uint32_t)cm_to_half(low, type) | (uint32_t)cm_to_half(high, type) << 16;
}

CM_KERNEL_COPIED void cm_norm_write(bool bfloat, uint16_t *half, const cm_rows *rows, int64_t r, int64_t c,
                                    int64_t columns, const float x[CM_EIGHT]) {
    cm_pairs pairs;
    if (!half) {
        CM_UNROLL(i, CM_EIGHT) cm_row(rows, r)[c + i] = x[i];
        return;
    }
    CM_UNROLL(i, CM_EIGHT / 2)
    pairs.pair[i] = cm_half_pair(x[2 * i], x[2 * i + 1], bfloat ? CM_BF16 : CM_F16);
    *(cm_pairs *)(void *)(half + r * columns + c) = pairs;
}

static CM_HD inline int64_t cm_norm_row(int64_t r, int64_t end) { return r < end ? r : end - 1; }

/* ---- sums over rows: a block for a chunk ---- */

/* Lanes for eight channels each of a row, and for rows: of them some lanes are none. */
typedef struct cm_norm_lane {
    int groups, rows; /* lanes of a row; rows of a block */
    int row;          /* the lane's; `rows`: it has none */
    int64_t c;        /* its first channel */
} cm_norm_lane;

static CM_HD inline cm_norm_lane cm_norm_lane_of(const cm_batch_norm_args *k, const cm_lanes *lanes) {
    cm_norm_lane lane = {k->chunks.columns / CM_EIGHT, 0, 0, 0};
    lane.rows = CM_BLOCK / lane.groups;
    lane.row = lanes->index / lane.groups < lane.rows ? lanes->index / lane.groups : lane.rows;
    lane.c = (int64_t)(lanes->index % lane.groups) * CM_EIGHT;
    return lane;
}

/* Leaves what a lane has added up, two numbers of each channel; after it cm_norm_sum gets those of all rows. */
CM_KERNEL_COPIED void cm_norm_leave(const cm_norm_lane *lane, const cm_batch_norm_args *k, const cm_lanes *lanes,
                                    const float one[CM_EIGHT], const float other[CM_EIGHT]) {
    const int64_t columns = k->chunks.columns, at = (int64_t)lane->row * columns + lane->c;
    if (lane->row < lane->rows) {
        CM_UNROLL(i, CM_EIGHT) {
            lanes->memory[at + i] = one[i];
            lanes->memory[(int64_t)lane->rows * columns + at + i] = other[i];
        }
    }
    cm_lanes_sync(lanes);
}
CM_KERNEL_COPIED float cm_norm_sum(const cm_norm_lane *lane, const cm_batch_norm_args *k, const cm_lanes *lanes,
                                   int part, int64_t channel) {
    const int64_t columns = k->chunks.columns;
    float sum = 0.0f;
    for (int i = 0; i < lane->rows; i++) sum += lanes->memory[((int64_t)part * lane->rows + i) * columns + channel];
    return sum;
}

/* Sums of distances from the chunk's first row, and of their squares. */
CM_KERNEL_COPIED void cm_norm_distances(bool bfloat, const cm_batch_norm_args *k, const cm_chunk *chunk,
                                        const cm_norm_lane *lane, float sum[CM_EIGHT], float squares[CM_EIGHT]) {
    const int64_t columns = k->chunks.columns, end = chunk->end;
    const cm_norm_eight first = cm_norm_read(false, k->half_x, &k->x, chunk->first, lane->c, columns);
    for (int64_t r = chunk->first + lane->row; r < end; r += CM_NORM_ROWS * lane->rows) {
        cm_norm_eight x[CM_NORM_ROWS];
        CM_UNROLL(j, CM_NORM_ROWS)
        x[j] = cm_norm_read(false, k->half_x, &k->x, cm_norm_row(r + j * lane->rows, end), lane->c, columns);
        CM_UNROLL(j, CM_NORM_ROWS) {
            const float counts = r + j * lane->rows < end ? 1.0f : 0.0f;
            CM_UNROLL(i, CM_EIGHT) {
                const float off =
                    counts * (cm_norm_number(false, bfloat, &x[j], i) - cm_norm_number(false, bfloat, &first, i));
                sum[i] += off;
                squares[i] += off * off;
            }
        }
    }
}

/* Item: a chunk; CM_BLOCK lanes. Parts as of cm_batch_norm_partial. */
CM_KERNEL void cm_norm_partial_half(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_norm_lane lane = cm_norm_lane_of(k, lanes);
    const cm_chunk chunk = cm_chunk_of(&k->chunks, item * k->chunks.columns);
    float one[CM_EIGHT] = CM_NOTHING, other[CM_EIGHT] = CM_NOTHING;
    if (lane.row < lane.rows && k->type == CM_BF16) {
        cm_norm_distances(true, k, &chunk, &lane, one, other);
    } else if (lane.row < lane.rows) {
        cm_norm_distances(false, k, &chunk, &lane, one, other);
    }
    cm_norm_leave(&lane, k, lanes, one, other);
    CM_EACH(c, lanes, k->chunks.columns) {
        const float rows = (float)(chunk.end - chunk.first), sum = cm_norm_sum(&lane, k, lanes, 0, c);
        const float squares = cm_norm_sum(&lane, k, lanes, 1, c) - sum * sum / rows;
        chunk.partial[c] = cm_widen(k->half_x[chunk.first * k->chunks.columns + c], k->type) + sum / rows;
        chunk.partial[k->chunks.columns + c] = squares > 0.0f ? squares : 0.0f;
    }
}

/* The gradient in front of the activation, of a number of dy and of y. */
static CM_HD inline float cm_norm_gradient(const cm_batch_norm_args *k, float dy, float y) {
    return cm_before_relu(k->activation == CM_ACT_RELU, y, dy);
}

/* Sums of the gradient g and of g * (x - mean). */
CM_KERNEL_COPIED void cm_norm_gradients(bool wide, bool bfloat, const cm_batch_norm_args *k, const cm_chunk *chunk,
                                        const cm_norm_lane *lane, float sum[CM_EIGHT], float along[CM_EIGHT]) {
    const int64_t columns = k->chunks.columns, end = chunk->end, c = lane->c;
    float mean[CM_EIGHT];
    cm_eight_floats(k->mean + c, mean);
    for (int64_t r = chunk->first + lane->row; r < end; r += CM_NORM_FEW * lane->rows) {
        cm_norm_eight x[CM_NORM_FEW], y[CM_NORM_FEW], dy[CM_NORM_FEW];
        CM_UNROLL(j, CM_NORM_FEW) {
            const int64_t row = cm_norm_row(r + j * lane->rows, end);
            x[j] = cm_norm_read(false, k->half_x, &k->x, row, c, columns);
            y[j] = cm_norm_read(wide, k->half_y, &k->y, row, c, columns);
            dy[j] = cm_norm_read(wide, k->half_dy, &k->dy, row, c, columns);
        }
        CM_UNROLL(j, CM_NORM_FEW) {
            const float counts = r + j * lane->rows < end ? 1.0f : 0.0f;
            CM_UNROLL(i, CM_EIGHT) {
                const float g = counts * cm_norm_gradient(k, cm_norm_number(wide, bfloat, &dy[j], i),
                                                          cm_norm_number(wide, bfloat, &y[j], i));
                sum[i] += g;
                along[i] += g * (cm_norm_number(false, bfloat, &x[j], i) - mean[i]);
            }
        }
    }
}

CM_KERNEL_COPIED void cm_norm_gradients_of(bool wide, const cm_batch_norm_args *k, const cm_chunk *chunk,
                                           const cm_norm_lane *lane, float sum[CM_EIGHT], float along[CM_EIGHT]) {
    if (k->type == CM_BF16) {
        cm_norm_gradients(wide, true, k, chunk, lane, sum, along);
    } else {
        cm_norm_gradients(wide, false, k, chunk, lane, sum, along);
    }
}

/* Item: a chunk; CM_BLOCK lanes. Parts as of cm_batch_norm_slopes. */
CM_KERNEL void cm_norm_slopes_half(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_norm_lane lane = cm_norm_lane_of(k, lanes);
    const cm_chunk chunk = cm_chunk_of(&k->chunks, item * k->chunks.columns);
    float one[CM_EIGHT] = CM_NOTHING, other[CM_EIGHT] = CM_NOTHING;
    if (lane.row < lane.rows && k->half_y) {
        cm_norm_gradients_of(false, k, &chunk, &lane, one, other);
    } else if (lane.row < lane.rows) {
        cm_norm_gradients_of(true, k, &chunk, &lane, one, other);
    }
    cm_norm_leave(&lane, k, lanes, one, other);
    CM_EACH(c, lanes, k->chunks.columns) {
        chunk.partial[c] = cm_norm_sum(&lane, k, lanes, 0, c);
        chunk.partial[k->chunks.columns + c] = cm_norm_sum(&lane, k, lanes, 1, c) * cm_batch_norm_inverse(k, c);
    }
}

/* ---- every element: eight channels of some rows; 1 lane ---- */

/* Rows of an item. */
typedef struct cm_norm_rows {
    int64_t c, first, end, columns;
} cm_norm_rows;

static CM_HD inline cm_norm_rows cm_norm_rows_of(const cm_batch_norm_args *k, int64_t item, int rows_of_item) {
    const cm_place at = cm_place_of(item, k->chunks.columns / CM_EIGHT);
    const cm_norm_rows rows = {at.column * CM_EIGHT, at.row * rows_of_item, k->chunks.rows, k->chunks.columns};
    return rows;
}

/* Of eight channels: what the statistics have left, or, of constants, what they give. */
CM_KERNEL_COPIED void cm_norm_linear(const cm_batch_norm_args *k, int64_t c, float factor[CM_EIGHT],
                                     float offset[CM_EIGHT]) {
    if (k->linear) {
        cm_eight_floats(k->linear + c, factor);
        cm_eight_floats(k->linear + k->chunks.columns + c, offset);
        return;
    }
    CM_UNROLL(i, CM_EIGHT) {
        factor[i] = cm_batch_norm_inverse(k, c + i) * k->scale[c + i];
        offset[i] = k->shift[c + i] - k->mean[c + i] * factor[i];
    }
}

/* y = act(factor x + offset + residual); `adds`: there is one. */
CM_KERNEL_COPIED void cm_norm_apply_rows(bool adds, bool wide, bool bfloat, const cm_batch_norm_args *k,
                                         const cm_norm_rows *at) {
    const int64_t c = at->c, columns = at->columns;
    cm_norm_eight x[CM_NORM_ROWS], residual[CM_NORM_ROWS];
    float factor[CM_EIGHT], offset[CM_EIGHT];
    CM_UNROLL(j, CM_NORM_ROWS) {
        const int64_t row = cm_norm_row(at->first + j, at->end);
        x[j] = cm_norm_read(false, k->half_x, &k->x, row, c, columns);
        if (adds) residual[j] = cm_norm_read(wide, k->half_residual, &k->residual, row, c, columns);
    }
    cm_norm_linear(k, c, factor, offset);
    CM_UNROLL(j, CM_NORM_ROWS) {
        float y[CM_EIGHT];
        CM_UNROLL(i, CM_EIGHT) {
            y[i] = cm_norm_number(false, bfloat, &x[j], i) * factor[i] + offset[i];
            if (adds) y[i] += cm_norm_number(wide, bfloat, &residual[j], i);
            if (k->activation == CM_ACT_RELU && y[i] <= 0.0f) y[i] = 0.0f;
        }
        if (at->first + j < at->end) cm_norm_write(bfloat, k->half_y, &k->y, at->first + j, c, columns, y);
    }
}

CM_KERNEL_COPIED void cm_norm_apply_of(bool bfloat, const cm_batch_norm_args *k, const cm_norm_rows *at) {
    if (k->half_residual) {
        cm_norm_apply_rows(true, false, bfloat, k, at);
    } else if (k->residual.data) {
        cm_norm_apply_rows(true, true, bfloat, k, at);
    } else {
        cm_norm_apply_rows(false, false, bfloat, k, at);
    }
}

/* Item: of CM_NORM_ROWS rows. */
CM_KERNEL void cm_norm_apply_half(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_norm_rows at = cm_norm_rows_of(k, item, CM_NORM_ROWS);
    (void)lanes;
    if (k->type == CM_BF16) {
        cm_norm_apply_of(true, k, &at);
    } else {
        cm_norm_apply_of(false, k, &at);
    }
}

/* Writes, or adds to what is there. */
CM_KERNEL_COPIED void cm_norm_put(bool bfloat, uint16_t *half, const cm_rows *rows, int64_t r, const cm_norm_rows *at,
                                  bool add, const float x[CM_EIGHT]) {
    float sum[CM_EIGHT];
    const bool wide = !half;
    cm_norm_eight before = CM_NOTHING;
    if (add) before = cm_norm_read(wide, half, rows, r, at->c, at->columns);
    CM_UNROLL(i, CM_EIGHT) sum[i] = add ? x[i] + cm_norm_number(wide, bfloat, &before, i) : x[i];
    cm_norm_write(bfloat, half, rows, r, at->c, at->columns, sum);
}

/* dx and dresidual; of dy and y. */
CM_KERNEL_COPIED void cm_norm_input_rows(bool wide, bool bfloat, const cm_batch_norm_args *k, const cm_norm_rows *at) {
    const int64_t c = at->c, columns = at->columns;
    cm_norm_eight x[CM_NORM_FEW], y[CM_NORM_FEW], dy[CM_NORM_FEW];
    float of_g[CM_EIGHT], of_x[CM_EIGHT], offset[CM_EIGHT];
    CM_UNROLL(j, CM_NORM_FEW) {
        const int64_t row = cm_norm_row(at->first + j, at->end);
        x[j] = cm_norm_read(false, k->half_x, &k->x, row, c, columns);
        y[j] = cm_norm_read(wide, k->half_y, &k->y, row, c, columns);
        dy[j] = cm_norm_read(wide, k->half_dy, &k->dy, row, c, columns);
    }
    cm_eight_floats(k->linear + c, of_g);
    cm_eight_floats(k->linear + columns + c, of_x);
    cm_eight_floats(k->linear + 2 * columns + c, offset);
    CM_UNROLL(j, CM_NORM_FEW) {
        const int64_t row = at->first + j;
        float g[CM_EIGHT], dx[CM_EIGHT];
        CM_UNROLL(i, CM_EIGHT) {
            g[i] = cm_norm_gradient(k, cm_norm_number(wide, bfloat, &dy[j], i), cm_norm_number(wide, bfloat, &y[j], i));
            dx[i] = of_g[i] * g[i] + (of_x[i] * cm_norm_number(false, bfloat, &x[j], i) + offset[i]);
        }
        if (row >= at->end) continue;
        if (k->half_dx || k->dx.data) cm_norm_put(bfloat, k->half_dx, &k->dx, row, at, k->add_dx, dx);
        if (k->half_dresidual || k->dresidual.data)
            cm_norm_put(bfloat, k->half_dresidual, &k->dresidual, row, at, k->add_dresidual, g);
    }
}

CM_KERNEL_COPIED void cm_norm_input_of(bool wide, const cm_batch_norm_args *k, const cm_norm_rows *at) {
    if (k->type == CM_BF16) {
        cm_norm_input_rows(wide, true, k, at);
    } else {
        cm_norm_input_rows(wide, false, k, at);
    }
}

/* Item: of CM_NORM_FEW rows. */
CM_KERNEL void cm_norm_input_half(const cm_batch_norm_args *k, int64_t item, const cm_lanes *lanes) {
    const cm_norm_rows at = cm_norm_rows_of(k, item, CM_NORM_FEW);
    (void)lanes;
    if (k->half_y) {
        cm_norm_input_of(false, k, &at);
    } else {
        cm_norm_input_of(true, k, &at);
    }
}

#define CM_NORM_SUM_KERNELS(X)                                                                                         \
    X(cm_norm_partial_half, cm_batch_norm_args)                                                                        \
    X(cm_norm_slopes_half, cm_batch_norm_args)
#define CM_NORM_HALF_KERNELS(X)                                                                                        \
    X(cm_norm_apply_half, cm_batch_norm_args)                                                                          \
    X(cm_norm_input_half, cm_batch_norm_args)
CM_NORM_SUM_KERNELS(CM_KERNEL_ENTRY)
CM_NORM_HALF_KERNELS(CM_KERNEL_ENTRY)

#endif
