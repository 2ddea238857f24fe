/* Layers of a fused row-wise kernel (row_kernel.h): products of a tile's rows with a weight that lies in the device's
 * memory, or in shared memory (row_shared.h), by tensor cores: in 16 bits here, in float32 in row_wide.h. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_PRODUCT_H
#define CM_BACKEND_CUDA_FUSED_ROW_PRODUCT_H

#include "backend/cuda/fused/row_wide.h"
#include "backend/cuda/ops/dense.h"

enum { CM_ROW_CHUNKS = 4 }; /* of a weight in 16 bits that are read before the first is multiplied */

/* Any order of the columns does for a sum, as long as a and b have the same: of a chunk lane 4 g + q takes eight
 * neighbours from 8 q on, in x and in the weight. They are what it brings to two products. */
CM_KERNEL void cm_row_multiply(const cm_row_lane *l, int at, int k, const cm_pairs b[2], float sum[2][4]) {
    for (int half = 0; half < 2; half++) {
        const cm_four x = cm_row_read(l->low, at + 4 * half, k), z = cm_row_high(l, at + 4 * half, k);
        const bool bfloat = l->type == CM_BF16;
        const uint32_t a[4] = {cm_lanes_pair(x.v[0], x.v[1], bfloat), cm_lanes_pair(z.v[0], z.v[1], bfloat),
                               cm_lanes_pair(x.v[2], x.v[3], bfloat), cm_lanes_pair(z.v[2], z.v[3], bfloat)};
        for (int j = 0; j < 2; j++) cm_lanes_product(&l->warp, bfloat, a, b[j].pair + 2 * half, sum[j]);
    }
}

/* The row of the weight that belongs to an output. */
static CM_HD inline const uint16_t *cm_row_of_weight(const cm_row_lane *l, int output, int n) {
    return (const uint16_t *)l->weight.data + (int64_t)cm_row_known(output, n) * l->weight.row + 8 * l->q;
}

/* Adds up outputs o .. o + 15 of the layer: sum[j] has o + 8 j .. o + 8 j + 7. In place of a chunk that is not there
 * the first one is read. */
