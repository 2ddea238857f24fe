/* The kernel of norm_convs.h for gradients: it takes a gradient through a norm where it loads what the gradient's
 * convolution reads, multiplies as a tower's layer does (tower.h), and leaves the sums of the norm that the gradient
 * reaches next in its epilogue. */
#ifndef CM_BACKEND_CUDA_FUSED_NORM_GRAD_H
#define CM_BACKEND_CUDA_FUSED_NORM_GRAD_H

#include "backend/cuda/fused/norm_block.h"

/* g = dy where y > 0 or there is no relu; dresidual (+)= g; normed = linear[0] g + linear[1] x + linear[2], which are
 * dx of a batch_norm_backward; tower.y (+)= the convolution of that, which is dx of a conv2d_backward: its weight is
 * turned (weights.h). All [boards, height, width, C]; x is tower.x. The next norm's x and y are of 16 bits, like
 * tower.y if there is one. */
typedef struct cm_norm_grad_args {
    cm_tower_args tower;
    const float *linear; /* [3, C] */
    const void *y, *dy;
    bool wide; /* both of float32, else of 16 bits */
    bool relu;
    void *dresidual; /* NULL: not wanted */
    bool wide_residual, add_residual;
    uint16_t *normed;
    bool add_y;
    const uint16_t *next_x, *next_y;
    const float *next_mean, *next_inverse; /* [C] */
    bool next_relu;
    float *partial;  /* [blocks, 2, C]: sums of a block's g, and of g times the normal; NULL: there is no next norm */
    uint32_t memory; /* tower.memory */
} cm_norm_grad_args;

/* ---- load ---- */

/* Eight channels of what is read at a place. */
typedef struct cm_norm_grad_read {
    float x[CM_SLAB_PIECE], y[CM_SLAB_PIECE], dy[CM_SLAB_PIECE];
} cm_norm_grad_read;

CM_KERNEL_COPIED void cm_norm_grad_read_at(const cm_norm_grad_args *a, bool wide, int64_t at, bool bfloat,
                                           cm_norm_grad_read *out) {
    cm_norm_block_read(a->tower.x, false, at, bfloat, out->x);
    cm_norm_block_read(a->y, wide, at, bfloat, out->y);
    cm_norm_block_read(a->dy, wide, at, bfloat, out->dy);
}

/* The gradient of the residual, from element `at` on. */
CM_KERNEL_COPIED void cm_norm_grad_pass(const cm_norm_grad_args *a, int64_t at, bool bfloat,
                                        const float g[CM_SLAB_PIECE]) {
    float sum[CM_SLAB_PIECE];
    if (!a->dresidual) return;
    CM_UNROLL(i, CM_SLAB_PIECE) sum[i] = 0.0f;
    if (a->add_residual) cm_norm_block_read(a->dresidual, a->wide_residual, at, bfloat, sum);
    CM_UNROLL(i, CM_SLAB_PIECE) sum[i] += g[i];
    cm_norm_block_write(a->dresidual, a->wide_residual, at, bfloat, sum);
}

/* Of the channels from `channel` on, at element `at`. */
CM_KERNEL_COPIED cm_tower_piece cm_norm_grad_apply(const cm_norm_grad_args *a, const cm_norm_grad_read *read,
                                                   int64_t at, int channel, int channels, bool bfloat) {
    float g[CM_SLAB_PIECE], dx[CM_SLAB_PIECE], of_g[CM_SLAB_PIECE], of_x[CM_SLAB_PIECE], offset[CM_SLAB_PIECE];
    cm_eight_floats(a->linear + channel, of_g);
    cm_eight_floats(a->linear + channels + channel, of_x);
    cm_eight_floats(a->linear + 2 * channels + channel, offset);
    CM_UNROLL(i, CM_SLAB_PIECE) {
        g[i] = cm_before_relu(a->relu, read->y[i], read->dy[i]);
        dx[i] = of_g[i] * g[i] + (of_x[i] * read->x[i] + offset[i]);
    }
    cm_norm_grad_pass(a, at, bfloat, g);
    return cm_norm_block_piece(dx, bfloat);
}

/* As cm_tower_enter, of the norm's dx, which other calls read, too; and what the result is added to, in the activations
 * that are not read. */
CM_KERNEL_COPIED void cm_norm_grad_enter(const cm_norm_grad_args *a, bool wide, const cm_tower_block *t, int channels,
                                         bool bfloat, const cm_lanes *lanes) {
    enum { FEW = 2 };
    const int pieces = channels / CM_SLAB_PIECE, of_board = a->tower.height * a->tower.width * pieces;
    const int count = t->boards * of_board, last = count - 1;
    const int64_t first = (int64_t)t->first * of_board;
    const bool adds = a->add_y && !a->tower.wide_y;
    cm_tower_clear(t, channels, lanes);
    for (int i = lanes->index; i < count; i += FEW * CM_BLOCK) {
        cm_norm_grad_read read[FEW];
        CM_UNROLL(k, FEW) {
            const int at = i + k * CM_BLOCK < count ? i + k * CM_BLOCK : last;
            cm_norm_grad_read_at(a, wide, (first + at) * CM_SLAB_PIECE, bfloat, &read[k]);
        }
        CM_UNROLL(k, FEW) {
            const int at = i + k * CM_BLOCK, piece = at % pieces;
            if (at >= count) continue;
            const int64_t element = (first + at) * CM_SLAB_PIECE;
            const cm_tower_piece own =
                cm_norm_grad_apply(a, &read[k], element, piece * CM_SLAB_PIECE, channels, bfloat);
            *cm_tower_place_of(t, &t->from, at / pieces, piece) = own;
            *(cm_tower_piece *)(void *)(a->normed + element) = own;
            if (adds)
                *cm_tower_place_of(t, &t->to, at / pieces, piece) =
                    *(const cm_tower_piece *)(const void *)((const uint16_t *)a->tower.y + element);
        }
    }
}

