/* Products of slabs: planes of 16 bits in shared memory, as tensor cores of compute capability 9.0 read them by
 * themselves. For the files of kernels, after lanes.h or kernel.cuh.
 *
 * A slab [rows, columns], columns a multiple of 8, is columns / 8 pieces: eight columns of all rows, 16 bytes a row,
 * one row after the other; `pitch` elements, a multiple of 8, from a piece to the next. So the slab that begins some
 * rows further on, or before, is the same memory from another address on: a convolution's window needs no copies. */
#ifndef CM_DEVICE_CUDA_SLABS_H
#define CM_DEVICE_CUDA_SLABS_H

#include "device/cuda/lanes.h"

enum {
    CM_SLAB_PIECE = 8,   /* columns of a piece */
    CM_SLAB_GROUP = 128, /* lanes that multiply together: four warps */
    CM_SLAB_ROWS = 64,   /* of a, in a product */
    CM_SLAB_DEPTH = 16,  /* columns that are multiplied at once */
    CM_SLAB_MOST = 128,  /* rows of b, at most; a multiple of 16 */
    CM_SLAB_SUMS = CM_SLAB_MOST / 2,
    CM_SLAB_TILES = 3 /* products with the same b that a group makes at once */
};

/* Elements of a slab from the row `row` and the piece `piece` on. */
typedef struct cm_slab {
    uint16_t *first;
    int pitch;
} cm_slab;
static CM_HD inline uint16_t *cm_slab_at(const cm_slab *slab, int row, int piece) {
    return slab->first + piece * slab->pitch + row * CM_SLAB_PIECE;
}

/* A set of products, for the lanes of a group (`lanes` are those of the block, groups one after the other):
 *
 *     sum[t][64, n] += a[t][64, depth] b[n, depth]^T, for each tile t of `tiles`
 *
 * Lane 32 w + 4 g + q of the group has of a sum, for every j < n / 8, four numbers from 4 j on: row 16 w + g, columns
 * 8 j + 2 q and 8 j + 2 q + 1, then those of row 16 w + g + 8. The order of additions is the device's own.
 *
 * cm_slabs_multiply begins such a set. cm_slabs_wait waits for all sets of the group but the last `ahead` ones, 0 or
 * 1: before that no lane may look at their sums or write what they read. What lanes have written to shared memory,
 * or sent there, is seen after cm_slabs_publish, by each of those lanes, and a barrier. All but `lanes` and sums is
 * the same for the lanes of a group; bfloat, n and depth are constants where it is compiled. */
typedef struct cm_slab_set {
    cm_slab a, b;
    int row, column; /* of a, at which its first tile begins; a multiple of CM_SLAB_PIECE */
    int apart;       /* rows from one tile of a to the next */
    unsigned tiles;  /* bit t: tile t is there; those that are follow each other */
} cm_slab_set;

#ifdef CM_SLABS_ARE_READ
/* Where tensor cores read shared memory by themselves: slabs.cuh. */
#else
/* Elsewhere each warp brings what it multiplies, and has its sums at once. */
CM_KERNEL_COPIED void cm_slabs_publish(void) {}
CM_KERNEL_COPIED void cm_slabs_wait(int ahead, int n, float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    (void)ahead, (void)n, (void)sum;
}

static CM_HD inline uint32_t cm_slab_pair(const uint16_t *from) { return *(const uint32_t *)(const void *)from; }

/* 16 columns from piece `piece` on. */
CM_KERNEL_COPIED void cm_slabs_add(const cm_lanes *lanes, bool bfloat, int n, const cm_slab_set *set, int piece,
                                   float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    const cm_lanes warp = cm_lanes_part(lanes, CM_WARP);
    const int g = warp.index / 4, q = warp.index % 4, row = lanes->index % CM_SLAB_GROUP / CM_WARP * 16 + g;
    uint32_t a[CM_SLAB_TILES][4];
    CM_UNROLL(t, CM_SLAB_TILES) {
        if (!(set->tiles >> t & 1u)) continue;
        const int from_row = set->row + t * set->apart + row, from_piece = set->column / CM_SLAB_PIECE + piece;
        const uint16_t *from = cm_slab_at(&set->a, from_row, from_piece) + 2 * q;
        CM_UNROLL(i, 4) a[t][i] = cm_slab_pair(from + i % 2 * 8 * CM_SLAB_PIECE + i / 2 * set->a.pitch);
    }
    CM_UNROLL(j, n / 8) {
        const uint16_t *from = cm_slab_at(&set->b, 8 * j + g, piece) + 2 * q;
        const uint32_t b[2] = {cm_slab_pair(from), cm_slab_pair(from + set->b.pitch)};
        CM_UNROLL(t, CM_SLAB_TILES) if (set->tiles >> t & 1u) cm_lanes_product(&warp, bfloat, a[t], b, sum[t] + 4 * j);
    }
}

CM_KERNEL_COPIED void cm_slabs_multiply(const cm_lanes *lanes, bool bfloat, int n, int depth, const cm_slab_set *set,
                                        float sum[CM_SLAB_TILES][CM_SLAB_SUMS]) {
    CM_UNROLL(k, depth / CM_SLAB_DEPTH) { cm_slabs_add(lanes, bfloat, n, set, k * CM_SLAB_DEPTH / CM_SLAB_PIECE, sum); }
}
#endif

#endif
