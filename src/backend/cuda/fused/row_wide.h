/* Layers of a fused row-wise kernel in float32 (row_product.h), by tensor cores that multiply parts of numbers
 * (cm_lanes_product_32). The outputs are the product's rows, so that a number of the weight is read once for all rows
 * of a tile, which are its columns. */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_WIDE_H
#define CM_BACKEND_CUDA_FUSED_ROW_WIDE_H

#include "backend/cuda/fused/row_lane.h"

/* How a weight lies: output by output, each at multiples of 16 bytes, or not; or across, column by column. */
typedef enum cm_row_lie { CM_ROW_FOURS, CM_ROW_ONES, CM_ROW_ACROSS } cm_row_lie;

static CM_HD inline bool cm_row_is_of_fours(const cm_row_weight *weight) {
    return (uintptr_t)weight->data % 16 == 0 && weight->row % 4 == 0;
}

enum { CM_ROW_AHEAD = 2 }; /* chunks of a weight that are read before the first is multiplied */

/* What a lane brings of a chunk: of outputs o + g and o + g + 8 the columns at .. at + 7, of k; zeros after them. Lane
 * 4 g + q has those from 8 q on, in x and in the weight. */
typedef struct cm_row_part {
    float v[2][CM_EIGHT];
} cm_row_part;

static CM_HD inline void cm_row_eight_of(const cm_row_weight *weight, cm_row_lie lie, int output, int at, int k,
                                         float own[CM_EIGHT]) {
    const int64_t row = weight->row;
    const float *first = (const float *)weight->data + (lie == CM_ROW_ACROSS ? at * row + output : output * row + at);
    const int64_t apart = lie == CM_ROW_ACROSS ? row : 1;
    if (lie == CM_ROW_FOURS && k == CM_ROW_ANY) {
        for (int half = 0; half < 2; half++) {
            const cm_four four = cm_four_at(first + 4 * half);
            for (int i = 0; i < 4; i++) own[4 * half + i] = four.v[i];
        }
    } else {
        for (int i = 0; i < CM_EIGHT; i++) own[i] = at + i < k ? first[i * apart] : 0.0f;
    }
}

static CM_HD inline cm_row_part cm_row_bring(const cm_row_lane *l, cm_row_lie lie, int o, int n, int at, int k) {
    cm_row_part part;
    for (int j = 0; j < 2; j++) cm_row_eight_of(&l->weight, lie, cm_row_known(o + l->g + 8 * j, n), at, k, part.v[j]);
    return part;
}

/* Sums of rows 0 .. 7 of the tile, and of those after them. */
typedef struct cm_row_sum {
    float sum[4], rest[2][4]; /* cm_lanes_product_32 */
} cm_row_sum;

/* What a chunk adds to the sums of `parts` halves of a tile. Its own are added as float32 is: the next chunk's begin
 * at 0. */
CM_KERNEL_COPIED void cm_row_multiply_wide(const cm_row_lane *l, const cm_row_part *own, int at, int k, int parts,
                                           cm_row_sum sum[2]) {
    CM_UNROLL(p, parts) {
        float chunk[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        CM_UNROLL(half, 2) {
            const cm_four x = cm_row_read(p == 0 ? l->low : l->high, at + 4 * half, k);
            CM_UNROLL(i, 2) {
                const int c = 4 * half + 2 * i;
                const float a[4] = {own->v[0][c], own->v[1][c], own->v[0][c + 1], own->v[1][c + 1]};
                const float b[2] = {x.v[2 * i], x.v[2 * i + 1]};
                cm_lanes_product_32(&l->warp, a, b, chunk, sum[p].rest);
            }
        }
        CM_UNROLL(i, 4) sum[p].sum[i] += chunk[i];
    }
}

/* What all chunks add. In place of one that is not there the first one is read. */
CM_KERNEL_COPIED void cm_row_add_wide(const cm_row_step *s, const cm_row_lane *l, cm_row_lie lie, int o, int parts,
                                      cm_row_sum sum[2]) {
    const int n = s->n, k = s->k, whole = k / CM_ROW_CHUNK * CM_ROW_CHUNK, from = CM_EIGHT * l->q;
    for (int first = 0; first < whole; first += CM_ROW_AHEAD * CM_ROW_CHUNK) {
        cm_row_part own[CM_ROW_AHEAD];
        CM_UNROLL(i, CM_ROW_AHEAD) {
            const int chunk = first + i * CM_ROW_CHUNK;
            own[i] = cm_row_bring(l, lie, o, n, (chunk < whole ? chunk : 0) + from, CM_ROW_ANY);
        }
        CM_UNROLL(i, CM_ROW_AHEAD)
        if (first + i * CM_ROW_CHUNK < whole)
            cm_row_multiply_wide(l, &own[i], first + i * CM_ROW_CHUNK + from, CM_ROW_ANY, parts, sum);
    }
    if (whole == k) return;
    const cm_row_part rest = cm_row_bring(l, lie, o, n, whole + from, k);
    cm_row_multiply_wide(l, &rest, whole + from, k, parts, sum);
}

/* Code for each way, which knows it. */
CM_KERNEL_COPIED void cm_row_add_lying(const cm_row_step *s, const cm_row_lane *l, cm_row_lie lie, int o,
                                       cm_row_sum sum[2]) {
    if (l->is_short) {
        cm_row_add_wide(s, l, lie, o, 1, sum);
    } else {
        cm_row_add_wide(s, l, lie, o, 2, sum);
    }
}

/* Outputs o .. o + 15 of a layer, without what is added to them: own[i] is that of output o + g + i / 2 % 2 * 8 in row
 * 2 q + i % 2 + i / 4 * 8 of the tile. */
CM_KERNEL_COPIED void cm_row_sums_wide(const cm_row_step *s, const cm_row_lane *l, int o, bool across,
                                       float own[CM_ROW_OWN]) {
    cm_row_sum sum[2];
    for (int i = 0; i < CM_ROW_OWN; i++)
        sum[i / 4].sum[i % 4] = sum[i / 4].rest[0][i % 4] = sum[i / 4].rest[1][i % 4] = 0.0f;
    if (across) {
        cm_row_add_lying(s, l, CM_ROW_ACROSS, o, sum);
    } else if (cm_row_is_of_fours(&l->weight)) {
        cm_row_add_lying(s, l, CM_ROW_FOURS, o, sum);
    } else {
        cm_row_add_lying(s, l, CM_ROW_ONES, o, sum);
    }
    for (int i = 0; i < CM_ROW_OWN; i++) {
        const cm_row_sum *of = &sum[i / 4];
        own[i] = of->sum[i % 4] + (of->rest[0][i % 4] + of->rest[1][i % 4]);
    }
}

#endif
