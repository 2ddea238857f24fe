/* Layers of a pass of rows (row_pass.h): products of a tile's rows with a weight that lies in the device's memory, or
 * near in the block's (row_near.h), by tensor cores in 16 bits. */
#ifndef CM_BACKEND_CUDA_ROW_PRODUCT_H
#define CM_BACKEND_CUDA_ROW_PRODUCT_H

#include "backend/cuda/dense.h"
#include "backend/cuda/row_near.h"

enum {
    CM_ROW_CHUNK = 32,   /* of the columns of x: what the lanes of a warp read of a weight at once */
    CM_ROW_CHUNKS = 4,   /* read before they are multiplied */
    CM_ROW_OUTPUTS = 16, /* of a layer that a warp makes in one go, in 16 bits */
    CM_ROW_STAGED = 128, /* the same of a block, in float32: their weights are staged, a chunk at a time */
    CM_ROW_STAGE_ROW = CM_ROW_CHUNK + 1, /* floats: lanes that read neighbouring rows read different banks */
    CM_ROW_STAGE = CM_ROW_STAGED * CM_ROW_STAGE_ROW
};

/* Columns at .. at + 3 of a row of k; zeros behind it. CM_ROW_ANY: there are no others, so the compiler need not ask.
 */
enum { CM_ROW_ANY = INT32_MAX };
static CM_HD inline cm_four cm_row_read(const float *row, int at, int k) {
    cm_four four = {{0.0f, 0.0f, 0.0f, 0.0f}};
    if (at + 4 <= k) return cm_four_at(row + at);
    for (int i = 0; i < 4; i++)
        if (at + i < k) four.v[i] = row[at + i];
    return four;
}

/* Eight neighbours of 16 bits, in pairs. */
typedef struct cm_row_eight {
    uint32_t pair[4];
} __attribute__((aligned(16))) cm_row_eight;

static CM_HD inline cm_row_eight cm_row_weights(const uint16_t *from) {
    return *(const cm_row_eight *)(const void *)from;
}

/* A lane of a warp that multiplies by tensor cores: lane 4 g + q, which brings rows g and g + 8 of x. */
typedef struct cm_row_lane {
    cm_lanes warp;
    int g, q;
    const float *low, *high; /* the rows; the second one is none in a tile of half as many */
    bool half;
    const uint16_t *weight;
    int weight_row; /* elements from row to row */
    bool bfloat;
} cm_row_lane;

static CM_HD inline cm_four cm_row_high(const cm_row_lane *l, int at, int k) {
    const cm_four none = {{0.0f, 0.0f, 0.0f, 0.0f}};
    return l->half ? none : cm_row_read(l->high, at, k);
}

/* Any order of the columns does for a sum, as long as a and b have the same: of a chunk lane 4 g + q takes eight
 * neighbours from 8 q on, in x and in the weight. They are what it brings to two products. */
CM_KERNEL void cm_row_multiply(const cm_row_lane *l, int at, int k, const cm_row_eight b[2], float sum[2][4]) {
    for (int half = 0; half < 2; half++) {
        const cm_four x = cm_row_read(l->low, at + 4 * half, k), z = cm_row_high(l, at + 4 * half, k);
        const uint32_t a[4] = {cm_lanes_pair(x.v[0], x.v[1], l->bfloat), cm_lanes_pair(z.v[0], z.v[1], l->bfloat),
                               cm_lanes_pair(x.v[2], x.v[3], l->bfloat), cm_lanes_pair(z.v[2], z.v[3], l->bfloat)};
        for (int j = 0; j < 2; j++) cm_lanes_product(&l->warp, l->bfloat, a, b[j].pair + 2 * half, sum[j]);
    }
}

/* The row of the weight that belongs to an output; behind the n-th that of the last one. */
static CM_HD inline const uint16_t *cm_row_of_weight(const cm_row_lane *l, int output, int n) {
    return l->weight + (int64_t)(output < n ? output : n - 1) * l->weight_row + 8 * l->q;
}

/* Adds up outputs o .. o + 15 of the layer: sum[j] has o + 8 j .. o + 8 j + 7. In place of a chunk that is not there
 * the first one is read. */