/* ---- epilogue ---- */

/* What a cell's gradient, from element `at` on, adds to the sums of the next norm. */
CM_KERNEL_COPIED void cm_norm_grad_add(const cm_norm_grad_args *a, int64_t at, bool bfloat, const float dy[],
                                       const float mean[], float sum[CM_SLAB_PIECE], float along[CM_SLAB_PIECE]) {
    float x[CM_SLAB_PIECE], y[CM_SLAB_PIECE];
    cm_norm_block_read(a->next_x, false, at, bfloat, x);
    cm_norm_block_read(a->next_y, false, at, bfloat, y);
    CM_UNROLL(i, CM_SLAB_PIECE) {
        const float g = cm_before_relu(a->next_relu, y[i], dy[i]);
        sum[i] += g;
        along[i] += g * (x[i] - mean[i]);
    }
}

/* The block's results, from where they were kept to the device's memory, and the lane's part of the sums. */
CM_KERNEL_COPIED void cm_norm_grad_leave(const cm_norm_grad_args *a, const cm_tower_block *t,
                                         const cm_norm_block_lane *lane, int channels, bool bfloat,
                                         float sum[CM_SLAB_PIECE], float along[CM_SLAB_PIECE]) {
    const int64_t first = (int64_t)t->first * a->tower.height * a->tower.width;
    float mean[CM_SLAB_PIECE];
    CM_UNROLL(i, CM_SLAB_PIECE) sum[i] = along[i] = mean[i] = 0.0f;
    if (a->partial) cm_eight_floats(a->next_mean + lane->piece * CM_SLAB_PIECE, mean);
    for (int cell = lane->cell; lane->cell < lane->step && cell < lane->cells; cell += lane->step) {
        const int64_t at = (first + cell) * channels + lane->piece * CM_SLAB_PIECE;
        float dy[CM_SLAB_PIECE], before[CM_SLAB_PIECE];
        cm_norm_block_numbers(cm_tower_place_of(t, &t->to, cell, lane->piece), bfloat, dy);
        if (a->add_y && a->tower.wide_y) {
            cm_norm_block_read(a->tower.y, true, at, bfloat, before);
            CM_UNROLL(i, CM_SLAB_PIECE) dy[i] += before[i];
        }
        cm_norm_block_write(a->tower.y, a->tower.wide_y, at, bfloat, dy);
        if (a->partial) cm_norm_grad_add(a, at, bfloat, dy, mean, sum, along);
    }
}

CM_KERNEL_COPIED void cm_norm_grad_finish(const cm_norm_grad_args *a, const cm_tower_block *t, int64_t item,
                                          int channels, bool bfloat, const cm_lanes *lanes) {
    const cm_norm_block_lane lane = cm_norm_block_lane_of(t, channels, lanes);
    float sum[CM_SLAB_PIECE], along[CM_SLAB_PIECE];
    cm_lanes_sync(lanes); /* all sums are made and kept */
    cm_norm_grad_leave(a, t, &lane, channels, bfloat, sum, along);
    if (!a->partial) return;
    float *partial = a->partial + item * 2 * channels + lanes->index;
    const float total = cm_norm_block_total(&lane, channels, lanes, sum);
    cm_lanes_sync(lanes); /* and read */
    const float total_along = cm_norm_block_total(&lane, channels, lanes, along);
    if (lanes->index >= channels) return;
    partial[0] = total;
    partial[channels] = total_along * a->next_inverse[lanes->index];
}

/* ---- all of it ---- */

/* Item: `share` boards; CM_BLOCK lanes, which share a->tower.memory bytes. */
CM_KERNEL_COPIED void cm_norm_grad_boards(const cm_norm_grad_args *a, int64_t item, int channels, bool bfloat,
                                          const cm_lanes *lanes) {
    const cm_tower_block t = cm_tower_of(&a->tower, item, lanes, channels);
    cm_tower_feed feed = CM_NOTHING;
    float sum[CM_SLAB_TILES][CM_SLAB_SUMS];
    cm_tower_begin_layer(&t, &feed, channels, lanes);
    for (int i = 0; i < CM_TOWER_AHEAD; i++) cm_tower_bring(&t, &feed, i, channels, lanes);
    if (a->wide) {
        cm_norm_grad_enter(a, true, &t, channels, bfloat, lanes);
    } else {
        cm_norm_grad_enter(a, false, &t, channels, bfloat, lanes);
    }
    cm_tower_sum(&t, &feed, a->tower.layer, false, channels, bfloat, lanes, sum);
    cm_norm_block_keep(&t, a->add_y && !a->tower.wide_y, channels, bfloat, lanes, sum);
    cm_norm_grad_finish(a, &t, item, channels, bfloat, lanes);
}

#define CM_NORM_GRAD_KERNELS(X) CM_TOWER_WIDTHS(X, cm_norm_grad, cm_norm_grad_args)

#define CM_NORM_GRAD_KERNEL(name, args, channels, type)                                                                \
    CM_KERNEL void name(const args *a, int64_t item, const cm_lanes *lanes) {                                          \
        cm_norm_grad_boards(a, item, channels, (type) == CM_BF16, lanes);                                              \
    }                                                                                                                  \
    CM_KERNEL_ENTRY(name, args)
CM_NORM_GRAD_KERNELS(CM_NORM_GRAD_KERNEL)

#endif
