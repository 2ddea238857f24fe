/* A tower: convolutions 3 x 3 in 16 bits one after the other, each with its norm (conv2d_norm), of as many channels
 * all the way, as residual networks have them. What its kernel is given, and how activations lie in shared memory.
 *
 * A block takes `share` boards through all layers. Their cells stand by rows of the board, and within a row by boards,
 * each with one more column, which stays zero: cell (y, board, x) is place (y * share + board) * (width + 1) + x. So
 * what a window sees, (dy, dx) further on, is dy * share * (width + 1) + dx places further on for all of them, and
 * beyond an edge it is zero. Places are worked on in tiles of 64. */
#ifndef CM_BACKEND_CUDA_FUSED_TOWER_ARGS_H
#define CM_BACKEND_CUDA_FUSED_TOWER_ARGS_H

#include "device/cuda/launch.h"
#include "device/cuda/slabs.h"

enum {
    CM_TOWER_LAYERS = 48, /* at most */
    CM_TOWER_WINDOW = 9,  /* of 3 x 3 */
    CM_TOWER_GROUPS = CM_BLOCK / CM_SLAB_GROUP,
    CM_TOWER_TILES = CM_TOWER_GROUPS * CM_SLAB_TILES, /* of a block, at most */
    CM_TOWER_STAGES = 4                               /* pieces of weights that have a place in shared memory */
};

typedef struct cm_tower_layer {
    const uint16_t *weight;                       /* [C, 3, 3, C] of 16 bits */
    const float *scale, *shift, *mean, *variance; /* [C] */
    float epsilon;
    bool relu, adds; /* adds: what the layer before it has read */
} cm_tower_layer;

/* y = act((sum - mean) / sqrt(variance + epsilon) * scale + shift (+ residual)) of each layer. x and y are [boards,
 * height, width, C]; between layers numbers are rounded to 16 bits, and so is what is added. */
typedef struct cm_tower_args {
    const void *x; /* float32 if wide_x, else 16 bits */
    void *y;       /* float32 if wide_y; does not overlap x */
    bool wide_x, wide_y;
    int32_t boards, height, width;
    int32_t share;   /* boards of a block, >= 1 */
    uint32_t memory; /* bytes that a block shares: cm_tower_bytes */
    int32_t layers;  /* >= 1 */
    cm_tower_layer layer[CM_TOWER_LAYERS];
} cm_tower_args;

/* Where places lie: `lead` of zeros in front of the first and after the last tile. */
typedef struct cm_tower_places {
    int row, band;          /* places of a row of one board; of a row of all boards */
    int tiles, lead, pitch; /* pitch: elements from eight channels to the next */
} cm_tower_places;

/* Where rows of all boards are whole tiles, a tile that sees nothing but what lies beyond an edge is left out (see
 * cm_tower_sees), so zeros are needed for dx alone. */
static CM_HD inline cm_tower_places cm_tower_places_of(const cm_tower_args *a) {
    cm_tower_places p;
    p.row = a->width + 1;
    p.band = a->share * p.row;
    p.tiles = (a->height * p.band + CM_SLAB_ROWS - 1) / CM_SLAB_ROWS;
    p.lead = 1 + (p.band % CM_SLAB_ROWS ? p.band : 0);
    p.pitch = (p.tiles * CM_SLAB_ROWS + 2 * p.lead) * CM_SLAB_PIECE;
    return p;
}

/* Channels that a piece of weights multiplies. */
static CM_HD inline int cm_tower_depth(int channels) {
    return channels % (2 * CM_SLAB_DEPTH) == 0 ? 2 * CM_SLAB_DEPTH : CM_SLAB_DEPTH;
}

/* Shared memory: factors and offsets of a norm, CM_TOWER_STAGES pieces of weights, two sets of activations. Elements of
 * 16 bits up to where they begin. */
static CM_HD inline int cm_tower_stages_at(int channels) { return 4 * channels; }
static CM_HD inline int cm_tower_activations_at(int channels) {
    return cm_tower_stages_at(channels) + CM_TOWER_STAGES * channels * cm_tower_depth(channels);
}
static inline size_t cm_tower_bytes(const cm_tower_args *a, int channels) {
    const cm_tower_places p = cm_tower_places_of(a);
    const size_t activations = (size_t)(2 * channels / CM_SLAB_PIECE) * (size_t)p.pitch;
    return ((size_t)cm_tower_activations_at(channels) + activations) * sizeof(uint16_t);
}

#endif