CM_KERNEL void cm_row_sums(const cm_row_step *s, const cm_row_lane *l, int o, float sum[2][4]) {
    const int k = s->k, whole = k / CM_ROW_CHUNK * CM_ROW_CHUNK;
    const uint16_t *const low = cm_row_of_weight(l, o + l->g, s->n), *high = cm_row_of_weight(l, o + 8 + l->g, s->n);
    for (int first = 0; first < whole; first += CM_ROW_CHUNKS * CM_ROW_CHUNK) {
        cm_row_eight b[CM_ROW_CHUNKS][2];
        for (int i = 0; i < CM_ROW_CHUNKS; i++) {
            const int chunk = first + i * CM_ROW_CHUNK, at = chunk < whole ? chunk : 0;
            b[i][0] = cm_row_weights(low + at);
            b[i][1] = cm_row_weights(high + at);
        }
        for (int i = 0; i < CM_ROW_CHUNKS; i++)
            if (first + i * CM_ROW_CHUNK < whole)
                cm_row_multiply(l, first + i * CM_ROW_CHUNK + 8 * l->q, CM_ROW_ANY, b[i], sum);
    }
    if (whole == k) return;
    cm_row_eight b[2] = {{{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
    if (whole + 8 * l->q < l->weight_row) {
        b[0] = cm_row_weights(low + whole);
        b[1] = cm_row_weights(high + whole);
    }
    cm_row_multiply(l, whole + 8 * l->q, k, b, sum);
}

/* The weight [k, n] across: a lane brings two neighbouring outputs of eight rows of it, which are the same column of
 * both products: sum[j] has every second output from o + j on. */
CM_KERNEL void cm_row_sums_across(const cm_row_step *s, const cm_row_lane *l, int o, float sum[2][4]) {
    const int64_t across = l->weight_row;
    const int column = o + 2 * l->g, rows = column < across ? s->k : 0;
    const uint16_t *weight = l->weight + column;
    for (int first = 0; first < s->k; first += CM_ROW_CHUNKS * CM_ROW_CHUNK) {
        uint32_t two[CM_ROW_CHUNKS][8];
        for (int i = 0; i < CM_ROW_CHUNKS; i++)
            for (int r = 0; r < 8; r++) {
                const int row = first + i * CM_ROW_CHUNK + 8 * l->q + r;
                two[i][r] = row < rows ? *(const uint32_t *)(const void *)(weight + row * across) : 0;
            }
        for (int i = 0; i < CM_ROW_CHUNKS; i++) {
            const int chunk = first + i * CM_ROW_CHUNK;
            cm_row_eight b[2];
            if (chunk >= s->k) return;
            for (int p = 0; p < 4; p++) {
                b[0].pair[p] = (two[i][2 * p] & 0xffffu) | two[i][2 * p + 1] << 16;
                b[1].pair[p] = two[i][2 * p] >> 16 | (two[i][2 * p + 1] & 0xffff0000u);
            }
            cm_row_multiply(l, chunk + 8 * l->q, chunk + CM_ROW_CHUNK <= s->k ? CM_ROW_ANY : s->k, b, sum);
        }
    }
}

/* The output of which sum[i / 2 % 2][i / 4 * 2 + i % 2] is one, in row g + i / 4 * 8. */
static CM_HD inline int cm_row_output(const cm_row_lane *l, int o, int i, bool across) {
    const int product = i / 2 % 2, column = 2 * l->q + i % 2;
    return across ? o + 2 * column + product : o + product * 8 + column;
}

/* The action of a row of the tile; rows behind them have that of the last one. */
static CM_HD inline int cm_row_action(const cm_row_tile *t, const cm_dense_args *end, int row) {
    return cm_dense_action(end, row < t->rows ? row : t->rows - 1);
}

/* What is read to be added to the outputs of a lane: on its way while they are made, and read before any of them is
 * written. Behind the n-th it is that of the last one. */
static CM_HD inline void cm_row_terms(const cm_row_lane *l, const cm_dense_args *end, const cm_encoded action[2], int o,
                                      int n, bool across, cm_dense_terms terms[8]) {
    for (int i = 0; i < 8; i++) {
        if (i >= 4 && l->half) return;
        const int column = cm_row_output(l, o, i, across);
        terms[i] = cm_dense_read(end, &action[i / 4], column < n ? column : n - 1);
    }
}

/* Rows behind the tile's take part, with whatever they hold, and are not written. */
CM_KERNEL void cm_row_product(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, bool bfloat,
                              bool across, const cm_lanes *lanes) {
    const cm_lanes warp = cm_lanes_part(lanes, CM_WARP);
    const int g = warp.index / 4, q = warp.index % 4;
    const float *low = t->memory + s->x.first + g * s->x.stride;
    const cm_row_weight weight = cm_row_weight_of(s, t->memory);
    const uint16_t *from = (const uint16_t *)weight.data;
    const cm_row_lane l = {warp, g, q, low, low + 8 * s->x.stride, t->half, from, weight.row, bfloat};
    const int chosen[2] = {cm_row_action(t, end, g), cm_row_action(t, end, g + 8)}, n = s->n;
    const cm_encoded action[2] = {cm_dense_encoded(end, chosen[0]), cm_dense_encoded(end, chosen[1])};
    for (int o = lanes->index / CM_WARP * CM_ROW_OUTPUTS; o < n; o += CM_ROW_WARPS * CM_ROW_OUTPUTS) {
        float sum[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
        cm_dense_terms terms[8];
        cm_row_terms(&l, end, action, o, n, across, terms);
        if (across) {
            cm_row_sums_across(s, &l, o, sum);
        } else {
            cm_row_sums(s, &l, o, sum);
        }
        for (int i = 0; i < 8; i++) {
            if (i >= 4 && t->half) break;
            const cm_place at = {g + i / 4 * 8, cm_row_output(&l, o, i, across)};
            const float offset = cm_dense_offset(end, &action[i / 4], &terms[i]);
            if (at.row < t->rows && at.column < n) cm_dense_put(end, at, sum[i / 2 % 2][i / 4 * 2 + i % 2] + offset);
        }
    }
}

/* Numbers of a weight in float32 that a lane stages at once. */
enum { CM_ROW_OWN = CM_ROW_STAGED * CM_ROW_CHUNK / CM_BLOCK };

/* Numbers of a row of the weight, as it lies, that are staged at once: neighbouring lanes read neighbours. */
static CM_HD inline int cm_row_wide(bool across) { return across ? CM_ROW_STAGED : CM_ROW_CHUNK; }

/* Reads what the lane stages of columns first .. of outputs o .. of a weight in float32, or of one that lies across,
 * zeros where there are none: all of it is on its way before the first number is needed. */
CM_KERNEL void cm_row_bring(const cm_row_step *s, int o, int first, bool across, const cm_lanes *lanes,
                            float own[CM_ROW_OWN]) {
    const int wide = cm_row_wide(across), apart = CM_BLOCK / wide;
    const int row = (across ? first : o) + lanes->index / wide, column = (across ? o : first) + lanes->index % wide;
    const int rows = across ? s->k : s->n, columns = across ? s->n : s->k, end = column < columns ? rows : 0;
    const int64_t weight_row = s->of.dense.weight_row;
    const float *from = (const float *)s->of.dense.weight + row * weight_row + column;
    for (int i = 0; i < CM_ROW_OWN; i++) own[i] = row + i * apart < end ? from[i * apart * weight_row] : 0.0f;
}

/* Puts it into the stage, output by output. All lanes call it. */
CM_KERNEL void cm_row_stage(const cm_row_tile *t, const float own[CM_ROW_OWN], bool across, const cm_lanes *lanes) {
    const int wide = cm_row_wide(across), apart = CM_BLOCK / wide;
    const int row = lanes->index / wide, column = lanes->index % wide;
    cm_lanes_meet(lanes);
    for (int i = 0; i < CM_ROW_OWN; i++) {
        const int here = row + i * apart;
        t->stage[across ? column * CM_ROW_STAGE_ROW + here : here * CM_ROW_STAGE_ROW + column] = own[i];
    }
    cm_lanes_meet(lanes);
}

/* Rows of a lane in float32: half those of a tile, at most so many. What is given as `rows` below is a constant. */
enum { CM_ROW_HALF = CM_ROW_TILE / 2 };

/* Four numbers of a weight from a column on: near they lie at multiples of 16 bytes. */
static CM_HD inline cm_four cm_row_four_of(const float *weight, bool near) {
    if (near) return cm_four_at(weight);
    const cm_four four = {{weight[0], weight[1], weight[2], weight[3]}};
    return four;
}

/* What a chunk, of `columns` columns from x on, adds to the sums of rows; k as in cm_row_read. */
CM_KERNEL void cm_row_add(const float *x, int stride, const float *weight, int columns, int k, int rows, bool near,
                          float sum[CM_ROW_HALF]) {
    for (int i = 0; i < columns; i += 4) {
        const cm_four w = cm_row_four_of(weight + i, near);
        for (int r = 0; r < rows; r++) {
            const cm_four four = cm_row_read(x + r * stride, i, k);
            for (int j = 0; j < 4; j++) sum[r] = fmaf(four.v[j], w.v[j], sum[r]);
        }
    }
}

/* Rows of an output in float32, without tensor cores: `first` and those that follow it. */
CM_KERNEL void cm_row_end_wide(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, int first,
                               int rows, int output, const float sum[CM_ROW_HALF]) {
    for (int r = 0; r < rows; r++) {
        const cm_place at = {first + r, output};
        const cm_encoded action = cm_dense_encoded(end, cm_row_action(t, end, first + r));
        if (at.row < t->rows && at.column < s->n) cm_dense_end(end, &action, at, sum[r]);
    }
}

/* By a weight that is near: no lane waits for another. */
CM_KERNEL void cm_row_product_near(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, int rows,
                                   const cm_lanes *lanes) {
    const int row = lanes->index / CM_ROW_STAGED * rows, whole = s->k / CM_ROW_CHUNK * CM_ROW_CHUNK;
    const float *x = t->memory + s->x.first + row * s->x.stride;
    for (int o = lanes->index % CM_ROW_STAGED; o < s->n; o += CM_ROW_STAGED) {
        float sum[CM_ROW_HALF] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        const float *weight = t->memory + s->of.dense.near + o * s->of.dense.near_row;
        for (int first = 0; first < whole; first += CM_ROW_CHUNK)
            cm_row_add(x + first, s->x.stride, weight + first, CM_ROW_CHUNK, CM_ROW_ANY, rows, true, sum);
        cm_row_add(x + whole, s->x.stride, weight + whole, s->k - whole, s->k - whole, rows, true, sum);
        cm_row_end_wide(s, t, end, row, rows, o, sum);
    }
}

/* By one that is staged: a lane makes an output of half the rows. */
CM_KERNEL void cm_row_product_wide(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, int rows,
                                   bool across, const cm_lanes *lanes) {
    const int output = lanes->index % CM_ROW_STAGED, row = lanes->index / CM_ROW_STAGED * rows;
    const float *x = t->memory + s->x.first + row * s->x.stride, *weight = t->stage + output * CM_ROW_STAGE_ROW;
    for (int o = 0; o < s->n; o += CM_ROW_STAGED) {
        float sum[CM_ROW_HALF] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, own[CM_ROW_OWN];
        cm_row_bring(s, o, 0, across, lanes, own);
        for (int first = 0; first < s->k; first += CM_ROW_CHUNK) {
            const int rest = s->k - first;
            cm_row_stage(t, own, across, lanes);
            if (rest > CM_ROW_CHUNK) cm_row_bring(s, o, first + CM_ROW_CHUNK, across, lanes, own); /* meanwhile */
            if (rest >= CM_ROW_CHUNK) {
                cm_row_add(x + first, s->x.stride, weight, CM_ROW_CHUNK, CM_ROW_ANY, rows, false, sum);
            } else {
                cm_row_add(x + first, s->x.stride, weight, rest, rest, rows, false, sum);
            }
        }
        cm_row_end_wide(s, t, end, row, rows, o + output, sum);
    }
}

CM_KERNEL void cm_row_layer_wide(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, int rows,
                                 bool across, const cm_lanes *lanes) {
    if (s->of.dense.near_row) {
        cm_row_product_near(s, t, end, rows, lanes);
    } else {
        cm_row_product_wide(s, t, end, rows, across, lanes);
    }
}

/* Most operations have no other activation: code for the others would be many times theirs. */
static CM_HD inline cm_activation cm_row_relu(const cm_row_step *s) {
    return s->activation == CM_ACT_RELU ? CM_ACT_RELU : CM_ACT_NONE;
}

CM_KERNEL void cm_row_layer(const cm_row_step *s, const cm_row_tile *t, bool across, const cm_lanes *lanes) {
    cm_dense_args k = CM_NOTHING;
    k.y = cm_row_rows(t, &s->y, 0);
    k.bias = s->of.dense.bias;
    k.weight.data = (float *)s->of.dense.columns;
    k.weight.stride = s->of.dense.columns_row;
    k.action = s->index ? s->index + t->first : NULL;
    k.encoding = (cm_encoding)s->encoding;
    k.actions = s->limit;
    k.activation = cm_row_relu(s);
    k.add = s->add;
    if (s->type == CM_BF16) { /* code for each type, which knows it */
        k.type = CM_BF16;
        cm_row_product(s, t, &k, true, across, lanes);
    } else if (s->type == CM_F16) {
        k.type = CM_F16;
        cm_row_product(s, t, &k, false, across, lanes);
    } else {
        k.type = CM_F32;
        if (t->half) {
            cm_row_layer_wide(s, t, &k, CM_ROW_HALF / 2, across, lanes);
        } else {
            cm_row_layer_wide(s, t, &k, CM_ROW_HALF, across, lanes);
        }
    }
}

#endif
