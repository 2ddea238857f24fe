/* The kernel of norm_convs.h: it applies a norm where it loads what a convolution reads, multiplies as a tower's layer
 * does (tower.h), and leaves the parts of the statistics of the norm after it in its epilogue. */
#ifndef CM_BACKEND_CUDA_FUSED_NORM_CONV_H
#define CM_BACKEND_CUDA_FUSED_NORM_CONV_H

#include "backend/cuda/fused/norm_block.h"

/* normed = act(linear[0] x + linear[1] + residual) and y = the convolution of that, [boards, height, width, C] of 16
 * bits. `tower` is one of a single layer, of which only the weight counts. */
typedef struct cm_norm_conv_args {
    cm_tower_args tower;
    const float *linear;  /* [2, C] */
    const void *residual; /* NULL: none */
    bool wide_residual;   /* of float32, else of 16 bits */
    bool relu;
    uint16_t *normed;
    float *partial;  /* [blocks, 2, C]: mean of a block's y, sum of squared distances from it; NULL: not wanted */
    uint32_t memory; /* tower.memory */
} cm_norm_conv_args;

/* ---- load ---- */

/* Eight channels of a residual from element `at` on, or zeros. */
CM_KERNEL_COPIED void cm_norm_conv_residual(const cm_norm_conv_args *a, int64_t at, bool bfloat,
                                            float out[CM_SLAB_PIECE]) {
    if (!a->residual) {
        CM_UNROLL(i, CM_SLAB_PIECE) out[i] = 0.0f;
    } else {
        cm_norm_block_read(a->residual, a->wide_residual, at, bfloat, out);
    }
}

/* Of the channels from `channel` on. */
CM_KERNEL_COPIED cm_tower_piece cm_norm_conv_apply(const cm_norm_conv_args *a, cm_tower_piece x, int channel,
                                                   int channels, const float residual[CM_SLAB_PIECE], bool bfloat) {
    float value[CM_SLAB_PIECE], factor[CM_SLAB_PIECE], offset[CM_SLAB_PIECE];
    cm_norm_block_numbers(&x, bfloat, value);
    cm_eight_floats(a->linear + channel, factor);
    cm_eight_floats(a->linear + channels + channel, offset);
    CM_UNROLL(i, CM_SLAB_PIECE) {
        value[i] = value[i] * factor[i] + offset[i] + residual[i];
        if (a->relu && value[i] <= 0.0f) value[i] = 0.0f;
    }
    return cm_norm_block_piece(value, bfloat);
}

/* As cm_tower_enter, of x after its norm, which other calls read, too. */
CM_KERNEL_COPIED void cm_norm_conv_enter(const cm_norm_conv_args *a, const cm_tower_block *t, int channels, bool bfloat,
                                         const cm_lanes *lanes) {
    enum { FEW = 2 };
    const int pieces = channels / CM_SLAB_PIECE, of_board = a->tower.height * a->tower.width * pieces;
    const int count = t->boards * of_board, last = count - 1;
    const int64_t first = (int64_t)t->first * of_board;
    cm_tower_clear(t, channels, lanes);
    for (int i = lanes->index; i < count; i += FEW * CM_BLOCK) {
        cm_tower_piece own[FEW];
        float residual[FEW][CM_SLAB_PIECE];
        CM_UNROLL(k, FEW) {
            const int64_t at = (first + (i + k * CM_BLOCK < count ? i + k * CM_BLOCK : last)) * CM_SLAB_PIECE;
            own[k] = *(const cm_tower_piece *)(const void *)((const uint16_t *)a->tower.x + at);
            cm_norm_conv_residual(a, at, bfloat, residual[k]);
        }
        CM_UNROLL(k, FEW) {
            const int at = i + k * CM_BLOCK, piece = at % pieces;
            if (at >= count) continue;
            own[k] = cm_norm_conv_apply(a, own[k], piece * CM_SLAB_PIECE, channels, residual[k], bfloat);
            *cm_tower_place_of(t, &t->from, at / pieces, piece) = own[k];
            *(cm_tower_piece *)(void *)(a->normed + (first + at) * CM_SLAB_PIECE) = own[k];
        }
    }
}

/* ---- epilogue ---- */