CM_KERNEL void cm_row_sums(const cm_row_step *s, const cm_row_lane *l, int o, float sum[2][4]) {
    const int k = s->k, whole = k / CM_ROW_CHUNK * CM_ROW_CHUNK;
    const uint16_t *const low = cm_row_of_weight(l, o + l->g, s->n), *high = cm_row_of_weight(l, o + 8 + l->g, s->n);
    for (int first = 0; first < whole; first += CM_ROW_CHUNKS * CM_ROW_CHUNK) {
        cm_pairs b[CM_ROW_CHUNKS][2];
        for (int i = 0; i < CM_ROW_CHUNKS; i++) {
            const int chunk = first + i * CM_ROW_CHUNK, at = chunk < whole ? chunk : 0;
            b[i][0] = cm_pairs_at(low + at);
            b[i][1] = cm_pairs_at(high + at);
        }
        for (int i = 0; i < CM_ROW_CHUNKS; i++)
            if (first + i * CM_ROW_CHUNK < whole)
                cm_row_multiply(l, first + i * CM_ROW_CHUNK + 8 * l->q, CM_ROW_ANY, b[i], sum);
    }
    if (whole == k) return;
    cm_pairs b[2] = {{{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
    if (whole + 8 * l->q < l->weight.row) {
        b[0] = cm_pairs_at(low + whole);
        b[1] = cm_pairs_at(high + whole);
    }
    cm_row_multiply(l, whole + 8 * l->q, k, b, sum);
}

/* The weight [k, n] across: a lane brings two neighbouring outputs of eight rows of it, which are the same column of
 * both products: sum[j] has every second output from o + j on. */
CM_KERNEL void cm_row_sums_across(const cm_row_step *s, const cm_row_lane *l, int o, float sum[2][4]) {
    const int64_t across = l->weight.row;
    const int column = o + 2 * l->g, rows = column < across ? s->k : 0;
    const uint16_t *weight = (const uint16_t *)l->weight.data + column;
    for (int first = 0; first < s->k; first += CM_ROW_CHUNKS * CM_ROW_CHUNK) {
        uint32_t two[CM_ROW_CHUNKS][8];
        for (int i = 0; i < CM_ROW_CHUNKS; i++)
            for (int r = 0; r < 8; r++) {
                const int row = first + i * CM_ROW_CHUNK + 8 * l->q + r;
                two[i][r] = row < rows ? *(const uint32_t *)(const void *)(weight + row * across) : 0;
            }
        for (int i = 0; i < CM_ROW_CHUNKS; i++) {
            const int chunk = first + i * CM_ROW_CHUNK;
            cm_pairs b[2];
            if (chunk >= s->k) return;
            for (int p = 0; p < 4; p++) {
                b[0].pair[p] = (two[i][2 * p] & 0xffffu) | two[i][2 * p + 1] << 16;
                b[1].pair[p] = two[i][2 * p] >> 16 | (two[i][2 * p + 1] & 0xffff0000u);
            }
            cm_row_multiply(l, chunk + 8 * l->q, chunk + CM_ROW_CHUNK <= s->k ? CM_ROW_ANY : s->k, b, sum);
        }
    }
}

/* Both, as cm_row_sums_wide. */
CM_KERNEL_COPIED void cm_row_sums_half(const cm_row_step *s, const cm_row_lane *l, int o, bool across,
                                       float own[CM_ROW_OWN]) {
    float sum[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
    if (across) {
        cm_row_sums_across(s, l, o, sum);
    } else {
        cm_row_sums(s, l, o, sum);
    }
    for (int i = 0; i < CM_ROW_OWN; i++) own[i] = sum[i / 2 % 2][i / 4 * 2 + i % 2];
}

/* Where sum i of a lane belongs: a row of the tile, an output of the layer. */
static CM_HD inline cm_place cm_row_goal(const cm_row_lane *l, int o, int i, bool across) {
    const int product = i / 2 % 2, second = i / 4 * 8, column = 2 * l->q + i % 2;
    const cm_place wide = {column + second, o + product * 8 + l->g};
    const cm_place paired = {l->g + second, across ? o + 2 * column + product : o + product * 8 + column};
    return l->type == CM_F32 ? wide : paired;
}

/* Rows of the tile that a lane has sums of: in 16 bits each is two of these. */
enum { CM_ROW_ACTIONS = 4 };
static CM_HD inline int cm_row_action_of(int i) { return i / 4 * 2 + i % 2; }

/* The actions of these rows; rows after the tile's have that of its last one. */
static CM_HD inline void cm_row_encode(const cm_row_lane *l, const cm_row_tile *t, const cm_dense_args *end,
                                       cm_encoded action[CM_ROW_ACTIONS]) {
    const cm_encoded none = {0, NAN};
    for (int i = 0; i < CM_ROW_ACTIONS; i++) action[i] = none;
    for (int i = 0; i < CM_ROW_ACTIONS && end->weight.data; i++) {
        const int row = l->type == CM_F32 ? 2 * l->q + i % 2 + i / 2 * 8 : l->g + i / 2 * 8;
        if (l->type != CM_F32 && i % 2 == 1) {
            action[i] = action[i - 1];
        } else {
            action[i] = cm_dense_encoded(end, cm_dense_action(end, row < t->rows ? row : t->rows - 1));
        }
    }
}

/* What is read to be added to the outputs of a lane: on its way while they are made, and read before any of them is
 * written. */
static CM_HD inline void cm_row_terms(const cm_row_lane *l, const cm_dense_args *end, const cm_encoded *action, int o,
                                      int n, bool across, cm_dense_terms terms[CM_ROW_OWN]) {
    for (int i = 0; i < CM_ROW_OWN; i++) {
        if (i >= 4 && l->is_short) return;
        const int output = (int)cm_row_goal(l, o, i, across).column;
        terms[i] = cm_dense_read(end, &action[cm_row_action_of(i)], cm_row_known(output, n));
    }
}

CM_KERNEL void cm_row_end(const cm_row_lane *l, const cm_row_tile *t, const cm_dense_args *end,
                          const cm_encoded *action, const cm_dense_terms *terms, const float *own, int o, int n,
                          bool across) {
    for (int i = 0; i < CM_ROW_OWN; i++) {
        if (i >= 4 && l->is_short) return;
        const cm_place at = cm_row_goal(l, o, i, across);
        const float offset = cm_dense_offset(end, &action[cm_row_action_of(i)], &terms[i]);
        if (at.row < t->rows && at.column < n) cm_dense_put(end, at, own[i] + offset);
    }
}

/* Rows after the tile's take part, with whatever they hold, and are not written. */
CM_KERNEL_COPIED void cm_row_product(const cm_row_step *s, const cm_row_tile *t, const cm_dense_args *end, bool across,
                                     const cm_lanes *lanes) {
    const cm_lanes warp = cm_lanes_part(lanes, CM_WARP);
    const float *low = t->memory + s->x.first + warp.index / 4 * s->x.stride;
    cm_row_lane l = {warp,        warp.index / 4, warp.index % 4, low, low + 8 * s->x.stride,
                     t->is_short, CM_NOTHING,     end->type};
    cm_encoded action[CM_ROW_ACTIONS];
    cm_row_encode(&l, t, end, action);
    for (int o = lanes->index / CM_WARP * CM_ROW_OUTPUTS; o < s->n; o += CM_ROW_WARPS * CM_ROW_OUTPUTS) {
        cm_dense_terms terms[CM_ROW_OWN];
        float own[CM_ROW_OWN];
        l.weight = cm_row_weight_of(s, t->memory, o);
        cm_row_terms(&l, end, action, o, s->n, across, terms);
        if (end->type == CM_F32) {
            cm_row_sums_wide(s, &l, o, across, own);
        } else {
            cm_row_sums_half(s, &l, o, across, own);
        }
        cm_row_end(&l, t, end, action, terms, own, o, s->n, across);
    }
}

/* Most operations have no other activation: code for the others would be many times theirs. */
static CM_HD inline cm_activation cm_row_relu(const cm_row_step *s) {
    return s->activation == CM_ACT_RELU ? CM_ACT_RELU : CM_ACT_NONE;
}

CM_KERNEL_COPIED void cm_row_layer(const cm_row_step *s, const cm_row_tile *t, bool across, const cm_lanes *lanes) {
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
        cm_row_product(s, t, &k, across, lanes);
    } else if (s->type == CM_F16) {
        k.type = CM_F16;
        cm_row_product(s, t, &k, across, lanes);
    } else {
        k.type = CM_F32;
        cm_row_product(s, t, &k, across, lanes);
    }
}

#endif
