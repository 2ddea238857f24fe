/* What the kernels of norm_convs.h have in common: a block of a tower of a single layer (tower.h), whose results go to
 * the device's memory and, channel by channel, into sums. */
#ifndef CM_BACKEND_CUDA_FUSED_NORM_BLOCK_H
#define CM_BACKEND_CUDA_FUSED_NORM_BLOCK_H

#include "backend/cuda/fused/tower.h"

/* Eight channels as numbers. */
CM_KERNEL_COPIED void cm_norm_block_numbers(const cm_tower_piece *piece, bool bfloat, float out[CM_SLAB_PIECE]) {
    CM_UNROLL(i, CM_SLAB_PIECE)
    out[i] = cm_widen((uint16_t)(piece->pair[i / 2] >> i % 2 * 16), cm_tower_type(bfloat));
}

/* Those from element `at` on of a tensor, of float32 if it is wide. */
CM_KERNEL_COPIED void cm_norm_block_read(const void *from, bool wide, int64_t at, bool bfloat,
                                         float out[CM_SLAB_PIECE]) {
    if (wide) {
        cm_eight_floats((const float *)from + at, out);
    } else {
        const cm_tower_piece piece = *(const cm_tower_piece *)(const void *)((const uint16_t *)from + at);
        cm_norm_block_numbers(&piece, bfloat, out);
    }
}

/* The sums, and what is there if they are added to that, rounded to 16 bits in the activations that are not read. */
CM_KERNEL_COPIED void cm_norm_block_keep(const cm_tower_block *t, bool adds, int channels, bool bfloat,
                                         const cm_lanes *lanes, float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    CM_UNROLL(j, channels / 8) {
        uint32_t *to = cm_tower_old(t, j, lanes);
        CM_UNROLL(i, CM_TOWER_ROWS) {
            float *two = sum[i / 2] + 4 * j + i % 2 * 2;
            if (!cm_tower_has(t, i)) continue;
            if (adds) {
                const uint32_t old = to[cm_tower_after(i)];
                CM_UNROLL(k, 2) two[k] += cm_widen((uint16_t)(old >> 16 * k), cm_tower_type(bfloat));
            }
            to[cm_tower_after(i)] = cm_lanes_pair(two[0], two[1], bfloat);
        }
    }
}

/* Eight numbers as channels. */
CM_KERNEL_COPIED cm_tower_piece cm_norm_block_piece(const float number[CM_SLAB_PIECE], bool bfloat) {
    cm_tower_piece piece;
    CM_UNROLL(i, CM_SLAB_PIECE / 2) piece.pair[i] = cm_lanes_pair(number[2 * i], number[2 * i + 1], bfloat);
    return piece;
}

/* Writes them from element `at` on of a tensor. */
CM_KERNEL_COPIED void cm_norm_block_write(void *to, bool wide, int64_t at, bool bfloat,
                                          const float number[CM_SLAB_PIECE]) {
    if (wide) {
        CM_UNROLL(i, CM_SLAB_PIECE)((float *)to)[at + i] = number[i];
    } else {
        *(cm_tower_piece *)(void *)((uint16_t *)to + at) = cm_norm_block_piece(number, bfloat);
    }
}

/* Lanes for eight channels each of a cell, and for cells; of them some lanes are none. */
typedef struct cm_norm_block_lane {
    int piece, cell; /* cell: the lane's first; from step on it has none */
    int step, cells; /* those that are worked on at once; of the block */
} cm_norm_block_lane;

static CM_HD inline cm_norm_block_lane cm_norm_block_lane_of(const cm_tower_block *t, int channels,
                                                             const cm_lanes *lanes) {
    const int pieces = channels / CM_SLAB_PIECE;
    const cm_norm_block_lane lane = {lanes->index % pieces, lanes->index / pieces, CM_BLOCK / pieces,
                                     t->boards * t->args->height * t->args->width};
    return lane;
}

/* Of each channel the sum of what lanes bring, in order, to the lanes of the first channels. They write where weights
 * and the activations that were read have been: the caller has a barrier since the last use of that memory. */
CM_KERNEL_COPIED float cm_norm_block_total(const cm_norm_block_lane *lane, int channels, const cm_lanes *lanes,
                                           const float own[CM_SLAB_PIECE]) {
    float total = 0.0f;
    if (lane->cell < lane->step) {
        CM_UNROLL(i, CM_SLAB_PIECE) lanes->memory[lane->cell * channels + lane->piece * CM_SLAB_PIECE + i] = own[i];
    }
    cm_lanes_sync(lanes);
    if (lanes->index < channels)
        for (int r = 0; r < lane->step; r++) total += lanes->memory[r * channels + lanes->index];
    return total;
}

#endif