/* The block's y, from where it was kept to the device's memory, and the sums of its channels. */
CM_KERNEL_COPIED void cm_norm_conv_leave(const cm_tower_block *t, const cm_norm_block_lane *lane, int channels,
                                         bool bfloat, float sum[CM_SLAB_PIECE]) {
    cm_tower_piece *y = (cm_tower_piece *)t->args->y;
    const int pieces = channels / CM_SLAB_PIECE;
    const int64_t first = (int64_t)t->first * t->args->height * t->args->width;
    CM_UNROLL(i, CM_SLAB_PIECE) sum[i] = 0.0f;
    for (int cell = lane->cell; lane->cell < lane->step && cell < lane->cells; cell += lane->step) {
        const cm_tower_piece piece = *cm_tower_place_of(t, &t->to, cell, lane->piece);
        float number[CM_SLAB_PIECE];
        y[(first + cell) * pieces + lane->piece] = piece;
        cm_norm_block_numbers(&piece, bfloat, number);
        CM_UNROLL(i, CM_SLAB_PIECE) sum[i] += number[i];
    }
}

/* Sums of squared distances from the means. */
CM_KERNEL_COPIED void cm_norm_conv_squares(const cm_tower_block *t, const cm_norm_block_lane *lane, const float *mean,
                                           bool bfloat, float squares[CM_SLAB_PIECE]) {
    CM_UNROLL(i, CM_SLAB_PIECE) squares[i] = 0.0f;
    for (int cell = lane->cell; lane->cell < lane->step && cell < lane->cells; cell += lane->step) {
        float number[CM_SLAB_PIECE];
        cm_norm_block_numbers(cm_tower_place_of(t, &t->to, cell, lane->piece), bfloat, number);
        CM_UNROLL(i, CM_SLAB_PIECE) {
            const float off = number[i] - mean[lane->piece * CM_SLAB_PIECE + i];
            squares[i] += off * off;
        }
    }
}

/* y and its statistics. What lanes share is up to 256 * 8 numbers and the means behind them, fewer than there are in
 * front of the activations that were written. */
CM_KERNEL_COPIED void cm_norm_conv_finish(const cm_norm_conv_args *a, const cm_tower_block *t, int64_t item,
                                          int channels, bool bfloat, const cm_lanes *lanes) {
    const cm_norm_block_lane lane = cm_norm_block_lane_of(t, channels, lanes);
    float own[CM_SLAB_PIECE], *mean = lanes->memory + lane.step * channels;
    cm_lanes_sync(lanes); /* all sums are made and kept */
    cm_norm_conv_leave(t, &lane, channels, bfloat, own);
    if (!a->partial) return;
    float *partial = a->partial + item * 2 * channels + lanes->index;
    const float of_cells = cm_norm_block_total(&lane, channels, lanes, own) / (float)lane.cells;
    if (lanes->index < channels) mean[lanes->index] = partial[0] = of_cells;
    cm_lanes_sync(lanes);
    cm_norm_conv_squares(t, &lane, mean, bfloat, own);
    const float squares = cm_norm_block_total(&lane, channels, lanes, own);
    if (lanes->index < channels) partial[channels] = squares;
}

/* ---- all of it ---- */

/* Item: `share` boards; CM_BLOCK lanes, which share a->tower.memory bytes. */
CM_KERNEL_COPIED void cm_norm_conv_boards(const cm_norm_conv_args *a, int64_t item, int channels, bool bfloat,
                                          const cm_lanes *lanes) {
    const cm_tower_block t = cm_tower_of(&a->tower, item, lanes, channels);
    cm_tower_feed feed = CM_NOTHING;
    float sum[CM_SLAB_TILES][CM_SLAB_SUMS];
    cm_tower_begin_layer(&t, &feed, channels, lanes);
    for (int i = 0; i < CM_TOWER_AHEAD; i++) cm_tower_bring(&t, &feed, i, channels, lanes);
    cm_norm_conv_enter(a, &t, channels, bfloat, lanes);
    cm_tower_sum(&t, &feed, a->tower.layer, false, channels, bfloat, lanes, sum);
    cm_norm_block_keep(&t, false, channels, bfloat, lanes, sum);
    cm_norm_conv_finish(a, &t, item, channels, bfloat, lanes);
}

#define CM_NORM_CONV_KERNELS(X) CM_TOWER_WIDTHS(X, cm_norm_conv, cm_norm_conv_args)

#define CM_NORM_CONV_KERNEL(name, args, channels, type)                                                                \
    CM_KERNEL void name(const args *a, int64_t item, const cm_lanes *lanes) {                                          \
        cm_norm_conv_boards(a, item, channels, (type) == CM_BF16, lanes);                                              \
    }                                                                                                                  \
    CM_KERNEL_ENTRY(name, args)
CM_NORM_CONV_KERNELS(CM_NORM_CONV_KERNEL)

#endif
